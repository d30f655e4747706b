// Repairs about factors: of the whole tensor, and in words.
#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"

namespace planproof::diagnosis {

using sdfg::AxisId;
using sdfg::OperatorId;

namespace {

constexpr double kRoundingOfFactors = 1e-7;

// "microbatch" is "microbatches".
std::string Plural(const std::string& name) {
  const bool hisses = name.ends_with("ch") || name.ends_with("s");
  return hisses ? "es" : "s";
}

// Actual over claimed, if that is one number; 0 if not. `values`: the different claimed ones.
double Ratio(const std::vector<double>& actual, const std::vector<double>& claimed,
             std::set<double>* values) {
  double ratio = 0, largest = 0;
  for (double x : claimed) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < claimed.size(); ++i) {
    if (std::fabs(claimed[i]) < 1e-6 * largest) {
      if (std::fabs(actual[i]) > 1e-5 * largest) return 0;
      continue;
    }
    const double r = actual[i] / claimed[i];
    if (ratio == 0) ratio = r;
    if (!(std::fabs(r - ratio) <= kRoundingOfFactors * std::fabs(ratio))) return 0;
    values->insert(claimed[i]);
  }
  return std::isfinite(ratio) && !values->empty() ? ratio : 0;
}

// "4 times too large", "2 times too small", "2/3 of what it must be".
std::string FactorInWords(int64_t above, int64_t below) {
  if (below == 1 && above > 1) return absl::StrCat(above, " times too large");
  if (above == 1) return absl::StrCat(below, " times too small");
  if (below == 1 && above == -1) return "the negative of what it must be";
  if (below == 1) return absl::StrCat(above, " times what it must be");
  return absl::StrCat(above, "/", below, std::abs(above) < below ? " of" : " times",
                      " what it must be");
}

}  // namespace

std::pair<int64_t, int64_t> SimpleFraction(double ratio, int64_t most) {
  const double size = std::fabs(ratio);
  for (int64_t d = 1; d <= most; ++d) {
    for (const bool inverse : {false, true}) {
      const double n = std::round((inverse ? 1 / size : size) * static_cast<double>(d));
      if (n < 1 || n > static_cast<double>(most)) continue;
      const double is = inverse ? static_cast<double>(d) / n : n / static_cast<double>(d);
      if (!(std::fabs(is - size) <= kRoundingOfFactors * size)) continue;
      const int64_t whole = static_cast<int64_t>(n), sign = ratio < 0 ? -1 : 1;
      return inverse ? std::pair{sign * d, whole} : std::pair{sign * whole, d};
    }
  }
  return {0, 1};
}

std::string RepairSearch::SizeOf(AxisId axis) const {
  const bool in_time = axis < static_cast<AxisId>(graph_.axis_device_stride.size()) &&
                       graph_.axis_device_stride[axis] == 0;
  const std::string& name = graph_.axes[axis].name;
  return in_time ? absl::StrCat("number of ", name, Plural(name)) : absl::StrCat("size of ", name);
}

std::string RepairSearch::SizesThatAre(int64_t count) const {
  std::vector<std::string> in_time, sizes;
  for (size_t a = 0; a < graph_.axes.size() && count > 1; ++a) {
    if (graph_.axes[a].extent != count) continue;
    const bool steps = a < graph_.axis_device_stride.size() && graph_.axis_device_stride[a] == 0;
    if (steps) {
      in_time.push_back(
          absl::StrCat("number of ", graph_.axes[a].name, Plural(graph_.axes[a].name)));
    } else {
      sizes.push_back(graph_.axes[a].name);
    }
  }
  for (OperatorId id : subject_.operators) {
    const std::vector<sdfg::Device>& ranks = graph_.operators[id].group;
    if (count < 2 || static_cast<int64_t>(ranks.size()) != count) continue;
    std::string group = "the group of ranks " + absl::StrJoin(ranks, ",");
    if (std::find(sizes.begin(), sizes.end(), group) == sizes.end()) {
      sizes.push_back(std::move(group));
    }
  }
  if (!sizes.empty()) in_time.push_back(absl::StrCat("size of ", absl::StrJoin(sizes, " or ")));
  return in_time.empty() ? "" : absl::StrCat(" = ", absl::StrJoin(in_time, " or "));
}

bool RepairSearch::TryFactor(bool constant) {
  const std::vector<CollectiveCause> collectives =
      constant ? std::vector<CollectiveCause>{} : CollectiveCauses();
  std::set<double> values;
  const double ratio = Ratio(actual_at_, claimed_at_, &values);
  // Between one pair of numbers there is always some ratio: only a simple one says something.
  const auto [above, below] = ratio == 0 ? std::pair<int64_t, int64_t>{0, 1}
                                         : SimpleFraction(ratio, values.size() > 1 ? 4096 : 64);
  std::string text;
  bool explained = false;
  if (ratio != 0 && above != below && (above != 0 || values.size() > 1)) {
    text = above != 0 ? FactorInWords(above, below) : absl::StrCat(ratio, " times what it must be");
  }
  if (!text.empty() && !constant && (above == 1 || below == 1)) {
    const int64_t count = std::max(above, below);
    const size_t before = text.size();
    // The axes of the collective that explains it; else all of that size.
    std::vector<std::string> sizes;
    int64_t ranks = 1;
    const bool one_group =
        !collectives.empty() &&
        std::all_of(collectives.begin(), collectives.end(),
                    [&](const CollectiveCause& c) { return c.axes == collectives[0].axes; });
    for (const AxisId axis : one_group ? collectives[0].axes : std::vector<AxisId>{}) {
      if (axis == sdfg::kNone) continue;
      sizes.push_back(SizeOf(axis));
      ranks *= graph_.axes[axis].extent;
    }
    absl::StrAppend(&text, ranks == count ? absl::StrCat(" = ", absl::StrJoin(sizes, " times "))
                                          : SizesThatAre(count));
    explained = text.size() > before;
  }
  if (collectives.empty()) {
    if (text.empty()) return false;
    Found(text);
    causes_.back().of_one_number = values.size() == 1;
    return explained;
  }
  // Those of one line first; several at once are another cause.
  for (const int changes : {0, 1}) {
    std::vector<std::string> reasons;
    OperatorId op = sdfg::kNone;
    for (const CollectiveCause& cause : collectives) {
      if (cause.changes != changes || reasons.size() == 2) continue;
      if (reasons.empty()) op = cause.op;
      reasons.push_back(cause.text);
    }
    if (reasons.empty()) continue;
    Found(absl::StrCat(text, text.empty() ? "" : ": ", absl::StrJoin(reasons, " or ")), op,
          changes);
  }
  return true;
}

}  // namespace planproof::diagnosis
