// Rule solve-denominators: blocks of rows, merged in an order in which they do not lie side by
// side.
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/solver/rules.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

class SolveDenominators : public Rule {};

// Weights of blocks, and what is averaged by them.
PolyId WeightOf(Arena* arena, const BoundVariable& block) {
  return arena->Sum(block, arena->Element(10, {Affine::Of(block.symbol)}));
}

PolyId WeightedOf(Arena* arena, const BoundVariable& block) {
  const Affine v = Affine::Of(block.symbol);
  return arena->Sum(block, arena->Mul(arena->Element(10, {v}), arena->Element(1, {v})));
}

TEST_F(Rule, SolveDenominators) {
  const auto weight = [&](int64_t lo, int64_t hi) { return WeightOf(&arena_, Variable(lo, hi)); };
  const auto weighted = [&](int64_t lo, int64_t hi) {
    return WeightedOf(&arena_, Variable(lo, hi));
  };
  using Blocks = std::vector<Interval>;
  // out - b / (a + b) (out - block), a: the weight so far.
  const auto merged = [&](const Blocks& blocks) {
    PolyId out = kZeroPoly, so_far = kZeroPoly;
    for (const Interval& block : blocks) {
      const PolyId own = weight(block.lo, block.hi), value = weighted(block.lo, block.hi);
      const PolyId average = Times(value, Power(own, -1));
      so_far = Plus(so_far, own);
      out = Minus(out, Times(Times(own, Power(so_far, -1)), Minus(out, average)));
    }
    return out;
  };
  const PolyId whole = Times(weighted(0, 400), Power(weight(0, 400), -1));
  const Blocks wrapped = {{0, 100}, {300, 400}, {200, 300}, {100, 200}};
  EXPECT_TRUE(Zero(Minus(merged(wrapped), whole)));
  EXPECT_TRUE(Zero(Minus(Power(merged(wrapped), 2), Power(whole, 2))));
  EXPECT_FALSE(Zero(Minus(merged(wrapped), Power(whole, 2))));
  EXPECT_FALSE(Zero(Minus(merged({{0, 100}, {300, 400}, {200, 300}}), whole)));
  EXPECT_FALSE(Zero(Minus(merged({{0, 100}, {300, 400}, {200, 300}, {100, 199}}), whole)));
  EXPECT_FALSE(Zero(Minus(merged({{0, 100}, {300, 400}, {200, 300}, {200, 300}}), whole)));
  EXPECT_FALSE(Zero(Minus(merged(wrapped), arena_.Scale(whole, Rational(2)))));
  // A sum is no function of itself.
  const PolyId apart = Plus(weight(0, 100), weight(300, 400));
  const PolyId function = arena_.Opaque(arena_.OpaqueTag("f"), {}, {apart});
  EXPECT_FALSE(Zero(Minus(Times(function, Power(apart, -1)), Number(1))));
  // What may be 0 is not divided by: of y z + w, w is what the others say, and not y.
  const PolyId product = Plus(Times(Y(), X()), P());
  EXPECT_FALSE(Zero(Minus(Times(Y(), Power(product, -1)), Times(Y(1), Power(product, -1)))));
  EXPECT_TRUE(Recorded(PremiseKind::kNonZero, product));
}

