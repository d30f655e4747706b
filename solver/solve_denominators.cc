// Rule solve-denominators: a sum in a denominator is given a name, and one of its summands is
// what the name and the others say.
#include <algorithm>
#include <map>
#include <set>

#include "solver/rewriter.h"
#include "solver/vanishing.h"
#include "solver/zero_test.h"

namespace planproof::solver {
namespace {

constexpr int64_t kMaxValues = 4;          // of a symbol, each tried by itself
constexpr int kMaxSolved = 16;             // denominators, one after another
constexpr int64_t kMaxSolvedTerms = 4096;  // of the result
constexpr size_t kMaxNamedPieces = 32;     // of one sum

// Nothing is divided by but what is never 0.
bool IsExponential(const Arena& arena, const Factors& factors, AtomId but) {
  return std::all_of(factors.begin(), factors.end(), [&](const Factor& f) {
    return f.atom == but || arena.atom(f.atom).kind == AtomKind::kExp;
  });
}

bool HasAtom(const Arena& arena, PolyId p, AtomId atom) {
  for (const Term& t : arena.poly(p).terms) {
    for (const Factor& f : arena.mono(t.mono).factors) {
      if (f.atom == atom) return true;
    }
  }
  return false;
}

}  // namespace

// Sums in denominators of p, by an integer power in each term that has them.
std::vector<AtomId> ZeroTest::IntegerDenominators(PolyId p) const {
  std::map<AtomId, bool> whole;
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      if (arena_.atom(f.atom).kind != AtomKind::kBase) continue;
      bool& integer = whole.try_emplace(f.atom, true).first->second;
      integer = integer && f.exponent.IsInteger();
    }
  }
  std::vector<AtomId> bases;
  for (const auto& [base, integer] : whole) {
    if (integer) bases.push_back(base);
  }
  return bases;
}

// Whether no term has the atom by a negative or fractional power.
bool ZeroTest::IsReplaceable(PolyId p, AtomId atom) const {
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      if (f.atom != atom) continue;
      if (!f.exponent.IsInteger() || f.exponent.num < 0) return false;
    }
  }
  return true;
}

// The denominator and its summand that fewest other denominators have.
std::optional<ZeroTest::Solution> ZeroTest::ChooseSolution(PolyId p) const {
  const std::vector<AtomId> bases = IntegerDenominators(p);
  std::optional<Solution> best;
  for (const AtomId base : bases) {
    const PolyId sum = arena_.atom(base).polys[0];
    for (const Term& summand : arena_.poly(sum).terms) {
      const Factors& factors = arena_.mono(summand.mono).factors;
      for (const Factor& f : factors) {
        const AtomKind kind = arena_.atom(f.atom).kind;
        if (f.exponent != Exponent{} ||
            (kind != AtomKind::kSum && kind != AtomKind::kElement && !IsName(f.atom)))
          continue;
        if (!IsExponential(arena_, factors, f.atom) || !IsReplaceable(p, f.atom)) continue;
        Solution solution{base, f.atom, summand, 0};
        int64_t within = 0;
        for (const Term& t : arena_.poly(sum).terms) {
          const Factors& of_term = arena_.mono(t.mono).factors;
          within += std::any_of(of_term.begin(), of_term.end(),
                                [&](const Factor& g) { return g.atom == f.atom; });
        }
        if (within != 1) continue;
        bool possible = true;
        for (const AtomId other : bases) {
          if (other == base || !HasAtom(arena_, arena_.atom(other).polys[0], f.atom)) continue;
          possible = possible && IsReplaceable(arena_.atom(other).polys[0], f.atom);
          ++solution.others;
        }
        if (possible && (!best.has_value() || solution.others < best->others)) best = solution;
      }
    }
  }
  return best;
}

