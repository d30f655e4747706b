// Walks the structure of atoms without building new terms: symbols mentioned, hashes under a
// colouring of symbols, occurrences of symbols in index expressions. What walks visit counts as
// work: a term is shared by what mentions it and walked for each of them, and binders within
// binders multiply. A walk that meets the work limit ends early, with the arena exhausted.
#ifndef PLANPROOF_SOLVER_STRUCTURE_H_
#define PLANPROOF_SOLVER_STRUCTURE_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "solver/term.h"

namespace planproof::solver {

// Maps symbols to colours; symbols that are not listed keep their identity.
using Colouring = absl::InlinedVector<std::pair<Symbol, uint64_t>, 6>;

class Structure {
 public:
  // Fills atom->symbols from its parts.
  static void CollectSymbols(const Arena& arena, Atom* atom);

  // A hash of an atom (or polynomial) that depends on coloured symbols only through their colours,
  // not on the names of variables bound inside, and, in index expressions that mention a coloured
  // symbol, not on the constant summand (so that a shift does not matter).
  static uint64_t HashAtom(Arena* arena, AtomId atom, const Colouring& colours);
  static uint64_t HashPoly(Arena* arena, PolyId poly, const Colouring& colours);

  // Calls visit(path hash, expression) for every index expression that mentions one of the coloured
  // symbols. Symbols inside atoms nested under other binders are visited too.
  struct Occurrence {
    uint64_t path;
    Affine expression;  // bound symbols that are not coloured are relative to their nesting
    bool is_position;   // the expression is used as a real number
  };
  static void CollectOccurrences(Arena* arena, AtomId atom, const Colouring& colours,
                                 std::vector<Occurrence>* out);
  static void CollectOccurrencesInPoly(Arena* arena, PolyId poly, const Colouring& colours,
                                       std::vector<Occurrence>* out);
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_STRUCTURE_H_
