// Substitutes symbols in terms, rebuilding normal forms on the way.
//
// A substitution maps symbols of the outermost nesting level to affine expressions. Atoms that bind
// variables are opened (their bound variables become fresh free ones), rewritten, and bound again,
// so the result is canonical whatever route led to it.
#ifndef PLANPROOF_SOLVER_REWRITER_H_
#define PLANPROOF_SOLVER_REWRITER_H_

#include <vector>

#include "solver/scratch_symbols.h"
#include "solver/term.h"

namespace planproof::solver {

struct SymbolMap {
  Arena::Substitution pairs;
  // Added to the level of every bound symbol that is not in `pairs` (+1 on closing a binder, -1 on
  // opening one).
  int shift_bound = 0;
};

class Rewriter {
 public:
  Rewriter(Arena* arena, SymbolMap map) : arena_(*arena), map_(std::move(map)) {}

  PolyId Poly(PolyId p);
  PolyId Mono(MonoId m);
  PolyId OfFactors(const Factors& factors);
  PolyId OfAtom(AtomId atom);
  Affine OfAffine(const Affine& e);

  // A binder atom's variables as free symbols, and the map that opens its parts.
  static std::vector<BoundVariable> Open(ScratchSymbols* scratch, const Atom& atom, SymbolMap* map);
  // The function that the atom is, of other operands; of an exponential its argument, without the
  // coefficient. What binds variables has no operands.
  static PolyId Function(Arena* arena, const Atom& a, std::vector<Affine> indices,
                         std::vector<PolyId> polys, PolyId argument);

 private:
  bool Affected(const Symbols& symbols) const;
  PolyId Rebuild(AtomId atom);

  Arena& arena_;
  SymbolMap map_;
  absl::flat_hash_map<AtomId, PolyId> memo_;
  int depth_ = 0;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_REWRITER_H_
