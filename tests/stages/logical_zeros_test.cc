// What counts as zero for all inputs, and what nearly is.
#include "stages/logical_zeros.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sdfg/index_function.h"
#include "stages/claim_solver.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::stages {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::Shape;
using sdfg::TensorId;

constexpr int64_t kExtent = 6;

class LogicalZerosTest : public testing::Test {
 protected:
  using Body = std::function<ExprId(IndexFunctionBuilder*, int input, ExprId index)>;

  // A tensor of the model, of what `of` is, and one of the plan that is held to be it.
  TensorId Define(const std::string& name, TensorId of, int64_t extent, const Body& body) {
    IndexFunctionBuilder b(name);
    const int x = b.AddInput("x", {kExtent}, DType::kFloat32);
    const int y = b.AddOutput("y", Shape{extent}, DType::kFloat32);
    b.SetBody(y, body(&b, x, b.Index(b.OutputDims(y)[0])));
    IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    const TensorId made = small_.Apply(&small_.problem.logical, std::move(f), {of});
    small_.Slice(made, {0}, {extent});
    return made;
  }
  TensorId Input() {
    const TensorId x = small_.Logical("x", {kExtent});
    small_.Slice(x, {0}, {kExtent});
    return x;
  }
  // x[i] - mean of x
  TensorId Deviations(TensorId x) {
    return Define("deviations", x, kExtent, [](IndexFunctionBuilder* b, int input, ExprId index) {
      const sdfg::VarId v = b->AddVar("v", kExtent);
      const ExprId sum = b->Reduce(Op::kSum, v, b->Element(input, {b->Index(v)}));
      const ExprId mean = b->Binary(Op::kDiv, sum, b->Real(kExtent));
      return b->Binary(Op::kAdd, b->Element(input, {index}), b->Unary(Op::kNeg, mean));
    });
  }
  TensorId SumOf(const std::string& name, TensorId of, int64_t length) {
    return Define(name, of, 1, [length](IndexFunctionBuilder* b, int input, ExprId) {
      const sdfg::VarId v = b->AddVar("v", length);
      return b->Reduce(Op::kSum, v, b->Element(input, {b->Index(v)}));
    });
  }
  bool IsZero(TensorId t) {
    Relations relations(problem_);
    return ClaimSolver(problem_, &relations, ClaimLimits{}).IsZero(t);
  }

  shape_reduction::SmallProblem small_;
  lineage::Problem& problem_ = small_.problem;
};

TEST_F(LogicalZerosTest, DeviationsFromTheMeanAddUpToZero) {
  const TensorId x = Input(), d = Deviations(x);
  const TensorId all = SumOf("all", d, kExtent), some = SumOf("some", d, kExtent - 1);
  EXPECT_TRUE(IsZero(all));
  EXPECT_FALSE(IsZero(some));
  EXPECT_FALSE(IsZero(d));
}

TEST_F(LogicalZerosTest, ZeroAtSomeIndicesIsNotZero) {
  for (const int64_t from : {int64_t{1}, kExtent - 1}) {
    problem_ = {};
    const TensorId x = Input();
    const TensorId t =
        Define("t", x, kExtent, [from](IndexFunctionBuilder* b, int input, ExprId index) {
          return b->Select(b->Binary(Op::kIntLess, index, b->Int(from)), b->Real(0),
                           b->Element(input, {index}));
        });
    EXPECT_FALSE(IsZero(t)) << from;
  }
}

// x / x - 1: nothing is concluded from what holds only where x is not zero.
TEST_F(LogicalZerosTest, ZeroUnderAPremiseIsNotZero) {
  const TensorId x = Input();
  const TensorId t = Define("t", x, kExtent, [](IndexFunctionBuilder* b, int input, ExprId index) {
    const ExprId e = b->Element(input, {index});
    return b->Binary(Op::kAdd, b->Binary(Op::kDiv, e, e), b->Real(-1));
  });
  EXPECT_FALSE(IsZero(t));
  EXPECT_FALSE(IsZero(SumOf("s", t, kExtent)));
}

TEST_F(LogicalZerosTest, OnlyWhatIsShownIsRecorded) {
  const TensorId x = Input(), d = Deviations(x);
  const TensorId all = SumOf("all", d, kExtent), some = SumOf("some", d, kExtent - 1);
  for (const TensorId target : {all, some}) {
    Relations relations(problem_);
    Claim claim;
    for (size_t t = 0; t < problem_.lineage.size(); ++t) {
      if (problem_.lineage[t].logical != target) continue;
      claim.parallel = static_cast<TensorId>(t);
      claim.target = problem_.lineage[t];
    }
    WorkerLimits limits;
    limits.jobs = 1;
    EXPECT_EQ(InferLogicalZeros(problem_, {&claim}, limits, &relations), target == all);
    EXPECT_EQ(relations.Zero(all), target == all);
    for (const TensorId other : {x, d, some}) EXPECT_FALSE(relations.Zero(other));
  }
}

// An element that is read as zero is zero at every index, and nothing else becomes so.
TEST_F(LogicalZerosTest, TensorsWithoutElementsAndInputsAreNoCandidates) {
  const TensorId x = Input(), d = Deviations(x);
  const TensorId mask =
      Define("mask", x, kExtent, [](IndexFunctionBuilder* b, int, ExprId) { return b->NegInf(); });
  Relations relations(problem_);
  EXPECT_FALSE(relations.MayBeZero(x));
  EXPECT_TRUE(relations.MayBeZero(d));
  EXPECT_FALSE(relations.MayBeZero(mask));
}

}  // namespace
}  // namespace planproof::stages
