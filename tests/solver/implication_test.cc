#include "solver/implication.h"

#include <gtest/gtest.h>

namespace planproof::solver {
namespace {

constexpr uint32_t kA = 1, kB = 2, kIds = 3;
constexpr int64_t kExtent = 8;

class ImplicationTest : public testing::Test {
 protected:
  Symbol Index(int64_t low = 0, int64_t high = kExtent - 1) { return arena_.NewFree(low, high); }
  PolyId Element(uint32_t tag, const Affine& index) { return arena_.Element(tag, {index}); }
  PolyId X(Symbol i) { return Element(kA, Affine::Of(i)); }
  PolyId Y(Symbol i) { return Element(kB, Affine::Of(i)); }
  PolyId Number(int64_t n) { return arena_.Constant(Rational(n)); }
  bool Follows(PremiseKind kind, PolyId poly) { return implication_.Follows(kind, poly); }

  Arena arena_;
  Implication implication_{&arena_};
};

TEST_F(ImplicationTest, WithoutFactsOnlyWhatAlwaysHoldsFollows) {
  const PolyId x = X(Index());
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, x));
  EXPECT_TRUE(Follows(PremiseKind::kPositive, arena_.Exp(x)));
  EXPECT_TRUE(Follows(PremiseKind::kNonNegative, arena_.Mul(x, x)));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, kZeroPoly));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, kZeroPoly));
}

TEST_F(ImplicationTest, Weaken) {
  const PolyId x = X(Index());
  implication_.Assume(PremiseKind::kPositive, x);
  for (PremiseKind kind :
       {PremiseKind::kPositive, PremiseKind::kNonZero, PremiseKind::kNonNegative}) {
    EXPECT_TRUE(Follows(kind, x));
  }
}

TEST_F(ImplicationTest, NothingFollowsThatIsStronger) {
  const PolyId x = X(Index()), y = Y(Index());
  implication_.Assume(PremiseKind::kNonNegative, x);
  EXPECT_FALSE(Follows(PremiseKind::kPositive, x));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, x));
  implication_.Assume(PremiseKind::kNonZero, y);
  EXPECT_FALSE(Follows(PremiseKind::kPositive, y));
  EXPECT_FALSE(Follows(PremiseKind::kNonNegative, y));
}

TEST_F(ImplicationTest, Sharpen) {
  const PolyId x = X(Index());
  implication_.Assume(PremiseKind::kNonZero, x);
  EXPECT_TRUE(Follows(PremiseKind::kPositive, arena_.Mul(x, x)));
  EXPECT_TRUE(Follows(PremiseKind::kPositive, arena_.Abs(x)));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, arena_.Mul(x, arena_.Mul(x, x))));
}

TEST_F(ImplicationTest, FactorsOfAProductThatIsNotZero) {
  const PolyId x = X(Index()), y = Y(Index());
  implication_.Assume(PremiseKind::kNonZero, arena_.Mul(x, arena_.Mul(y, y)));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, x));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, y));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, y));
}

TEST_F(ImplicationTest, FactorsOfASumThatIsNotZeroMayBeZero) {
  const PolyId x = X(Index()), y = Y(Index());
  implication_.Assume(PremiseKind::kNonZero, arena_.Add(x, y));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, x));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Add(x, y)));
}

TEST_F(ImplicationTest, ProductOfWhatIsNotZero) {
  const PolyId x = X(Index()), y = Y(Index());
  implication_.Assume(PremiseKind::kNonZero, x);
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, arena_.Mul(x, y)));
  implication_.Assume(PremiseKind::kPositive, y);
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Mul(x, y)));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, arena_.Mul(x, y)));
  EXPECT_TRUE(Follows(PremiseKind::kPositive, arena_.Mul(arena_.Mul(x, x), y)));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, arena_.Scale(y, Rational(-1))));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Scale(y, Rational(-1))));
}

// 1/y is defined, by a premise of its own, and then not 0; its sign is that of y.
TEST_F(ImplicationTest, AnInverseThatIsDefinedIsNotZero) {
  const PolyId y = Y(Index());
  const PolyId inverse = arena_.Power(y, Exponent{-1, 1});
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, inverse));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, inverse));
  implication_.Assume(PremiseKind::kPositive, y);
  EXPECT_TRUE(Follows(PremiseKind::kPositive, inverse));
}

