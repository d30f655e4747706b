#include "anchor/held_causes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "anchor/expected_rounding.h"
#include "anchor/held_slices.h"
#include "runtime_check/positions.h"

namespace planproof::anchor {
namespace {

using runtime_check::ForEachPosition;
using runtime_check::Values;
using Kind = HeldFinding::Kind;
using Part = HeldTensor::Part;

bool SameAt(const HeldTensor& tensor, const Part& part, const Values& whole, int64_t i,
            int64_t at) {
  return at >= 0 &&
         SameNumber(part.values.At(i), part.dtype, whole.At(at), tensor.dtype, part.allowed);
}

// Numbers that are compared while a cause is looked for.
constexpr int64_t kMostNumbers = int64_t{1} << 25;

// Numbers that a part may hold, element by element; not a number where there is none.
struct HeldSource {
  Kind kind = Kind::kOtherPart;
  std::string text;
  std::function<std::vector<double>()> numbers;
};

// The numbers of `whole` at a map that leads there from the part's elements.
std::vector<double> NumbersAt(const Part& part, const Values& whole,
                              const std::vector<sdfg::IndexMap>& map) {
  std::vector<double> numbers(part.values.size(), std::nan(""));
  ForEachPosition(map, whole.shape, part.values.shape, [&](int64_t i, int64_t at) {
    if (at >= 0) numbers[i] = whole.At(at);
  });
  return numbers;
}

// The elements with two dimensions exchanged, in row-major order; in the shape that they had, as a
// weight is whose loader exchanged them and did not mind.
Values Exchanged(const Values& values, size_t first, size_t second) {
  Values result = values;
  sdfg::Shape shape = values.shape;
  std::swap(shape[first], shape[second]);
  std::vector<int64_t> strides(shape.size(), 1), index(shape.size(), 0);
  for (size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * values.shape[d + 1];
  std::swap(strides[first], strides[second]);
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d) from += index[d] * strides[d];
    result.Copy(i, values, from);
    runtime_check::Advance(shape, &index);
  }
  return result;
}

// All that a part may hold but for its place, the likeliest first.
std::vector<HeldSource> SourcesOf(const HeldTensor& tensor, const Part& part,
                                  const std::vector<double>& own,
                                  const std::vector<const HeldTensor*>& others) {
  std::vector<HeldSource> sources;
  std::vector<const Part*> elsewhere;  // one for each place
  for (const Part& other : tensor.parts) {
    if (other.map == part.map || other.values.shape != part.values.shape) continue;
    if (std::any_of(elsewhere.begin(), elsewhere.end(),
                    [&](const Part* known) { return known->map == other.map; }))
      continue;
    elsewhere.push_back(&other);
    sources.push_back({Kind::kOtherPart, absl::StrCat("the part of rank ", other.rank),
                       [&] { return NumbersAt(part, tensor.whole, other.map); }});
  }
  for (size_t second = 1; second < part.values.shape.size(); ++second) {
    for (size_t first = 0; first < second; ++first) {
      sources.push_back({Kind::kTransposed, "its place transposed", [&, first, second] {
                           Values place = Values::Zeros(part.values.shape, sdfg::DType::kFloat64,
                                                        sdfg::DType::kFloat64);
                           place.doubles = own;
                           return Exchanged(place, first, second).doubles;
                         }});
    }
  }
  for (size_t second = 1; second < tensor.whole.shape.size(); ++second) {
    for (size_t first = 0; first < second; ++first) {
      sources.push_back(
          {Kind::kTransposed, "its place in the whole transposed", [&, first, second] {
             return NumbersAt(part, Exchanged(tensor.whole, first, second), part.map);
           }});
    }
  }
  for (const HeldTensor* other : others) {
    if (other == &tensor || other->whole.shape != tensor.whole.shape) continue;
    sources.push_back({Kind::kOtherTensor, absl::StrCat("what the reference has as ", other->name),
                       [&part, other] { return NumbersAt(part, other->whole, part.map); }});
  }
  if (elsewhere.size() > 1) {
    sources.push_back({Kind::kOtherPart, "the parts of all other ranks", [&, elsewhere] {
                         std::vector<double> sum(part.values.size(), 0);
                         for (const Part* other : elsewhere) {
                           const auto numbers = NumbersAt(part, tensor.whole, other->map);
                           for (size_t i = 0; i < sum.size(); ++i) sum[i] += numbers[i];
                         }
                         return sum;
                       }});
  }
  const int64_t most = kMostNumbers / std::max<int64_t>(1, part.values.size());
  if (static_cast<int64_t>(sources.size()) > most) sources.resize(most);
  return sources;
}

// Whether numbers are those of a source times `factor`, and more to add.
class SourceFit {
 public:
  SourceFit(const HeldTensor& tensor, const Part& part)
      : part_(part), dtype_(tensor.dtype), evidence_(EvidenceOf(part)) {
    for (int64_t i = 0; i < part.values.size(); ++i)
      largest_ = std::max(largest_, std::fabs(part.values.At(i)));
  }

