// Interning of atoms, monomials and polynomials, and the symbols that they mention.
#include <algorithm>
#include <numeric>

#include "absl/hash/hash.h"
#include "solver/hash_mix.h"
#include "solver/rewriter.h"
#include "solver/structure.h"
#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr size_t kMaxExponent = 1 << 20;

void MergeSymbols(const Symbols& from, Symbols* into) {
  if (from.empty()) return;
  if (into->empty()) {
    *into = from;
    return;
  }
  Symbols merged;
  merged.reserve(from.size() + into->size());
  std::set_union(from.begin(), from.end(), into->begin(), into->end(), std::back_inserter(merged));
  into->swap(merged);
}

}  // namespace

Exponent MakeExponent(int64_t num, int64_t den) {
  int64_t g = std::gcd(num, den);
  if (g > 1) {
    num /= g;
    den /= g;
  }
  // Out of bounds: an exponent that every monomial rejects (InternMono), whatever is added to it.
  constexpr int64_t kBound = int64_t{1} << 30;
  if (num > kBound || num < -kBound || den > kBound) return Exponent{kBound - 1, kBound};
  return Exponent{static_cast<int32_t>(num), static_cast<int32_t>(den)};
}

Exponent operator+(Exponent a, Exponent b) {
  return MakeExponent(int64_t{a.num} * b.den + int64_t{b.num} * a.den, int64_t{a.den} * b.den);
}

Exponent operator*(Exponent a, Exponent b) {
  return MakeExponent(int64_t{a.num} * b.num, int64_t{a.den} * b.den);
}

Arena::Arena() {
  InternMono({});
  InternPoly({});
  one_ = OfMono(kUnitMono, Rational(1));
}

bool Arena::Charge(int64_t cost) {
  budget_ -= cost;
  if (budget_ < 0) exhausted_ = true;
  return !exhausted_;
}

void Arena::ChargeVisits(int64_t nodes) {
  constexpr int64_t kNodesPerTerm = 16;
  visits_ += nodes;
  Charge(visits_ / kNodesPerTerm);
  visits_ %= kNodesPerTerm;
}

void Arena::ResetExhausted(int64_t term_budget) {
  exhausted_ = overflown_ = false;
  budget_ = term_budget;
}

Symbol Arena::NewFree(int64_t low, int64_t high) {
  if (low <= -kAffineLimit || high >= kAffineLimit) Overflow();  // these mean: no bound
  free_.push_back({IntRange{low, high}});
  return FreeSymbol(static_cast<uint32_t>(free_.size() - 1));
}

IntRange Arena::RangeOf(Symbol s) const {
  switch (KindOf(s)) {
    case SymbolKind::kFree:
      return free_[IndexOf(s)].range;
    case SymbolKind::kIntAtom:
      return int_atoms_[IndexOf(s)].second;
    case SymbolKind::kBound:
      break;
  }
  return IntRange{};
}

IntRange Arena::RangeOf(const Affine& e) const {
  if (e.overflow) return IntRange{};
  __int128 low = e.constant, high = e.constant;
  for (const auto& [s, c] : e.terms) {
    IntRange r = RangeOf(s);
    if (!r.IsBounded()) {
      // One-sided bounds still help, two unbounded ends do not.
      bool low_known = c > 0 ? r.low > -kAffineLimit : r.high < kAffineLimit;
      bool high_known = c > 0 ? r.high < kAffineLimit : r.low > -kAffineLimit;
      if (!low_known) low = -kAffineLimit;
      if (!high_known) high = kAffineLimit;
      if (low_known && low > -kAffineLimit)
        low += static_cast<__int128>(c) * (c > 0 ? r.low : r.high);
      if (high_known && high < kAffineLimit)
        high += static_cast<__int128>(c) * (c > 0 ? r.high : r.low);
      continue;
    }
    if (low > -kAffineLimit) low += static_cast<__int128>(c) * (c > 0 ? r.low : r.high);
    if (high < kAffineLimit) high += static_cast<__int128>(c) * (c > 0 ? r.high : r.low);
  }
  IntRange out;
  out.low = low <= -kAffineLimit ? -kAffineLimit
                                 : static_cast<int64_t>(std::min<__int128>(low, kAffineLimit));
  out.high = high >= kAffineLimit ? kAffineLimit
                                  : static_cast<int64_t>(std::max<__int128>(high, -kAffineLimit));
  return out;
}

Symbol Arena::IntAtom(AtomId atom, IntRange range) {
  auto [it, inserted] = int_atom_of_.try_emplace(atom, static_cast<uint32_t>(int_atoms_.size()));
  if (inserted) int_atoms_.emplace_back(atom, range);
  return IntAtomSymbol(it->second);
}

