#include "solver/implication.h"

#include <algorithm>

namespace planproof::solver {
namespace {

constexpr int kMaxDepth = 6;
constexpr int kMaxAttempts = 512;  // instances looked at for one premise
constexpr size_t kMaxSummands = 64;
constexpr size_t kMaxIndices = 256;

// Rule weaken: u > 0 gives u != 0 and u >= 0.
bool Gives(PremiseKind known, PremiseKind wanted) {
  return known == wanted || known == PremiseKind::kPositive;
}

std::pair<int, PolyId> KeyOf(PremiseKind kind, PolyId poly) {
  return {static_cast<int>(kind), poly};
}

}  // namespace

// What is 0 where the atom is: the polynomial whose power or absolute value it stands for, or it
// itself.
PolyId Implication::BaseOf(AtomId atom) {
  const Atom& a = arena_.atoms_[atom];
  const bool stands = a.kind == AtomKind::kBase || a.kind == AtomKind::kAbs;
  return stands ? a.polys[0] : arena_.OfAtom(atom);
}

void Implication::Assume(PremiseKind kind, PolyId poly) {
  if (!known_.insert(KeyOf(kind, poly)).second) return;
  decided_.clear();
  facts_.push_back({kind, poly, FreeSymbolsOf(poly), IndicesOf(poly)});
  if (kind == PremiseKind::kNonNegative || arena_.polys_[poly].terms.size() != 1) return;
  // Rule factors: a product that is not 0 has no factor that is 0.
  const Factors factors = arena_.monos_[arena_.polys_[poly].terms[0].mono].factors;
  if (factors.size() == 1 && factors[0].exponent == Exponent{}) return;
  for (const Factor& factor : factors) {
    if (factor.exponent.num > 0) Assume(PremiseKind::kNonZero, BaseOf(factor.atom));
  }
}

bool Implication::Follows(PremiseKind kind, PolyId poly) {
  attempts_ = 0;
  return Shown(kind, poly, 0) && !arena_.exhausted();
}

bool Implication::Shown(PremiseKind kind, PolyId poly, int depth) {
  if (arena_.exhausted() || depth > kMaxDepth) return false;
  if (const auto at = decided_.find(KeyOf(kind, poly)); at != decided_.end()) return at->second;
  const auto by_fact = [&](const Fact& fact) { return Implies(fact.kind, fact.poly, kind, poly); };
  bool shown = arena_.AlwaysHolds(kind, poly) ||
               std::any_of(facts_.begin(), facts_.end(), by_fact) ||
               (arena_.polys_[poly].terms.size() == 1 &&
                FollowsAsProduct(kind, arena_.polys_[poly].terms[0], depth)) ||
               FollowsAsInstance(kind, poly);
  // Rule sharpen: u >= 0 and u != 0 give u > 0.
  if (!shown && kind == PremiseKind::kPositive && arena_.SignOf(poly) == Sign::kNonNegative) {
    shown = Shown(PremiseKind::kNonZero, poly, depth + 1);
  }
  shown = shown || FollowsAsSum(kind, poly, depth);
  if (depth == 0 || shown) decided_[KeyOf(kind, poly)] = shown;
  return shown;
}

// Rule product: c times powers of bases. A power that is defined and has a negative exponent is not
// 0, and neither is one of a base that is not. Powers with an even or fractional exponent are not
// negative, and neither are absolute values; the others have the sign of their base.
bool Implication::FollowsAsProduct(PremiseKind kind, const Term& term, int depth) {
  const Factors factors = arena_.monos_[term.mono].factors;
  if (factors.empty()) return false;
  if (kind != PremiseKind::kNonZero && term.coefficient.Sign() < 0) return false;
  const bool single = factors.size() == 1 && factors[0].exponent == Exponent{};
  for (const Factor& factor : factors) {
    const Exponent e = factor.exponent;
    const AtomKind atom = arena_.atoms_[factor.atom].kind;
    const bool keeps_sign = e.IsInteger() && e.num % 2 != 0 && atom != AtomKind::kAbs;
    const PolyId base = BaseOf(factor.atom);
    PremiseKind wanted = kind;
    if (!keeps_sign) {
      if (kind == PremiseKind::kNonNegative) continue;
      wanted = PremiseKind::kNonZero;
    }
    if (wanted == PremiseKind::kNonZero && e.num < 0) continue;
    if (single && atom != AtomKind::kBase && atom != AtomKind::kAbs) return false;  // itself again
    if (!Shown(wanted, base, depth + 1)) return false;
  }
  return true;
}

// Rule summands: summands that are not negative, one of them positive.
bool Implication::FollowsAsSum(PremiseKind kind, PolyId poly, int depth) {
  const Terms terms = arena_.polys_[poly].terms;
  if (terms.size() < 2 || terms.size() > kMaxSummands) return false;
  bool positive = kind == PremiseKind::kNonNegative;
  for (const Term& term : terms) {
    const PolyId summand = arena_.OfMono(term.mono, term.coefficient);
    if (!positive && Shown(PremiseKind::kPositive, summand, depth + 1)) {
      positive = true;
    } else if (!Shown(PremiseKind::kNonNegative, summand, depth + 1)) {
      return false;
    }
  }
  return positive;
}

// What is known of one polynomial, for what is asked of another.
bool Implication::Implies(PremiseKind known, PolyId fact, PremiseKind kind, PolyId poly) const {
  if (!Gives(known, kind)) return false;
  return SameUpToFactor(fact, poly, kind == PremiseKind::kNonZero) ||
         (known == PremiseKind::kPositive && IsLooserBound(fact, poly));
}

// Rule looser-bound: where e >= 0, e + c >= 0 for each c >= 0. Both are positive multiples of what
// is 1 where its condition holds, else 0.
bool Implication::IsLooserBound(PolyId fact, PolyId poly) const {
  const auto bound = [&](PolyId p) -> std::optional<Affine> {
    const std::optional<Affine> form = arena_.AsCondition({PremiseKind::kPositive, p});
    if (!form || form->overflow || arena_.polys_[p].terms[0].coefficient.Sign() < 0)
      return std::nullopt;
    return form;
  };
  const std::optional<Affine> known = bound(fact), asked = bound(poly);
  return known && asked && known->terms == asked->terms && known->constant <= asked->constant;
}

// c u and u are zero together; with c > 0 they have one sign.
bool Implication::SameUpToFactor(PolyId fact, PolyId poly, bool any_sign) const {
  if (fact == poly) return true;
  const Terms& a = arena_.polys_[fact].terms;
  const Terms& b = arena_.polys_[poly].terms;
  if (a.size() != b.size() || a.empty()) return false;
  const Rational ratio = b[0].coefficient / a[0].coefficient;
  if (!any_sign && ratio.Sign() < 0) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].mono != b[i].mono || !(b[i].coefficient == a[i].coefficient * ratio)) return false;
  }
  return true;
}

