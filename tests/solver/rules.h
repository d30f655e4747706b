// What the tests of single rules share: a few values with short names.
#ifndef PLANPROOF_TESTS_SOLVER_RULES_H_
#define PLANPROOF_TESTS_SOLVER_RULES_H_

#include <gtest/gtest.h>

#include "solver/term.h"

namespace planproof::solver {

// The tests of rules: each is named after its rule in docs/soundness.md, shows it at work, and
// shows that what is nearly the same is not taken for it.
class Rule : public testing::Test {
 protected:
  Rule() {
    arena_.ResetExhausted(1'000'000);
    arena_.SetTagPositive(kPositive);
    arena_.SetTagNonNegative(kNonNegative);
  }

  static constexpr uint32_t kX = 1, kY = 2, kIds = 3, kPositive = 10, kNonNegative = 11;

  PolyId X(const Affine& i = 0) { return arena_.Element(kX, {i}); }
  PolyId Y(const Affine& i = 0) { return arena_.Element(kY, {i}); }
  PolyId P(const Affine& i = 0) { return arena_.Element(kPositive, {i}); }
  PolyId N(const Affine& i = 0) { return arena_.Element(kNonNegative, {i}); }
  PolyId Number(int64_t n, int64_t d = 1) { return arena_.Constant(Rational(n, d)); }
  PolyId Plus(PolyId a, PolyId b) { return arena_.Add(a, b); }
  PolyId Minus(PolyId a, PolyId b) { return arena_.Sub(a, b); }
  PolyId Times(PolyId a, PolyId b) { return arena_.Mul(a, b); }
  PolyId Power(PolyId a, int32_t num, int32_t den = 1) {
    return arena_.Power(a, Exponent{num, den});
  }
  PolyId Not(PolyId condition) { return Minus(Number(1), condition); }
  BoundVariable Variable(int64_t lo, int64_t hi) { return {arena_.NewFree(lo, hi - 1), {lo, hi}}; }
  Affine Free(int64_t lo, int64_t hi) { return Affine::Of(arena_.NewFree(lo, hi - 1)); }
  static Affine At(const BoundVariable& v) { return Affine::Of(v.symbol); }
  // An id read at this index, in [low, high].
  Affine Id(const Affine& index, int64_t low, int64_t high) {
    return Affine::Of(arena_.IntAtom(arena_.ElementAtom(kIds, {index}), {low, high}));
  }
  // The sum over v in [lo, hi) of body(v).
  template <typename Body>
  PolyId Sum(int64_t lo, int64_t hi, const Body& body) {
    const BoundVariable v = Variable(lo, hi);
    return arena_.Sum(v, body(At(v)));
  }
  template <typename Body>
  PolyId Largest(int64_t lo, int64_t hi, const Body& body) {
    const BoundVariable v = Variable(lo, hi);
    return arena_.ReduceMax(v, body(At(v)), kZeroPoly);
  }
  bool Zero(PolyId p) { return arena_.IsZero(p); }
  bool Recorded(PremiseKind kind, PolyId p) const {
    for (const Premise& premise : arena_.premises()) {
      if (premise.kind == kind && premise.poly == p) return true;
    }
    return false;
  }

  Arena arena_;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_TESTS_SOLVER_RULES_H_
