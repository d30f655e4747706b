// Reads a function with explicit coordinates at one rank, where branches and masks that depend on
// the rank are told.
#ifndef PLANPROOF_LINEAGE_ROUNDS_AT_RANK_H_
#define PLANPROOF_LINEAGE_ROUNDS_AT_RANK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "sdfg/index_function.h"

namespace planproof::lineage::rounds {

// Indices, coefficients and bounds of conditions are smaller: what is computed of them fits.
inline constexpr int64_t kMaxBound = int64_t{1} << 40;
inline constexpr int64_t kMaxCoefficient = int64_t{1} << 20;

// The sum of coefficients times indices is at most `bound`. An index is named by the dimension of
// the output that it is, kOfMaximum if it is that of the maximum.
inline constexpr int kOfMaximum = -1;
struct Condition {
  enum class Kind : uint8_t { kNever, kAlways, kLinear } kind = Kind::kAlways;
  std::map<int, int64_t> form;
  int64_t bound = 0;
};

// Both hold; nothing if that is no condition of this form.
std::optional<Condition> Both(const Condition& a, const Condition& b);

class AtRank {
 public:
  // `f` has one output, whose first `axes` dimensions are coordinates; `ring` of them is the rank.
  // It has to outlive this.
  AtRank(const sdfg::IndexFunction& f, size_t axes, size_t ring, int64_t rank);

  const sdfg::IndexFunction& function() const { return f_; }
  const sdfg::Node& At(sdfg::ExprId id) const { return f_.nodes[id]; }
  // From now on the variable is that of the maximum.
  void SetOfMaximum(sdfg::VarId var) { name_[var] = kOfMaximum; }

  // Follows the branches that the rank alone chooses, and gives what stands at their end.
  sdfg::ExprId Chosen(sdfg::ExprId id) const;
  // Nothing if the condition is none of this form, of other coordinates, or too long.
  std::optional<Condition> ConditionAt(sdfg::ExprId id) const;

 private:
  struct Linear {
    std::map<int, int64_t> form;
    int64_t constant = 0;
  };
  std::optional<bool> IsThisRank(const sdfg::Node& condition) const;
  std::optional<Linear> LinearAt(sdfg::ExprId id) const;
  // a <= b + more
  std::optional<Condition> Compared(sdfg::ExprId a, sdfg::ExprId b, int64_t more) const;
  static void Add(const Linear& more, int64_t factor, Linear* sum);
  static std::optional<Linear> Checked(Linear linear);

  const sdfg::IndexFunction& f_;
  const size_t axes_, ring_;
  const int64_t rank_;
  std::map<sdfg::VarId, int> name_;
  mutable int steps_ = 0;
};

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_AT_RANK_H_