std::vector<Symbol> Implication::FreeSymbolsOf(PolyId poly) const {
  std::vector<Symbol> free;
  for (Symbol s : arena_.polys_[poly].symbols) {
    if (KindOf(s) == SymbolKind::kFree) free.push_back(s);
  }
  return free;
}

std::vector<Implication::IndexAt> Implication::IndicesOf(PolyId poly) const {
  std::vector<IndexAt> out;
  std::vector<PolyId> polys = {poly};
  std::vector<MonoId> monos;
  std::vector<AtomId> atoms;
  absl::flat_hash_set<PolyId> seen_polys;
  absl::flat_hash_set<AtomId> seen_atoms;
  while ((!polys.empty() || !monos.empty() || !atoms.empty()) && out.size() < kMaxIndices) {
    if (!polys.empty()) {
      const PolyId p = polys.back();
      polys.pop_back();
      if (!seen_polys.insert(p).second) continue;
      for (const Term& term : arena_.polys_[p].terms) monos.push_back(term.mono);
    } else if (!monos.empty()) {
      const MonoId m = monos.back();
      monos.pop_back();
      for (const Factor& factor : arena_.monos_[m].factors) atoms.push_back(factor.atom);
    } else {
      const AtomId id = atoms.back();
      atoms.pop_back();
      if (!seen_atoms.insert(id).second) continue;
      const Atom& atom = arena_.atoms_[id];
      for (size_t i = 0; i < atom.indices.size(); ++i) {
        out.push_back({atom.kind, atom.tag, i, atom.indices[i]});
        for (const auto& [s, c] : atom.indices[i].terms) {
          if (KindOf(s) == SymbolKind::kIntAtom) atoms.push_back(arena_.AtomOfIntAtom(s));
        }
      }
      polys.insert(polys.end(), atom.polys.begin(), atom.polys.end());
      if (atom.mono != kUnitMono) monos.push_back(atom.mono);
    }
  }
  return out;
}

