// Gives uninterpreted functions concrete meanings, for witnesses.
//
// A proof knows nothing of an opaque function but that equal arguments give equal values; a witness
// needs numbers. Known names get their real meaning, others a deterministic hash of their arguments
// in the double domain and no value in interval domains.
#ifndef PLANPROOF_SHAPE_REDUCTION_OPAQUE_FUNCTIONS_H_
#define PLANPROOF_SHAPE_REDUCTION_OPAQUE_FUNCTIONS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "sdfg/differentiate.h"
#include "sdfg/reinterpreted_bits.h"
#include "shape_reduction/block_tensor.h"
#include "shape_reduction/domain_floating.h"

namespace planproof::shape_reduction {

// "topk_index(k=2,groups=8,topk_groups=4,group_score=max)" taken apart.
struct OpaqueName {
  std::string base;
  std::map<std::string, std::string> attributes;
  int64_t Get(const std::string& key, int64_t otherwise) const;  // an integer attribute
  bool Is(const std::string& key, const std::string& value) const;
};
OpaqueName ParseOpaqueName(const std::string& name);

// The value if the function's is known (sdfg/real_functions.h); else pseudo-random in [0, 1) from
// name and arguments, rounded to six digits so that rounding errors of the two graphs do not show.
double HashOpaque(const std::string& name, const std::vector<double>& row,
                  const std::vector<double>& reals, const std::vector<int64_t>& ints);

// Indices of the k largest of `row`, best first, ties to the smaller index. With groups: first the
// topk_groups best groups are kept (score: the maximum, or the sum of the two best if
// group_top_two), then the best among them. Nullopt if a comparison that matters is not decided; in
// floating point that includes ties, which rounding makes and breaks, but for those of whole
// numbers: most are integers, such as numbers of experts.
template <typename D>
std::optional<std::vector<int64_t>> TopK(const std::vector<typename D::Value>& row, int64_t k,
                                         int64_t groups, int64_t topk_groups, bool group_top_two) {
  bool decided = true;
  // The largest of the items, which must be larger than every other: a tie is decided by the
  // smaller index only where both values are exact.
  auto best = [&](std::vector<int64_t> items, const std::vector<typename D::Value>& score,
                  int64_t count) {
    std::vector<int64_t> chosen;
    while (static_cast<int64_t>(chosen.size()) < count && !items.empty()) {
      size_t top = 0;
      for (size_t i = 1; i < items.size(); ++i) {
        if (D::Lower(score[items[i]]) > D::Lower(score[items[top]])) top = i;
      }
      for (size_t i = 0; i < items.size(); ++i) {
        if (i == top) continue;
        const typename D::Value &other = score[items[i]], &first = score[items[top]];
        const bool less = D::Less(other, first) == Truth::kTrue;
        const bool exact = D::kExact || std::floor(D::Lower(first)) == D::Lower(first);
        const bool tied = exact && i > top && D::Eq(other, first) == Truth::kTrue;
        decided &= less || tied;
      }
      chosen.push_back(items[top]);
      items.erase(items.begin() + static_cast<int64_t>(top));
    }
    return chosen;
  };
  const int64_t n = static_cast<int64_t>(row.size());
  std::vector<int64_t> items(n);
  std::iota(items.begin(), items.end(), 0);
  if (groups > 1 && topk_groups < groups && n % groups == 0) {
    const int64_t size = n / groups;
    std::vector<typename D::Value> scores;
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<int64_t> members(size);
      std::iota(members.begin(), members.end(), g * size);
      const std::vector<int64_t> top = best(members, row, group_top_two ? 2 : 1);
      scores.push_back(top.size() == 2 ? D::Add(row[top[0]], row[top[1]]) : row[top[0]]);
    }
    std::vector<int64_t> all_groups(groups);
    std::iota(all_groups.begin(), all_groups.end(), 0);
    std::vector<int64_t> kept = best(all_groups, scores, topk_groups);
    std::sort(kept.begin(), kept.end());
    items.clear();
    for (int64_t g : kept) {
      for (int64_t i = 0; i < size; ++i) items.push_back(g * size + i);
    }
  }
  std::vector<int64_t> chosen = best(items, row, k);
  if (!decided) return std::nullopt;
  return chosen;
}