TEST_F(ImplicationTest, Summands) {
  const PolyId x = X(Index()), y = Y(Index());
  implication_.Assume(PremiseKind::kPositive, x);
  EXPECT_FALSE(Follows(PremiseKind::kPositive, arena_.Add(x, y)));
  EXPECT_TRUE(Follows(PremiseKind::kPositive, arena_.Add(x, arena_.Mul(y, y))));
  implication_.Assume(PremiseKind::kNonNegative, y);
  EXPECT_TRUE(Follows(PremiseKind::kPositive, arena_.Add(x, y)));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, arena_.Sub(x, y)));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Add(x, y)));
  EXPECT_TRUE(Follows(PremiseKind::kNonNegative, arena_.Scale(y, Rational(3))));
}

TEST_F(ImplicationTest, InstanceAtAnotherIndex) {
  implication_.Assume(PremiseKind::kNonZero, X(Index()));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, X(Index())));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, X(Index(2, 5))));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, Element(kA, Affine(3))));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, Element(kA, Affine::Of(Index(0, 3), 2) + Affine(1))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, Y(Index())));
}

// The fact is about some of the elements only.
TEST_F(ImplicationTest, NoInstanceOutsideTheRangeOfASymbol) {
  implication_.Assume(PremiseKind::kNonZero, X(Index(0, 3)));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, X(Index(1, 3))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, X(Index(1, 4))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, Element(kA, Affine(4))));
  implication_.Assume(PremiseKind::kPositive, Element(kB, Affine::Of(Index(0, 3)) + Affine(2)));
  EXPECT_TRUE(Follows(PremiseKind::kPositive, Y(Index(2, 5))));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, Y(Index(1, 5))));
}

// x[i] != x[j] for all i and j is false, and so is what follows from x[i] + y[i] at one index only.
TEST_F(ImplicationTest, AnInstanceGivesEachSymbolOneValue) {
  const Symbol i = Index();
  implication_.Assume(PremiseKind::kNonZero, arena_.Add(X(i), Y(i)));
  const Symbol j = Index(), k = Index();
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Add(X(j), Y(j))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, arena_.Add(X(j), Y(k))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, arena_.Add(X(j), Element(kB, Affine(0)))));
}

// The value of a symbol is read off an index beside a bound one, and off its multiples.
TEST_F(ImplicationTest, InstanceOfASumOverStrides) {
  const auto sum = [&](const Affine& start) {
    const Symbol k = Index(0, 1);
    return arena_.Sum({k, {0, 2}}, Element(kA, start + Affine::Of(k)));
  };
  implication_.Assume(PremiseKind::kNonZero, sum(Affine::Of(Index(0, 3), 2)));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, sum(Affine::Of(Index(1, 2), 2))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, sum(Affine(3))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, sum(Affine::Of(Index(0, 2), 2) + Affine(1))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, sum(Affine::Of(Index(0, 6)))));
}

// The symbols of the premise may be those of the fact, in other places.
TEST_F(ImplicationTest, SymbolsOfFactAndPremiseMayBeTheSame) {
  const Symbol i = Index(), j = Index();
  const auto element = [&](Symbol a, Symbol b) {
    return arena_.Element(kA, {Affine::Of(a), Affine::Of(b)});
  };
  implication_.Assume(PremiseKind::kNonZero, arena_.Add(element(i, j), Y(j)));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Add(element(j, i), Y(i))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, arena_.Add(element(j, i), Y(j))));
}

TEST_F(ImplicationTest, AnIndexThatIsDataIsAnInstance) {
  implication_.Assume(PremiseKind::kNonZero, X(Index()));
  const auto id = [&](int64_t high) {
    return arena_.IntAtom(arena_.ElementAtom(kIds, {Affine::Of(Index())}), IntRange{0, high});
  };
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, Element(kA, Affine::Of(id(kExtent - 1)))));
}

