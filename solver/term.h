// Represents terms: hash-consed rational functions over atoms, in normal form.
//
// A polynomial is a sum of monomials with exact coefficients; a monomial is a product of atoms with
// rational exponents. Atoms are elements of tensors at affine index expressions, exponentials of
// monomials, inverses and roots of polynomials, indicators of integer conditions, and *sum atoms*:
// sums of a monomial over boxes of bound indices, of any length. Everything is built in normal
// form, so that equal values mostly have equal ids; each rewriting step is an identity over the
// reals for all index lengths, given the premises recorded with it. The arena knows no tensor and
// no graph: an element is a tag and its indices.
//
// What the normal form guarantees is soundness (equal ids, equal values), not completeness.
#ifndef PLANPROOF_SOLVER_TERM_H_
#define PLANPROOF_SOLVER_TERM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "solver/affine.h"
#include "solver/rational.h"
#include "solver/stable_vector.h"
#include "solver/structure_hashes.h"

namespace planproof::solver {

using AtomId = uint32_t;
using MonoId = uint32_t;
using PolyId = uint32_t;
inline constexpr MonoId kUnitMono = 0;
inline constexpr PolyId kZeroPoly = 0;
// The tag of the opaque function that a whole number is an id of.
inline constexpr uint32_t kWholeNumberTag = 0xffffffffu;
// The tag of the opaque function that is its operand: a number that is taken for an unknown.
inline constexpr uint32_t kNamedNumberTag = 0xfffffffeu;

// A small rational exponent in lowest terms, positive denominator.
struct Exponent {
  int32_t num = 1;
  int32_t den = 1;
  bool IsInteger() const { return den == 1; }
  friend bool operator==(const Exponent&, const Exponent&) = default;
};
Exponent operator+(Exponent a, Exponent b);
Exponent operator*(Exponent a, Exponent b);

enum class AtomKind : uint8_t {
  kElement,  // tag at indices
  kNumber,   // positive integer `number` that carries a fractional exponent
  kExp,      // exp(mono), mono without coefficient
  kBase,     // polys[0], of at least two terms, with a negative or fractional exponent
  kLog,
  kErf,
  kSin,
  kCos,
  kAbs,           // of polys[0]
  kMax,           // maximum of polys (at least two, ascending ids)
  kPosition,      // the integer indices[0] (a lone symbol) as a real number
  kIndicator,     // 1 if indices[0] >= 0 else 0
  kDelta,         // 1 if indices[0] == 0 else 0
  kRealPositive,  // 1 if polys[0] > 0 else 0
  kRealZero,      // 1 if polys[0] == 0 else 0
  kOpaque,        // function tag of indices and polys
  kSum,           // sum over the box `domain` of mono
  kReduceMax,     // max over the box `domain` of polys[0], where polys[1] (an indicator) is 0
  kOpaqueRow,     // function tag of the row polys[0] over domain[0], and of indices, polys[1..]
};

// Whether an atom of this kind is 0 or 1.
inline bool IsCondition(AtomKind kind) {
  return kind == AtomKind::kIndicator || kind == AtomKind::kDelta ||
         kind == AtomKind::kRealPositive || kind == AtomKind::kRealZero;
}

struct Interval {  // [lo, hi)
  int64_t lo = 0;
  int64_t hi = 0;
  int64_t length() const { return hi - lo; }
  friend bool operator==(const Interval&, const Interval&) = default;
  friend bool operator<(const Interval& a, const Interval& b) {
    return a.lo != b.lo ? a.lo < b.lo : a.hi < b.hi;
  }
};

using Symbols = absl::InlinedVector<Symbol, 4>;

struct Atom {
  AtomKind kind = AtomKind::kElement;
  uint32_t tag = 0;
  std::vector<Affine> indices;
  std::vector<PolyId> polys;
  MonoId mono = kUnitMono;
  std::vector<Interval> domain;
  Rational number;
  // Symbols that occur, those of integer atoms included, without the ones this atom binds;
  // ascending. Derived, not part of the identity.
  Symbols symbols;
};

struct Factor {
  AtomId atom = 0;
  Exponent exponent;
  friend bool operator==(const Factor&, const Factor&) = default;
};
using Factors = absl::InlinedVector<Factor, 4>;  // ascending atoms

struct Monomial {
  Factors factors;
  Symbols symbols;
};

struct Term {
  MonoId mono = kUnitMono;
  Rational coefficient;
};

using Terms = absl::InlinedVector<Term, 1>;

struct Polynomial {
  Terms terms;  // ascending mono ids, nonzero coefficients
  Symbols symbols;
};

enum class PremiseKind : uint8_t { kNonZero, kPositive, kNonNegative };
// Whose evaluation met a premise, in the caller's terms. What is `granted` may be taken for granted
// (where a specification is defined); everything else has to follow from that.
struct PremiseSource {
  bool granted = false;
  int32_t number = -1;
};
// Told of every premise that is met and not seen to hold for all inputs, each time.
class PremiseListener {
 public:
  virtual ~PremiseListener() = default;
  virtual void Met(PremiseKind kind, PolyId poly, PremiseSource source) = 0;
};
struct Premise {
  PremiseKind kind;
  PolyId poly;
  bool granted = false;  // by one of the sources that met it
  bool needed = false;   // by a source that does not grant it
  int32_t number = -1;   // of the source that met it first
};

// Sign of a value for all admissible inputs.
enum class Sign : uint8_t { kUnknown, kNonNegative, kPositive };

// A bound variable of a sum under construction: a free symbol with its interval.
struct BoundVariable {
  Symbol symbol = 0;
  Interval domain;
};

class Arena {
 public:
  Arena();