// Merges of blocks in any order, and with any one change, are the average of the whole row if and
// only if they are in numbers.
TEST_F(SolveDenominators, AgreesWithNumbers) {
  std::mt19937 random(20261129);
  std::vector<double> weights(40), values(40);
  for (double& w : weights) w = std::uniform_real_distribution<double>(0.5, 2)(random);
  for (double& v : values) v = std::normal_distribution<double>()(random);
  struct Pair {
    PolyId term;
    double number;
  };
  const auto sums = [&](int64_t lo, int64_t hi) {
    Pair weight{WeightOf(&arena_, Variable(lo, hi)), 0},
        value{WeightedOf(&arena_, Variable(lo, hi)), 0};
    for (int64_t i = lo; i < hi; ++i) {
      weight.number += weights[i];
      value.number += weights[i] * values[i];
    }
    return std::pair{weight, value};
  };
  const auto over = [&](const Pair& a, const Pair& b) {
    return Pair{Times(a.term, Power(b.term, -1)), a.number / b.number};
  };
  int equal = 0, different = 0;
  for (int trial = 0; trial < 120; ++trial) {
    std::vector<int64_t> order = {0, 10, 20, 30};
    std::shuffle(order.begin(), order.end(), random);
    const int change = trial % 2 == 0 ? -1 : static_cast<int>(random() % 5);
    const size_t changed = random() % 4;
    Pair out{kZeroPoly, 0}, so_far{kZeroPoly, 0};
    for (size_t k = 0; k < 4; ++k) {
      const bool here = change >= 0 && k == changed;
      if (here && change == 0) continue;
      auto [own, value] = sums(order[k], order[k] + (here && change == 1 ? 9 : 10));
      if (here && change == 2) value = {arena_.Scale(value.term, Rational(2)), 2 * value.number};
      so_far = {Plus(so_far.term, own.term), so_far.number + own.number};
      if (here && change == 3) own = {so_far.term, so_far.number};
      const Pair share = over(own, so_far), average = over(value, own);
      const Pair step{Times(share.term, Minus(out.term, average.term)),
                      share.number * (out.number - average.number)};
      out = {Minus(out.term, step.term), out.number - step.number};
      if (here && change == 4) out = {Times(out.term, share.term), out.number * share.number};
    }
    const auto [all, total] = sums(0, 40);
    const Pair whole = over(total, all);
    const bool same = std::abs(out.number - whole.number) < 1e-9;
    EXPECT_EQ(Zero(Minus(out.term, whole.term)), same)
        << "trial " << trial << ", change " << change;
    (same ? equal : different) += 1;
  }
  EXPECT_GE(equal, 60);
  EXPECT_GE(different, 40);
}