// No place is written twice: at most one of ids[j, 0], ids[j, 1] is i.
TEST_F(ImplicationTest, AnIndexBesideDataAtAnotherIndexIsAnInstance) {
  const auto once = [&](Symbol i, Symbol j, uint32_t ids, int64_t places) {
    const Symbol k = Index(0, places - 1);
    const Symbol id =
        arena_.IntAtom(arena_.ElementAtom(ids, {Affine::Of(j), Affine::Of(k)}), IntRange{});
    return arena_.Sub(Number(1),
                      arena_.Sum({k, {0, places}}, arena_.Delta(Affine::Of(i) - Affine::Of(id))));
  };
  implication_.Assume(PremiseKind::kNonNegative, once(Index(0, 3), Index(), kIds, 2));
  const auto follows = [&](PolyId p) { return Follows(PremiseKind::kNonNegative, p); };
  EXPECT_TRUE(follows(once(Index(0, 3), Index(), kIds, 2)));
  EXPECT_TRUE(follows(once(Index(1, 2), Index(2, 5), kIds, 2)));
  EXPECT_FALSE(follows(once(Index(0, 4), Index(), kIds, 2)));
  EXPECT_FALSE(follows(once(Index(0, 3), Index(), kIds, 3)));
  EXPECT_FALSE(follows(once(Index(0, 3), Index(), kIds + 1, 2)));
  // Of two rows together nothing is known.
  const Symbol i = Index(0, 3), j = Index(), l = Index();
  EXPECT_FALSE(
      follows(arena_.Sub(arena_.Add(once(i, j, kIds, 2), once(i, l, kIds, 2)), Number(1))));
}

TEST_F(ImplicationTest, AnIndexThatIsDataWithoutARangeIsNone) {
  implication_.Assume(PremiseKind::kNonZero, X(Index()));
  const Symbol id = arena_.IntAtom(arena_.ElementAtom(kIds, {Affine::Of(Index())}), IntRange{});
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, Element(kA, Affine::Of(id))));
}

// Rows of a table from its second on are read where rows from its first on are.
TEST_F(ImplicationTest, AnInstanceOfALooserBound) {
  const auto bound = [&](Symbol i, uint32_t ids, int64_t offset) {
    const Symbol id = arena_.IntAtom(arena_.ElementAtom(ids, {Affine::Of(i)}), IntRange{});
    return arena_.Indicator(Affine::Of(id) + Affine(offset));
  };
  implication_.Assume(PremiseKind::kPositive, bound(Index(), kIds, 0));
  const auto follows = [&](PolyId p) { return Follows(PremiseKind::kPositive, p); };
  EXPECT_TRUE(follows(bound(Index(), kIds, 1)));
  EXPECT_TRUE(follows(bound(Index(2, 5), kIds, 7)));
  EXPECT_FALSE(follows(bound(Index(0, kExtent), kIds, 1)));
  EXPECT_FALSE(follows(bound(Index(), kIds, -1)));
  EXPECT_FALSE(follows(bound(Index(), kIds + 1, 1)));
}

// Sums over other ranges are other sums.
TEST_F(ImplicationTest, SumsAreNoInstancesOfSumsOverOtherRanges) {
  const auto sum = [&](int64_t low, int64_t high) {
    const Symbol k = Index(low, high - 1);
    return arena_.Sum({k, {low, high}}, X(k));
  };
  implication_.Assume(PremiseKind::kNonZero, sum(0, 8));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Scale(sum(0, 8), Rational(1, 8))));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Add(sum(0, 4), sum(4, 8))));
  EXPECT_FALSE(Follows(PremiseKind::kNonZero, sum(0, 4)));
}

TEST_F(ImplicationTest, AFactorOfOneSignOnlyForWhatHasASign) {
  const PolyId u = arena_.Add(X(Index()), Number(1));
  implication_.Assume(PremiseKind::kPositive, u);
  EXPECT_TRUE(Follows(PremiseKind::kPositive, arena_.Scale(u, Rational(1, 3))));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, arena_.Scale(u, Rational(-1, 3))));
  EXPECT_TRUE(Follows(PremiseKind::kNonZero, arena_.Scale(u, Rational(-1, 3))));
  EXPECT_FALSE(Follows(PremiseKind::kPositive, arena_.Add(u, Number(-1))));
}

TEST_F(ImplicationTest, NothingFollowsPastTheWorkLimit) {
  const PolyId x = X(Index());
  implication_.Assume(PremiseKind::kPositive, x);
  arena_.MarkExhausted();
  EXPECT_FALSE(Follows(PremiseKind::kPositive, x));
}

}  // namespace
}  // namespace planproof::solver