  // --- Symbols -----------------------------------------------------------------------------
  // A fresh free index variable with values in [low, high]. Ranges never change: conclusions that
  // were drawn from them are cached. Bounds not within +-kAffineLimit overflow.
  Symbol NewFree(int64_t low, int64_t high);
  IntRange RangeOf(Symbol s) const;
  IntRange RangeOf(const Affine& e) const;
  // An integer atom for element or opaque atoms; its range is that of the values.
  Symbol IntAtom(AtomId atom, IntRange range);
  AtomId AtomOfIntAtom(Symbol s) const { return int_atoms_[IndexOf(s)].first; }

  // --- Constants and polynomial arithmetic ----------------------------------------------------
  PolyId Constant(const Rational& value);
  PolyId One() const { return one_; }
  PolyId Add(PolyId a, PolyId b);
  PolyId Sub(PolyId a, PolyId b) { return Add(a, Scale(b, Rational(-1))); }
  PolyId Scale(PolyId a, const Rational& factor);
  PolyId Mul(PolyId a, PolyId b);
  // a^e. A negative exponent records the premise a != 0, a fractional one a > 0 (or >= 0).
  PolyId Power(PolyId a, Exponent e);
  // a / b with the premise b != 0.
  PolyId Divide(PolyId a, PolyId b);

  // --- Functions -------------------------------------------------------------------------------
  PolyId Element(uint32_t tag, std::vector<Affine> indices);
  AtomId ElementAtom(uint32_t tag, std::vector<Affine> indices);
  PolyId Exp(PolyId a);
  PolyId Log(PolyId a);                   // premise a > 0
  PolyId Unary(AtomKind kind, PolyId a);  // kErf, kSin, kCos
  PolyId Abs(PolyId a);
  PolyId Max(PolyId a, PolyId b);
  PolyId Position(const Affine& e);
  // A value that is a whole number as an integer: a sum of indices and ids where it is one, else an
  // id of its own, whose position is the value.
  Affine WholeNumber(PolyId value);
  PolyId Indicator(const Affine& e);  // [e >= 0]
  // Is >= 0 where `e` is, and has no symbols that cannot decide that.
  Affine WithoutLowDigits(const Affine& e) const;
  PolyId Delta(const Affine& e);  // [e == 0]
  PolyId RealPositive(PolyId a);  // [a > 0]
  PolyId RealZero(PolyId a);      // [a == 0]
  // The tag of opaque functions of this name, the same for all that build terms in the arena.
  uint32_t OpaqueTag(const std::string& name) {
    return kOpaqueTagBit |
           opaque_tags_.try_emplace(name, static_cast<uint32_t>(opaque_tags_.size())).first->second;
  }
  PolyId Opaque(uint32_t tag, std::vector<Affine> indices, std::vector<PolyId> polys);
  AtomId OpaqueRowAtom(uint32_t tag, BoundVariable row, PolyId body, std::vector<Affine> indices,
                       std::vector<PolyId> polys);
  AtomId OpaqueAtom(uint32_t tag, std::vector<Affine> indices, std::vector<PolyId> polys);
  PolyId OfAtom(AtomId atom);

