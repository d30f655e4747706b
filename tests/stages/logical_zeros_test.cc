// What counts as zero for all inputs, and what nearly is.
#include "stages/logical_zeros.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// Square tensors, of which a mask on both indices hides a part.
class ZeroRegionsTest : public LogicalZerosTest {
 protected:
  using Square = std::function<ExprId(IndexFunctionBuilder*, int input, ExprId i, ExprId j)>;

  TensorId SquareInput() {
    const TensorId x = small_.Logical("x", {kExtent, kExtent});
    small_.Slice(x, {0, 0}, {kExtent, kExtent});
    return x;
  }
  TensorId DefineSquare(const std::string& name, TensorId of, const Square& body) {
    IndexFunctionBuilder b(name);
    const int x = b.AddInput("x", {kExtent, kExtent}, DType::kFloat32);
    const int y = b.AddOutput("y", Shape{kExtent, kExtent}, DType::kFloat32);
    const auto& dims = b.OutputDims(y);
    b.SetBody(y, body(&b, x, b.Index(dims[0]), b.Index(dims[1])));
    IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    const TensorId made = small_.Apply(&small_.problem.logical, std::move(f), {of});
    small_.Slice(made, {0, 0}, {kExtent, kExtent});
    return made;
  }
  // `value` where i - j >= distance, else `other`.
  TensorId Masked(const std::string& name, TensorId of, int64_t distance, const Square& value,
                  double other = 0) {
    return DefineSquare(name, of, [=](IndexFunctionBuilder* b, int input, ExprId i, ExprId j) {
      const ExprId hidden = b->Binary(Op::kIntLess, b->IntSub(i, j), b->Int(distance));
      return b->Select(hidden, b->Real(solver::Rational::FromDouble(other)), value(b, input, i, j));
    });
  }
  static ExprId Itself(IndexFunctionBuilder* b, int input, ExprId i, ExprId j) {
    return b->Element(input, {i, j});
  }
  // How many of the elements are said to be zero.
  static int Zeros(TensorId t, const Relations& relations) {
    const auto* forms = relations.ZeroUnless(t);
    if (forms == nullptr) return 0;
    int zeros = 0;
    for (int64_t e = 0; e < kExtent * kExtent; ++e) {
      const int64_t index[] = {e / kExtent, e % kExtent};
      bool hidden = false;
      for (const sdfg::IndexMap& form : *forms) {
        int64_t at = form.constant;
        for (const sdfg::IndexTerm& term : form.terms) at += term.scale * index[term.dim];
        hidden = hidden || at < 0;
      }
      zeros += hidden ? 1 : 0;
    }
    return zeros;
  }
  // i - j < distance
  static int Hidden(int64_t distance) {
    int hidden = 0;
    for (int64_t e = 0; e < kExtent * kExtent; ++e)
      hidden += e / kExtent - e % kExtent < distance ? 1 : 0;
    return hidden;
  }
  // With the regions that are found for claims about these tensors.
  Relations Found(const std::vector<TensorId>& targets) {
    std::vector<Claim> claims;
    for (size_t t = 0; t < problem_.lineage.size(); ++t) {
      const TensorId of = problem_.lineage[t].logical;
      if (std::find(targets.begin(), targets.end(), of) == targets.end()) continue;
      claims.push_back({});
      claims.back().parallel = static_cast<TensorId>(t);
      claims.back().target = problem_.lineage[t];
    }
    std::vector<const Claim*> pointers;
    for (const Claim& claim : claims) pointers.push_back(&claim);
    WorkerLimits limits;
    limits.jobs = 1;
    Relations relations(problem_);
    InferZeroRegions(problem_, pointers, limits, &relations);
    return relations;
  }
};

TEST_F(ZeroRegionsTest, WhatAMaskHidesIsZeroAndSoIsWhatIsMadeOfIt) {
  const TensorId x = SquareInput();
  const TensorId masked = Masked("masked", x, 0, Itself);
  const TensorId twice = DefineSquare("twice", masked, [](auto* b, int in, ExprId i, ExprId j) {
    return b->Binary(Op::kMul, b->Real(2), b->Element(in, {i, j}));
  });
  const TensorId more = Masked("more", twice, 2, Itself);
  const TensorId turned = DefineSquare("turned", more, [](auto* b, int in, ExprId i, ExprId j) {
    return b->Element(in, {j, i});
  });
  const Relations relations = Found({turned});
  EXPECT_EQ(Zeros(x, relations), 0);
  EXPECT_EQ(Zeros(masked, relations), Hidden(0));
  EXPECT_EQ(Zeros(twice, relations), Hidden(0));
  EXPECT_EQ(Zeros(more, relations), Hidden(2));
}

TEST_F(ZeroRegionsTest, OneTermThatIsNotHiddenIsEnough) {
  const TensorId x = SquareInput();
  const TensorId masked = Masked("masked", x, 0, Itself);
  const TensorId plus = DefineSquare("plus", masked, [](auto* b, int in, ExprId i, ExprId j) {
    return b->Binary(Op::kAdd, b->Element(in, {i, j}), b->Real(1));
  });
  // Both sides of the diagonal.
  const TensorId both = DefineSquare("both", masked, [](auto* b, int in, ExprId i, ExprId j) {
    return b->Binary(Op::kAdd, b->Element(in, {i, j}), b->Element(in, {j, i}));
  });
  const TensorId rows = DefineSquare("rows", masked, [](auto* b, int in, ExprId i, ExprId) {
    const sdfg::VarId v = b->AddVar("v", kExtent);
    return b->Reduce(Op::kSum, v, b->Element(in, {i, b->Index(v)}));
  });
  const TensorId other = Masked("other", x, 0, Itself, 3);
  // The mask's, and next to it a line of elements that it would hide.
  const TensorId next = DefineSquare("next", x, [](auto* b, int in, ExprId i, ExprId j) {
    const ExprId e = b->Element(in, {i, j}), distance = b->IntSub(i, j);
    const ExprId seen = b->Select(b->Binary(Op::kIntLessEq, b->Int(0), distance), e, b->Real(0));
    const ExprId line = b->Select(b->Binary(Op::kIntEq, b->Int(-1), distance), e, b->Real(0));
    return b->Binary(Op::kAdd, seen, line);
  });
  const Relations relations = Found({plus, both, rows, other, next});
  EXPECT_EQ(Zeros(masked, relations), Hidden(0));
  for (const TensorId t : {plus, both, rows, other, next})
    EXPECT_EQ(Zeros(t, relations), 0) << problem_.logical.tensors[t].name;
}

TEST_F(ZeroRegionsTest, NothingIsConcludedUnderAPremise) {
  const TensorId inverse =
      Masked("inverse", SquareInput(), 0, [](auto* b, int in, ExprId i, ExprId j) {
        return b->Binary(Op::kDiv, b->Real(1), b->Element(in, {i, j}));
      });
  EXPECT_EQ(Zeros(inverse, Found({inverse})), 0);
}

TEST_F(ZeroRegionsTest, ConditionsOnDataAreNoRegions) {
  const TensorId part =
      DefineSquare("part", SquareInput(), [](auto* b, int in, ExprId i, ExprId j) {
        const ExprId e = b->Element(in, {i, j});
        return b->Select(b->Binary(Op::kRealLess, b->Real(0), e), e, b->Real(0));
      });
  EXPECT_EQ(Zeros(part, Found({part})), 0);
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