// An element of the row, not known which.
template <typename D>
typename D::Value EncloseChoice(const std::vector<typename D::Value>& row, int64_t* int_result) {
  typename D::Value hull = row[0];
  for (const typename D::Value& value : row) hull = D::Hull(hull, value);
  if (!D::IsInvalid(hull)) *int_result = kUnknownInt;
  return hull;
}

// A real number without its fraction. Nearly whole numbers count as whole ones where rounding
// errors are not enclosed. What the enclosure does not decide is not known, and defined only if
// `enclose`.
template <typename D>
typename D::Value Truncated(const typename D::Value& value, bool enclose, int64_t* int_result) {
  constexpr double kNearlyWhole = 1e-9, kLargest = 0x1p62;
  if (D::IsInvalid(value)) return value;
  double low = D::Lower(value), high = D::Upper(value);
  if (!(std::fabs(low) < kLargest && std::fabs(high) < kLargest)) return D::Invalid();
  if (!D::kExact && std::fabs(low - std::round(low)) < kNearlyWhole) low = high = std::round(low);
  if (std::trunc(low) == std::trunc(high)) {
    *int_result = static_cast<int64_t>(low);
    return D::FromInt(*int_result);
  }
  if (!enclose) return D::Invalid();
  *int_result = kUnknownInt;
  return D::Hull(D::FromInt(static_cast<int64_t>(low)), D::FromInt(static_cast<int64_t>(high)));
}

// A function that goes up in steps, at a real number: at an enclosure it lies between its values at
// the bounds. Nearly whole numbers count as whole ones where rounding errors are not enclosed;
// where they are, the number that Python rounded may lie on either side of a step, so that a
// difference which rests on that is none.
template <typename D>
typename D::Value Stepped(const typename D::Value& value, double (*step)(double)) {
  constexpr double kNearlyWhole = 1e-9;
  // Relative; an expression of a trace has at most 64 operations, of 2^-53 each.
  constexpr double kRoundingOfPython = 0x1p-46;
  if (D::IsInvalid(value)) return value;
  double low = D::Lower(value), high = D::Upper(value);
  if (!std::isfinite(low) || !std::isfinite(high)) return D::Invalid();
  if (!D::kExact && std::fabs(low - std::round(low)) < kNearlyWhole) low = high = std::round(low);
  if (D::kExact && !(low == high && low == std::round(low))) {
    low -= std::fabs(low) * kRoundingOfPython;
    high += std::fabs(high) * kRoundingOfPython;
  }
  return D::Hull(D::FromDouble(step(low)), D::FromDouble(step(high)));
}

// Encloses the result of a function of Python's over the reals; nullopt for those that have no
// meaning here. Readers name them "python_floor".
template <typename D>
std::optional<typename D::Value> PythonCall(const std::string& base,
                                            const std::vector<typename D::Value>& reals) {
  const auto floor = [](double x) { return std::floor(x); };
  if (reals.size() == 1) {
    if (base == "python_int") return Stepped<D>(reals[0], [](double x) { return std::trunc(x); });
    if (base == "python_floor") return Stepped<D>(reals[0], floor);
    if (base == "python_ceil") return Stepped<D>(reals[0], [](double x) { return std::ceil(x); });
    if (base == "python_round")  // half to even
      return Stepped<D>(reals[0], [](double x) { return std::nearbyint(x); });
    if (base == "python_abs") return D::Abs(reals[0]);
    if (base == "python_exp" || base == "python_numpy.exp") return D::Exp(reals[0]);
    if (base == "python_log" || base == "python_numpy.log") return D::Log(reals[0]);
    if (base == "python_numpy.sqrt") return D::Pow(reals[0], solver::Rational(1, 2));
  } else if (reals.size() == 2 && (base == "python_floordiv" || base == "python_mod")) {
    const typename D::Value whole = Stepped<D>(D::Div(reals[0], reals[1]), floor);
    if (base == "python_floordiv") return whole;
    return D::Add(reals[0], D::Neg(D::Mul(reals[1], whole)));
  }
  return std::nullopt;
}

