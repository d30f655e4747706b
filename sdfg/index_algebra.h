// Implements the algebra of integer index expressions: affine forms, digits, decided comparisons.
//
// Inverting an index expression produces quotients and remainders of sums; unless they are brought
// to a small form (12 i + j over 4 is 3 i + j div 4), a derivative is much larger than the
// function. All rewrites are exact for every value of the variables within their extents.
#ifndef PLANPROOF_SDFG_INDEX_ALGEBRA_H_
#define PLANPROOF_SDFG_INDEX_ALGEBRA_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "sdfg/index_function.h"
#include "sdfg/index_range.h"

namespace planproof::sdfg {

using VarSet = absl::InlinedVector<VarId, 6>;  // ascending
VarSet UnionOf(const VarSet& a, const VarSet& b);
VarSet Without(const VarSet& a, const VarSet& b);
bool Contains(const VarSet& set, VarId var);
bool Intersects(const VarSet& a, const VarSet& b);
// The variable that the node binds, or -1.
VarId VariableBoundBy(const Node& node);

// constant + sum of coefficient * atom, every atom once, no coefficient 0.
struct AffineIndex {
  int64_t constant = 0;
  std::vector<std::pair<ExprId, int64_t>> terms;
};

// floor(base / low) mod size; size 0: without the remainder.
struct Digit {
  ExprId base = kNoExpr;
  int64_t low = 1;
  int64_t size = 0;
};

class IndexAlgebra {
 public:
  // Works on the nodes of the builder, which must outlive it.
  explicit IndexAlgebra(IndexFunctionBuilder* builder) : b_(*builder) {}

  // Free variables of an expression of any sort.
  const VarSet& Free(ExprId id);
  std::optional<IndexRange> Range(ExprId id);
  // True after a coefficient or range did not fit in 64 bits; results are then meaningless.
  bool overflowed() const { return overflowed_; }

  AffineIndex ToAffine(ExprId id);
  // Sum of two forms, the second one scaled.
  AffineIndex Sum(const AffineIndex& a, const AffineIndex& b, int64_t scale);
  ExprId FromAffine(AffineIndex form);
  std::optional<IndexRange> Range(const AffineIndex& form);

  ExprId Add(ExprId a, ExprId b);
  ExprId Subtract(ExprId a, ExprId b);
  ExprId Scale(int64_t factor, ExprId a);
  ExprId Div(ExprId a, int64_t divisor);
  ExprId Mod(ExprId a, int64_t divisor);

  // Every integer expression is a digit, of itself if nothing else.
  Digit AsDigit(ExprId id);
  ExprId FromDigit(const Digit& digit);

  // The truth of a comparison of integers, where ranges decide it.
  std::optional<bool> Decide(ExprId condition);

 private:
  // Splits `form` = divisor * quotient + rest with the smallest rest.
  void Divide(const AffineIndex& form, int64_t divisor, AffineIndex* quotient, AffineIndex* rest);
  // Splits rest = unit * coarse + fine, 0 <= fine < unit, unit > 1 a divisor of `divisor`.
  bool SplitFine(const AffineIndex& rest, int64_t divisor, int64_t* unit, AffineIndex* coarse,
                 AffineIndex* fine);
  // Joins two terms that are neighbouring digits of one value; false if there are none.
  bool JoinDigits(AffineIndex* form);
  void AddTerm(AffineIndex* form, ExprId atom, int64_t coefficient);
  int64_t Multiply(int64_t a, int64_t b);
  int64_t Plus(int64_t a, int64_t b);
  void Extend();

  IndexFunctionBuilder& b_;
  std::vector<VarSet> free_;                       // by expression
  std::vector<std::optional<IndexRange>> ranges_;  // by expression
  bool overflowed_ = false;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_ALGEBRA_H_