  // The numbers as they are.
  bool Equals(const std::vector<double>& numbers) const {
    return Tells(0) && Holds(numbers, 1, nullptr, 0);
  }
  // The factor that makes these numbers the part's, after `added` if it is not null; nothing if
  // none does.
  std::optional<double> FactorOf(const std::vector<double>& numbers,
                                 const std::vector<double>* added) const {
    if (!Tells(1)) return std::nullopt;
    double products = 0, squares = 0;  // the factor of least squares
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double left =
          part_.values.At(static_cast<int64_t>(i)) - (added != nullptr ? (*added)[i] : 0);
      products += left * numbers[i];
      squares += numbers[i] * numbers[i];
    }
    const double factor = products / squares;
    if (!std::isfinite(factor) || factor == 0) return std::nullopt;
    // A product and a sum were rounded, and the factor is one of rounded numbers.
    const double spacing = std::max(RelativeSpacing(part_.dtype), RelativeSpacing(dtype_));
    const double rounding = 4 * std::max(spacing, 0x1p-23) * largest_;
    // What is left of the place must be more than rounding.
    if (added != nullptr && std::sqrt(products * factor / static_cast<double>(numbers.size())) <
                                kTimesRounding * (rounding + evidence_.allowed))
      return std::nullopt;
    if (!Holds(numbers, factor, added, rounding)) return std::nullopt;
    return factor;
  }

 private:
  static constexpr double kTimesRounding = 8;

  // Whether unrelated numbers would hardly agree, where so many factors are free.
  bool Tells(int64_t free) const {
    return static_cast<double>(part_.values.size() - free) * std::log(evidence_.chance) <
           kLogOfSmallChance;
  }
  bool Holds(const std::vector<double>& numbers, double factor, const std::vector<double>* added,
             double rounding) const {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double meant = factor * numbers[i] + (added != nullptr ? (*added)[i] : 0);
      if (!SameNumber(part_.values.At(static_cast<int64_t>(i)), part_.dtype, meant, dtype_,
                      evidence_.allowed + rounding))
        return false;
    }
    return true;
  }

  const Part& part_;
  sdfg::DType dtype_;
  HeldEvidence evidence_;
  double largest_ = 0;
};

// "0.5 times ", or nothing for 1.
std::string Times(double factor) {
  return std::fabs(factor - 1) < 1e-5 ? "" : absl::StrFormat("%.6g times ", factor);
}

HeldFinding DifferingElements(const HeldTensor& tensor, const Part& part) {
  int64_t differing = 0, equal = 0;
  for (int64_t i = 0; i < part.values.size(); ++i) equal += part.values.At(i) == part.values.At(0);
  if (equal == part.values.size()) {
    const double number = part.values.At(0);
    return {Kind::kUnrelated,
            number == 0 ? "zeros" : absl::StrFormat("%.6g in all elements", number)};
  }
  ForEachPosition(part.map, tensor.whole.shape, part.values.shape, [&](int64_t i, int64_t at) {
    differing += !SameAt(tensor, part, tensor.whole, i, at);
  });
  if (2 * differing > part.values.size()) {
    return {Kind::kUnrelated,
            absl::StrCat("unrelated numbers: ",
                         differing == part.values.size()
                             ? absl::StrCat("all ", differing)
                             : absl::StrCat(differing, " of ", part.values.size()),
                         " elements differ")};
  }
  return {Kind::kSomeDiffer,
          absl::StrCat(differing, " of ", part.values.size(), " elements that differ")};
}

}  // namespace