// p with the summand's atom replaced by what the name of the sum and its other summands say.
PolyId ZeroTest::Solved(PolyId p, const Solution& solution) {
  const PolyId sum = arena_.atom(solution.base).polys[0];
  const PolyId name = NameOf(sum);
  PolyId value = name;
  for (const Term& t : Terms(arena_.poly(sum).terms)) {
    if (t.mono == solution.summand.mono) continue;
    value =
        arena_.Sub(value, arena_.ProductOf(Factors(arena_.mono(t.mono).factors), t.coefficient));
  }
  Factors inverse;
  for (const Factor& f : arena_.mono(solution.summand.mono).factors) {
    if (f.atom != solution.atom) inverse.push_back({f.atom, f.exponent * Exponent{-1, 1}});
  }
  value = arena_.Mul(
      value, arena_.ProductOf(std::move(inverse), Rational(1) / solution.summand.coefficient));
  return Replaced(p, {{solution.base, name}, {solution.atom, value}});
}

// An unknown that is the number.
PolyId ZeroTest::NameOf(PolyId number) {
  return arena_.OfAtom(arena_.OpaqueAtom(kNamedNumberTag, {}, {number}));
}

bool ZeroTest::IsName(AtomId atom) const {
  const Atom& a = arena_.atom(atom);
  return a.kind == AtomKind::kOpaque && a.tag == kNamedNumberTag;
}

// p with other forms of the same numbers for these atoms, in denominators, too; p itself where
// that grows too long.
PolyId ZeroTest::Replaced(PolyId p, const std::map<AtomId, PolyId>& forms) {
  std::vector<PolyId> products;
  int64_t size = 0;
  for (const Term& t : Terms(arena_.poly(p).terms)) {
    PolyId product = arena_.Constant(t.coefficient);
    Factors rest;
    for (const Factor& f : Factors(arena_.mono(t.mono).factors)) {
      const auto form = forms.find(f.atom);
      PolyId same = form == forms.end() ? kZeroPoly : form->second;
      if (form == forms.end() && f.exponent.IsInteger() &&
          arena_.atom(f.atom).kind == AtomKind::kBase) {
        const PolyId base = arena_.atom(f.atom).polys[0];
        same = Replaced(base, forms);
        if (same == base) same = kZeroPoly;
      }
      if (same == kZeroPoly || !f.exponent.IsInteger()) {
        rest.push_back(f);
      } else {
        product = arena_.Mul(product, arena_.Power(same, f.exponent));
      }
    }
    product = arena_.Mul(product, arena_.ProductOf(std::move(rest), Rational(1)));
    size += static_cast<int64_t>(arena_.poly(product).terms.size());
    if (size > kMaxSolvedTerms || arena_.exhausted()) return p;
    products.push_back(product);
  }
  return Total(std::move(products));
}

// Sums of p and of its denominators, and these, by any integer power.
void ZeroTest::CollectSums(PolyId p, std::set<AtomId>* atoms) const {
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom& a = arena_.atom(f.atom);
      if (!f.exponent.IsInteger()) continue;
      if (a.kind != AtomKind::kSum && a.kind != AtomKind::kBase) continue;
      if (atoms->insert(f.atom).second && a.kind == AtomKind::kBase) CollectSums(a.polys[0], atoms);
    }
  }
}

