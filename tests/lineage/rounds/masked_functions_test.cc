#include "lineage/rounds/masked_functions.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace planproof::lineage::rounds {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;

constexpr int64_t kRanks = 8, kBlock = 4;

// What round r does at rank c: the bound, and how it is compared.
struct RoundOfRing {
  std::function<int64_t(int64_t round, int64_t rank)> bound = [](int64_t round, int64_t rank) {
    return kBlock * (rank - (rank + kRanks - round) % kRanks);
  };
  Op compare = Op::kIntLessEq;
  int other_form_in = -1;      // the round that compares 2 k with the query
  int other_function_in = -1;  // the round that squares
  int factors = 1, terms = 1;  // how often x is multiplied with itself, and added to each factor
};

ExprId Mask(const RoundOfRing& of, int64_t r, int64_t c, ExprId query, ExprId key,
            IndexFunctionBuilder* b) {
  if (r == of.other_form_in) key = b->IntScale(2, key);
  return b->Binary(of.compare, key, b->IntAdd(query, b->Int(of.bound(r, c))));
}

// y[c, q, k] = x[c, q, k] where the mask holds, 0 elsewhere: a branch for each rank.
IndexFunction Product(const RoundOfRing& of, int64_t r) {
  IndexFunctionBuilder b("product");
  const int x = b.AddInput("x", sdfg::Shape{kRanks, kBlock, kBlock}, DType::kFloat32);
  const int y = b.AddOutput("y", sdfg::Shape{kRanks, kBlock, kBlock}, DType::kFloat32);
  const std::vector<sdfg::VarId> dims = b.OutputDims(y);
  const ExprId c = b.Index(dims[0]), q = b.Index(dims[1]), k = b.Index(dims[2]);
  ExprId value = b.Element(x, {c, q, k});
  for (int i = 1; i < of.terms; ++i) value = b.Binary(Op::kAdd, value, b.Element(x, {c, q, k}));
  const ExprId factor = value;
  for (int i = 1; i < of.factors; ++i) value = b.Binary(Op::kMul, value, factor);
  if (r == of.other_function_in) value = b.Binary(Op::kMul, value, value);
  const ExprId zero = b.Real(solver::Rational());
  ExprId body = b.Select(Mask(of, r, 0, q, k, &b), value, zero);
  for (int64_t rank = 1; rank < kRanks; ++rank) {
    body = b.Select(b.Binary(Op::kIntEq, c, b.Int(rank)),
                    b.Select(Mask(of, r, rank, q, k, &b), value, zero), body);
  }
  b.SetBody(y, body);
  IndexFunction made;
  EXPECT_TRUE(b.Finish(&made).ok());
  return made;
}

// y[c, q] = the largest of the value before, if there is one, and the x[c, q, k] that are left.
IndexFunction Largest(const RoundOfRing& of, int64_t r) {
  IndexFunctionBuilder b("largest");
  const int x = b.AddInput("x", sdfg::Shape{kRanks, kBlock, kBlock}, DType::kFloat32);
  const int before = r == 0 ? -1 : b.AddInput("before", {kRanks, kBlock}, DType::kFloat32);
  const int y = b.AddOutput("y", sdfg::Shape{kRanks, kBlock}, DType::kFloat32);
  const std::vector<sdfg::VarId> dims = b.OutputDims(y);
  const ExprId c = b.Index(dims[0]), q = b.Index(dims[1]);
  const auto at = [&](int64_t rank) {
    const sdfg::VarId key = b.AddVar("k", kBlock);
    const ExprId k = b.Index(key);
    const ExprId row =
        b.Reduce(Op::kReduceMax, key,
                 b.Select(Mask(of, r, rank, q, k, &b), b.Element(x, {c, q, k}), b.NegInf()));
    return r == 0 ? row : b.Binary(Op::kMax, b.Element(before, {c, q}), row);
  };
  ExprId body = at(0);
  for (int64_t rank = 1; rank < kRanks; ++rank)
    body = b.Select(b.Binary(Op::kIntEq, c, b.Int(rank)), at(rank), body);
  b.SetBody(y, body);
  IndexFunction made;
  EXPECT_TRUE(b.Finish(&made).ok());
  return made;
}

MaskedRounds RoundsMadeBy(const RoundOfRing& of,
                          IndexFunction (*make)(const RoundOfRing&, int64_t)) {
  MaskedRounds rounds;
  for (int64_t r = 0; r < kRanks; ++r)
    rounds.functions.push_back(std::make_shared<IndexFunction>(make(of, r)));
  rounds.axes = 1;
  rounds.count = kRanks;
  rounds.of_piece = {true};
  return rounds;
}