AtomId Arena::InternAtom(Atom atom) {
  for (const Affine& e : atom.indices) {
    if (e.overflow) Overflow();
  }
  uint64_t h = MixHash(static_cast<uint64_t>(atom.kind), atom.tag);
  for (const Affine& e : atom.indices) h = MixHash(h, absl::HashOf(e));
  h = MixHash(h, 0x11);
  for (PolyId p : atom.polys) h = MixHash(h, p);
  h = MixHash(h, atom.mono);
  for (const Interval& i : atom.domain) h = MixHash(MixHash(h, i.lo), i.hi);
  if (atom.kind == AtomKind::kNumber) h = MixHash(h, atom.number.HashBits());
  auto& bucket = atom_index_[h];
  for (uint32_t id : bucket) {
    const Atom& a = atoms_[id];
    if (a.kind == atom.kind && a.tag == atom.tag && a.indices == atom.indices &&
        a.polys == atom.polys && a.mono == atom.mono && a.domain == atom.domain &&
        a.number == atom.number) {
      return id;
    }
  }
  Structure::CollectSymbols(*this, &atom);
  Charge(4);
  AtomId id = static_cast<AtomId>(atoms_.size());
  atoms_.push_back(std::move(atom));
  bucket.push_back(id);
  return id;
}

MonoId Arena::InternMono(Factors factors) {
  std::sort(factors.begin(), factors.end(),
            [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
  uint64_t h = 0x51;
  for (const Factor& f : factors)
    h = MixHash(MixHash(h, f.atom),
                (uint64_t(uint32_t(f.exponent.num)) << 32) | uint32_t(f.exponent.den));
  auto& bucket = mono_index_[h];
  for (uint32_t id : bucket) {
    if (monos_[id].factors == factors) return id;
  }
  Monomial m;
  for (const Factor& f : factors) {
    MergeSymbols(atoms_[f.atom].symbols, &m.symbols);
    if (static_cast<size_t>(std::abs(f.exponent.num)) > kMaxExponent ||
        static_cast<size_t>(f.exponent.den) > kMaxExponent) {
      exhausted_ = true;
    }
  }
  m.factors = std::move(factors);
  MonoId id = static_cast<MonoId>(monos_.size());
  monos_.push_back(std::move(m));
  bucket.push_back(id);
  return id;
}

PolyId Arena::InternPoly(Terms terms) {
  uint64_t h = 0x77;
  for (const Term& t : terms) h = MixHash(MixHash(h, t.mono), t.coefficient.HashBits());
  auto& bucket = poly_index_[h];
  for (uint32_t id : bucket) {
    const auto& other = polys_[id].terms;
    if (other.size() == terms.size() &&
        std::equal(terms.begin(), terms.end(), other.begin(), [](const Term& a, const Term& b) {
          return a.mono == b.mono && a.coefficient == b.coefficient;
        })) {
      return id;
    }
  }
  Polynomial p;
  for (const Term& t : terms) MergeSymbols(monos_[t.mono].symbols, &p.symbols);
  Charge(static_cast<int64_t>(terms.size()));
  p.terms = std::move(terms);
  PolyId id = static_cast<PolyId>(polys_.size());
  polys_.push_back(std::move(p));
  bucket.push_back(id);
  return id;
}

PolyId Arena::OfMono(MonoId mono, const Rational& coefficient) {
  if (coefficient.IsZero()) return kZeroPoly;
  if (!coefficient.IsOne()) return InternPoly({Term{mono, coefficient}});
  if (mono >= poly_of_mono_.size()) poly_of_mono_.resize(monos_.size(), kZeroPoly);
  if (poly_of_mono_[mono] == kZeroPoly) poly_of_mono_[mono] = InternPoly({Term{mono, coefficient}});
  return poly_of_mono_[mono];
}

PolyId Arena::OfAtom(AtomId atom) {
  if (atom >= poly_of_atom_.size()) poly_of_atom_.resize(atoms_.size(), kZeroPoly);
  if (poly_of_atom_[atom] == kZeroPoly)
    poly_of_atom_[atom] = OfMono(InternMono({Factor{atom, Exponent{}}}), Rational(1));
  return poly_of_atom_[atom];
}

bool Arena::Mentions(PolyId p, Symbol s) const {
  const auto& symbols = polys_[p].symbols;
  return std::binary_search(symbols.begin(), symbols.end(), s);
}

bool Arena::IsConstant(PolyId p, Rational* value) const {
  const auto& terms = polys_[p].terms;
  if (terms.empty()) {
    *value = Rational(0);
    return true;
  }
  if (terms.size() == 1 && terms[0].mono == kUnitMono) {
    *value = terms[0].coefficient;
    return true;
  }
  return false;
}

void Arena::ClearPremises() {
  premises_.clear();
  premise_at_.clear();
  opened_premises_.clear();
  ++premise_epoch_;
}

void Arena::RewindPremises(size_t count) {
  for (; premises_.size() > count; premises_.pop_back()) {
    const Premise& last = premises_.back();
    premise_at_.erase((static_cast<uint64_t>(last.poly) << 2) | static_cast<uint64_t>(last.kind));
  }
  opened_premises_.clear();
  ++premise_epoch_;
}

// A premise on a body that is being bound holds for every index of the box: its bound symbols
// become free ones of that range again, those of the innermost binder first.
void Arena::RecordPremise(PremiseKind kind, PolyId p) {
  const auto bound = [](Symbol s) { return KindOf(s) == SymbolKind::kBound; };
  const Symbols& symbols = polys_[p].symbols;
  if (open_boxes_.empty() || std::none_of(symbols.begin(), symbols.end(), bound)) {
    return RecordClosed(kind, p);
  }
  if (AlwaysHolds(kind, p)) return;  // whatever the indices are
  const std::vector<BoundVariable>& box = *open_boxes_.back();
  open_boxes_.pop_back();
  SymbolMap map;
  map.shift_bound = -1;
  std::vector<int64_t> key = {static_cast<int64_t>(kind), p, premise_source_.granted};
  for (size_t i = 0; i < box.size(); ++i) {
    const Symbol symbol = BoundSymbol(0, static_cast<uint32_t>(i));
    if (!Mentions(p, symbol)) continue;
    const Interval& d = box[i].domain;
    key.insert(key.end(), {static_cast<int64_t>(i), d.lo, d.hi});
    map.pairs.emplace_back(symbol, Affine::Of(NewFree(d.lo, d.hi - 1)));
  }
  const auto again = open_boxes_.empty() ? opened_premises_.find(key) : opened_premises_.end();
  if (again != opened_premises_.end()) {
    RecordClosed(kind, again->second);
  } else {
    const PolyId opened = Rewriter(this, std::move(map)).Poly(p);
    if (open_boxes_.empty()) opened_premises_.emplace(std::move(key), opened);
    RecordPremise(kind, opened);
  }
  open_boxes_.push_back(&box);
}

// A comparison with 0 is recorded as what it compares, so that it can be recognised there.
void Arena::RecordCondition(PolyId indicator) {
  const Terms terms = polys_[indicator].terms;
  const auto lone_atom = [this](const Term& term) -> const Atom* {
    const Factors& factors = monos_[term.mono].factors;
    return factors.size() == 1 ? &atoms_[factors[0].atom] : nullptr;
  };
  if (terms.size() == 1 && terms[0].coefficient.IsOne() && terms[0].mono != kUnitMono) {
    for (const Factor& factor : Factors(monos_[terms[0].mono].factors)) {
      const Atom& atom = atoms_[factor.atom];
      const bool positive = atom.kind == AtomKind::kRealPositive;
      RecordPremise(PremiseKind::kPositive, positive ? atom.polys[0] : OfAtom(factor.atom));
    }
    return;
  }
  if (terms.size() == 2 && terms[0].mono == kUnitMono && terms[0].coefficient.IsOne() &&
      (-terms[1].coefficient).IsOne()) {
    const Atom* atom = lone_atom(terms[1]);
    if (atom != nullptr && atom->kind == AtomKind::kRealPositive)
      return RecordPremise(PremiseKind::kNonNegative, Scale(atom->polys[0], Rational(-1)));
    if (atom != nullptr && atom->kind == AtomKind::kRealZero)
      return RecordPremise(PremiseKind::kNonZero, atom->polys[0]);
  }
  RecordPremise(PremiseKind::kPositive, indicator);
}

std::optional<Affine> Arena::AsCondition(const Premise& premise) const {
  const Terms& terms = polys_[premise.poly].terms;
  if (premise.kind != PremiseKind::kPositive || terms.size() != 1) return std::nullopt;
  const Factors& factors = monos_[terms[0].mono].factors;
  if (factors.size() != 1 || atoms_[factors[0].atom].kind != AtomKind::kIndicator)
    return std::nullopt;
  return atoms_[factors[0].atom].indices[0];
}

void Arena::RecordClosed(PremiseKind kind, PolyId p) {
  const uint64_t key = (static_cast<uint64_t>(p) << 2) | static_cast<uint64_t>(kind);
  const auto [at, fresh] = premise_at_.try_emplace(key, -1);
  if (fresh && !AlwaysHolds(kind, p)) {
    at->second = static_cast<int32_t>(premises_.size());
    premises_.push_back({.kind = kind, .poly = p, .number = premise_source_.number});
  }
  if (at->second < 0) return;
  ++premises_met_;
  for (const Symbol s : polys_[p].symbols) {
    if (KindOf(s) == SymbolKind::kFree) free_[IndexOf(s)].in_premise = true;
  }
  Premise& premise = premises_[at->second];
  (premise_source_.granted ? premise.granted : premise.needed) = true;
  if (premise_listener_ != nullptr) premise_listener_->Met(kind, p, premise_source_);
}

}  // namespace planproof::solver
