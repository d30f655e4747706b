// Tapes: what is computed where, and reads that leave an operand.
#include "runtime_check/tape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime_check/executor.h"
#include "sdfg/operator_library.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;

Tape Compiled(const IndexFunction& function, int output = 0) {
  absl::StatusOr<Tape> tape = Compile(function, output);
  EXPECT_TRUE(tape.ok()) << tape.status();
  return tape.ok() ? *std::move(tape) : Tape();
}

Tape Operator(const std::string& name, const std::vector<sdfg::Operand>& operands,
              const sdfg::Attributes& attributes = {}) {
  const auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes);
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? Compiled(*function) : Tape();
}

sdfg::Operand Tensor(sdfg::Shape shape, DType dtype = DType::kFloat32) {
  sdfg::Operand operand;
  operand.shape = std::move(shape);
  operand.dtype = dtype;
  return operand;
}

IndexFunction Finished(IndexFunctionBuilder* builder) {
  IndexFunction function;
  const absl::Status status = builder->Finish(&function);
  EXPECT_TRUE(status.ok()) << status;
  return function;
}

// y[i] = x[id[i]], or 0 where id[i] is not below 3.
IndexFunction Gather(bool guarded) {
  IndexFunctionBuilder builder("gather");
  const int x = builder.AddInput("x", {3}, DType::kFloat32);
  const int id = builder.AddInput("id", {4}, DType::kInt64);
  const int y = builder.AddOutput("y", sdfg::Shape{4}, DType::kFloat32);
  const ExprId at = builder.IntElement(id, {builder.Index(builder.OutputDims(y)[0])});
  ExprId value = builder.Element(x, {at});
  if (guarded) {
    value = builder.Select(builder.Binary(Op::kIntLess, at, builder.Int(3)), value,
                           builder.Real(solver::Rational(0)));
  }
  builder.SetBody(y, value);
  return Finished(&builder);
}

absl::StatusOr<std::vector<Values>> RunGather(bool guarded, const std::vector<double>& ids) {
  Values x = Values::Zeros({3}, DType::kFloat32, DType::kFloat64);
  Values id = Values::Zeros({4}, DType::kInt64, DType::kFloat64);
  for (int i = 0; i < 3; ++i) x.Set(i, 10 + i);
  for (int i = 0; i < 4; ++i) id.Set(i, ids[i]);
  return RunFunction(Gather(guarded), DType::kFloat64, {x, id});
}

TEST(Tape, ARowsSumIsNotComputedAnewForEachElement) {
  const auto softmax = [](int64_t columns) {
    return Operator("softmax", {Tensor({8, columns})}, {{"dim", int64_t{-1}}}).work;
  };
  EXPECT_LT(softmax(2048), 2.2 * softmax(1024));
}

TEST(Tape, AnEmbeddingReadsOneRowWhateverTheVocabulary) {
  const auto embedding = [](int64_t vocabulary) {
    return Operator("embedding", {Tensor({16}, DType::kInt64), Tensor({vocabulary, 64})}).work;
  };
  EXPECT_EQ(embedding(100'000), embedding(10));
}

// An id may lie outside of a rank's part of the vocabulary, also in some lanes only.
TEST(Tape, TheRowOfAnIdIsReadOnlyIfThereIsOne) {
  const Tape tape = Operator("embedding", {Tensor({16}, DType::kInt64), Tensor({10, 4})});
  int reads = 0;
  for (const Instruction& instruction : tape.code) {
    if (instruction.code != Code::kRead) continue;
    ++reads;
    EXPECT_GE(instruction.c, 0) << "it is not tested";
    EXPECT_FALSE(instruction.required);
  }
  EXPECT_EQ(reads, 1);
}

TEST(Tape, AMatrixProductTakesItsProductsAndLittleElse) {
  const double work = Operator("linear", {Tensor({64, 256}), Tensor({128, 256})}).work;
  EXPECT_GT(work, 64.0 * 128 * 256 * 3);
  EXPECT_LT(work, 64.0 * 128 * 256 * 5);
}

TEST(Tape, WhatOnlyMovesIsKnown) {
  EXPECT_TRUE(Operator("transpose", {Tensor({3, 4})}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}})
                  .moves_only);
  EXPECT_TRUE(Compiled(Gather(true)).moves_only);
  EXPECT_FALSE(Operator("add", {Tensor({3}), Tensor({3})}).moves_only);
  EXPECT_FALSE(Operator("relu", {Tensor({3})}).moves_only);
}

TEST(Tape, AReadOutsideOfAnOperandIsAnError) {
  EXPECT_TRUE(RunGather(false, {0, 2, 1, 0}).ok());
  for (const double id : {3.0, -1.0, 1e12}) {
    const auto result = RunGather(false, {0, 2, id, 0});
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_NE(result.status().message().find("operand x outside"), std::string::npos);
  }
}

TEST(Tape, AReadThatAConditionGuardsIsNone) {
  const auto result = RunGather(true, {0, 7, 2, 1e12});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].doubles, (std::vector<double>{10, 0, 12, 0}));
  // The guard says nothing of what lies below.
  const auto below = RunGather(true, {0, -1, 2, 1});
  ASSERT_TRUE(below.ok());
  EXPECT_TRUE(std::isnan((*below)[0].doubles[1]));
}

