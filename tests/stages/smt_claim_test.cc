// Claims decided by Z3 on representatives: enough of them tell wrong pairs from right ones, fewer
// would lie.
#include "stages/smt_claim.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "solver/z3_solver.h"
#include "stages/audit.h"

namespace planproof::stages {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::TensorId;
using solver::Rational;
using Status = SmtClaimOutcome::Status;

// The body of an operator with one output, whose inputs are vectors of extent n.
using Body = std::function<ExprId(IndexFunctionBuilder*, int64_t n)>;

// Inputs x and y of extent n in both graphs; logical output by one body, parallel by another.
struct Pair {
  lineage::Problem problem;
  Claim claim;

  static void Add(sdfg::Graph* graph, int64_t n, const sdfg::Shape& shape, const Body& body) {
    for (const char* name : {"x", "y"}) {
      sdfg::Tensor t;
      t.name = name;
      t.shape = {n};
      t.dtype = sdfg::DType::kFloat64;
      t.role = sdfg::TensorRole::kInput;
      graph->AddTensor(t);
    }
    sdfg::Tensor z;
    z.name = "z";
    z.shape = shape;
    z.dtype = sdfg::DType::kFloat64;
    graph->AddTensor(z);
    IndexFunctionBuilder b("body");
    b.AddInput("x", {n}, sdfg::DType::kFloat64);
    b.AddInput("y", {n}, sdfg::DType::kFloat64);
    b.AddOutput("z", shape, sdfg::DType::kFloat64);
    b.SetBody(0, body(&b, n));
    sdfg::IndexFunction f;
    ASSERT_TRUE(b.Finish(&f).ok());
    sdfg::Operator op;
    op.name = "body";
    op.function = graph->Intern(std::move(f));
    op.inputs = {0, 1};
    op.outputs = {2};
    graph->AddOperator(op);
  }

  Pair(int64_t n, const sdfg::Shape& shape, const Body& logical, const Body& parallel) {
    Add(&problem.logical, n, shape, logical);
    Add(&problem.parallel, n, shape, parallel);
    for (TensorId t = 0; t < 3; ++t) {
      lineage::Lineage l;
      l.kind = lineage::LineageKind::kFull;
      l.logical = t;
      for (size_t d = 0; d < problem.logical.tensors[t].shape.size(); ++d) {
        l.map.push_back({0, {{static_cast<int32_t>(d), 1, 1, 0}}});
      }
      problem.lineage.push_back(l);
    }
    claim.parallel = 2;
    claim.target = problem.lineage[2];
  }