// p with each sum whose body stands in a denominator as the sum of its pieces between the bounds of
// all that have the body, each under a name: sums of pieces that lie side by side would become one.
PolyId ZeroTest::WithNamedPieces(PolyId p) {
  std::set<AtomId> all, divisors;
  std::set<MonoId> dividing;
  CollectSums(p, &all);
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      if (f.exponent.num >= 0 || !f.exponent.IsInteger()) continue;
      divisors.insert(f.atom);
      if (arena_.atom(f.atom).kind == AtomKind::kBase)
        CollectSums(arena_.atom(f.atom).polys[0], &divisors);
    }
  }
  for (const AtomId id : divisors) {
    if (arena_.atom(id).kind == AtomKind::kSum) dividing.insert(arena_.atom(id).mono);
  }
  std::map<MonoId, std::vector<std::vector<int64_t>>> cuts;
  for (const AtomId id : all) {
    const Atom& sum = arena_.atom(id);
    if (sum.kind != AtomKind::kSum || dividing.count(sum.mono) == 0) continue;
    auto& own = cuts[sum.mono];
    own.resize(sum.domain.size());
    for (size_t d = 0; d < sum.domain.size(); ++d) {
      own[d].insert(own[d].end(), {sum.domain[d].lo, sum.domain[d].hi});
    }
  }
  for (auto& [mono, own] : cuts) {
    for (std::vector<int64_t>& at : own) {
      std::sort(at.begin(), at.end());
      at.erase(std::unique(at.begin(), at.end()), at.end());
    }
  }
  std::map<AtomId, PolyId> forms;
  for (const AtomId id : all) {
    const Atom sum = arena_.atom(id);
    const auto own = cuts.find(sum.mono);
    if (sum.kind != AtomKind::kSum || own == cuts.end()) continue;
    const Pieces pieces = Boxes(sum, own->second);
    if (pieces.size() > kMaxNamedPieces) return p;
    PolyId form = kZeroPoly;
    for (const Piece& piece : pieces) form = arena_.Add(form, NameOf(SumOfPiece(piece)));
    forms.emplace(id, form);
  }
  return Replaced(p, forms);
}

// With sums in denominators named one by one. What p says of the sums themselves, it says of their
// names: p is zero if this is.
PolyId ZeroTest::SolveDenominators(PolyId p, bool in_pieces) {
  if (in_pieces) p = WithNamedPieces(p);
  p = TimesSums(p, /*most_sums=*/SIZE_MAX);
  for (int step = 0; step < kMaxSolved && p != kZeroPoly && !arena_.exhausted(); ++step) {
    const std::optional<Solution> solution = ChooseSolution(p);
    if (!solution.has_value()) break;
    const PolyId solved = Solved(p, *solution);
    if (solved == p) break;
    p = solved;
  }
  return p;
}

// A symbol of few values on which a denominator depends: which blocks are added up there, and so
// which sums it is the same as, may differ with it.
std::optional<Symbol> ZeroTest::ShortSymbolOfDenominators(PolyId p) const {
  for (const AtomId base : IntegerDenominators(p)) {
    for (const Symbol s : arena_.atom(base).symbols) {
      if (KindOf(s) != SymbolKind::kFree) continue;
      const IntRange range = arena_.RangeOf(s);
      if (range.high - range.low < kMaxValues && range.high > range.low) return s;
    }
  }
  return std::nullopt;
}

bool ZeroTest::NamedIsZero(PolyId p) {
  for (const bool in_pieces : {true, false}) {
    const PolyId named = SolveDenominators(p, in_pieces);
    if (named == kZeroPoly || RefinedIsZero(named)) return !arena_.exhausted();
    const PolyId split = SplitAtCuts(named, /*by_body=*/true);
    if (split != named && (split == kZeroPoly || RefinedIsZero(split))) return !arena_.exhausted();
  }
  return false;
}

// By names, or at each value of a symbol by names.
bool ZeroTest::NamedIsZeroAtEachValue(PolyId p) {
  if (MayVanish(arena_, p) && NamedIsZero(p)) return true;
  const std::optional<Symbol> symbol = ShortSymbolOfDenominators(p);
  if (!symbol.has_value()) return false;
  const IntRange range = arena_.RangeOf(*symbol);
  for (int64_t value = range.low; value <= range.high; ++value) {
    SymbolMap map;
    map.pairs.emplace_back(*symbol, Affine(value));
    const PolyId there = Rewriter(&arena_, std::move(map)).Poly(p);
    if (arena_.exhausted() || !NamedIsZeroAtEachValue(there)) return false;
  }
  return true;
}

// What has to hold for p at a value, or of its denominators under other names, was recorded when p
// was built.
bool ZeroTest::ZeroWithNamedDenominators(PolyId p) {
  if (arena_.exhausted() || IntegerDenominators(p).empty()) return false;
  const size_t met = arena_.premises().size();
  const bool zero = NamedIsZeroAtEachValue(p);
  arena_.RewindPremises(met);
  return zero;
}

}  // namespace planproof::solver
