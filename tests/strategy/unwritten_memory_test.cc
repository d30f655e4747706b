// Reads of memory that nothing has written are found by what they change.
#include "strategy/unwritten_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/index_function.h"
#include "stages/options.h"
#include "stages/result.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::strategy {
namespace {

using sdfg::TensorId;
using testing::HasSubstr;

constexpr int64_t kSize = 4;

// The model: y = x + x. The plan has x.
class UnwrittenMemory : public testing::Test {
 protected:
  UnwrittenMemory() {
    const TensorId x = small_.Logical("x", {kSize});
    model_ = small_.Apply(&small_.problem.logical, Add(), {x, x});
    x_ = small_.Slice(x, {0}, {kSize});
  }

  TensorId Memory() {
    sdfg::IndexFunctionBuilder builder("uninitialised");
    const int output = builder.AddOutput("y", sdfg::Shape{kSize}, sdfg::DType::kFloat32);
    builder.SetBody(output, builder.Opaque("memory", false, -1,
                                           {builder.Index(builder.OutputDims(output)[0])}));
    const TensorId memory = Made(&builder, {});
    small_.problem.parallel.operators.back().kind = sdfg::OperatorKind::kUninitialised;
    return memory;
  }

  TensorId Sum(TensorId a, TensorId b) {
    return small_.Apply(&small_.problem.parallel, Add(), {a, b}, 0);
  }

  // The first half of one, the second half of the other.
  TensorId Joined(TensorId a, TensorId b) {
    sdfg::IndexFunctionBuilder builder("join");
    for (const char* name : {"a", "b"}) builder.AddInput(name, {kSize}, sdfg::DType::kFloat32);
    const int output = builder.AddOutput("y", sdfg::Shape{kSize}, sdfg::DType::kFloat32);
    const sdfg::ExprId i = builder.Index(builder.OutputDims(output)[0]);
    builder.SetBody(output,
                    builder.Select(builder.Binary(sdfg::Op::kIntLess, i, builder.Int(kSize / 2)),
                                   builder.Element(0, {i}), builder.Element(1, {i})));
    return Made(&builder, {a, b});
  }

  std::optional<stages::Violation> Found(TensorId required) {
    small_.Require(required, model_, {0});
    small_.Check();
    stages::VerifyOptions options;
    stages::Result result;
    return EffectOfUnwrittenMemory(small_.problem, options, &result);
  }

  TensorId x_;

 private:
  static sdfg::IndexFunction Add() {
    return shape_reduction::Instantiate("add", {{kSize}, {kSize}});
  }

  TensorId Made(sdfg::IndexFunctionBuilder* builder, const std::vector<TensorId>& inputs) {
    sdfg::IndexFunction function;
    EXPECT_TRUE(builder->Finish(&function).ok());
    return small_.Apply(&small_.problem.parallel, std::move(function), inputs, 0);
  }

  shape_reduction::SmallProblem small_;
  TensorId model_;
};

TEST_F(UnwrittenMemory, IsFoundWhereItIsComputedWith) {
  const auto found = Found(Sum(x_, Joined(Memory(), Memory())));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->verdict, stages::Verdict::kMalformed);
  EXPECT_THAT(found->cause, HasSubstr("add"));
  EXPECT_THAT(found->cause, HasSubstr("reads memory that nothing has written"));
}

TEST_F(UnwrittenMemory, IsFoundWhereItIsARequiredOutput) {
  EXPECT_TRUE(Found(Memory()).has_value());
}

TEST_F(UnwrittenMemory, IsFoundWhereAPartIsReadThatNothingHasWritten) {
  EXPECT_TRUE(Found(Sum(x_, Joined(x_, Memory()))).has_value());
}

TEST_F(UnwrittenMemory, IsNoMatterWhereItHasNoEffect) {
  EXPECT_FALSE(Found(Sum(x_, Joined(Joined(x_, Memory()), x_))).has_value());
}

TEST_F(UnwrittenMemory, IsNoMatterWhereNoOutputDependsOnIt) {
  Sum(x_, Memory());
  EXPECT_FALSE(Found(Sum(x_, x_)).has_value());
}

}  // namespace
}  // namespace planproof::strategy
