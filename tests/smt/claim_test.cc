// Claims decided by Z3 on representatives: enough of them tell wrong pairs from right ones, fewer
// would lie.
#include "smt/claim.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "smt/audit.h"
#include "solver/z3_solver.h"

namespace planproof::smt {
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
  stages::Claim claim;

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
    const stages::Relations relations(problem);
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

// A vector read at its own index, shifted, or backwards.
ExprId At(IndexFunctionBuilder* b, int input, int64_t scale, int64_t offset, size_t dim = 0) {
  const ExprId i = b->Index(b->OutputDims(0)[dim]);
  return b->Element(input, {b->IntAdd(b->IntScale(scale, i), b->Int(offset))});
}

Body Own() {
  return [](IndexFunctionBuilder* b, int64_t) { return At(b, 0, 1, 0); };
}

TEST_F(SmtClaim, OneElementInPlaceOfAllIsDifferentWhicheverItIs) {
  for (int64_t n : {2, 5, 100}) {
    for (int64_t at : {int64_t{0}, int64_t{1}, n / 2, n - 1}) {
      const Pair pair(n, {n}, Own(), [at](IndexFunctionBuilder* b, int64_t) {
        return b->Element(0, {b->Int(at)});
      });
      EXPECT_EQ(pair.Decide().status, Status::kDifferent) << n << " " << at;
    }
  }
}

TEST_F(SmtClaim, OneElementInPlaceOfAllIsDifferentInEachOfTwoDimensionsOfOneTensor) {
  for (int64_t n : {2, 3, 50}) {
    for (int64_t at : {int64_t{0}, int64_t{1}, n - 1}) {
      for (size_t dim : {0, 1}) {
        const Pair pair(
            n, {n, n},
            [](IndexFunctionBuilder* b, int64_t) {
              return b->Binary(Op::kMul, At(b, 0, 1, 0, 0), At(b, 0, 1, 0, 1));
            },
            [=](IndexFunctionBuilder* b, int64_t) {
              return b->Binary(Op::kMul, At(b, 0, 1, 0, dim), b->Element(0, {b->Int(at)}));
            });
        EXPECT_EQ(pair.Decide().status, Status::kDifferent) << n << " " << at << " " << dim;
      }
    }
  }
  // x_i x_j against x_i x_i: equal on the diagonal only.
  const Pair diagonal(
      50, {50, 50},
      [](IndexFunctionBuilder* b, int64_t) {
        return b->Binary(Op::kMul, At(b, 0, 1, 0, 0), At(b, 0, 1, 0, 1));
      },
      [](IndexFunctionBuilder* b, int64_t) {
        return b->Binary(Op::kMul, At(b, 0, 1, 0, 0), At(b, 0, 1, 0, 0));
      });
  EXPECT_EQ(diagonal.Decide().status, Status::kDifferent);
}

TEST_F(SmtClaim, AnElementBesideASumIsAPointOfItsOwn) {
  // x_i sum(y) against x_i (sum(y) - y_k + y_i): equal at i = k only.
  for (int64_t k : {0, 3, 99}) {
    const Pair pair(
        100, {100},
        [](IndexFunctionBuilder* b, int64_t n) {
          return b->Binary(Op::kMul, At(b, 0, 1, 0), Total(b, n, 1));
        },
        [k](IndexFunctionBuilder* b, int64_t n) {
          const ExprId change =
              b->Binary(Op::kAdd, At(b, 1, 1, 0), b->Unary(Op::kNeg, b->Element(1, {b->Int(k)})));
          return b->Binary(Op::kMul, At(b, 0, 1, 0), b->Binary(Op::kAdd, Total(b, n, 1), change));
        });
    EXPECT_EQ(pair.Decide().status, Status::kDifferent) << k;
  }
}

TEST_F(SmtClaim, AConstantOfOneTensorIsAPointOfThoseReadBesideIt) {
  // sum x_i y_i with x_2 taken for the summand of index 2, and for another one.
  auto with = [](int64_t point) {
    return [point](IndexFunctionBuilder* b, int64_t n) {
      const ExprId own =
          b->Binary(Op::kMul, b->Element(0, {b->Int(point)}), b->Element(1, {b->Int(2)}));
      return b->Binary(Op::kAdd, b->Binary(Op::kAdd, Dot(b, 0, 2), own), Dot(b, 3, n));
    };
  };
  auto dot = [](IndexFunctionBuilder* b, int64_t n) { return Dot(b, 0, n); };
  const SmtClaimOutcome right = Pair(1024, {}, dot, with(2)).Decide();
  EXPECT_EQ(right.status, Status::kEqual) << right.reason;
  EXPECT_TRUE(right.bound_holds);
  EXPECT_EQ(Pair(1024, {}, dot, with(3)).Decide().status, Status::kDifferent);
}

TEST_F(SmtClaim, ReadsBackwardsAreCoveredByTheBound) {
  auto sum = [](int input, int other) {  // of x_i y_(n - 1 - i), or of y_i x_(n - 1 - i)
    return [=](IndexFunctionBuilder* b, int64_t n) {
      const sdfg::VarId i = b->AddVar("i", n);
      const ExprId back = b->IntAdd(b->IntScale(-1, b->Index(i)), b->Int(n - 1));
      return b->Reduce(
          Op::kSum, i,
          b->Binary(Op::kMul, b->Element(input, {b->Index(i)}), b->Element(other, {back})));
    };
  };
  for (int64_t n : {7, 1000, 1001}) {
    const SmtClaimOutcome out = Pair(n, {}, sum(0, 1), sum(1, 0)).Decide();
    EXPECT_EQ(out.status, Status::kEqual) << out.reason;
    EXPECT_TRUE(out.bound_holds);
    const SmtClaimOutcome wrong = Pair(n, {}, sum(0, 1), [](IndexFunctionBuilder* b, int64_t n) {
                                    return Dot(b, 0, n);
                                  }).Decide();
    EXPECT_EQ(wrong.status, Status::kDifferent) << wrong.reason;
    // A vector with itself read backwards: each half is the other's mirror image.
    auto half = [](IndexFunctionBuilder* b, int64_t n) {
      const sdfg::VarId i = b->AddVar("i", n / 2);
      const ExprId back = b->IntAdd(b->IntScale(-1, b->Index(i)), b->Int(n - 1));
      ExprId all = b->Reduce(
          Op::kSum, i, b->Binary(Op::kMul, b->Element(0, {b->Index(i)}), b->Element(0, {back})));
      all = b->Binary(Op::kMul, b->Real(Rational(2)), all);
      if (n % 2 == 0) return all;
      const ExprId middle = b->Element(0, {b->Int(n / 2)});
      return b->Binary(Op::kAdd, all, b->Binary(Op::kMul, middle, middle));
    };
    const SmtClaimOutcome mirrored = Pair(n, {}, sum(0, 0), half).Decide();
    EXPECT_EQ(mirrored.status, Status::kEqual) << n << " " << mirrored.reason;
    EXPECT_TRUE(mirrored.bound_holds) << n;
  }
  const Pair flipped(100, {100}, Own(),
                     [](IndexFunctionBuilder* b, int64_t n) { return At(b, 0, -1, n - 1); });
  EXPECT_EQ(flipped.Decide().status, Status::kDifferent);
}

TEST_F(SmtClaim, NeighboursAreNotCoveredByTheBoundUnlessAllIndicesAreTaken) {
  auto neighbours = [](int input, int other) {  // the sum of u_i v_(i + 1)
    return [=](IndexFunctionBuilder* b, int64_t n) {
      const sdfg::VarId i = b->AddVar("i", n - 1);
      const ExprId next = b->IntAdd(b->Index(i), b->Int(1));
      return b->Reduce(
          Op::kSum, i,
          b->Binary(Op::kMul, b->Element(input, {b->Index(i)}), b->Element(other, {next})));
    };
  };
  const SmtClaimOutcome two = Pair(1024, {}, neighbours(0, 1), neighbours(0, 1)).Decide();
  EXPECT_EQ(two.status, Status::kEqual) << two.reason;
  EXPECT_TRUE(two.bound_holds);  // index i of one goes with i + 1 of the other
  const SmtClaimOutcome many = Pair(1024, {}, neighbours(0, 0), neighbours(0, 0)).Decide();
  EXPECT_EQ(many.status, Status::kEqual) << many.reason;
  EXPECT_FALSE(many.bound_holds);
  const SmtClaimOutcome few = Pair(6, {}, neighbours(0, 0), neighbours(0, 0)).Decide();
  EXPECT_EQ(few.status, Status::kEqual) << few.reason;
  EXPECT_TRUE(few.bound_holds);
  EXPECT_EQ(Pair(6, {}, neighbours(0, 1), neighbours(1, 0)).Decide().status, Status::kDifferent);
}

// f(x_i) + f(x_j) + f(sum(x) - x_i - x_j) against the sum of f(x_k), over three elements: equal
// where i and j differ.
Pair Coincident(const std::function<ExprId(IndexFunctionBuilder*, ExprId)>& f) {
  return Pair(
      3, {3, 3},
      [f](IndexFunctionBuilder* b, int64_t n) {
        const ExprId x = At(b, 0, 1, 0, 0), y = At(b, 0, 1, 0, 1);
        const ExprId both = b->Binary(Op::kAdd, x, y);
        const ExprId rest = b->Binary(Op::kAdd, Total(b, n, 0), b->Unary(Op::kNeg, both));
        return b->Binary(Op::kAdd, b->Binary(Op::kAdd, f(b, x), f(b, y)), f(b, rest));
      },
      [f](IndexFunctionBuilder* b, int64_t n) {
        const sdfg::VarId i = b->AddVar("i", n);
        return b->Reduce(Op::kSum, i, f(b, b->Element(0, {b->Index(i)})));
      });
}

TEST_F(SmtClaim, IndicesThatCoincideAreACaseOfTheirOwnWhereDifferentOnesDoNotSuffice) {
  const SmtClaimOutcome exponential =
      Coincident([](IndexFunctionBuilder* b, ExprId x) { return b->Unary(Op::kExp, x); }).Decide();
  EXPECT_EQ(exponential.status, Status::kDifferent) << exponential.reason;
  for (int k : {2, 3}) {
    const SmtClaimOutcome power = Coincident([k](IndexFunctionBuilder* b, ExprId x) {
                                    return b->Pow(x, Rational(k));
                                  }).Decide();
    EXPECT_EQ(power.status, Status::kDifferent) << power.reason;
  }
  const SmtClaimOutcome right =
      Coincident([](IndexFunctionBuilder*, ExprId x) { return x; }).Decide();
  EXPECT_EQ(right.status, Status::kEqual) << right.reason;
  EXPECT_TRUE(right.bound_holds);
}

TEST_F(SmtClaim, WhatIsNotLookedAtIsNotCoveredByTheBound) {
  // The number of each index counts: every index is a cell.
  auto numbered = [](IndexFunctionBuilder* b, int64_t) {
    ExprId product = At(b, 0, 1, 0, 0);
    for (size_t d : {0, 1}) {
      const ExprId number =
          b->AddNode({.op = Op::kPosition, .args = {b->Index(b->OutputDims(0)[d])}});
      product = b->Binary(Op::kMul, product, number);
    }
    return product;
  };
  const SmtClaimOutcome few = Pair(12, {12, 12}, numbered, numbered).Decide();
  EXPECT_EQ(few.status, Status::kEqual) << few.reason;
  EXPECT_TRUE(few.bound_holds);
  const SmtClaimOutcome many = Pair(20, {20, 20}, numbered, numbered).Decide();
  EXPECT_EQ(many.status, Status::kEqual) << many.reason;
  EXPECT_FALSE(many.bound_holds);
  // Free indices in a dimension of 3: 5 ways in which 3 of them coincide, 41 for 5 of them.
  auto product = [](IndexFunctionBuilder* b, int64_t) {
    ExprId all = At(b, 0, 1, 0, 0);
    for (size_t d = 1; d < b->OutputDims(0).size(); ++d) {
      all = b->Binary(Op::kMul, all, At(b, 0, 1, 0, d));
    }
    return b->Unary(Op::kAbs, b->Binary(Op::kAdd, all, Total(b, 3, 1)));
  };
  const SmtClaimOutcome three = Pair(3, {3, 3, 3}, product, product).Decide();
  EXPECT_EQ(three.status, Status::kEqual) << three.reason;
  EXPECT_TRUE(three.bound_holds);
  const SmtClaimOutcome five = Pair(3, {3, 3, 3, 3, 3}, product, product).Decide();
  EXPECT_EQ(five.status, Status::kEqual) << five.reason;
  EXPECT_FALSE(five.bound_holds);
}

TEST_F(SmtClaim, EveryThirdElementIsCoveredOnlyWhereAllIndicesAreTaken) {
  auto third = [](IndexFunctionBuilder* b, int64_t) { return At(b, 0, 3, 0); };
  const SmtClaimOutcome few = Pair(9, {3}, third, third).Decide();
  EXPECT_EQ(few.status, Status::kEqual) << few.reason;
  EXPECT_TRUE(few.bound_holds);
  const SmtClaimOutcome many = Pair(3000, {1000}, third, third).Decide();
  EXPECT_EQ(many.status, Status::kEqual) << many.reason;
  EXPECT_FALSE(many.bound_holds);
}

TEST_F(SmtClaim, WhatIsReducedByAMaximumIsNotCoveredByTheBound) {
  auto most = [](int64_t low) {
    return [low](IndexFunctionBuilder* b, int64_t n) {
      const sdfg::VarId i = b->AddVar("i", n - low);
      return b->Reduce(Op::kReduceMax, i, b->Element(0, {b->IntAdd(b->Index(i), b->Int(low))}));
    };
  };
  const SmtClaimOutcome out = Pair(64, {}, most(0), most(0)).Decide();
  EXPECT_EQ(out.status, Status::kEqual) << out.reason;
  EXPECT_FALSE(out.bound_holds);
  EXPECT_EQ(Pair(64, {}, most(0), most(1)).Decide().status, Status::kDifferent);
}

TEST_F(SmtClaim, IntegersOfAnOpaqueFunctionAreNotCoveredByTheBound) {
  auto count = [](IndexFunctionBuilder* b, int64_t n) {
    const sdfg::VarId i = b->AddVar("i", n);
    const ExprId rank = b->Opaque("rank", true, -1, {b->Element(0, {b->Index(i)})});
    return b->Reduce(Op::kSum, i, b->AddNode({.op = Op::kPosition, .args = {rank}}));
  };
  const SmtClaimOutcome out = Pair(64, {}, count, count).Decide();
  EXPECT_EQ(out.status, Status::kEqual) << out.reason;
  EXPECT_FALSE(out.bound_holds);
}

TEST_F(SmtClaim, ADivisionByZeroProvesNothing) {
  auto over_zero = [](int64_t factor) {
    return [factor](IndexFunctionBuilder* b, int64_t) {
      const ExprId x = b->Binary(Op::kMul, b->Real(Rational(factor)), At(b, 0, 1, 0));
      return b->AddNode({.op = Op::kDiv, .args = {x, b->Real(Rational(0))}});
    };
  };
  EXPECT_EQ(Pair(4, {4}, over_zero(1), over_zero(2)).Decide().status, Status::kUnknown);
}

TEST(Audit, DefiniteAnswersThatDifferContradict) {
  stages::ClaimOutcome proved;
  proved.status = stages::ClaimStatus::kProved;
  proved.method = stages::ProofMethod::kNormalForm;
  SmtClaimOutcome smt;
  EXPECT_EQ(Compare(proved, smt), Agreement::kIndefinite);
  smt.status = Status::kEqual;
  EXPECT_EQ(Compare(proved, smt), Agreement::kAgree);
  smt.status = Status::kDifferent;
  EXPECT_EQ(Compare(proved, smt), Agreement::kContradiction);
  proved.status = stages::ClaimStatus::kFailed;
  EXPECT_EQ(Compare(proved, smt), Agreement::kAgree);
}

}  // namespace
}  // namespace planproof::smt