  SmtClaimOutcome Decide(int representatives = 0) const {
    SmtClaimOptions options;
    options.representatives = representatives;
    const Relations relations(problem);
    return DecideClaimBySmt(problem, relations, claim, options);
  }
};

// sum over i of x_i^k (k from 0: n).
ExprId PowerSum(IndexFunctionBuilder* b, int64_t n, int k) {
  const sdfg::VarId i = b->AddVar("i", n);
  return b->Reduce(Op::kSum, i, b->Pow(b->Element(0, {b->Index(i)}), Rational(k)));
}

// sum over low <= i < high of x_i * y_i.
ExprId Dot(IndexFunctionBuilder* b, int64_t low, int64_t high) {
  const sdfg::VarId i = b->AddVar("i", high - low);
  const ExprId at = b->IntAdd(b->Index(i), b->Int(low));
  return b->Reduce(Op::kSum, i, b->Binary(Op::kMul, b->Element(0, {at}), b->Element(1, {at})));
}

ExprId Total(IndexFunctionBuilder* b, int64_t n, int input) {
  const sdfg::VarId i = b->AddVar("i", n);
  return b->Reduce(Op::kSum, i, b->Element(input, {b->Index(i)}));
}

class SmtClaim : public testing::Test {
 protected:
  void SetUp() override {
    if (!solver::Z3Missing().empty()) GTEST_SKIP() << solver::Z3Missing();
  }
};

TEST_F(SmtClaim, A1CancelledDivisionIsEqualUnderItsPremise) {
  const Pair pair(
      4, {4},
      [](IndexFunctionBuilder* b, int64_t) {
        const ExprId i = b->Index(b->OutputDims(0)[0]);
        const ExprId y = b->Element(1, {i});
        return b->Binary(Op::kDiv, b->Binary(Op::kMul, b->Element(0, {i}), y), y);
      },
      [](IndexFunctionBuilder* b, int64_t) {
        return b->Element(0, {b->Index(b->OutputDims(0)[0])});
      });
  const SmtClaimOutcome out = pair.Decide();
  EXPECT_EQ(out.status, Status::kEqual) << out.reason;
  EXPECT_FALSE(out.identical);
  EXPECT_TRUE(out.bound_holds);  // nothing is summed: the term is that of the full shape
}

TEST_F(SmtClaim, ASplitContractionIsEqualAndTheBoundCoversIt) {
  const Pair pair(
      1024, {}, [](IndexFunctionBuilder* b, int64_t n) { return Dot(b, 0, n); },
      [](IndexFunctionBuilder* b, int64_t n) {
        return b->Binary(Op::kAdd, Dot(b, 0, 300), Dot(b, 300, n));
      });
  const SmtClaimOutcome out = pair.Decide();
  EXPECT_EQ(out.status, Status::kEqual) << out.reason;
  EXPECT_TRUE(out.bound_holds);
}

TEST_F(SmtClaim, ASplitContractionWithAPieceMissingIsDifferent) {
  const Pair pair(
      1024, {}, [](IndexFunctionBuilder* b, int64_t n) { return Dot(b, 0, n); },
      [](IndexFunctionBuilder* b, int64_t n) {
        return b->Binary(Op::kAdd, Dot(b, 0, 300), Dot(b, 301, n));
      });
  EXPECT_EQ(pair.Decide().status, Status::kDifferent);
}

Pair R12() {
  return Pair(
      8, {},
      [](IndexFunctionBuilder* b, int64_t n) {
        return b->Binary(Op::kMul, Total(b, n, 0), Total(b, n, 1));
      },
      [](IndexFunctionBuilder* b, int64_t n) {
        return b->Binary(Op::kMul, b->Real(Rational(n)), Dot(b, 0, n));
      });
}

TEST_F(SmtClaim, R12IsDifferentWithTheRepresentativesOfTheBoundAndOneWouldLie) {
  EXPECT_EQ(R12().Decide().status, Status::kDifferent);
  const SmtClaimOutcome lie = R12().Decide(1);
  EXPECT_EQ(lie.status, Status::kEqual);
  EXPECT_FALSE(lie.bound_holds);
}

// The determinant of the power sums p0 to p4 of x, against 0.
Pair R4() {
  return Pair(
      8, {},
      [](IndexFunctionBuilder* b, int64_t n) {
        auto p = [&](int k) { return k == 0 ? b->Real(Rational(n)) : PowerSum(b, n, k); };
        auto mul = [&](ExprId x, ExprId y) { return b->Binary(Op::kMul, x, y); };
        auto minor = [&](int a, int c, int d, int e) {
          return b->Binary(Op::kAdd, mul(p(a), p(e)), b->Unary(Op::kNeg, mul(p(c), p(d))));
        };
        ExprId det = mul(p(0), minor(2, 3, 3, 4));
        det = b->Binary(Op::kAdd, det, b->Unary(Op::kNeg, mul(p(1), minor(1, 3, 2, 4))));
        return b->Binary(Op::kAdd, det, mul(p(2), minor(1, 2, 2, 3)));
      },
      [](IndexFunctionBuilder* b, int64_t) { return b->Real(Rational(0)); });
}

TEST_F(SmtClaim, R4IsDifferentWithTheRepresentativesOfTheBoundAndTwoWouldLie) {
  const SmtClaimOutcome out = R4().Decide();
  EXPECT_EQ(out.status, Status::kDifferent) << out.reason;
  EXPECT_GE(out.representatives, 3);
  const SmtClaimOutcome lie = R4().Decide(2);
  EXPECT_EQ(lie.status, Status::kEqual) << lie.reason;
  EXPECT_FALSE(lie.bound_holds);
}

TEST_F(SmtClaim, SumsInsideFunctionsAreEqualOnRepresentativesButNoBoundCoversThem) {
  auto softmax = [](Op order) {
    return [order](IndexFunctionBuilder* b, int64_t n) {
      const ExprId x = b->Element(0, {b->Index(b->OutputDims(0)[0])});
      const sdfg::VarId j = b->AddVar("j", n);
      const ExprId y = b->Element(0, {b->Index(j)});
      const ExprId shift = b->Element(1, {b->Int(0)});
      auto shifted = [&](ExprId e) {
        return order == Op::kAdd ? b->Binary(Op::kAdd, e, shift) : e;
      };
      return b->Binary(Op::kDiv, b->Unary(Op::kExp, shifted(x)),
                       b->Reduce(Op::kSum, j, b->Unary(Op::kExp, shifted(y))));
    };
  };
  const Pair pair(64, {64}, softmax(Op::kMul), softmax(Op::kAdd));
  const SmtClaimOutcome out = pair.Decide();
  EXPECT_EQ(out.status, Status::kEqual) << out.reason;
  EXPECT_FALSE(out.identical);
  EXPECT_FALSE(out.bound_holds);
}

TEST(Audit, DefiniteAnswersThatDifferContradict) {
  ClaimOutcome proved;
  proved.status = ClaimStatus::kProved;
  proved.tier = "normal form";
  SmtClaimOutcome smt;
  EXPECT_EQ(Compare(proved, smt), Agreement::kIndefinite);
  smt.status = Status::kEqual;
  EXPECT_EQ(Compare(proved, smt), Agreement::kAgree);
  smt.status = Status::kDifferent;
  EXPECT_EQ(Compare(proved, smt), Agreement::kContradiction);
  proved.status = ClaimStatus::kFailed;
  EXPECT_EQ(Compare(proved, smt), Agreement::kAgree);
}

}  // namespace
}  // namespace planproof::stages
