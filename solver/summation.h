// Builds sums and maxima over boxes of index variables, in canonical form.
#ifndef PLANPROOF_SOLVER_SUMMATION_H_
#define PLANPROOF_SOLVER_SUMMATION_H_

#include <vector>

#include "solver/rewriter.h"
#include "solver/structure.h"
#include "solver/term.h"

namespace planproof::solver {

// Builds sum_{vars in box} p as a polynomial over sum atoms. The rules, each an identity for boxes
// of any length (docs/soundness.md, section "Sum atoms"):
//   distribute        sum(f + g) = sum f + sum g;  sum(c f) = c sum f for c free of the variables
//   flatten           f_i * sum_j g_ij = sum_j f_i g_ij
//   delta             sum_v [v == e] f(v) = [lo <= e < hi] f(e), e an index expression
//   data-delta        [id == v] f(id) = [id == v] f(v)
//   clip              a condition on one variable alone shrinks its interval
//   empty, count      sum over nothing is 0; sum of 1 is the length
//   fuse              digits i, j that occur only as s i + j, or only as -s i + j, with j of
//                     length s are one variable
//   separate          sum_{i,j} f_i g_j = (sum_i f_i)(sum_j g_j)
//   shift, reflect    v -> v + c, v -> -v to make the first occurrence canonical
//   label             bound variables are numbered by structure, not by name
class Summation {
 public:
  explicit Summation(Arena* arena) : arena_(*arena) {}

  PolyId SumProduct(const std::vector<BoundVariable>& vars, PolyId p);
  // max over the box of body where guard is 0.
  PolyId Maximum(std::vector<BoundVariable> vars, PolyId body, PolyId guard);

 private:
  using Vars = std::vector<BoundVariable>;
  PolyId SumFactors(Vars vars, const Factors& all);
  PolyId SubstituteAndSum(const Vars& vars, const Factors& factors, Symbol from, const Affine& to);
  bool OpenInnerSums(const Vars& vars, const Factors& factors, PolyId* result);
  bool CountsOne(const BoundVariable& v, const Factors& factors, size_t k,
                 const Affine& solution) const;
  bool EliminateDelta(const Vars& vars, const Factors& factors, PolyId* result);
  bool UseDataDelta(const Vars& vars, const Factors& factors, PolyId* result);
  bool Clip(const Vars& vars, const Factors& factors, PolyId* result);
  bool FuseDigits(const Vars& vars, const Factors& factors, PolyId* result);
  PolyId Component(Vars vars, const Factors& factors);
  bool CountConditions(const BoundVariable& v, const Factors& factors, PolyId* result);

  // Parts of a binder's body for the structural analysis: atoms with exponents, or polynomials.
  struct Parts {
    const Factors* factors = nullptr;
    std::vector<PolyId> polys;
  };
  bool FindDigits(const Vars& vars, const Parts& parts, size_t* high, size_t* low, int64_t* stride);
  // Decides order, shift and sign of the variables. On return vars are in label order with shifted
  // domains, and map takes each symbol to its bound symbol plus shift.
  void Canonicalise(Vars* vars, const Parts& parts, SymbolMap* map);
  std::vector<Structure::Occurrence> Occurrences(const Parts& parts, const Colouring& colours);
  uint64_t HashParts(const Parts& parts, const Colouring& colours);

  Arena& arena_;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_SUMMATION_H_