// y[i] = x[i - 1] where b[i], else 0: intervals alone do not keep the index from being -1.
TEST(Tape, AReadBeforeAnOperandIsNoNumber) {
  IndexFunctionBuilder builder("before");
  const int x = builder.AddInput("x", {3}, DType::kFloat32);
  const int b = builder.AddInput("b", {3}, DType::kBool);
  const int y = builder.AddOutput("y", sdfg::Shape{3}, DType::kFloat32);
  const ExprId i = builder.Index(builder.OutputDims(y)[0]);
  builder.SetBody(y, builder.Select(builder.Unary(Op::kNonzero, builder.Element(b, {i})),
                                    builder.Element(x, {builder.IntAdd(i, builder.Int(-1))}),
                                    builder.Real(solver::Rational(0))));
  const IndexFunction function = Finished(&builder);
  Values values = Values::Zeros({3}, DType::kFloat32, DType::kFloat64);
  Values chosen = Values::Zeros({3}, DType::kBool, DType::kFloat64);
  values.Set(0, 5);
  chosen.Set(0, 1);
  chosen.Set(1, 1);
  const auto result = RunFunction(function, DType::kFloat64, {values, chosen});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(std::isnan((*result)[0].doubles[0]));
  EXPECT_EQ((*result)[0].doubles[1], 5);
  EXPECT_EQ((*result)[0].doubles[2], 0);
}

constexpr int64_t kHuge = int64_t{1} << 60;

// The tape of y[i] = body(i) of an operand of this shape.
template <typename Body>
absl::StatusOr<Tape> Compiled(const sdfg::Shape& operand, const sdfg::Shape& result, Body body) {
  IndexFunctionBuilder builder("hostile");
  const int x = builder.AddInput("x", operand, DType::kFloat32);
  const int y = builder.AddOutput("y", result, DType::kFloat32);
  builder.SetBody(y, body(&builder, x));
  return Compile(builder.function(), 0);  // it need not be a function that Finish allows
}

void ExpectRefused(const absl::StatusOr<Tape>& tape) {
  const absl::Status& status = tape.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_NE(status.message().find("operator hostile: "), std::string::npos) << status;
  EXPECT_NE(status.message().find("64 bits"), std::string::npos) << status;
}

TEST(Tape, StridesBeyond64BitsAreRefused) {
  ExpectRefused(Compiled({0, kHuge, kHuge}, {2}, [](IndexFunctionBuilder* b, int x) {
    const ExprId i = b->Index(b->OutputDims(0)[0]);
    return b->Element(x, {i, i, i});
  }));
}

TEST(Tape, FactorsBeyond64BitsAreRefused) {
  ExpectRefused(Compiled({2, kHuge}, {2}, [](IndexFunctionBuilder* b, int x) {
    const ExprId i = b->Index(b->OutputDims(0)[0]);
    return b->Element(x, {b->IntScale(kHuge, i), i});
  }));
}

TEST(Tape, ElementsBeyond64BitsAreRefused) {
  ExpectRefused(Compiled({32}, {4 * kHuge, 32}, [](IndexFunctionBuilder* b, int x) {
    return b->Element(x, {b->Index(b->OutputDims(0)[1])});
  }));
}

// sum over v of [2^62 i + 2^62 i = 2^62 v] x[v]: no solution is looked for beyond 64 bits.
TEST(Tape, EquationsBeyond64BitsAreNotSolved) {
  const absl::StatusOr<Tape> tape = Compiled({2}, {1}, [](IndexFunctionBuilder* b, int x) {
    const sdfg::VarId v = b->AddVar("v", 2);
    const ExprId i = b->IntScale(4 * kHuge, b->Index(b->OutputDims(0)[0]));
    const ExprId equal =
        b->Binary(Op::kIntEq, b->IntAdd(i, i), b->IntAdd(b->Index(v), b->Int(4 * kHuge)));
    return b->Reduce(
        Op::kSum, v,
        b->Binary(Op::kMul, b->Unary(Op::kIndicator, equal), b->Element(x, {b->Index(v)})));
  });
  ASSERT_TRUE(tape.ok()) << tape.status();
  const bool loops = std::any_of(tape->code.begin(), tape->code.end(), [](const Instruction& i) {
    return i.code == Code::kLoop && i.value == 2;
  });
  EXPECT_TRUE(loops);
}

// A choice among a row looks at the whole row in each lane.
TEST(Tape, TheWorkOfAChoiceCountsItsRow) {
  const auto work = [](int64_t row) {
    IndexFunctionBuilder builder("choice");
    const int x = builder.AddInput("x", {row}, DType::kFloat32);
    const int y = builder.AddOutput("y", sdfg::Shape{64}, DType::kInt64);
    const sdfg::VarId v = builder.AddVar("v", row);
    builder.SetBody(y, builder.Opaque("topk_index(k=64)", true, v,
                                      {builder.Element(x, {builder.Index(v)}),
                                       builder.Index(builder.OutputDims(y)[0])}));
    const absl::StatusOr<Tape> tape = Compile(Finished(&builder), 0);
    EXPECT_TRUE(tape.ok()) << tape.status();
    return tape.ok() ? tape->work : 0;
  };
  EXPECT_GT(work(2000) - work(1000), 64 * 1000);
}

