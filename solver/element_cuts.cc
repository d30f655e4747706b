#include "solver/element_cuts.h"

#include <algorithm>
#include <cstdlib>

namespace planproof::solver {

ElementCuts::ElementCuts(const Arena& arena, PolyId p) : arena_(arena) {
  for (const Term& t : arena.poly(p).terms) Collect(t.mono);
}

void ElementCuts::Collect(MonoId mono) {
  for (const Factor& f : arena_.mono(mono).factors) {
    const Atom& a = arena_.atom(f.atom);
    if (a.kind == AtomKind::kSum) Collect(a.mono);
    if (a.kind != AtomKind::kElement) continue;
    for (size_t k = 0; k < a.indices.size(); ++k) {
      if (a.indices[k].terms.empty()) indices_[{a.tag, k}].push_back(a.indices[k].constant);
    }
  }
}

std::vector<std::vector<int64_t>> ElementCuts::Of(const Atom& sum) const {
  std::vector<std::vector<int64_t>> cuts(sum.domain.size());
  for (const Factor& f : arena_.mono(sum.mono).factors) {
    const Atom& a = arena_.atom(f.atom);
    if (a.kind != AtomKind::kElement) continue;
    for (size_t k = 0; k < a.indices.size(); ++k) {
      const auto found = indices_.find({a.tag, k});
      const Affine& e = a.indices[k];
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
  }
  for (std::vector<int64_t>& own : cuts) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return cuts;
}

}  // namespace planproof::solver