// Rule instance: what holds for all values of its free symbols holds for expressions in their place
// whose values lie in the symbols' ranges.
bool Implication::FollowsAsInstance(PremiseKind kind, PolyId poly) {
  const std::vector<IndexAt> indices = IndicesOf(poly);
  for (size_t i = 0; i < facts_.size(); ++i) {
    if (!Gives(facts_[i].kind, kind) || facts_[i].free.empty()) continue;
    const Fact fact = facts_[i];
    Binding binding;
    if (Instantiate(fact, indices, kind, poly, &binding)) return true;
  }
  return false;
}

namespace {

// Without what was read from data.
Affine WithoutData(const Affine& e) {
  Affine rest(e.constant);
  rest.overflow = e.overflow;
  for (const auto& [s, c] : e.terms) {
    if (KindOf(s) != SymbolKind::kIntAtom) rest = rest + Affine::Of(s, c);
  }
  return rest;
}

}  // namespace

// The value of the only symbol of the expression that has none yet, if the expression is to be the
// other one; `symbol` is set where there is one such symbol. In i - ids[j], ids is not looked at
// if j has no value yet: whether all is the instance is seen at the end.
std::optional<Affine> Implication::ValueFor(const Affine& expression, const Affine& other,
                                            const Fact& fact, const Binding& binding,
                                            std::optional<Symbol>* symbol) const {
  const std::optional<Affine> value = ExactValueFor(expression, other, fact, binding, symbol);
  if (value.has_value()) return value;
  const Affine plain = WithoutData(expression);
  if (plain.terms.size() == expression.terms.size()) return std::nullopt;
  return ExactValueFor(plain, WithoutData(other), fact, binding, symbol);
}

std::optional<Affine> Implication::ExactValueFor(const Affine& expression, const Affine& other,
                                                 const Fact& fact, const Binding& binding,
                                                 std::optional<Symbol>* symbol) const {
  Affine rest(other - Affine(expression.constant));
  int64_t coefficient = 0;
  for (const auto& [s, c] : expression.terms) {
    const auto at = std::find_if(binding.begin(), binding.end(),
                                 [s = s](const auto& pair) { return pair.first == s; });
    if (at != binding.end()) {
      rest = rest - at->second.Scaled(c);
    } else if (std::find(fact.free.begin(), fact.free.end(), s) == fact.free.end()) {
      rest = rest - Affine::Of(s, c);  // bound in both, or data
    } else if (coefficient != 0) {
      return std::nullopt;
    } else {
      *symbol = s;
      coefficient = c;
    }
  }
  if (coefficient == 0 || rest.overflow || rest.constant % coefficient != 0) return std::nullopt;
  Affine value(rest.constant / coefficient);
  for (const auto& [s, c] : rest.terms) {
    if (KindOf(s) == SymbolKind::kBound || c % coefficient != 0) return std::nullopt;
    value = value + Affine::Of(s, c / coefficient);
  }
  const IntRange range = arena_.RangeOf(**symbol), values = arena_.RangeOf(value);
  if (value.overflow || values.low < range.low || values.high > range.high) return std::nullopt;
  return value;
}

bool Implication::Instantiate(const Fact& fact, const std::vector<IndexAt>& indices,
                              PremiseKind kind, PolyId poly, Binding* binding) {
  if (binding->size() == fact.free.size()) return IsInstance(fact, *binding, kind, poly);
  const auto open = [&](const IndexAt& at) {
    return std::count_if(
        at.expression.terms.begin(), at.expression.terms.end(), [&](const auto& t) {
          return std::find(fact.free.begin(), fact.free.end(), t.first) != fact.free.end() &&
                 std::none_of(binding->begin(), binding->end(),
                              [&](const auto& pair) { return pair.first == t.first; });
        });
  };
  const auto at = std::find_if(fact.indices.begin(), fact.indices.end(),
                               [&](const IndexAt& index) { return open(index) == 1; });
  if (at == fact.indices.end()) return false;
  for (const IndexAt& other : indices) {
    if (other.kind != at->kind || other.tag != at->tag || other.position != at->position) continue;
    std::optional<Symbol> symbol;
    const std::optional<Affine> value =
        ValueFor(at->expression, other.expression, fact, *binding, &symbol);
    if (!value) continue;
    if (++attempts_ > kMaxAttempts) return false;
    binding->emplace_back(*symbol, *value);
    if (Instantiate(fact, indices, kind, poly, binding)) return true;
    binding->pop_back();
  }
  return false;
}

bool Implication::IsInstance(const Fact& fact, const Binding& binding, PremiseKind kind,
                             PolyId poly) {
  const PolyId instance = arena_.Substitute(fact.poly, binding);
  return !arena_.exhausted() && Implies(fact.kind, instance, kind, poly);
}

}  // namespace planproof::solver
