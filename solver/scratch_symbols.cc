#include "solver/scratch_symbols.h"

namespace planproof::solver {

Symbol ScratchSymbols::Take(Interval values) {
  std::vector<Symbol>& idle = arena_.idle_symbols_[{values.lo, values.hi}];
  if (idle.empty()) {
    taken_.push_back(arena_.NewFree(values.lo, values.hi - 1));
  } else {
    taken_.push_back(idle.back());
    idle.pop_back();
  }
  return taken_.back();
}

PolyId ScratchSymbols::Close(PolyId result) {
  // Past a limit results are meaningless, and a range beyond the limits has to be met again.
  if (arena_.exhausted()) taken_.clear();
  for (; !taken_.empty(); taken_.pop_back()) {
    const Symbol symbol = taken_.back();
    const Arena::FreeInfo& info = arena_.free_[IndexOf(symbol)];
    if (info.in_premise || arena_.Mentions(result, symbol)) continue;
    arena_.idle_symbols_[{info.range.low, info.range.high + 1}].push_back(symbol);
  }
  return result;
}

}  // namespace planproof::solver
