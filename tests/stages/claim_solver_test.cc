// What a claim rests on is listed with it, whatever was evaluated before.
#include "stages/claim_solver.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::stages {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::Shape;
using sdfg::TensorId;

constexpr int64_t kExtent = 8;

// r[0] = 1 / (s[0] - zero * s[0])
IndexFunction Reciprocal(bool of_zero) {
  IndexFunctionBuilder b("reciprocal");
  const int s = b.AddInput("s", {1}, DType::kFloat32);
  const int r = b.AddOutput("r", Shape{1}, DType::kFloat32);
  const ExprId e = b.Element(s, {b.Index(b.OutputDims(r)[0])});
  b.SetBody(
      r, b.Binary(Op::kDiv, b.Real(1), of_zero ? b.Binary(Op::kAdd, e, b.Unary(Op::kNeg, e)) : e));
  IndexFunction f;
  EXPECT_TRUE(b.Finish(&f).ok());
  return f;
}

// y[i] = r[0] * (i < 3 ? x[i] : factor * x[i]); the selection splits the claim after r is read.
IndexFunction Scaled(int64_t factor) {
  IndexFunctionBuilder b("scaled");
  const int r = b.AddInput("r", {1}, DType::kFloat32);
  const int x = b.AddInput("x", {kExtent}, DType::kFloat32);
  const int y = b.AddOutput("y", Shape{kExtent}, DType::kFloat32);
  const ExprId i = b.Index(b.OutputDims(y)[0]), e = b.Element(x, {i});
  b.SetBody(y, b.Binary(Op::kMul, b.Element(r, {b.Int(0)}),
                        b.Select(b.Binary(Op::kIntLess, i, b.Int(3)), e,
                                 b.Binary(Op::kMul, b.Real(factor), e))));
  IndexFunction f;
  EXPECT_TRUE(b.Finish(&f).ok());
  return f;
}

class ClaimSolverTest : public testing::Test {
 protected:
  TensorId Add(sdfg::Graph* g, const std::string& name, Shape shape, TensorId logical = -1) {
    sdfg::Tensor t;
    t.name = name;
    t.shape = std::move(shape);
    t.dtype = DType::kFloat32;
    const TensorId id = g->AddTensor(std::move(t));
    if (g == &problem_.parallel) {
      problem_.lineage.resize(id + 1);
      if (logical >= 0) problem_.lineage[id] = Whole(logical);
    }
    return id;
  }
  static lineage::Lineage Whole(TensorId logical) {
    lineage::Lineage l;
    l.kind = lineage::LineageKind::kFull;
    l.logical = logical;
    l.map.resize(1);
    l.map[0].terms = {{.dim = 0}};
    return l;
  }
  void Apply(sdfg::Graph* g, IndexFunction f, std::vector<TensorId> inputs, TensorId output) {
    sdfg::Operator op;
    op.name = f.operator_name;
    op.function = g->Intern(std::move(f));
    op.inputs = std::move(inputs);
    op.outputs = {output};
    g->AddOperator(std::move(op));
  }
  // The same two operators on both sides, `copies` times on the parallel one.
  std::vector<Claim> Build(bool of_zero, int copies, int64_t parallel_factor = 2) {
    auto &l = problem_.logical, &p = problem_.parallel;
    const TensorId s = Add(&l, "s", {1}), x = Add(&l, "x", {kExtent}), r = Add(&l, "r", {1}),
                   y = Add(&l, "y", {kExtent});
    Apply(&l, Reciprocal(of_zero), {s}, r);
    Apply(&l, Scaled(2), {r, x}, y);
    const TensorId sp = Add(&p, "sp", {1}, s), xp = Add(&p, "xp", {kExtent}, x),
                   rp = Add(&p, "rp", {1});
    Apply(&p, Reciprocal(of_zero), {sp}, rp);
    std::vector<Claim> claims;
    for (int i = 0; i < copies; ++i) {
      Claim claim;
      claim.parallel = Add(&p, "yp", {kExtent}, y);
      claim.target = problem_.lineage[claim.parallel];
      Apply(&p, Scaled(parallel_factor), {rp, xp}, claim.parallel);
      claims.push_back(claim);
    }
    return claims;
  }
  static bool Lists(const ClaimOutcome& o, const std::string& text) {
    for (const auto* list : {&o.premises, &o.restrictions}) {
      for (const Condition& premise : *list) {
        if (InWords(premise).find(text) != std::string::npos) return true;
      }
    }
    return false;
  }

  lineage::Problem problem_;
};

TEST_F(ClaimSolverTest, PremisesSurviveSplitsAndEarlierClaims) {
  const std::vector<Claim> claims = Build(false, 3);
  Relations relations(problem_);
  ClaimSolver solver(problem_, &relations, ClaimLimits());
  for (const Claim& claim : claims) {
    const ClaimOutcome o = solver.Decide(claim);
    ASSERT_EQ(o.status, ClaimStatus::kProved) << o.reason;
    EXPECT_GT(o.cells, 1);
    EXPECT_TRUE(Lists(o, "!= 0"));
    EXPECT_FALSE(o.unsatisfiable);
  }
}

TEST_F(ClaimSolverTest, EveryClaimThatDividesByZeroSaysSo) {
  const std::vector<Claim> claims = Build(true, 3);
  Relations relations(problem_);
  ClaimSolver solver(problem_, &relations, ClaimLimits());
  for (const Claim& claim : claims) {
    const ClaimOutcome o = solver.Decide(claim);
    // Nothing is required here: the plan divides, and no output of the model.
    ASSERT_FALSE(o.restrictions.empty());
    EXPECT_TRUE(o.restrictions[0].never);
  }
}

// A multiple of a tensor is the tensor only where that is zero.
TEST_F(ClaimSolverTest, FalseClaimsStayFalseWhereDifferencesAreOpened) {
  ClaimLimits limits;
  limits.open_differences = true;
  for (const int64_t factor : {int64_t{2}, int64_t{3}, int64_t{-2}}) {
    problem_ = {};
    const std::vector<Claim> claims = Build(false, 2, factor);
    Relations relations(problem_);
    ClaimSolver solver(problem_, &relations, limits);
    for (const Claim& claim : claims) {
      const ClaimOutcome o = solver.Decide(claim);
      EXPECT_EQ(o.status == ClaimStatus::kProved, factor == 2) << o.reason;
    }
  }
}

TEST_F(ClaimSolverTest, NothingIsProvedPastTheWorkLimit) {
  const std::vector<Claim> claims = Build(false, 2, 3);  // false claims
  Relations relations(problem_);
  for (int64_t budget = 1; budget < 400; budget += 3) {
    ClaimLimits limits;
    limits.term_budget = budget;
    ClaimSolver solver(problem_, &relations, limits);
    for (const Claim& claim : claims)
      EXPECT_NE(solver.Decide(claim).status, ClaimStatus::kProved) << budget;
  }
}

}  // namespace
}  // namespace planproof::stages