  // --- Binding ---------------------------------------------------------------------------------
  // Sum of body over the free symbol's interval (no longer free in the result).
  PolyId Sum(BoundVariable v, PolyId body);
  PolyId SumOver(const std::vector<BoundVariable>& box, PolyId body);
  // Maximum over the interval of body at the indices where guard (an indicator) is 0.
  // The caller has made sure, or records, that it is not empty.
  PolyId ReduceMax(BoundVariable v, PolyId body, PolyId guard);
  PolyId ReduceMaxOver(const std::vector<BoundVariable>& box, PolyId body, PolyId guard);

  // --- Substitution ----------------------------------------------------------------------------
  using Substitution = absl::InlinedVector<std::pair<Symbol, Affine>, 4>;
  PolyId Substitute(PolyId poly, const Substitution& s);

  // --- Questions -------------------------------------------------------------------------------
  Sign SignOf(PolyId poly);
  bool Mentions(PolyId poly, Symbol s) const;
  // Whether the value is 0 for all inputs, by the normal form: refines sums to common cuts, unifies
  // complementary indicators, clears denominators, cancels shares of sums. False means "not shown".
  bool IsZero(PolyId poly);

  const Atom& atom(AtomId id) const { return atoms_[id]; }
  const Monomial& mono(MonoId id) const { return monos_[id]; }
  const Polynomial& poly(PolyId id) const { return polys_[id]; }
  size_t AtomCount() const { return atoms_.size(); }
  size_t PolyCount() const { return polys_.size(); }
  // True if `poly` is a single constant; sets value.
  bool IsConstant(PolyId poly, Rational* value) const;

  // Premises recorded since the last Clear, without those that hold for all inputs.
  const std::vector<Premise>& premises() const { return premises_; }
  void ClearPremises();
  // Forgets those recorded after the first `count`.
  void RewindPremises(size_t count);
  void RecordPremise(PremiseKind kind, PolyId poly);
  // May be null.
  void SetPremiseListener(PremiseListener* listener) { premise_listener_ = listener; }
  // Another number whenever premises were forgotten.
  uint64_t premise_epoch() const { return premise_epoch_; }
  // Whether the premise is seen to hold for all inputs: by signs, and by cases of the conditions
  // that stand in the polynomial. False means "not seen".
  bool AlwaysHolds(PremiseKind kind, PolyId poly);
  // Of an indicator, 0 or 1: the premise that it is 1.
  void RecordCondition(PolyId indicator);
  // The form that is not negative if the premise, of an indicator, holds; nullopt for others.
  std::optional<Affine> AsCondition(const Premise& premise) const;
  // Of the premises recorded from now on.
  void SetPremiseSource(PremiseSource source) { premise_source_ = source; }
  PremiseSource premise_source() const { return premise_source_; }

  // Inputs known to be positive (premise of the specification), by tag.
  void SetTagPositive(uint32_t tag) { positive_tags_.insert(tag); }
  void SetTagNonNegative(uint32_t tag) { nonnegative_tags_.insert(tag); }

