#include "solver/element_cuts.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/container/flat_hash_set.h"

namespace planproof::solver {
namespace {

constexpr int64_t kMaxStep = 64;

void SortUnique(std::vector<int64_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// Calls visit(element, depth) for the elements in monomials and in all that stands in these, once
// for each number of binders around it. What is visited counts as work.
class ElementWalk {
 public:
  using Visit = std::function<void(const Atom& element, uint32_t depth)>;
  ElementWalk(Arena* arena, Visit visit) : arena_(*arena), visit_(std::move(visit)) {}
  ~ElementWalk() { arena_.ChargeVisits(static_cast<int64_t>(seen_.size())); }
  ElementWalk(const ElementWalk&) = delete;
  ElementWalk& operator=(const ElementWalk&) = delete;

  void From(MonoId mono) {
    Add(mono, 0);
    while (!atoms_.empty()) {
      const auto [id, depth] = atoms_.back();
      atoms_.pop_back();
      if (!seen_.insert({id, depth}).second) continue;
      const Atom& a = arena_.atom(id);
      if (a.kind == AtomKind::kElement) visit_(a, depth);
      const uint32_t inside = depth + (a.domain.empty() ? 0 : 1);
      for (const PolyId p : a.polys) {
        for (const Term& t : arena_.poly(p).terms) Add(t.mono, inside);
      }
      Add(a.mono, inside);
      for (const Affine& e : a.indices) {
        for (const auto& [s, c] : e.terms) {
          if (KindOf(s) == SymbolKind::kIntAtom)
            atoms_.emplace_back(arena_.AtomOfIntAtom(s), depth);
        }
      }
    }
  }

 private:
  void Add(MonoId mono, uint32_t depth) {
    for (const Factor& f : arena_.mono(mono).factors) atoms_.emplace_back(f.atom, depth);
  }

  Arena& arena_;
  Visit visit_;
  std::vector<std::pair<AtomId, uint32_t>> atoms_;
  absl::flat_hash_set<std::pair<AtomId, uint32_t>> seen_;
};

}  // namespace

ElementCuts::ElementCuts(Arena* arena, PolyId p) : arena_(*arena) {
  std::map<std::pair<Dimension, int64_t>, std::set<int64_t>> remainders;  // of steps
  ElementWalk walk(arena, [&](const Atom& a, uint32_t /*depth*/) {
    for (size_t k = 0; k < a.indices.size(); ++k) {
      const Affine& e = a.indices[k];
      if (e.terms.empty()) indices_[{a.tag, k}].push_back(e.constant);
      if (e.terms.size() != 1 || KindOf(e.terms[0].first) != SymbolKind::kBound) continue;
      const int64_t step = std::abs(e.terms[0].second);
      if (step > 1 && step <= kMaxStep)
        remainders[{{a.tag, k}, step}].insert(FloorMod(e.constant, step));
    }
  });
  for (const Term& t : arena->poly(p).terms) walk.From(t.mono);
  for (auto& [dimension, indices] : indices_) SortUnique(&indices);
  for (const auto& [key, found] : remainders) {
    if (found.size() > 1) steps_[key.first] = key.second;  // the longest
  }
}

// Calls visit(dimension, index form, d) where the body's elements are read by dimension d of the
// sum's box alone.
void ElementCuts::VisitReads(
    const Atom& sum,
    const std::function<void(Dimension, const Affine& form, size_t d)>& visit) const {
  ElementWalk walk(&arena_, [&](const Atom& a, uint32_t depth) {
    for (size_t k = 0; k < a.indices.size(); ++k) {
      const Affine& e = a.indices[k];
      if (e.terms.size() != 1 || e.overflow) continue;
      const Symbol s = e.terms[0].first;
      if (KindOf(s) != SymbolKind::kBound || BoundLevel(s) != depth) continue;
      visit({a.tag, k}, e, BoundPosition(s));
    }
  });
  walk.From(sum.mono);
}

std::vector<std::vector<int64_t>> ElementCuts::Of(const Atom& sum) const {
  std::vector<std::vector<int64_t>> cuts(sum.domain.size());
  VisitReads(sum, [&](Dimension dimension, const Affine& form, size_t d) {
    const auto found = indices_.find(dimension);
    if (found == indices_.end()) return;
    const int64_t step = form.terms[0].second;
    for (const int64_t index : found->second) {
      if ((index - form.constant) % step != 0) continue;
      cuts[d].push_back((index - form.constant) / step);
      cuts[d].push_back(cuts[d].back() + 1);
    }
  });
  for (std::vector<int64_t>& own : cuts) SortUnique(&own);
  return cuts;
}

std::vector<int64_t> ElementCuts::StepsOf(const Atom& sum) const {
  std::vector<int64_t> steps(sum.domain.size(), 1);
  VisitReads(sum, [&](Dimension dimension, const Affine& form, size_t d) {
    const auto found = steps_.find(dimension);
    if (found == steps_.end()) return;
    const int64_t own = std::abs(form.terms[0].second);
    if (found->second % own == 0) steps[d] = std::max(steps[d], found->second / own);
  });
  return steps;
}

}  // namespace planproof::solver
