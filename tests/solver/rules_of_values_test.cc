// One test per rule about products, powers, functions, maxima, conditions and signs.
#include <random>

#include "tests/solver/rules.h"

namespace planproof::solver {
namespace {

TEST_F(Rule, FoldExp) {
  EXPECT_EQ(Times(arena_.Exp(X()), arena_.Exp(Y())), arena_.Exp(Plus(X(), Y())));
  EXPECT_EQ(Times(arena_.Exp(X()), arena_.Exp(Minus(kZeroPoly, X()))), Number(1));
  EXPECT_NE(Times(arena_.Exp(X()), arena_.Exp(X())), arena_.Exp(X()));
}

TEST_F(Rule, FoldNumber) {
  EXPECT_EQ(Times(Power(Number(8), 1, 2), Power(Number(2), 1, 2)), Number(4));
  EXPECT_NE(Times(Power(Number(2), 1, 2), Power(Number(3), 1, 2)), Number(6));
}

TEST_F(Rule, ExpandBase) {
  const PolyId sum = Plus(X(), Y());
  EXPECT_EQ(Times(Power(sum, 1, 2), Power(sum, 1, 2)), sum);
  EXPECT_TRUE(Recorded(PremiseKind::kNonNegative, sum));
  EXPECT_NE(Times(Power(sum, 1, 2), Power(sum, 1, 3)), sum);
}

TEST_F(Rule, IdempotentCondition) {
  const PolyId c = arena_.Indicator(Free(0, 9) - Affine(4));
  EXPECT_EQ(Times(c, c), c);
  EXPECT_NE(Times(X(), X()), X());
}

TEST_F(Rule, SquareOfAbs) {
  EXPECT_EQ(Power(arena_.Abs(X()), 4), Power(X(), 4));
  EXPECT_EQ(Power(arena_.Abs(X()), 3), Times(Power(X(), 2), arena_.Abs(X())));
  EXPECT_NE(Power(arena_.Abs(X()), 3), Power(X(), 3));
}

TEST_F(Rule, ContradictoryConditions) {
  const Affine t = Free(0, 9);
  const auto at_least = [&](int64_t n) { return arena_.Indicator(t - Affine(n)); };
  const auto below = [&](int64_t n) { return arena_.Indicator(Affine(n - 1) - t); };
  const auto is = [&](int64_t n) { return arena_.Delta(t - Affine(n)); };
  EXPECT_EQ(Times(at_least(3), at_least(5)), at_least(5));
  EXPECT_EQ(Times(at_least(5), below(5)), kZeroPoly);
  EXPECT_NE(Times(at_least(4), below(5)), kZeroPoly);
  EXPECT_EQ(Times(is(3), is(4)), kZeroPoly);
  EXPECT_EQ(Times(is(3), at_least(3)), is(3));
  EXPECT_EQ(Times(is(3), at_least(4)), kZeroPoly);
  EXPECT_NE(Times(is(3), arena_.Delta(Free(0, 9) - Affine(4))), kZeroPoly);  // of another symbol
}

TEST_F(Rule, EqualityInProduct) {
  const Affine i = Free(0, 8), id = Id(0, 0, 99), other = Id(1, 0, 99);
  const auto is = [&](const Affine& a, const Affine& b) { return arena_.Delta(a - b); };
  const auto at = [&](const Affine& index) { return arena_.Element(kX, {index}); };
  EXPECT_EQ(Times(is(id, i), at(id)), Times(is(id, i), at(i)));
  EXPECT_NE(Times(is(id, i), at(id)), at(i));
  EXPECT_NE(Times(is(id, i), at(other)), Times(is(id, i), at(i)));
  EXPECT_NE(Times(is(id, i + Affine(1)), at(id)), Times(is(id, i), at(i)));
  // i < 8, so the id is not 8 or more.
  EXPECT_EQ(Times(is(id, i), arena_.Indicator(id - Affine(8))), kZeroPoly);
  EXPECT_EQ(Times(is(id, i), arena_.Indicator(id)), is(id, i));
  EXPECT_NE(Times(is(id, i), arena_.Indicator(id - Affine(7))), kZeroPoly);
  // A variable that is equal to a number.
  EXPECT_EQ(Times(arena_.Delta(i - Affine(3)), at(i)), Times(arena_.Delta(i - Affine(3)), at(3)));
  // The one entry of a sum that an id chooses.
  const BoundVariable k = Variable(0, 8);
  const PolyId chosen = arena_.SumOver({k}, Times(is(id, At(k)), at(At(k))));
  EXPECT_EQ(Times(is(id, i), chosen), Times(is(id, i), at(i)));
  EXPECT_NE(Times(is(other, i), chosen), Times(is(other, i), at(i)));
  // Of several equalities each is used, and none of them for ever.
  EXPECT_EQ(Times(Times(is(id, i), is(other, id)), at(other)),
            Times(Times(is(id, i), is(other, i)), at(i)));
  const Affine nested = Affine::Of(arena_.IntAtom(arena_.ElementAtom(kIds, {id}), {0, 99}));
  EXPECT_NE(Times(is(id, nested), at(id)), kZeroPoly);
  // What the id divides by is not what all entries would divide by.
  const BoundVariable j = Variable(0, 8);
  const PolyId quotients =
      arena_.SumOver({j}, Power(Plus(arena_.Element(kY, {id}), at(At(j))), -1));
  const size_t met = arena_.premises().size();
  Times(is(id, i), quotients);
  EXPECT_EQ(arena_.premises().size(), met);
}

TEST_F(Rule, PremiseBeforeCancelling) {
  EXPECT_EQ(Times(X(), Power(X(), -1)), Number(1));
  EXPECT_TRUE(Recorded(PremiseKind::kNonZero, X()));
  EXPECT_EQ(Times(kZeroPoly, arena_.Log(Y())), kZeroPoly);
  EXPECT_TRUE(Recorded(PremiseKind::kPositive, Y()));
  Power(Minus(X(), Y()), -1, 2);
  EXPECT_TRUE(Recorded(PremiseKind::kPositive, Minus(X(), Y())));
  Power(kZeroPoly, -1);
  EXPECT_TRUE(Recorded(PremiseKind::kNonZero, kZeroPoly));
}

TEST_F(Rule, PowerOfProduct) {
  EXPECT_EQ(Power(arena_.Scale(Times(X(), Y()), Rational(2)), -2),
            arena_.Scale(Times(Power(X(), -2), Power(Y(), -2)), Rational(1, 4)));
  const PolyId c = arena_.Indicator(Free(0, 9) - Affine(4));
  EXPECT_EQ(Power(Times(c, X()), -1), Power(X(), -1));
  EXPECT_TRUE(Recorded(PremiseKind::kNonZero, Times(c, X())));
  EXPECT_NE(Power(Times(X(), Y()), 1, 2), Times(Power(X(), 1, 2), Power(Y(), 1, 2)));
}

TEST_F(Rule, SplitPositiveRoots) {
  EXPECT_EQ(Power(Times(P(), X()), 1, 2), Times(Power(P(), 1, 2), Power(X(), 1, 2)));
  EXPECT_NE(Power(Times(N(), X()), 1, 3), Times(Power(N(), 1, 3), Power(X(), 1, 3)));
}

TEST_F(Rule, RootOfEvenPower) {
  EXPECT_EQ(Power(Power(X(), 2), 1, 2), arena_.Abs(X()));
  EXPECT_NE(Power(Power(X(), 2), 1, 2), X());
  EXPECT_EQ(Power(Power(P(), 2), 1, 2), P());
}

TEST_F(Rule, Content) {
  const PolyId sum = Plus(X(), Y());
  EXPECT_EQ(Power(Times(Power(X(), 2), sum), -1), Times(Power(X(), -2), Power(sum, -1)));
  // Under a root only what is positive is taken out.
  EXPECT_EQ(Power(Times(P(), sum), 1, 2), Times(Power(P(), 1, 2), Power(sum, 1, 2)));
  EXPECT_NE(Power(Times(X(1), sum), 1, 2), Times(Power(X(1), 1, 2), Power(sum, 1, 2)));
  // What is left may be one term: parts of a sum that meet.
  const auto part = [&](int64_t lo, int64_t hi) {
    return Sum(lo, hi, [&](const Affine& i) { return arena_.Exp(X(i)); });
  };
  const PolyId ratio = Plus(Number(1), Times(part(0, 3), Power(part(3, 8), -1)));
  EXPECT_EQ(Power(ratio, -1), Times(part(3, 8), Power(part(0, 8), -1)));
  EXPECT_NE(Power(ratio, -1), Times(part(0, 3), Power(part(0, 8), -1)));
  EXPECT_EQ(Power(ratio, 1, 2), Times(Power(part(0, 8), 1, 2), Power(part(3, 8), -1, 2)));
}

TEST_F(Rule, ConditionContent) {
  const PolyId c = arena_.Indicator(Free(0, 9) - Affine(4)), sum = Plus(X(), Y());
  EXPECT_EQ(Power(Times(c, sum), -1), Power(sum, -1));
  EXPECT_TRUE(Recorded(PremiseKind::kNonZero, Times(c, sum)));
  EXPECT_NE(Power(Plus(Times(c, X()), Y()), -1), Power(sum, -1));
}

TEST_F(Rule, PerfectSquare) {
  const PolyId sum = Plus(X(), Y());
  EXPECT_EQ(Power(Power(sum, 2), 1, 2), arena_.Abs(sum));
  EXPECT_EQ(Power(Power(sum, 2), -1), Power(sum, -2));
  EXPECT_NE(Power(Plus(Power(sum, 2), Number(1)), 1, 2), arena_.Abs(sum));
}

TEST_F(Rule, ExpOfSum) {
  const PolyId sum = Plus(arena_.Scale(X(), Rational(2)), Y());
  EXPECT_EQ(arena_.Exp(sum), Times(Power(arena_.Exp(X()), 2), arena_.Exp(Y())));
  EXPECT_NE(arena_.Exp(Times(X(), Y())), Times(arena_.Exp(X()), arena_.Exp(Y())));
}

TEST_F(Rule, ExpOfLog) {
  const PolyId u = Plus(X(), Y()), log = arena_.Log(u);
  EXPECT_EQ(arena_.Exp(log), u);
  EXPECT_EQ(arena_.Exp(Plus(P(), arena_.Scale(log, Rational(-2)))),
            Times(arena_.Exp(P()), Power(u, -2)));
  EXPECT_NE(arena_.Exp(Times(X(), log)), Times(X(), u));
  EXPECT_NE(arena_.Exp(arena_.Scale(log, Rational(1, 2))), u);
  // That u is positive has been recorded, and is asked for.
  EXPECT_TRUE(std::any_of(arena_.premises().begin(), arena_.premises().end(), [&](const auto& p) {
    return p.kind == PremiseKind::kPositive && p.poly == u;
  }));
}

TEST_F(Rule, LogOfProduct) {
  EXPECT_EQ(arena_.Log(Times(P(), X())), Plus(arena_.Log(P()), arena_.Log(X())));
  EXPECT_NE(arena_.Log(Times(X(), Y())), Plus(arena_.Log(X()), arena_.Log(Y())));
  EXPECT_EQ(arena_.Log(arena_.Exp(X())), X());
}

TEST_F(Rule, OddAndEvenFunctions) {
  const PolyId u = Minus(X(), Y()), negated = Minus(Y(), X());
  for (const AtomKind odd : {AtomKind::kSin, AtomKind::kErf})
    EXPECT_EQ(arena_.Unary(odd, negated), arena_.Scale(arena_.Unary(odd, u), Rational(-1)));
  EXPECT_EQ(arena_.Unary(AtomKind::kCos, negated), arena_.Unary(AtomKind::kCos, u));
  EXPECT_EQ(arena_.Abs(negated), arena_.Abs(u));
  EXPECT_NE(arena_.Unary(AtomKind::kSin, negated), arena_.Unary(AtomKind::kSin, u));
}

TEST_F(Rule, Max) {
  const PolyId xy = arena_.Max(X(), Y());
  EXPECT_EQ(arena_.Max(Y(), arena_.Max(Y(), X())), xy);
  EXPECT_EQ(arena_.Max(Number(-1), arena_.Max(N(), Number(-2))), N());
  EXPECT_NE(arena_.Max(Number(1), N()), N());
  EXPECT_NE(arena_.Max(Number(-1), X()), X());
}

TEST_F(Rule, MaximumOfInverses) {
  const PolyId f = Plus(Number(1), N());
  const auto limited = [&](PolyId of) { return arena_.Max(Number(-3), Times(Number(-2), of)); };
  const PolyId most = arena_.Max(Number(1, 3), Times(Number(1, 2), f));
  EXPECT_EQ(limited(Power(f, -1)), Minus(Number(0), Power(most, -1)));
  EXPECT_NE(limited(Power(f, -1)),
            Minus(Number(0), Power(arena_.Max(Number(3), Times(Number(1, 2), f)), -1)));
  // Not where the sign is not known: max(-2 / f, -3) at f = -1 is 2, and -1 / max(-1 / 2, 1 / 3) =
  // -3.
  const PolyId g = Plus(Number(1), X());
  EXPECT_EQ(limited(Power(g, -1)), limited(Power(g, -1)));
  EXPECT_NE(limited(Power(g, -1)),
            Minus(Number(0), Power(arena_.Max(Number(1, 3), Times(Number(1, 2), g)), -1)));
}

TEST_F(Rule, MaxShared) {
  EXPECT_EQ(arena_.Max(Plus(P(), X()), Plus(P(), Y())), Plus(P(), arena_.Max(X(), Y())));
  EXPECT_EQ(arena_.Max(Plus(P(), arena_.Max(X(), Y())), N()),
            arena_.Max(arena_.Max(Plus(P(), X()), Plus(P(), Y())), N()));
  EXPECT_NE(arena_.Max(Times(P(), X()), Times(P(), Y())), Plus(P(), arena_.Max(X(), Y())));
}

TEST_F(Rule, ImpliedComparison) {
  const Affine t = Id(Free(0, 8), 0, 31);
  const auto positive = [&](PolyId p) { return arena_.AlwaysHolds(PremiseKind::kPositive, p); };
  const auto at_least = [&](int64_t low) { return arena_.Indicator(t - Affine(low)); };
  const auto at_most = [&](int64_t high) { return arena_.Indicator(Affine(high) - t); };
  EXPECT_TRUE(positive(Plus(at_least(16), at_most(15))));
  EXPECT_TRUE(positive(Plus(at_least(16), at_most(20))));
  EXPECT_FALSE(positive(Plus(at_least(17), at_most(15))));  // 16 is neither
  EXPECT_TRUE(positive(Plus(Number(1), Minus(at_least(4), at_least(9)))));
  EXPECT_FALSE(positive(Plus(Number(1), Minus(at_least(9), at_least(4)))));
  // Of another id nothing follows.
  const Affine u = Id(Free(0, 8), 0, 31);
  EXPECT_FALSE(positive(Plus(at_least(16), arena_.Indicator(Affine(15) - u))));
}

TEST_F(Rule, MergeMaxima) {
  const auto x = [&](const Affine& v) { return X(v); };
  EXPECT_EQ(arena_.Max(Largest(0, 3, x), Largest(2, 8, x)), Largest(0, 8, x));
  EXPECT_NE(arena_.Max(Largest(0, 3, x), Largest(4, 8, x)), Largest(0, 8, x));  // 3 is missing
  EXPECT_EQ(arena_.Max(Plus(Y(), Largest(0, 3, x)), Plus(Y(), Largest(3, 8, x))),
            Plus(Y(), Largest(0, 8, x)));
  EXPECT_NE(arena_.Max(Plus(Y(), Largest(0, 3, x)), Plus(P(), Largest(3, 8, x))),
            Plus(Y(), Largest(0, 8, x)));
}

TEST_F(Rule, PositiveOfMax) {
  EXPECT_EQ(arena_.RealPositive(arena_.Max(X(), Number(-1))), arena_.RealPositive(X()));
  EXPECT_EQ(arena_.RealPositive(arena_.Max(X(), Number(1))), Number(1));
}

TEST_F(Rule, Indicator) {
  const Affine t = Free(0, 9);
  EXPECT_EQ(arena_.Indicator(t), Number(1));
  EXPECT_EQ(arena_.Indicator(t - Affine(9)), kZeroPoly);
  EXPECT_EQ(arena_.Indicator(t.Scaled(2) - Affine(7)), arena_.Indicator(t - Affine(4)));
  EXPECT_NE(arena_.Indicator(t.Scaled(2) - Affine(7)), arena_.Indicator(t - Affine(3)));
}

TEST_F(Rule, IndicatorWithoutLowDigits) {
  const Affine high = Free(0, 4), low = Free(0, 2), long_low = Free(0, 3);
  // 2 high + low >= 4 where high >= 2: `low` cannot decide it.
  EXPECT_EQ(arena_.Indicator(high.Scaled(2) + low - Affine(4)), arena_.Indicator(high - Affine(2)));
  EXPECT_EQ(arena_.Indicator(Affine(3) - high.Scaled(2) - low), arena_.Indicator(Affine(1) - high));
  // 2 high + low >= 3 where high >= 2, or high = low = 1.
  EXPECT_NE(arena_.Indicator(high.Scaled(2) + low - Affine(3)), arena_.Indicator(high - Affine(2)));
  EXPECT_NE(arena_.Indicator(high.Scaled(2) + low - Affine(3)), arena_.Indicator(high - Affine(1)));
  // A digit of 3 values does not fit below 2.
  EXPECT_NE(arena_.Indicator(high.Scaled(2) + long_low - Affine(4)),
            arena_.Indicator(high - Affine(2)));
}

class LowDigits : public Rule {};

// Against counting, over all values of random comparisons.
TEST_F(LowDigits, DecideNoComparisonThatLosesThem) {
  std::mt19937 random(7);
  const auto draw = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int simpler = 0;
  for (int n = 0; n < 3000; ++n) {
    std::vector<std::pair<Affine, IntRange>> symbols;
    Affine e(draw(-12, 12));
    for (int k = 0; k < 3; ++k) {
      const int64_t low = draw(-2, 2), high = low + draw(0, 4);
      symbols.push_back({Free(low, high + 1), {low, high}});
      e = e + symbols.back().first.Scaled(draw(0, 1) != 0 ? draw(-6, 6) : draw(-1, 1) * 6);
    }
    const Affine reduced = arena_.WithoutLowDigits(e);
    simpler += static_cast<int>(reduced.terms.size() < e.terms.size());
    const auto value = [&symbols](const Affine& of, const std::vector<int64_t>& at) {
      int64_t sum = of.constant;
      for (size_t k = 0; k < at.size(); ++k) {
        for (const auto& term : symbols[k].first.terms) sum += at[k] * of.Coefficient(term.first);
      }
      return sum;
    };
    for (int64_t a = symbols[0].second.low; a <= symbols[0].second.high; ++a) {
      for (int64_t b = symbols[1].second.low; b <= symbols[1].second.high; ++b) {
        for (int64_t c = symbols[2].second.low; c <= symbols[2].second.high; ++c) {
          ASSERT_EQ(value(e, {a, b, c}) >= 0, value(reduced, {a, b, c}) >= 0)
              << arena_.ToString(e) << " became " << arena_.ToString(reduced);
        }
      }
    }
  }
  EXPECT_GT(simpler, 300);
}

TEST_F(Rule, Delta) {
  const Affine t = Free(0, 9);
  EXPECT_EQ(arena_.Delta(t.Scaled(2) - Affine(7)), kZeroPoly);
  EXPECT_EQ(arena_.Delta(t.Scaled(2) - Affine(8)), arena_.Delta(Affine(4) - t));
  EXPECT_EQ(arena_.Delta(t - Affine(9)), kZeroPoly);
  EXPECT_NE(arena_.Delta(t - Affine(8)), kZeroPoly);
}

TEST_F(Rule, WholeNumber) {
  const Affine t = Free(0, 9), id = Id(0, 0, 5);
  EXPECT_EQ(arena_.WholeNumber(arena_.Position(t.Scaled(2) + id - Affine(3))),
            t.Scaled(2) + id - Affine(3));
  const PolyId product = Times(arena_.Position(t), arena_.Position(id));
  const Affine whole = arena_.WholeNumber(product);
  EXPECT_EQ(arena_.Position(whole), product);
  EXPECT_EQ(arena_.RangeOf(whole).low, 0);
  EXPECT_EQ(arena_.RangeOf(whole).high, 40);
}

TEST_F(Rule, NumberInCases) {
  // The ids of a shard of 16 rows: those of other shards are masked by 0.
  const Affine id = Id(0, 0, 31), shard = Free(0, 2), v = Free(0, 16),
               local = id - shard.Scaled(16);
  const PolyId below = arena_.Indicator(-local - Affine(1));
  const PolyId above = arena_.Indicator(local - Affine(16));
  const PolyId inside = Times(Not(below), Not(above));
  const auto masked = [&](PolyId where) {
    return arena_.WholeNumber(Times(where, arena_.Position(local)));
  };
  const auto cases = [&](PolyId there, PolyId elsewhere) {
    return Plus(Times(inside, there), Times(Plus(below, above), elsewhere));
  };
  EXPECT_EQ(arena_.Delta(v - masked(inside)), cases(arena_.Delta(v - local), arena_.Delta(v)));
  EXPECT_NE(arena_.Delta(v - masked(inside)),
            cases(arena_.Delta(v - local), arena_.Delta(v - Affine(1))));
  EXPECT_NE(arena_.Delta(v - masked(inside)), arena_.Delta(v - local));
  EXPECT_EQ(arena_.Indicator(masked(inside)), Number(1));
  EXPECT_EQ(arena_.Indicator(masked(Not(below))), Number(1));
  EXPECT_NE(arena_.Indicator(masked(Not(above))), Number(1));  // of an earlier shard: negative
  // Each id is in one shard; without the mask, row 0 of every other shard counts, too.
  const auto rows = [&](bool mask) {
    const BoundVariable r = Variable(0, 2), row = Variable(0, 16);
    const Affine own = id - At(r).Scaled(16);
    const PolyId here =
        Times(Not(arena_.Indicator(-own - Affine(1))), Not(arena_.Indicator(own - Affine(16))));
    const Affine number = arena_.WholeNumber(Times(here, arena_.Position(own)));
    const PolyId read = Times(arena_.Delta(At(row) - number), X(At(r).Scaled(16) + At(row)));
    return arena_.SumOver({r, row}, mask ? Times(here, read) : read);
  };
  const PolyId whole =
      Sum(0, 32, [&](const Affine& at) { return Times(arena_.Delta(at - id), X(at)); });
  EXPECT_TRUE(Zero(Minus(rows(true), whole)));
  EXPECT_FALSE(Zero(Minus(rows(false), whole)));
}

TEST_F(Rule, SignOfSum) {
  EXPECT_EQ(arena_.SignOf(Plus(N(), P())), Sign::kPositive);
  EXPECT_EQ(arena_.SignOf(Plus(N(), Power(X(), 2))), Sign::kNonNegative);
  EXPECT_EQ(arena_.SignOf(Minus(P(), N())), Sign::kUnknown);
}

TEST_F(Rule, SignOfProduct) {
  EXPECT_EQ(arena_.SignOf(Times(P(), arena_.Exp(X()))), Sign::kPositive);
  EXPECT_EQ(arena_.SignOf(Times(P(), N())), Sign::kNonNegative);
  EXPECT_EQ(arena_.SignOf(Times(P(), X())), Sign::kUnknown);
}

TEST_F(Rule, SignOfFunctions) {
  EXPECT_EQ(arena_.SignOf(arena_.Max(X(), P())), Sign::kPositive);
  EXPECT_EQ(arena_.SignOf(arena_.Max(X(), N())), Sign::kNonNegative);
  EXPECT_EQ(arena_.SignOf(arena_.Max(X(), Y())), Sign::kUnknown);
  EXPECT_EQ(arena_.SignOf(arena_.Abs(X())), Sign::kNonNegative);
  EXPECT_EQ(arena_.SignOf(Power(Plus(X(), Y()), 1, 2)), Sign::kNonNegative);
  EXPECT_EQ(arena_.SignOf(arena_.Log(P())), Sign::kUnknown);
}

TEST_F(Rule, PositiveAtCorner) {
  const auto masked = [&](const Affine& form_constant, int64_t step) {
    return Sum(0, 8, [&](const Affine& v) {
      return Times(arena_.Indicator(v.Scaled(step) + form_constant), P(v));
    });
  };
  const Affine q = Free(0, 8);
  EXPECT_EQ(arena_.SignOf(masked(q, -1)), Sign::kPositive);                 // v <= q: at v = 0
  EXPECT_EQ(arena_.SignOf(masked(q - Affine(1), -1)), Sign::kNonNegative);  // v < q: q may be 0
}

TEST_F(Rule, MetByAnId) {
  const auto routed = [&](int64_t place, int64_t high) {
    const Affine id = Id(place, 0, high);
    return Sum(0, 8, [&](const Affine& v) { return Times(arena_.Delta(v - id), P(v)); });
  };
  EXPECT_EQ(arena_.SignOf(routed(0, 7)), Sign::kPositive);
  EXPECT_EQ(arena_.SignOf(routed(1, 8)), Sign::kNonNegative);
}

TEST_F(Rule, AttainedMaximum) {
  const auto count = [&](int64_t hi) {
    const PolyId most = Largest(0, hi, [&](const Affine& w) { return X(w); });
    return Sum(0, 4, [&](const Affine& v) { return arena_.RealZero(Minus(X(v), most)); });
  };
  EXPECT_EQ(arena_.SignOf(count(4)), Sign::kPositive);
  EXPECT_EQ(arena_.SignOf(count(5)), Sign::kNonNegative);
}

TEST_F(Rule, SquareOfSum) {
  const PolyId sum = Sum(0, 4, [&](const Affine& v) { return X(v); });
  const PolyId squares = Sum(0, 4, [&](const Affine& v) { return Power(X(v), 2); });
  EXPECT_EQ(arena_.SignOf(Minus(arena_.Scale(squares, Rational(4)), Power(sum, 2))),
            Sign::kNonNegative);
  EXPECT_EQ(arena_.SignOf(Minus(arena_.Scale(squares, Rational(3)), Power(sum, 2))),
            Sign::kUnknown);
}

TEST_F(Rule, QuadraticForm) {
  const PolyId x = X(Affine(0)), y = X(Affine(1)), z = X(Affine(2));
  const auto square = [&](PolyId p) { return Times(p, p); };
  const auto form = [&](int64_t xx, int64_t yy, int64_t zz, int64_t xy, int64_t xz, int64_t yz) {
    const auto term = [&](int64_t c, PolyId a, PolyId b) { return Times(Number(c), Times(a, b)); };
    return Plus(Plus(Plus(term(xx, x, x), term(yy, y, y)), Plus(term(zz, z, z), term(xy, x, y))),
                Plus(term(xz, x, z), term(yz, y, z)));
  };
  const auto sign = [&](PolyId p) { return arena_.SignOf(p); };
  EXPECT_EQ(sign(square(Plus(x, y))), Sign::kNonNegative);
  EXPECT_EQ(sign(square(Minus(Plus(x, y), Times(Number(3), z)))), Sign::kNonNegative);
  EXPECT_EQ(sign(Plus(N(), square(Plus(Times(P(), x), Times(Number(2, 7), y))))),
            Sign::kNonNegative);
  EXPECT_EQ(sign(form(2, 2, 2, 2, 2, 2)), Sign::kNonNegative);
  EXPECT_EQ(sign(form(1, 1, 1, -1, -1, -1)), Sign::kNonNegative);  // x = y = z gives 0
  EXPECT_EQ(sign(form(1, 1, 1, -2, -2, -2)), Sign::kUnknown);      // and here -3
  EXPECT_EQ(sign(form(1, 1, 1, 3, 0, 0)), Sign::kUnknown);
  EXPECT_EQ(sign(form(1, 1, 0, 2, 1, 0)), Sign::kUnknown);  // x z with no z z
  EXPECT_EQ(sign(form(1, -1, 1, 0, 0, 0)), Sign::kUnknown);
  EXPECT_EQ(sign(Minus(square(Plus(x, y)), N())), Sign::kUnknown);
  EXPECT_EQ(sign(Minus(square(Plus(x, y)), P())), Sign::kUnknown);
}

// Of random forms only those that are nowhere negative at random numbers are found to be so.
TEST(QuadraticForm, IsNotNegativeAnywhere) {
  std::mt19937_64 random(5);
  int found = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Arena arena;
    arena.ResetExhausted(1'000'000);
    constexpr int kVariables = 4;
    int64_t a[kVariables][kVariables];
    PolyId sum = kZeroPoly;
    for (int i = 0; i < kVariables; ++i) {
      for (int j = i; j < kVariables; ++j) {
        a[i][j] =
            i == j ? static_cast<int64_t>(random() % 5) : static_cast<int64_t>(random() % 5) - 2;
        const PolyId product =
            arena.Mul(arena.Element(1, {Affine(i)}), arena.Element(1, {Affine(j)}));
        sum = arena.Add(sum, arena.Scale(product, Rational(a[i][j])));
      }
    }
    if (arena.SignOf(sum) == Sign::kUnknown) continue;
    ++found;
    for (int point = 0; point < 200; ++point) {
      int64_t x[kVariables], value = 0;
      for (int64_t& each : x) each = static_cast<int64_t>(random() % 21) - 10;
      for (int i = 0; i < kVariables; ++i) {
        for (int j = i; j < kVariables; ++j) value += a[i][j] * x[i] * x[j];
      }
      ASSERT_GE(value, 0) << arena.ToString(sum);
    }
  }
  EXPECT_GT(found, 300);
}

}  // namespace
}  // namespace planproof::solver