  // Work limit: set when the sizes of intermediate results pass a bound; results are then
  // meaningless and the caller must answer UNKNOWN.
  bool exhausted() const { return exhausted_; }
  // Exhausted because an index left the limits of affine arithmetic: no work limit helps.
  bool overflown() const { return overflown_; }
  void ResetExhausted(int64_t term_budget);
  // Raises the work limit until the next reset.
  void Grant(int64_t terms) { budget_ += terms; }
  int64_t TermsLeft() const { return budget_; }
  // Nodes that a walk over terms has looked at: work, too, if less of it.
  void ChargeVisits(int64_t nodes);
  void MarkExhausted() { exhausted_ = true; }

  // Names for printing; by default "t<tag>".
  std::function<std::string(uint32_t)> tag_name;
  std::string ToString(PolyId poly, size_t limit = 400) const;
  std::string ToString(const Affine& e) const;

 private:
  friend class Summation;
  friend class Rewriter;
  friend class ScratchSymbols;
  friend class Structure;
  friend class ZeroTest;
  friend class Implication;

  void RecordClosed(PremiseKind kind, PolyId p);
  AtomId InternAtom(Atom atom);
  friend class TermPrinter;
  MonoId InternMono(Factors factors);
  PolyId InternPoly(Terms terms);
  PolyId OfMono(MonoId mono, const Rational& coefficient);
  // The product of factors with arbitrary exponents, as a polynomial: folds numbers, expands bases
  // with exponent >= 1, simplifies indicators.
  PolyId ProductOf(Factors factors, const Rational& coefficient);
  bool SimplifyConditions(Factors* factors);  // false: the product is 0
  // The product with what an equality among its factors says of others (equality.cc).
  std::optional<PolyId> UseEquality(const Factors& factors, const Rational& coefficient);
  std::optional<std::pair<Symbol, Affine>> SolvedFor(const Affine& e) const;
  // Whether the factor with another index in place of `s` is built without meeting a premise.
  bool ReplacesWithoutPremise(const Factor& factor, Symbol s) const;
  PolyId MulMono(MonoId a, MonoId b, const Rational& coefficient);
  Terms MergeAdjacentSums(Terms terms);
  // A sum atom whose box has grown, in normal form again.
  PolyId Renormalised(Atom sum);
  // The atom's body summed over its box from the start: conditions that the box decides go, and, as
  // is asked, dimensions of a single index.
  PolyId SumAgain(const Atom& sum, bool drop_single = false);
  PolyId SumAnew(const Atom& sum, bool drop_single);
  bool IsGuardedSum(AtomId atom) const;
  std::optional<PolyId> JoinClipped(AtomId guarded, AtomId other);
  PolyId MergeClipped(PolyId p);
  std::optional<PolyId> TakeOutShare(const BoundVariable& v, const Term& term);
  PolyId CancelSharesIn(const Atom& sum);
  // With sums of shares of a sum as one (shares.cc).
  PolyId CancelShares(PolyId p);
  bool HasInverseSum(MonoId mono) const;
  // What is positive where p is: u for p = k max(c, u), k > 0, c <= 0; or p itself.
  PolyId PositiveWith(PolyId p) const;
  PolyId PowerOfTerm(const Term& term, Exponent e);
  PolyId PowerOfSum(PolyId a, Exponent e);
  PolyId IntegerPower(PolyId a, int32_t n);
  bool PerfectSquareRoot(PolyId a, PolyId* root);
  PolyId NumberPower(const Rational& value, Exponent e);
  bool SumMeets(const Atom& sum, const Affine& e) const;
  bool CountsMaximum(const Atom& sum);
  std::vector<bool> CoveredSquares(PolyId poly);
  // Of sums of squares that were multiplied out (quadratic_forms.cc).
  std::optional<Factors> RootOf(MonoId mono) const;
  bool IsNonNegativeForm(PolyId p);
  // Rule maximum-of-inverses, if it applies (maximum_of_inverses.cc).
  std::optional<PolyId> LargestOfInverses(const std::vector<PolyId>& operands);
  Sign SignOfMono(MonoId mono);
  Sign SignOfAtom(AtomId atom, Exponent e);
  bool Charge(int64_t cost);
  // Bounds of a value that is a whole number; an end at the limit of affine forms means none.
  IntRange BoundsOf(PolyId p, int depth);
  IntRange BoundsOfAtom(AtomId atom, int depth);
  // A condition that is taken to hold, or not to (condition_cases.cc).
  struct KnownCondition {
    AtomId condition;
    bool holds;
  };
  bool HasFewConditions(PolyId p) const;
  std::optional<PolyId> InCases(AtomKind kind, const Affine& e);
  PolyId InCasesOf(AtomKind kind, const Affine& e, std::vector<KnownCondition>* known);
  std::optional<std::pair<Symbol, AtomId>> ConditionalNumber(const Affine& e) const;
  bool FindCondition(PolyId p, AtomId* condition) const;
  std::optional<bool> ImpliedCondition(AtomId condition, bool holds, AtomId other);
  PolyId WhereCondition(PolyId p, AtomId condition, bool holds);
  bool FollowsFrom(const KnownCondition& known, PremiseKind kind, PolyId p);
  std::optional<Rational> LeadingQuotient(PolyId p, PolyId q) const;
  bool HoldsBySign(PremiseKind kind, PolyId p);
  bool HoldsUnder(PremiseKind kind, PolyId p, std::vector<KnownCondition>* known);
  bool IsTruthValue(PolyId p);  // 0 or 1, by its form
  void Overflow() { exhausted_ = overflown_ = true; }

