// What an equality says of the other factors of a product.
#include <algorithm>
#include <optional>

#include "solver/rewriter.h"
#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr int kMaxNested = 6;  // of equalities that are used within others

bool Reads(const Symbols& symbols, Symbol s) {
  return std::binary_search(symbols.begin(), symbols.end(), s);
}

}  // namespace

// A root or a quotient that is built anew asks for its premise anew, of the new operand: of all
// entries, say, where the model divides by the one that an id chooses. What is defined must not
// change with the form.
bool Arena::ReplacesWithoutPremise(const Factor& factor, Symbol s) const {
  const Atom& atom = atoms_[factor.atom];
  if (!Reads(atom.symbols, s)) return true;
  if (!factor.exponent.IsInteger() || factor.exponent.num <= 0) return false;
  const auto replaces = [&](const Factor& f) { return ReplacesWithoutPremise(f, s); };
  switch (atom.kind) {
    case AtomKind::kElement:
    case AtomKind::kPosition:
    case AtomKind::kIndicator:
    case AtomKind::kDelta:
      return std::all_of(atom.indices.begin(), atom.indices.end(), [&](const Affine& index) {
        return std::all_of(index.terms.begin(), index.terms.end(), [&](const auto& term) {
          return KindOf(term.first) != SymbolKind::kIntAtom ||
                 replaces({AtomOfIntAtom(term.first), Exponent{}});
        });
      });
    case AtomKind::kSum: {
      const Factors& body = monos_[atom.mono].factors;
      return std::all_of(body.begin(), body.end(), replaces);
    }
    default:
      return false;
  }
}

// The symbol that the equality e = 0 gives, and what it is equal to: an integer that was read, of
// several the last one; or a variable, if that is equal to a number.
std::optional<std::pair<Symbol, Affine>> Arena::SolvedFor(const Affine& e) const {
  for (auto term = e.terms.rbegin(); term != e.terms.rend(); ++term) {
    const auto& [s, c] = *term;
    const bool read = KindOf(s) == SymbolKind::kIntAtom;
    if ((c != 1 && c != -1) || !(read || (KindOf(s) == SymbolKind::kFree && e.terms.size() == 1))) {
      continue;
    }
    // Nor may the others be read at an index that mentions it.
    const bool apart = std::none_of(e.terms.begin(), e.terms.end(), [&, s = s](const auto& other) {
      return KindOf(other.first) == SymbolKind::kIntAtom &&
             Reads(atoms_[AtomOfIntAtom(other.first)].symbols, s);
    });
    if (apart) return std::pair(s, (e - Affine::Of(s, c)).Scaled(-c));
  }
  return std::nullopt;
}

// Rule equality-in-product: [s = e] g(s) = [s = e] g(e). Where s is not e, both are 0.
std::optional<PolyId> Arena::UseEquality(const Factors& factors, const Rational& coefficient) {
  if (factors.size() < 2 || equality_depth_ >= kMaxNested) return std::nullopt;
  for (const Factor& equality : factors) {
    const Atom& atom = atoms_[equality.atom];
    if (atom.kind != AtomKind::kDelta || equality.exponent.num <= 0) continue;
    const auto solved = SolvedFor(atom.indices[0]);
    if (!solved.has_value() || solved->second.overflow) continue;
    Factors changed, rest;
    for (const Factor& f : factors) {
      const Atom& other = atoms_[f.atom];
      const bool changes = f.atom != equality.atom && Reads(other.symbols, solved->first) &&
                           ReplacesWithoutPremise(f, solved->first);
      (changes ? changed : rest).push_back(f);
    }
    if (changed.empty()) continue;
    ++equality_depth_;
    SymbolMap map;
    map.pairs.emplace_back(solved->first, solved->second);
    const PolyId instead = Rewriter(this, std::move(map)).OfFactors(changed);
    const PolyId result = Mul(ProductOf(std::move(rest), coefficient), instead);
    --equality_depth_;
    return result;
  }
  return std::nullopt;
}

}  // namespace planproof::solver
