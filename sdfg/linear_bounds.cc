#include "sdfg/linear_bounds.h"

#include <cstdlib>
#include <vector>

namespace planproof::sdfg {

using solver::Affine;
using solver::Arena;
using solver::PolyId;

namespace {

// How many conditions are added at most: one for each digit of a row, of which a volume has three.
constexpr int kMostSummands = 3;
// How many sums are tried for one bound: all of three conditions and seven indices, so that
// selections in selections take no time of note.
constexpr int kMostSums = 400;

// Forms that are not negative where the condition, a product of indicators, is 1.
void AddForms(const Arena& arena, PolyId condition, std::vector<Affine>* forms) {
  const solver::Polynomial& poly = arena.poly(condition);
  if (poly.terms.size() != 1 || !poly.terms[0].coefficient.IsOne()) return;
  for (const solver::Factor& factor : arena.mono(poly.terms[0].mono).factors) {
    const solver::Atom& atom = arena.atom(factor.atom);
    if (!factor.exponent.IsInteger() || factor.exponent.num <= 0) continue;
    if (atom.kind == solver::AtomKind::kIndicator || atom.kind == solver::AtomKind::kDelta) {
      forms->push_back(atom.indices[0]);
    }
    if (atom.kind == solver::AtomKind::kDelta) forms->push_back(-atom.indices[0]);
  }
}

class Search {
 public:
  Search(const Arena& arena, const std::vector<Affine>& forms) : arena_(arena), forms_(forms) {}

  bool Show(const Affine& e, int summands) {
    if (e.overflow) return false;
    if (arena_.RangeOf(e).low >= 0) return true;
    if (summands == 0) return false;
    for (const auto& [symbol, coefficient] : e.terms) {
      for (const Affine& form : forms_) {
        const int64_t other = form.Coefficient(symbol);
        if (other == 0 || (other > 0) != (coefficient > 0)) continue;
        if (++sums_ > kMostSums) return false;
        // b e = rest + a form, with a, b > 0: if the rest is not negative, e is not.
        const Affine rest = e.Scaled(std::abs(other)) - form.Scaled(std::abs(coefficient));
        if (Show(rest, summands - 1)) return true;
      }
    }
    return false;
  }

 private:
  const Arena& arena_;
  const std::vector<Affine>& forms_;
  int sums_ = 0;
};

}  // namespace

bool IsNonNegativeWhere(const Arena& arena, absl::Span<const PolyId> conditions, const Affine& e) {
  std::vector<Affine> forms;
  for (const PolyId condition : conditions) AddForms(arena, condition, &forms);
  return Search(arena, forms).Show(e, kMostSummands);
}

}  // namespace planproof::sdfg