  static constexpr uint32_t kOpaqueTagBit = 0x80000000u;  // no tensor's

  struct FreeInfo {
    IntRange range;
    bool in_premise = false;  // that has been recorded at some time
  };
  StableVector<Atom> atoms_;
  StableVector<Monomial> monos_;
  StableVector<Polynomial> polys_;
  // As polynomials by themselves, or 0 where that has not been asked for.
  std::vector<PolyId> poly_of_atom_, poly_of_mono_;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<uint32_t, 1>> atom_index_, mono_index_,
      poly_index_;
  std::vector<FreeInfo> free_;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, std::vector<Symbol>> idle_symbols_;
  std::vector<std::pair<AtomId, IntRange>> int_atoms_;
  absl::flat_hash_map<AtomId, uint32_t> int_atom_of_;
  PolyId one_ = 0;
  std::vector<Premise> premises_;
  PremiseSource premise_source_;
  PremiseListener* premise_listener_ = nullptr;
  uint64_t premise_epoch_ = 0, premises_met_ = 0;
  absl::flat_hash_map<uint64_t, int32_t> premise_at_;  // in premises_; -1: it always holds
  absl::flat_hash_set<uint32_t> positive_tags_, nonnegative_tags_;
  absl::flat_hash_map<std::string, uint32_t> opaque_tags_;  // numbers, without the bit
  absl::flat_hash_map<PolyId, Sign> sign_cache_;
  absl::flat_hash_map<std::pair<PolyId, PolyId>, PolyId> mul_cache_;
  absl::flat_hash_set<std::pair<AtomId, AtomId>> not_joined_;  // by JoinClipped
  // Of SumAgain, where that meets no premise: body, options and box.
  absl::flat_hash_map<std::vector<int64_t>, PolyId> summed_again_;
  StructureHashes structure_hashes_;
  // The boxes of the binders whose bodies are being rewritten to bound symbols, innermost last.
  std::vector<const std::vector<BoundVariable>*> open_boxes_;
  std::map<std::vector<int64_t>, PolyId> opened_premises_;  // on bodies: as they were recorded
  // Sums over one digit beside digits that are free start in the first period. Aligned sums meet
  // where their forms differ by a shift; parts of longer sums no longer merge.
  bool align_digits_ = false;
  bool exhausted_ = false, overflown_ = false;
  int equality_depth_ = 0;
  int64_t budget_ = int64_t{1} << 60;
  int64_t visits_ = 0;  // not charged yet
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_TERM_H_
