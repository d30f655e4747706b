// Shares of a sum add up to one: sum_{i,l}(g_i f_il S_i^-2) = sum_i(g_i S_i^-1) where S_i is
// sum_l(f_il), as in the gradient of a softmax.
//
// In normal form products of sums are flattened, so the two are different atoms. Here the sum over
// one variable alone is taken out of the box again; where what it sums up to stands as a
// denominator beside it, the product cancels by the rules for powers. S_i != 0 is a premise that
// was recorded when the denominator was built.
#include <algorithm>

#include "solver/rewriter.h"
#include "solver/term.h"

namespace planproof::solver {
namespace {

bool Depends(const Atom& atom, Symbol s) {
  return std::binary_search(atom.symbols.begin(), atom.symbols.end(), s);
}

}  // namespace

// The product with the sum over v of what depends on v taken on its own; nothing if that does not
// meet its inverse.
std::optional<PolyId> Arena::TakeOutShare(const BoundVariable& v, const Term& term) {
  Factors inside, outside;
  for (const Factor& f : monos_[term.mono].factors) {
    (Depends(atoms_[f.atom], v.symbol) ? inside : outside).push_back(f);
  }
  const auto is_inverse_sum = [&](const Factor& f) {
    return atoms_[f.atom].kind == AtomKind::kSum && f.exponent.IsInteger() && f.exponent.num < 0;
  };
  if (inside.empty() || std::none_of(outside.begin(), outside.end(), is_inverse_sum))
    return std::nullopt;
  const PolyId sum = Sum(v, ProductOf(std::move(inside), Rational(1)));
  if (exhausted_ || polys_[sum].terms.size() != 1) return std::nullopt;
  const Term own = polys_[sum].terms[0];
  for (const Factor& f : monos_[own.mono].factors) {
    const auto inverse = std::find_if(outside.begin(), outside.end(), [&](const Factor& other) {
      return other.atom == f.atom && is_inverse_sum(other);
    });
    if (inverse != outside.end() && f.exponent.IsInteger() && f.exponent.num > 0)
      return Mul(sum, ProductOf(std::move(outside), term.coefficient));
  }
  return std::nullopt;
}

PolyId Arena::CancelSharesIn(const Atom& sum) {
  SymbolMap opening;
  ScratchSymbols scratch(this);
  std::vector<BoundVariable> vars = Rewriter::Open(&scratch, sum, &opening);
  PolyId body = Rewriter(this, std::move(opening)).Mono(sum.mono);
  for (bool found = true; found && !exhausted_ && polys_[body].terms.size() == 1;) {
    found = false;
    for (size_t i = 0; i < vars.size() && !found; ++i) {
      const auto product = TakeOutShare(vars[i], Term(polys_[body].terms[0]));
      if (!product) continue;
      body = *product;
      vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(i));
      found = true;
    }
  }
  return scratch.Close(SumOver(vars, body));
}

PolyId Arena::CancelShares(PolyId p) {
  const Terms terms = polys_[p].terms;
  const auto has_shares = [&](const Term& t) {
    const Factors& factors = monos_[t.mono].factors;
    return std::any_of(factors.begin(), factors.end(), [&](const Factor& f) {
      return atoms_[f.atom].kind == AtomKind::kSum && HasInverseSum(atoms_[f.atom].mono);
    });
  };
  if (std::none_of(terms.begin(), terms.end(), has_shares)) return p;
  PolyId result = kZeroPoly;
  for (const Term& t : terms) {
    PolyId product = Constant(t.coefficient);
    Factors rest;
    for (const Factor& f : Factors(monos_[t.mono].factors)) {
      const Atom atom = atoms_[f.atom];
      if (atom.kind != AtomKind::kSum || f.exponent != Exponent{} || !HasInverseSum(atom.mono)) {
        rest.push_back(f);
        continue;
      }
      product = Mul(product, CancelSharesIn(atom));
    }
    if (!rest.empty()) product = Mul(product, ProductOf(std::move(rest), Rational(1)));
    result = Add(result, product);
  }
  return result;
}

bool Arena::HasInverseSum(MonoId mono) const {
  for (const Factor& f : monos_[mono].factors) {
    if (atoms_[f.atom].kind == AtomKind::kSum && f.exponent.num < 0) return true;
  }
  return false;
}

}  // namespace planproof::solver