bool Folds(const RoundOfRing& of) {
  return ProductOfAllRounds(RoundsMadeBy(of, Product)).has_value();
}
bool IsNumber(const RoundOfRing& of) {
  return MaximumOfAllRounds(RoundsMadeBy(of, Largest), 0, 1).has_value();
}

RoundOfRing OneOff(int64_t round, int64_t rank, int64_t by) {
  RoundOfRing of;
  const auto right = of.bound;
  of.bound = [=](int64_t r, int64_t c) { return right(r, c) + (r == round && c == rank ? by : 0); };
  return of;
}

TEST(MaskedFunctions, OneBoundForAllRounds) {
  const auto product = ProductOfAllRounds(RoundsMadeBy({}, Product));
  ASSERT_TRUE(product.has_value());
  EXPECT_EQ(product->outputs[0].shape(product->vars),
            (sdfg::Shape{kRanks, kRanks, kBlock, kBlock}));
  EXPECT_EQ(product->inputs[0].shape, (sdfg::Shape{kRanks, kRanks, kBlock, kBlock}));
  RoundOfRing less;
  less.compare = Op::kIntLess;
  const auto strict = ProductOfAllRounds(RoundsMadeBy(less, Product));
  ASSERT_TRUE(strict.has_value());
  EXPECT_NE(product->Serialize(), strict->Serialize());
}

TEST(MaskedFunctions, ABoundThatIsOffAtOneRankInOneRoundDoesNotFold) {
  for (const auto& [round, rank] : {std::pair{0, 0}, {0, 5}, {0, 7}}) {
    EXPECT_FALSE(Folds(OneOff(round, rank, 1))) << round << " " << rank;
    EXPECT_FALSE(Folds(OneOff(round, rank, -1))) << round << " " << rank;
  }
  for (const auto& [round, rank] : {std::pair{1, 0}, {3, 5}, {7, 6}, {7, 7}}) {
    EXPECT_FALSE(Folds(OneOff(round, rank, rank >= round ? -100 : 100))) << round << " " << rank;
  }
}

// The neighbouring piece's keys are all seen: of a bound of 4 and one of 3 nothing is seen.
TEST(MaskedFunctions, ABoundBeyondAllIndicesIsAnyOfThem) {
  EXPECT_TRUE(Folds(OneOff(1, 1, -1)));   // 3: the largest difference
  EXPECT_FALSE(Folds(OneOff(1, 1, -2)));  // 2
}

// At the bounds of kMaxFactors and kMaxCopied: an element of x takes three expressions, its indices
// among them.
TEST(MaskedFunctions, LongFunctionsDoNotFold) {
  RoundOfRing of;
  of.factors = 17;
  EXPECT_TRUE(Folds(of));
  of.factors = 18;
  EXPECT_FALSE(Folds(of));
  of.factors = 1;
  of.terms = 250;
  EXPECT_TRUE(Folds(of));
  of.terms = 251;
  EXPECT_FALSE(Folds(of));
}

TEST(MaskedFunctions, RingsOfTooManyRanksDoNotFold) {
  MaskedRounds rounds = RoundsMadeBy({}, Product);
  rounds.count = 4097;
  rounds.functions.resize(4097, rounds.functions[0]);
  EXPECT_FALSE(ProductOfAllRounds(rounds).has_value());
}

TEST(MaskedFunctions, AnotherFormOrFunctionInOneRoundDoesNotFold) {
  for (const int round : {0, 1, 7}) {
    RoundOfRing of;
    of.other_function_in = round;
    EXPECT_FALSE(Folds(of)) << round;
  }
  RoundOfRing of;
  of.other_form_in = 0;
  EXPECT_FALSE(Folds(of));
}

TEST(MaskedFunctions, ARanksOwnPieceIsNotThatOfAnotherRound) {
  RoundOfRing of;  // as if all ranks had the piece of the round after
  of.bound = [](int64_t round, int64_t rank) {
    return kBlock * (rank - (rank + kRanks - round - 1) % kRanks);
  };
  EXPECT_FALSE(Folds(of));
}

TEST(MaskedFunctions, AMaximumIsANumberIfRoundZeroLeavesOne) {
  EXPECT_TRUE(IsNumber({}));
  EXPECT_TRUE(IsNumber(OneOff(3, 2, 1)));    // whatever a later round leaves
  EXPECT_FALSE(IsNumber(OneOff(0, 2, -1)));  // query 0 of rank 2 has no key
  RoundOfRing strict;
  strict.compare = Op::kIntLess;
  EXPECT_FALSE(IsNumber(strict));
  RoundOfRing all;
  all.bound = [](int64_t, int64_t) { return kBlock; };
  EXPECT_TRUE(IsNumber(all));
}

}  // namespace
}  // namespace planproof::lineage::rounds