// The same of rows of which a mask leaves as much as a symbol says, perhaps nothing of a block,
// with weights of either sign: what is zero is so at each value at which it has one.
TEST_F(SolveDenominators, IsZeroInNumbersUnderMasks) {
  std::mt19937 random(20261130);
  const auto pick = [&](int n) { return static_cast<int>(random() % n); };
  int zero = 0, different = 0;
  for (int trial = 0; trial < 150; ++trial) {
    arena_.ResetExhausted(400'000);
    const Symbol symbol = arena_.NewFree(0, 3);
    const int kind = pick(3), mask = pick(3), change = pick(2) == 0 ? -1 : pick(4);
    const auto sum = [&](int64_t lo, int64_t hi, bool weighted, int64_t off) {
      return Sum(lo, hi, [&](const Affine& v) {
        PolyId w = kind == 0 ? P(v) : kind == 1 ? X(v) : arena_.Exp(X(v));
        const Affine past = Affine(2 + off) + Affine::Of(symbol) - v;
        if (mask == 1) w = Times(w, arena_.Indicator(past));
        if (mask == 2) w = Times(w, Not(arena_.Delta(past)));
        return weighted ? Times(w, Y(v)) : w;
      });
    };
    std::vector<int64_t> order = {0, 3, 6};
    std::shuffle(order.begin(), order.end(), random);
    const int changed = pick(3);
    PolyId out = kZeroPoly, so_far = kZeroPoly;
    for (int k = 0; k < 3; ++k) {
      const bool here = change >= 0 && k == changed;
      const int64_t lo = order[k], hi = lo + 3 - (here && change == 0), off = here && change == 1;
      const PolyId own = sum(lo, hi, false, off), value = sum(lo, hi, true, 0);
      so_far = here && change == 2 ? own : Plus(so_far, own);
      const PolyId step = Minus(Times(own, out), here && change == 3 ? out : value);
      out = Minus(out, Times(step, Power(so_far, -1)));
    }
    const PolyId p = Minus(out, Times(sum(0, 9, true, 0), Power(sum(0, 9, false, 0), -1)));
    bool differs = false;
    for (int64_t at = 0; at <= 3; ++at) {
      const Approximate value = Evaluate(arena_, p, {{symbol, at}});
      differs = differs || (Comparable(value, Of(0)) && !IsZeroValue(value));
    }
    const bool is_zero = Zero(p);
    EXPECT_FALSE(is_zero && differs) << "trial " << trial;
    zero += is_zero;
    different += differs;
  }
  EXPECT_GE(zero, 40);
  EXPECT_GE(different, 40);
}

// Zero at each value of a symbol: of at most four.
TEST_F(SolveDenominators, AtEachValue) {
  // The weights of a block and of the rest of the row, by where it begins.
  const auto parts = [&](const Affine& begin, int64_t length) {
    const PolyId block = Sum(0, 10, [&](const Affine& v) { return P(begin + v); });
    const PolyId rest = Sum(0, length, [&](const Affine& v) {
      const PolyId after = arena_.Indicator(v - begin - Affine(10));
      return Times(Plus(arena_.Indicator(begin - v - Affine(1)), after), P(v));
    });
    return Power(Plus(block, rest), -1);
  };
  const PolyId row = Power(Sum(0, 100, [&](const Affine& v) { return P(v); }), -1);
  EXPECT_TRUE(Zero(Minus(parts(Free(0, 4).Scaled(10), 100), row)));
  EXPECT_FALSE(Zero(Minus(parts(Free(0, 5).Scaled(10), 100), row)));
  EXPECT_FALSE(Zero(Minus(parts(Free(0, 4).Scaled(10), 99), row)));
  // Right at all values but the last.
  EXPECT_FALSE(Zero(Minus(parts(Free(7, 11).Scaled(10), 100), row)));
}

// How far it goes: a row in 32 pieces, 16 denominators.
TEST_F(SolveDenominators, WithinBounds) {
  const auto weight = [&](int64_t lo, int64_t hi) { return WeightOf(&arena_, Variable(lo, hi)); };
  const auto share = [&](const std::vector<Interval>& blocks) {
    PolyId all = kZeroPoly;
    for (const Interval& block : blocks) all = Plus(all, weight(block.lo, block.hi));
    PolyId shares = kZeroPoly;
    for (const Interval& block : blocks)
      shares = Plus(shares, Times(weight(block.lo, block.hi), Power(all, -1)));
    return Minus(Number(1), shares);
  };
  // Blocks 0, 3, 2 and 1 of a row, merged beside a sum of shares that cuts it.
  const auto weighted = [&](int64_t lo, int64_t hi) {
    return WeightedOf(&arena_, Variable(lo, hi));
  };
  const auto of_pieces = [&](int64_t cuts) {
    PolyId out = kZeroPoly, so_far = kZeroPoly;
    for (const int64_t begin : {0, 300, 200, 100}) {
      const PolyId own = weight(begin, begin + 100);
      so_far = Plus(so_far, own);
      out = Minus(out,
                  Times(Power(so_far, -1), Minus(Times(own, out), weighted(begin, begin + 100))));
    }
    const PolyId p = Minus(out, Times(weighted(0, 400), Power(weight(0, 400), -1)));
    std::vector<Interval> blocks;
    for (int64_t k = 0; k < cuts; ++k) blocks.push_back({20 * k + 5, 20 * k + 15});
    return Zero(Plus(Times(Y(1), p), Times(Y(2), share(blocks))));
  };
  EXPECT_TRUE(of_pieces(14));
  EXPECT_FALSE(of_pieces(15));
  const auto of_denominators = [&](int64_t count) {
    PolyId p = kZeroPoly;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = 60 * k;
      p = Plus(p, Times(Y(k), share({{at, at + 10}, {at + 20, at + 30}, {at + 40, at + 50}})));
    }
    return Zero(p);
  };
  EXPECT_TRUE(of_denominators(16));
  EXPECT_FALSE(of_denominators(17));
}

}  // namespace
}  // namespace planproof::solver
