// Lends free symbols that stand for bound variables while a term is taken apart and put together
// again.
//
// A computation takes symbols and closes with its result. Those that its result does not mention
// are taken again by later computations, so that what is taken apart often becomes the same atoms
// each time. A symbol that a premise mentions is not taken again, nor are those of a computation
// that does not close: then they are as good as fresh ones.
#ifndef PLANPROOF_SOLVER_SCRATCH_SYMBOLS_H_
#define PLANPROOF_SOLVER_SCRATCH_SYMBOLS_H_

#include "absl/container/inlined_vector.h"
#include "solver/term.h"

namespace planproof::solver {

class ScratchSymbols {
 public:
  explicit ScratchSymbols(Arena* arena) : arena_(*arena) {}
  ScratchSymbols(const ScratchSymbols&) = delete;
  ScratchSymbols& operator=(const ScratchSymbols&) = delete;

  // With the values of the interval, and in no term that is in use.
  Symbol Take(Interval values);
  // Returns the result. No other term that the computation made is in use from now on.
  PolyId Close(PolyId result);

 private:
  Arena& arena_;
  absl::InlinedVector<Symbol, 4> taken_;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_SCRATCH_SYMBOLS_H_
