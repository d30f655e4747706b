#include "solver/element_cuts.h"

#include <algorithm>
#include <cstdlib>

namespace planproof::solver {

ElementCuts::ElementCuts(const Arena& arena, PolyId p) : arena_(arena) {
  for (const Term& t : arena.poly(p).terms) Collect(t.mono);
}

void ElementCuts::Collect(MonoId mono) {
  for (const Factor& f : arena_.mono(mono).factors) {
    if (arena_.atom(f.atom).kind == AtomKind::kSum) Collect(arena_.atom(f.atom).mono);
    ForEachElement(f.atom, [this](const Atom& element) {
      for (size_t k = 0; k < element.indices.size(); ++k) {
        const Affine& e = element.indices[k];
        if (e.terms.empty()) indices_[{element.tag, k}].push_back(e.constant);
      }
    });
  }
}

// The atom, if it is an element, and the integers by which it, or a condition, is indexed.
void ElementCuts::ForEachElement(AtomId id, const std::function<void(const Atom&)>& visit) const {
  const Atom& a = arena_.atom(id);
  const bool condition = a.kind == AtomKind::kIndicator || a.kind == AtomKind::kDelta;
  if (a.kind != AtomKind::kElement && !condition) return;
  if (!condition) visit(a);
  for (const Affine& e : a.indices) {
    for (const auto& [symbol, step] : e.terms) {
      if (KindOf(symbol) == SymbolKind::kIntAtom) {
        ForEachElement(arena_.AtomOfIntAtom(symbol), visit);
      }
    }
  }
}

std::vector<std::vector<int64_t>> ElementCuts::Of(const Atom& sum) const {
  std::vector<std::vector<int64_t>> cuts(sum.domain.size());
  const auto add = [&](const Atom& element) {
    for (size_t k = 0; k < element.indices.size(); ++k) {
      const auto found = indices_.find({element.tag, k});
      const Affine& e = element.indices[k];
      if (found == indices_.end() || e.terms.size() != 1) continue;
      const auto& [symbol, step] = *e.terms.begin();
      if (std::abs(step) != 1) continue;
      for (size_t d = 0; d < cuts.size(); ++d) {
        if (symbol != BoundSymbol(0, static_cast<uint32_t>(d))) continue;
        for (const int64_t index : found->second) {
          cuts[d].push_back(step * (index - e.constant));
          cuts[d].push_back(cuts[d].back() + 1);
        }
      }
    }
  };
  for (const Factor& f : arena_.mono(sum.mono).factors) ForEachElement(f.atom, add);
  for (std::vector<int64_t>& own : cuts) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return cuts;
}

}  // namespace planproof::solver
