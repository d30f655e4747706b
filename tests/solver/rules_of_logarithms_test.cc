// One test per rule about logarithms.
#include "tests/solver/rules.h"

namespace planproof::solver {
namespace {

TEST_F(Rule, LogOfContent) {
  const PolyId a = arena_.Exp(X()), b = arena_.Exp(Y());
  const PolyId both = arena_.Log(Plus(a, b));
  // log(1 + exp(y - x)) = log(exp x + exp y) - x, and the same the other way round.
  EXPECT_EQ(arena_.Log(Plus(Number(1), arena_.Exp(Minus(Y(), X())))), Minus(both, X()));
  EXPECT_EQ(arena_.Log(Plus(Number(1), arena_.Exp(Minus(X(), Y())))), Minus(both, Y()));
  // Two parts of a sum, put together from the logarithms of each.
  const auto sum = [&](int64_t lo, int64_t hi) {
    return Sum(lo, hi, [&](const Affine& i) { return arena_.Exp(X(i)); });
  };
  const PolyId first = arena_.Log(sum(0, 3)), second = arena_.Log(sum(3, 8));
  const PolyId joined = Plus(first, arena_.Log(Plus(Number(1), arena_.Exp(Minus(second, first)))));
  EXPECT_EQ(joined, arena_.Log(sum(0, 8)));
  // Parts that lie apart, and then the one between them.
  const PolyId apart = arena_.Log(Plus(sum(0, 3), sum(5, 8))), between = arena_.Log(sum(3, 5));
  EXPECT_EQ(Plus(apart, arena_.Log(Plus(Number(1), arena_.Exp(Minus(between, apart))))),
            arena_.Log(sum(0, 8)));
  EXPECT_EQ(arena_.Exp(Minus(first, joined)), Times(sum(0, 3), Power(sum(0, 8), -1)));
  EXPECT_EQ(arena_.Log(Plus(Times(P(), X()), Times(P(), Y()))),
            Plus(arena_.Log(P()), arena_.Log(Plus(X(), Y()))));
  EXPECT_EQ(arena_.Log(arena_.Scale(Times(P(), Plus(X(), Y())), Rational(3))),
            Plus(Plus(arena_.Log(Number(3)), arena_.Log(P())), arena_.Log(Plus(X(), Y()))));
  EXPECT_TRUE(Recorded(PremiseKind::kPositive, Plus(Times(P(), X()), Times(P(), Y()))));
  // What divides some terms only, or may be negative, stays.
  EXPECT_NE(arena_.Log(Plus(Times(P(), X()), Y())),
            Plus(arena_.Log(P()), arena_.Log(Plus(X(), Y()))));
  EXPECT_NE(arena_.Log(Plus(Times(N(), X()), Times(N(), Y()))),
            Plus(arena_.Log(N()), arena_.Log(Plus(X(), Y()))));
  EXPECT_NE(arena_.Log(Plus(Number(1), arena_.Exp(Minus(Y(), X())))), Plus(both, X()));
  EXPECT_NE(joined, arena_.Log(sum(0, 7)));
  // Of a difference the sign stays: log(-3 x - 3 y) says that x + y is negative.
  const PolyId negative = arena_.Scale(Times(P(), Plus(X(), Y())), Rational(-3));
  EXPECT_EQ(arena_.Log(negative), Plus(Plus(arena_.Log(Number(3)), arena_.Log(P())),
                                       arena_.Log(arena_.Scale(Plus(X(), Y()), Rational(-1)))));
}

TEST_F(Rule, SignOfLogarithm) {
  const auto sign = [&](PolyId p) { return arena_.SignOf(p); };
  EXPECT_EQ(sign(arena_.Log(Number(8))), Sign::kPositive);
  EXPECT_EQ(sign(Plus(arena_.Log(Number(3)), N())), Sign::kPositive);
  // Of a number below 1 it is negative, and of others it may be.
  EXPECT_EQ(sign(arena_.Log(Number(1, 2))), Sign::kUnknown);
  EXPECT_EQ(sign(arena_.Log(Number(2, 3))), Sign::kUnknown);
  EXPECT_EQ(sign(arena_.Log(P())), Sign::kUnknown);
  EXPECT_EQ(sign(arena_.Log(Plus(P(), Number(1, 2)))), Sign::kUnknown);
  EXPECT_EQ(arena_.Log(Number(1)), kZeroPoly);
}

}  // namespace
}  // namespace planproof::solver
