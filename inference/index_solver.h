// Solves for the index at which a logical tensor's definition has a given value.
//
// Elements that stand in both terms are matched: where the definition reads x[8 h + l, k] and the
// value has x[p + 64 r, k], 8 h + l is p + 64 r. Every solution is a guess.
#ifndef PLANPROOF_INFERENCE_INDEX_SOLVER_H_
#define PLANPROOF_INFERENCE_INDEX_SOLVER_H_

#include <map>
#include <optional>
#include <vector>

#include "sdfg/index_symbols.h"
#include "solver/term.h"

namespace planproof::inference {

// A condition or an element of a term, with the integer forms that stand in it.
struct Occurrence {
  solver::AtomKind kind = solver::AtomKind::kElement;
  uint32_t tag = 0;
  std::vector<solver::Affine> forms;
  friend bool operator==(const Occurrence&, const Occurrence&) = default;
};
std::vector<Occurrence> OccurrencesIn(const solver::Arena& arena, solver::PolyId term);
// With the variables of sums counted from where each sum begins: one sum may be written with other
// bounds than another that is a part of it.
std::vector<Occurrence> OccurrencesFromStart(const solver::Arena& arena, solver::PolyId term);
// Tags of the elements in the term, ascending.
std::vector<uint32_t> TagsIn(const solver::Arena& arena, solver::PolyId term);

class IndexSolver {
 public:
  // The unknowns are symbols that run through their intervals.
  IndexSolver(const solver::Arena& arena, std::vector<solver::BoundVariable> unknowns)
      : arena_(arena), unknowns_(std::move(unknowns)) {}

  // By unknown: a form over the value's symbols; unknowns that nothing determines have none.
  using Solution = std::map<solver::Symbol, solver::Affine>;
  // A few dozen solutions at most.
  std::vector<Solution> Solve(const std::vector<Occurrence>& definition,
                              const std::vector<Occurrence>& value);
  // Whether one of the last solutions has a form for every unknown, and variables of sums, which
  // may start elsewhere in the definition, were not needed for it.
  bool complete() const { return complete_; }
  // A digit of the value's symbols that stood in the way of a solution: with it there may be more.
  const std::optional<sdfg::SplitRequest>& split() const { return split_; }

 private:
  void Match(size_t next);
  bool Unify(const Occurrence& definition, const Occurrence& value, Solution* solution);
  bool UnifyForm(const solver::Affine& definition, const solver::Affine& value, Solution* solution);
  const solver::BoundVariable* UnknownOf(solver::Symbol symbol) const;

  const solver::Arena& arena_;
  const std::vector<solver::BoundVariable> unknowns_;
  std::vector<const Occurrence*> definition_;
  const std::vector<Occurrence>* value_ = nullptr;
  Solution solution_;
  std::vector<Solution> solutions_;
  std::optional<sdfg::SplitRequest> split_;
  bool complete_ = false;
  // What forms over variables of sums say.
  enum class Sums : uint8_t {
    kNothing,
    kSameVariables,  // the variables have the same coefficients on both sides
    // The definition's variables take what is a multiple of their coefficients: a sum over b of
    // x[4 b + h] is a sum over k of x[8 k + h], and one of x[8 k + 4 + h].
    kRestOfVariables,
  };
  Sums sums_ = Sums::kNothing;
  int tries_ = 0;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_INDEX_SOLVER_H_
