#include "anchor/held_sketches.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "anchor/expected_rounding.h"

namespace planproof::anchor {
namespace {

using SketchedPart = SketchedTensor::Part;

// Doubles that were added up in another order; -1: they are the same, else the first sum that is
// not.
int FirstOther(const std::array<double, 4>& a, const std::array<double, 4>& b, int64_t elements) {
  double magnitude = 0;
  for (size_t k = 0; k < a.size(); ++k)
    magnitude = std::max({magnitude, std::fabs(a.at(k)), std::fabs(b.at(k))});
  const double allowed = magnitude * static_cast<double>(elements) * 0x1p-53;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!(std::fabs(a.at(k) - b.at(k)) <= allowed)) return static_cast<int>(k);
  }
  return -1;
}

stages::RecordedDifference Difference(const SketchedTensor& tensor, std::vector<int32_t> ranks,
                                      double value, double expected, const std::string& whose) {
  stages::RecordedDifference difference;
  difference.tensor = tensor.name;
  difference.ranks = std::move(ranks);
  difference.value = NumberText(value, expected);
  difference.expected = NumberText(expected, value);
  difference.text = absl::StrCat(
      tensor.name, ", which is too large to be recorded in full: a signed sum of what rank",
      difference.ranks.size() > 1 ? "s " : " ", absl::StrJoin(difference.ranks, ", "),
      difference.ranks.size() > 1 ? " hold is " : " holds is ", difference.value, ", and of what ",
      whose, " ", difference.expected, ": record a smaller model to see where they differ");
  return difference;
}

}  // namespace

std::vector<stages::RecordedDifference> DifferencesOf(const SketchedTensor& tensor,
                                                      bool* compared) {
  std::vector<const SketchedPart*> different;
  int64_t elements = 0;
  for (const SketchedPart& part : tensor.parts) {
    const auto same =
        std::find_if(different.begin(), different.end(),
                     [&](const SketchedPart* known) { return known->map == part.map; });
    if (same == different.end()) {
      different.push_back(&part);
      elements += part.elements;
      continue;
    }
    const int k = FirstOther((*same)->sketch, part.sketch, part.elements);
    if (k < 0) continue;
    *compared = true;
    return {Difference(tensor, {part.rank}, part.sketch.at(k), (*same)->sketch.at(k),
                       absl::StrCat("rank ", (*same)->rank, " holds of the same part"))};
  }
  *compared = elements == tensor.elements;
  if (!*compared) return {};
  std::array<double, 4> sum = {};
  std::vector<int32_t> ranks;
  for (const SketchedPart* part : different) {
    ranks.push_back(part->rank);
    for (size_t k = 0; k < sum.size(); ++k) sum.at(k) += part->sketch.at(k);
  }
  const int k = FirstOther(sum, tensor.sketch, tensor.elements);
  if (k < 0) return {};
  return {
      Difference(tensor, std::move(ranks), sum.at(k), tensor.sketch.at(k), "the reference holds")};
}

}  // namespace planproof::anchor
