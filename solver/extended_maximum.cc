#include "solver/extended_maximum.h"

#include <utility>
#include <vector>

#include "solver/rewriter.h"
#include "solver/scratch_symbols.h"

namespace planproof::solver {
namespace {

// The maximum where the index of dimension `d` is `at`; nothing if an entry there is masked by
// itself. It meets no premise that what it is compared with has not met.
std::optional<PolyId> SliceOf(Arena* arena, const Atom& maximum, size_t d, int64_t at) {
  ScratchSymbols scratch(arena);
  SymbolMap map;
  std::vector<BoundVariable> box = Rewriter::Open(&scratch, maximum, &map);
  for (auto& [symbol, index] : map.pairs) {
    if (index == Affine::Of(box[d].symbol)) index = Affine(at);
  }
  box.erase(box.begin() + static_cast<std::ptrdiff_t>(d));
  Rewriter rewriter(arena, std::move(map));
  const PolyId body = rewriter.Poly(maximum.polys[0]), guard = rewriter.Poly(maximum.polys[1]);
  if (box.empty()) return guard == kZeroPoly ? std::optional(scratch.Close(body)) : std::nullopt;
  return scratch.Close(arena->ReduceMaxOver(box, body, guard));
}

// Whether `other` may be a slice of the maximum: a value, or a maximum over the other dimensions.
bool MayBeSlice(const Arena& arena, const Atom& maximum, PolyId other) {
  const Terms& terms = arena.poly(other).terms;
  if (maximum.domain.size() == 1) return terms.size() == arena.poly(maximum.polys[0]).terms.size();
  if (terms.size() != 1) return false;
  const Factors& factors = arena.mono(terms[0].mono).factors;
  return factors.size() == 1 && arena.atom(factors[0].atom).kind == AtomKind::kReduceMax &&
         arena.atom(factors[0].atom).domain.size() + 1 == maximum.domain.size();
}

}  // namespace

std::optional<Atom> ExtendedMaximum(Arena* arena, AtomId maximum, PolyId other) {
  const Atom atom = arena->atom(maximum);
  if (!MayBeSlice(*arena, atom, other)) return std::nullopt;
  const size_t met = arena->premises().size();
  std::optional<Atom> extended;
  for (size_t d = 0; d < atom.domain.size() && !extended; ++d) {
    const Interval row = atom.domain[d];
    for (const Interval& longer : {Interval{row.lo - 1, row.hi}, Interval{row.lo, row.hi + 1}}) {
      const int64_t edge = longer.lo < row.lo ? longer.lo : row.hi;
      if (edge < 0 || SliceOf(arena, atom, d, edge) != other) continue;
      extended = atom;
      extended->domain[d] = longer;
      break;
    }
  }
  if (arena->premises().size() > met) arena->RewindPremises(met);
  return extended;
}

}  // namespace planproof::solver