// Equal terms are rounded in one direction: one by one, a million of them would be off by percents.
TEST(Tape, LongSumsStayAccurate) {
  constexpr int64_t kTerms = 1 << 20;
  Values x = Values::Zeros({kTerms}, DType::kFloat32, DType::kFloat32);
  for (int64_t i = 0; i < kTerms; ++i) x.Set(i, 0.1);
  const auto sum = sdfg::OperatorLibrary::BuiltIn().Instantiate("sum", {Tensor({kTerms})}, {});
  ASSERT_TRUE(sum.ok()) << sum.status();
  const auto result = RunFunction(*sum, DType::kFloat32, {x});
  ASSERT_TRUE(result.ok()) << result.status();
  const double exact = static_cast<double>(0.1f) * kTerms;
  EXPECT_NEAR((*result)[0].At(0), exact, 4e-7 * exact);
  x.Set(kTerms / 2, HUGE_VAL);
  EXPECT_EQ(RunFunction(*sum, DType::kFloat32, {x})->at(0).At(0), HUGE_VAL);
}

// Sums of one summand that counts: the value may lie outside of the range, have either sign, and
// depend on sums around it.
TEST(Tape, ASumWithAnEquationReadsTheSolution) {
  for (const int64_t sign : {1, -1}) {
    IndexFunctionBuilder builder("pick");
    const int x = builder.AddInput("x", {4}, DType::kFloat32);
    const int y = builder.AddOutput("y", sdfg::Shape{8}, DType::kFloat32);
    const sdfg::VarId v = builder.AddVar("v", 4), w = builder.AddVar("w", 2);
    const ExprId at =
        builder.IntScale(sign, builder.IntAdd(builder.Index(builder.OutputDims(y)[0]),
                                              builder.IntAdd(builder.Int(-2), builder.Index(w))));
    const ExprId here = builder.Unary(
        Op::kIndicator, builder.Binary(Op::kIntEq, at, builder.IntScale(sign, builder.Index(v))));
    const ExprId term = builder.Binary(Op::kMul, builder.Element(x, {builder.Index(v)}),
                                       builder.Unary(Op::kNeg, here));
    builder.SetBody(y, builder.Reduce(Op::kSum, w, builder.Reduce(Op::kSum, v, term)));
    const IndexFunction function = Finished(&builder);
    Values values = Values::Zeros({4}, DType::kFloat32, DType::kFloat64);
    for (int i = 0; i < 4; ++i) values.Set(i, std::pow(10, i));
    const auto result = RunFunction(function, DType::kFloat64, {values});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ((*result)[0].doubles, (std::vector<double>{0, -1, -11, -110, -1100, -1000, 0, 0}));
  }
}

TEST(Tape, ASumOfNothingIsZero) {
  IndexFunctionBuilder builder("reduce");
  const int x = builder.AddInput("x", {2, 0}, DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{2}, DType::kFloat32);
  const sdfg::VarId v = builder.AddVar("v", 0);
  const ExprId row = builder.Index(builder.OutputDims(y)[0]);
  builder.SetBody(y, builder.Reduce(Op::kSum, v, builder.Element(x, {row, builder.Index(v)})));
  const auto result = RunFunction(Finished(&builder), DType::kFloat64,
                                  {Values::Zeros({2, 0}, DType::kFloat32, DType::kFloat64)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].doubles, (std::vector<double>{0, 0}));
}

// A choice among many pieces nests as deep as it has pieces.
TEST(Tape, ADeepChoiceIsRunOrRefused) {
  for (const int depth : {300, 200'000}) {
    IndexFunctionBuilder builder("pieces");
    const int y = builder.AddOutput("y", sdfg::Shape{512}, DType::kFloat32);
    const ExprId index = builder.Index(builder.OutputDims(y)[0]);
    ExprId value = builder.Real(solver::Rational(-1));
    for (int k = 0; k < depth; ++k) {
      value = builder.Select(builder.Binary(Op::kIntEq, index, builder.Int(k)),
                             builder.Real(solver::Rational(k)), value);
    }
    builder.SetBody(y, value);
    const absl::StatusOr<Tape> tape = Compile(builder.function(), 0);
    EXPECT_EQ(tape.ok(), depth == 300) << tape.status();
    if (!tape.ok()) {
      EXPECT_EQ(tape.status().code(), absl::StatusCode::kUnimplemented);
      continue;
    }
    const auto result = RunFunction(builder.function(), DType::kFloat64, {});
    ASSERT_TRUE(result.ok()) << result.status();
    for (int i = 0; i < 512; ++i) EXPECT_EQ((*result)[0].doubles[i], i < depth ? i : -1);
  }
}

}  // namespace
}  // namespace planproof::runtime_check