// The bits of a number read as another type, where the enclosure is a number that the type has;
// else not defined. Where rounding errors are not enclosed, the nearest number of the type.
template <typename D>
typename D::Value ReadAnew(const sdfg::Reinterpretation& bits, const typename D::Value& value,
                           int64_t* int_result) {
  if (D::IsInvalid(value) || D::Lower(value) != D::Upper(value)) return D::Invalid();
  std::optional<double> number = D::Lower(value);
  if (!D::kExact) number = sdfg::RoundedTo(bits.of, *number);
  if (number) number = sdfg::Reinterpreted(bits, *number);
  if (!number) return D::Invalid();
  if (sdfg::IsInteger(bits.as)) *int_result = static_cast<int64_t>(*number);
  return D::FromDouble(*number);
}

// The choice of the largest of a row: nullopt if it is not decided.
using Choice = std::optional<std::vector<int64_t>>;

// The function's value for one row (empty if it has none) and scalar arguments; for an integer
// function the value is returned through `int_result`. A choice that the enclosures do not decide
// is enclosed if `enclose`, else not defined. `choice`: that of this row, made when it is first
// asked for; all positions among the largest rest on it.
template <typename D>
typename D::Value EvaluateOpaque(const OpaqueName& parsed, const std::string& name,
                                 const std::vector<typename D::Value>& row,
                                 const std::vector<typename D::Value>& reals,
                                 const std::vector<int64_t>& ints, int64_t row_extent, bool enclose,
                                 std::optional<Choice>* choice, int64_t* int_result) {
  *int_result = kInvalidInt;
  for (int64_t value : ints) {
    if (!IsKnownInt(value)) return D::Invalid();
  }
  if (parsed.base.rfind("topk", 0) == 0 && !row.empty()) {
    const int64_t k = parsed.Get("k", 1);
    if (!choice->has_value()) {
      *choice = TopK<D>(row, k, parsed.Get("groups", 1), parsed.Get("topk_groups", 1),
                        parsed.Is("group_score", "top2_sum"));
    }
    const Choice& chosen = **choice;
    const int64_t position = ints.empty() ? 0 : ints[0];
    if (position < 0 || position >= k) return D::Invalid();
    // Whatever is chosen, also where there is a tie, lies in the row.
    if (!chosen && enclose) return EncloseChoice<D>(row, int_result);
    if (!chosen || position >= static_cast<int64_t>(chosen->size())) return D::Invalid();
    *int_result = (*chosen)[position];
    return row[*int_result];
  }
  if (parsed.base.rfind("truncate_to_", 0) == 0 && reals.size() == 1) {
    return Truncated<D>(reals[0], enclose, int_result);
  }
  if (parsed.base == "bits" && reals.size() == 1) {
    if (const std::optional<sdfg::Reinterpretation> bits = sdfg::ReinterpretationOf(name)) {
      return ReadAnew<D>(*bits, reals[0], int_result);
    }
  }
  if (name == sdfg::kTwoOverSqrtPi) return D::TwoOverSqrtPi();
  if (row.empty() && ints.empty()) {
    if (const auto value = PythonCall<D>(parsed.base, reals); value) return *value;
  }
  if constexpr (D::kExact) {
    return D::Invalid();
  } else {
    const double hash = HashOpaque(name, std::vector<double>(row.begin(), row.end()),
                                   std::vector<double>(reals.begin(), reals.end()), ints);
    *int_result =
        static_cast<int64_t>(hash * static_cast<double>(std::max<int64_t>(row_extent, 1)));
    return hash;
  }
}

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_OPAQUE_FUNCTIONS_H_