HeldFinding FindHeld(const HeldTensor& tensor, size_t number,
                     const std::vector<const HeldTensor*>& others) {
  const Part& part = tensor.parts[number];
  const std::vector<double> own = NumbersAt(part, tensor.whole, part.map);
  const std::vector<HeldSource> sources = SourcesOf(tensor, part, own, others);
  const SourceFit fit(tensor, part);
  const auto equal = [&](bool other_tensor) -> const HeldSource* {
    const auto found = std::find_if(sources.begin(), sources.end(), [&](const HeldSource& source) {
      return (source.kind == Kind::kOtherTensor) == other_tensor && fit.Equals(source.numbers());
    });
    return found == sources.end() ? nullptr : &*found;
  };
  if (const HeldSource* source = equal(false)) return {source->kind, source->text};
  if (std::optional<std::string> places = OtherSlices(tensor, part); places)
    return {Kind::kOtherPlaces, *std::move(places)};
  if (const std::optional<double> factor = fit.FactorOf(own, nullptr); factor)
    return {Kind::kMultiple, absl::StrFormat("%.6g times its place", *factor)};
  if (const HeldSource* source = equal(true)) return {source->kind, source->text};
  for (const HeldSource& source : sources) {
    if (const std::optional<double> factor = fit.FactorOf(source.numbers(), nullptr); factor)
      return {Kind::kMultiple, absl::StrCat(Times(*factor), source.text)};
  }
  for (const HeldSource& source : sources) {
    if (source.kind == Kind::kTransposed) continue;
    if (const std::optional<double> factor = fit.FactorOf(source.numbers(), &own); factor)
      return {Kind::kSum, absl::StrCat("its place plus ", Times(*factor), source.text)};
  }
  return DifferingElements(tensor, part);
}

std::string UsualCause(const HeldTensor& tensor, const std::vector<size_t>& differing, Kind kind) {
  const bool data = tensor.role == frontend::RecordedRole::kInput;
  switch (kind) {
    case Kind::kOtherPart:
      return data ? "a sampler or a slice goes by another number than the rank's coordinate"
                  : "a slice goes by another number than the rank's coordinate";
    case Kind::kOtherPlaces:
      return data ? "data are cut in another order than the inputs say"
                  : "a merged or converted weight (q, k and v; gate and up) was cut as one, or "
                    "along another dimension";
    case Kind::kTransposed:
      return "a weight was converted and not transposed";
    case Kind::kOtherTensor:
      return "weights are exchanged in a checkpoint";
    case Kind::kMultiple:
      return "it was scaled, or initialised otherwise";
    case Kind::kSum:
      return "something was added that belongs elsewhere, or parts of ranks were added up";
    case Kind::kSomeDiffer:
      return "";
    case Kind::kUnrelated:
      break;
  }
  // Replicas of which some have the reference's numbers were not made equal.
  for (const size_t bad : differing) {
    for (size_t good = 0; good < tensor.parts.size(); ++good) {
      if (std::find(differing.begin(), differing.end(), good) != differing.end() ||
          tensor.parts[good].map != tensor.parts[bad].map) {
        continue;
      }
      return absl::StrCat(
          "rank ", tensor.parts[good].rank, ", which holds the same part, has the reference's: ",
          data ? "replicas read data of their own" : "replicas are seeded apart, or not broadcast");
    }
  }
  return data ? "ranks read other data than the reference"
              : "ranks start from another seed or checkpoint than the reference";
}

}  // namespace planproof::anchor
