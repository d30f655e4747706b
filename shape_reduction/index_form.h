// Writes integer expressions in digits of index variables, and pulls them back.
//
// Every integer expression of an index function is brought into the form
//   constant + sum of scale * (floor(var / div) mod extent) + sum of scale * atom
// where an atom is an expression that has no such form: an element of an integer tensor (a token
// id), or a div or mod that does not split along digits. On that form the question "which partition
// of the variables makes the block of the accessed dimension (or the truth of a comparison)
// constant?" is answered by mixed-radix arithmetic; where it is not understood, the variables
// involved are cut at every value, which is always right.
#ifndef PLANPROOF_SHAPE_REDUCTION_INDEX_FORM_H_
#define PLANPROOF_SHAPE_REDUCTION_INDEX_FORM_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sdfg/index_function.h"
#include "shape_reduction/partition.h"

namespace planproof::shape_reduction {

// floor(a / b), b of either sign.
inline int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// scale * (floor(var / div) mod extent); the value before scaling lies in [0, extent).
struct DigitTerm {
  sdfg::VarId var = -1;
  int64_t div = 1;
  int64_t extent = 1;
  int64_t scale = 1;
};

struct IndexForm {
  int64_t constant = 0;
  std::vector<DigitTerm> terms;
  std::vector<std::pair<int64_t, sdfg::ExprId>> atoms;  // scale, expression
  bool overflow = false;  // some number did not fit: nothing follows from the form

  bool IsConstant() const { return terms.empty() && atoms.empty(); }
  bool Uses(sdfg::VarId var) const;
};

// a + b_scale b.
IndexForm AddForms(const IndexForm& a, const IndexForm& b, int64_t b_scale,
                   const std::vector<sdfg::IndexVariable>& vars);
// Splits e = c * quotient + remainder, 0 <= remainder < c, digit by digit. False if the digits of e
// do not split at c.
bool DivideForm(const IndexForm& e, int64_t c, const std::vector<sdfg::IndexVariable>& vars,
                IndexForm* quotient, IndexForm* remainder);
// Bounds of the form's value without its atoms, at most 2^62 in size; false if it has atoms or goes
// beyond.
bool FormRange(const IndexForm& e, int64_t* low, int64_t* high);
// The form of an index variable.
IndexForm VariableForm(sdfg::VarId var, const std::vector<sdfg::IndexVariable>& vars);

// The form of an integer node, given the forms of the nodes before it (an empty form for a node of
// another sort).
IndexForm FormOf(const sdfg::Node& node, sdfg::ExprId id, const std::vector<IndexForm>& forms,
                 const std::vector<sdfg::IndexVariable>& vars);

// The variables' partitions under construction.
class VariablePartitions {
 public:
  explicit VariablePartitions(const std::vector<sdfg::IndexVariable>& vars);
  const DimPartition& operator[](sdfg::VarId var) const { return partitions_[var]; }

  // Makes the block of `dim` in which e lies constant (and whether e lies in it at all).
  // `exact_atom` is called for every atom whose exact value matters.
  void PullBlock(const IndexForm& e, const DimPartition& dim,
                 const std::function<void(sdfg::ExprId)>& exact_atom);
  // Makes the truth of e >= c constant for every c of `cuts`; e has no atoms.
  void PullCuts(const IndexForm& e, const std::vector<int64_t>& cuts);
  // Makes the value of e constant, atoms aside.
  void PullExact(const IndexForm& e);
  void RefineVariable(sdfg::VarId var, const DimPartition& partition);

 private:
  void PullDigits(const IndexForm& e, const DimPartition& dim, size_t first_digit);
  const std::vector<sdfg::IndexVariable>& vars_;
  std::vector<DimPartition> partitions_;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_INDEX_FORM_H_
