// One test per rule by which a premise is seen to hold, or to follow from others.
#include "solver/implication.h"
#include "tests/solver/rules.h"

namespace planproof::solver {
namespace {

TEST_F(Rule, HoldsBySign) {
  EXPECT_TRUE(arena_.AlwaysHolds(PremiseKind::kNonZero, P()));
  EXPECT_TRUE(arena_.AlwaysHolds(PremiseKind::kNonNegative, N()));
  EXPECT_FALSE(arena_.AlwaysHolds(PremiseKind::kPositive, N()));
  EXPECT_TRUE(arena_.AlwaysHolds(PremiseKind::kNonZero, Minus(kZeroPoly, P())));
  EXPECT_FALSE(arena_.AlwaysHolds(PremiseKind::kNonZero, kZeroPoly));
}

TEST_F(Rule, HoldsByCases) {
  const PolyId c = arena_.RealPositive(X());
  EXPECT_TRUE(arena_.AlwaysHolds(PremiseKind::kPositive, Plus(Times(c, X()), Not(c))));
  EXPECT_FALSE(arena_.AlwaysHolds(PremiseKind::kPositive, Plus(Times(Not(c), X()), c)));
  const PolyId z = arena_.RealZero(X());
  EXPECT_TRUE(arena_.AlwaysHolds(PremiseKind::kNonZero, Plus(Times(Not(z), X()), z)));
}

TEST_F(Rule, Weaken) {
  Implication known(&arena_);
  known.Assume(PremiseKind::kPositive, X());
  known.Assume(PremiseKind::kNonNegative, Y());
  EXPECT_TRUE(known.Follows(PremiseKind::kNonZero, X()));
  EXPECT_TRUE(known.Follows(PremiseKind::kNonNegative, X()));
  EXPECT_FALSE(known.Follows(PremiseKind::kNonZero, Y()));
}

TEST_F(Rule, SameUpToFactor) {
  Implication known(&arena_);
  known.Assume(PremiseKind::kPositive, Plus(X(), Y()));
  const PolyId twice = arena_.Scale(Plus(X(), Y()), Rational(2));
  EXPECT_TRUE(known.Follows(PremiseKind::kPositive, twice));
  EXPECT_TRUE(known.Follows(PremiseKind::kNonZero, Minus(kZeroPoly, twice)));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, Minus(kZeroPoly, twice)));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, Plus(twice, X())));
}

TEST_F(Rule, LooserBound) {
  const Symbol id = arena_.IntAtom(arena_.ElementAtom(1, {Affine(0)}), IntRange{});
  const Symbol other = arena_.IntAtom(arena_.ElementAtom(2, {Affine(0)}), IntRange{});
  const auto at_least = [&](const Affine& e) { return arena_.Indicator(e); };
  Implication known(&arena_);
  known.Assume(PremiseKind::kPositive, at_least(Affine::Of(id)));
  const PolyId looser = at_least(Affine::Of(id) + Affine(1));
  EXPECT_TRUE(known.Follows(PremiseKind::kPositive, looser));
  EXPECT_TRUE(known.Follows(PremiseKind::kNonZero, looser));
  EXPECT_TRUE(known.Follows(PremiseKind::kPositive, arena_.Scale(looser, Rational(3))));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, arena_.Scale(looser, Rational(-3))));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, at_least(Affine::Of(id) + Affine(-1))));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, at_least(Affine(1) - Affine::Of(id))));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, at_least(Affine::Of(id) - Affine::Of(other))));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, at_least(Affine::Of(other) + Affine(1))));
  // A condition that is not known to hold bounds nothing.
  Implication nothing(&arena_);
  nothing.Assume(PremiseKind::kNonNegative, at_least(Affine::Of(id)));
  EXPECT_FALSE(nothing.Follows(PremiseKind::kPositive, looser));
}

TEST_F(Rule, Factors) {
  Implication known(&arena_);
  known.Assume(PremiseKind::kNonZero, Times(X(), Y()));
  EXPECT_TRUE(known.Follows(PremiseKind::kNonZero, X()));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, X()));
  Implication sum(&arena_);
  sum.Assume(PremiseKind::kNonZero, Plus(X(), Y()));
  EXPECT_FALSE(sum.Follows(PremiseKind::kNonZero, X()));
}

TEST_F(Rule, Product) {
  Implication known(&arena_);
  known.Assume(PremiseKind::kNonZero, X());
  known.Assume(PremiseKind::kPositive, Y());
  EXPECT_TRUE(known.Follows(PremiseKind::kPositive, Times(Power(X(), 2), Y())));
  EXPECT_TRUE(known.Follows(PremiseKind::kNonZero, Times(X(), Y())));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, Times(X(), Y())));
}

TEST_F(Rule, Sharpen) {
  Implication known(&arena_);
  known.Assume(PremiseKind::kNonZero, N());
  known.Assume(PremiseKind::kNonZero, X());
  EXPECT_TRUE(known.Follows(PremiseKind::kPositive, N()));
  EXPECT_FALSE(known.Follows(PremiseKind::kPositive, X()));
}

TEST_F(Rule, Summands) {
  Implication known(&arena_);
  known.Assume(PremiseKind::kPositive, X());
  EXPECT_TRUE(known.Follows(PremiseKind::kNonZero, Plus(X(), N())));
  EXPECT_FALSE(known.Follows(PremiseKind::kNonZero, Plus(X(), Y())));
  EXPECT_FALSE(known.Follows(PremiseKind::kNonZero, Minus(X(), N())));
}

TEST_F(Rule, Instance) {
  Implication known(&arena_);
  const Affine i = Free(0, 8), within = Free(1, 4), beyond = Free(1, 10);
  known.Assume(PremiseKind::kNonZero, X(i));
  EXPECT_TRUE(known.Follows(PremiseKind::kNonZero, X(within.Scaled(2) + Affine(1))));
  EXPECT_FALSE(known.Follows(PremiseKind::kNonZero, X(beyond)));
  EXPECT_FALSE(known.Follows(PremiseKind::kNonZero, Y(within)));
  // One value per symbol.
  known.Assume(PremiseKind::kNonZero, arena_.Element(20, {i, i}));
  EXPECT_FALSE(known.Follows(PremiseKind::kNonZero, arena_.Element(20, {within, within + 1})));
}

}  // namespace
}  // namespace planproof::solver
