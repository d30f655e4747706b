// Sums over parts of a range whose bodies have been simplified differently.
#include <algorithm>
#include <optional>

#include "solver/rewriter.h"
#include "solver/summation.h"
#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr size_t kMaxClippedTerms = 32;

}  // namespace

PolyId Arena::SumAgain(const Atom& sum, bool drop_single) {
  std::vector<int64_t> key = {sum.mono, drop_single, align_digits_};
  for (const Interval& d : sum.domain) key.insert(key.end(), {d.lo, d.hi});
  if (const auto known = summed_again_.find(key); known != summed_again_.end())
    return known->second;
  const uint64_t met = premises_met_;
  const PolyId result = SumAnew(sum, drop_single);
  // What meets a premise has to meet it each time.
  if (!exhausted_ && premises_met_ == met) summed_again_.emplace(std::move(key), result);
  return result;
}

PolyId Arena::SumAnew(const Atom& sum, bool drop_single) {
  SymbolMap opening;
  ScratchSymbols scratch(this);
  std::vector<BoundVariable> vars = Rewriter::Open(&scratch, sum, &opening);
  if (drop_single) {
    for (size_t d = vars.size(); d-- > 0;) {
      if (sum.domain[d].length() != 1) continue;
      opening.pairs[d].second = Affine(sum.domain[d].lo);
      vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(d));
    }
  }
  const PolyId body = Rewriter(this, std::move(opening)).Mono(sum.mono);
  return scratch.Close(Summation(this).SumProduct(vars, body));
}

// The sum of two sums of which the second is what the first becomes over a neighbouring box, or
// nothing. `guarded` is the body that both come from.
std::optional<PolyId> Arena::JoinClipped(AtomId guarded, AtomId other) {
  const Atom sum = atoms_[guarded];
  int64_t volume = 1, others = 1;
  for (const Interval& d : atoms_[other].domain) {
    if (__builtin_mul_overflow(volume, d.length(), &volume)) return std::nullopt;
  }
  for (const Interval& d : sum.domain) {
    if (__builtin_mul_overflow(others, d.length(), &others)) return std::nullopt;
  }
  const PolyId wanted = OfAtom(other);
  for (size_t d = 0; d < sum.domain.size(); ++d) {
    const Interval own = sum.domain[d];
    const int64_t across = others / own.length();  // of the box in the other dimensions
    if (volume % across != 0) continue;
    const int64_t length = volume / across;
    if (length >= kAffineLimit) continue;
    for (const Interval& beside :
         {Interval{own.lo - length, own.lo}, Interval{own.hi, own.hi + length}}) {
      if (beside.lo <= -kAffineLimit || beside.hi > kAffineLimit) continue;
      Atom neighbour = sum;
      neighbour.domain[d] = beside;
      if (SumAgain(neighbour) != wanted) continue;
      Atom joined = sum;
      joined.domain[d] = {std::min(own.lo, beside.lo), std::max(own.hi, beside.hi)};
      return SumAgain(joined);
    }
  }
  return std::nullopt;
}

bool Arena::IsGuardedSum(AtomId atom) const {
  const Atom& sum = atoms_[atom];
  if (sum.kind != AtomKind::kSum) return false;
  const Factors& body = monos_[sum.mono].factors;
  return std::any_of(body.begin(), body.end(),
                     [&](const Factor& f) { return atoms_[f.atom].kind == AtomKind::kIndicator; });
}

// Rule merge-clipped: c R sum_{[a,b)} [g] f + c R sum_{[b,d)} f = c R sum_{[a,d)} [g] f where g
// holds on all of [b, d). Sums in a denominator are joined in this way, so that the denominator of
// a masked softmax is the same however its row is cut.
PolyId Arena::MergeClipped(PolyId p) {
  if (polys_[p].terms.size() > kMaxClippedTerms) return p;
  struct Entry {
    size_t term;
    AtomId sum;
    MonoId rest;
  };
  for (bool changed = true; changed && !exhausted_;) {
    changed = false;
    const Terms terms = polys_[p].terms;
    std::vector<Entry> sums;
    for (size_t t = 0; t < terms.size(); ++t) {
      const Factors factors = monos_[terms[t].mono].factors;
      for (size_t k = 0; k < factors.size(); ++k) {
        if (atoms_[factors[k].atom].kind != AtomKind::kSum ||
            !(factors[k].exponent == Exponent{})) {
          continue;
        }
        Factors rest = factors;
        rest.erase(rest.begin() + static_cast<int64_t>(k));
        sums.push_back({t, factors[k].atom, InternMono(std::move(rest))});
      }
    }
    for (const Entry& a : sums) {
      if (changed || !IsGuardedSum(a.sum)) continue;
      for (const Entry& b : sums) {
        if (exhausted_ || a.term == b.term || a.rest != b.rest || a.sum == b.sum ||
            !(terms[a.term].coefficient == terms[b.term].coefficient)) {
          continue;
        }
        if (not_joined_.contains({a.sum, b.sum})) continue;
        const std::optional<PolyId> joined = JoinClipped(a.sum, b.sum);
        if (!joined.has_value()) {
          if (!exhausted_) not_joined_.insert({a.sum, b.sum});
          continue;
        }
        Terms left;
        for (size_t t = 0; t < terms.size(); ++t) {
          if (t != a.term && t != b.term) left.push_back(terms[t]);
        }
        p = Add(InternPoly(std::move(left)),
                Mul(OfMono(a.rest, terms[a.term].coefficient), *joined));
        changed = true;
        break;
      }
    }
  }
  return p;
}

}  // namespace planproof::solver
