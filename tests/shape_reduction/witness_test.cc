#include "shape_reduction/witness.h"

#include <gtest/gtest.h>

#include <utility>

#include "sdfg/collectives.h"
#include "sdfg/operator_library.h"
#include "shape_reduction/input_choice.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::Shape;
using sdfg::TensorId;
using sdfg::TensorRole;
using sdfg::VarId;
using solver::Rational;

// Row-parallel linear on two devices: x and w are cut along the contraction, then all-reduced.
struct RowParallel {
  SmallProblem p;
  TensorId logical_y, partial, y;

  explicit RowParallel(bool all_reduce, int64_t first = 2048) {
    sdfg::Graph* logical = &p.problem.logical;
    sdfg::Graph* parallel = &p.problem.parallel;
    const int64_t k = 4096, n = 1024, b = 64;
    const TensorId x = p.Logical("x", {b, k});
    const TensorId w = p.Logical("w", {n, k}, TensorRole::kParameter);
    logical_y = p.Apply(logical, Instantiate("linear", {{b, k}, {n, k}}), {x, w});
    std::vector<TensorId> parts;
    for (int device : {0, 1}) {
      const int64_t start = device == 0 ? 0 : first, size = device == 0 ? first : k - first;
      const TensorId xs = p.Slice(x, {0, start}, {b, size}, device);
      const TensorId ws = p.Slice(w, {0, start}, {n, size}, device);
      parts.push_back(
          p.Apply(parallel, Instantiate("linear", {{b, size}, {n, size}}), {xs, ws}, device));
    }
    partial = parts[0];
    y = partial;
    if (all_reduce) {
      y = p.Apply(parallel, *sdfg::AllReduce({b, n}, DType::kFloat32, 2, sdfg::ReduceKind::kSum),
                  parts, 0);
    }
    p.Claim(y, logical_y, {0, 0});
    p.Require(y, logical_y, {0, 0});
    p.Check();
  }
};

TEST(WitnessTest, CorrectRowParallelLinearIsEqual) {
  EXPECT_EQ(NumericEqual(RowParallel(true).p.problem, 20), NumericVerdict::kEqual);
  EXPECT_EQ(NumericEqual(RowParallel(true, 1000).p.problem, 20), NumericVerdict::kEqual);
}

TEST(WitnessTest, MissingAllReduceIsConfirmedAndLocalised) {
  const RowParallel plan(false);
  EXPECT_EQ(NumericEqual(plan.p.problem, 20), NumericVerdict::kDifferent);
  const Witness witness = SearchWitness(plan.p.problem, {});
  ASSERT_EQ(witness.outcome, Witness::Outcome::kConfirmed) << witness.message;
  EXPECT_EQ(witness.required, 0);
  EXPECT_EQ(witness.parallel_index, witness.logical_index);
  EXPECT_TRUE(witness.logical_high < witness.parallel_low ||
              witness.parallel_high < witness.logical_low);
  EXPECT_EQ(witness.inputs.size(), 2u);
  ASSERT_TRUE(witness.first.found);
  EXPECT_EQ(witness.first.tensor, plan.partial);
  EXPECT_EQ(witness.first.devices, std::vector<sdfg::Device>{0});
}

TEST(WitnessTest, TheSameSeedGivesTheSameWitness) {
  const RowParallel plan(false);
  const Witness a = SearchWitness(plan.p.problem, {}), b = SearchWitness(plan.p.problem, {});
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.logical_value, b.logical_value);
}

// One function per side, on the same inputs.
SmallProblem Both(const IndexFunction& left, const IndexFunction& right) {
  SmallProblem p;
  std::vector<TensorId> logical, parallel;
  for (const sdfg::FunctionInput& input : left.inputs) {
    logical.push_back(p.Logical(input.name, input.shape, TensorRole::kInput, input.dtype));
    parallel.push_back(
        p.Slice(logical.back(), std::vector<int64_t>(input.shape.size(), 0), input.shape));
  }
  const TensorId l = p.Apply(&p.problem.logical, left, logical);
  const TensorId r = p.Apply(&p.problem.parallel, right, parallel, 0);
  p.Require(r, l, std::vector<int64_t>(p.problem.logical.tensors[l].shape.size(), 0));
  p.Check();
  return p;
}

NumericVerdict Judge(const IndexFunction& left, const IndexFunction& right,
                     std::vector<lineage::Problem::InputPremise> premises = {}, int attempts = 20) {
  SmallProblem p = Both(left, right);
  p.problem.premises = std::move(premises);
  return NumericEqual(p.problem, attempts);
}

// y[0] = body(x), x of the given extent.
template <typename Body>
IndexFunction Scalar(int64_t extent, Body body) {
  IndexFunctionBuilder f("f");
  f.AddInput("x", {extent}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{1}, DType::kFloat32);
  f.SetBody(y, body(&f));
  IndexFunction function;
  const absl::Status status = f.Finish(&function);
  EXPECT_TRUE(status.ok()) << status;
  return function;
}

template <typename Term>
ExprId SumOver(IndexFunctionBuilder* f, int64_t low, int64_t high, Term term) {
  const VarId i = f->AddVar("i", high - low);
  return f->Reduce(Op::kSum, i, term(f->Element(0, {f->IntAdd(f->Index(i), f->Int(low))})));
}

ExprId Same(ExprId e) { return e; }

// A slice on the way that is one element off: the value is cut where no input is.
TEST(WitnessTest, ShiftsByOneOfShortSlicesAreRefuted) {
  for (const int64_t extent : {19, 300}) {
    for (const int64_t start : {int64_t{5}, extent - 4}) {
      for (const int64_t off : {-1, 0, 1}) {
        SmallProblem p;
        const TensorId x = p.Logical("x", {extent, 12});
        const TensorId y = p.Apply(&p.problem.logical, Instantiate("tanh", {{extent, 12}}), {x});
        const TensorId whole = p.Slice(x, {0, 0}, {extent, 12});
        const TensorId turned =
            p.Apply(&p.problem.parallel, Instantiate("tanh", {{extent, 12}}), {whole}, 0);
        IndexFunctionBuilder f("part");
        f.AddInput("y", {extent, 12}, DType::kFloat32);
        const int part = f.AddOutput("part", Shape{3, 12}, DType::kFloat32);
        f.SetBody(part, f.Element(0, {f.IntAdd(f.Index(f.OutputDims(part)[0]), f.Int(start + off)),
                                      f.Index(f.OutputDims(part)[1])}));
        IndexFunction function;
        ASSERT_TRUE(f.Finish(&function).ok());
        const TensorId z = p.Apply(&p.problem.parallel, function, {turned}, 0);
        p.Require(z, y, {start, 0});
        p.Check();
        EXPECT_EQ(NumericEqual(p.problem, 40),
                  off == 0 ? NumericVerdict::kEqual : NumericVerdict::kDifferent)
            << extent << " " << start << " " << off;
      }
    }
  }
}

// y[c] = max over the rows of x[17, 12], by pieces [low, high).
IndexFunction MaximumOfRows(const std::vector<std::pair<int64_t, int64_t>>& pieces) {
  IndexFunctionBuilder f("max");
  f.AddInput("x", {17, 12}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{12}, DType::kFloat32);
  ExprId best = sdfg::kNoExpr;
  for (const auto& [low, high] : pieces) {
    const VarId i = f.AddVar("i", high - low);
    const ExprId row = f.IntAdd(f.Index(i), f.Int(low));
    const ExprId piece =
        f.Reduce(Op::kReduceMax, i, f.Element(0, {row, f.Index(f.OutputDims(y)[0])}));
    best = best == sdfg::kNoExpr ? piece : f.Binary(Op::kMax, best, piece);
  }
  f.SetBody(y, best);
  IndexFunction function;
  const absl::Status status = f.Finish(&function);
  EXPECT_TRUE(status.ok()) << status;
  return function;
}

// Only where that row is the largest.
TEST(WitnessTest, AMissingRowOfAMaximumIsRefuted) {
  const IndexFunction whole = MaximumOfRows({{0, 17}});
  EXPECT_EQ(Judge(whole, MaximumOfRows({{0, 7}, {7, 17}}), {}, 48), NumericVerdict::kEqual);
  EXPECT_EQ(Judge(whole, MaximumOfRows({{0, 7}, {8, 17}}), {}, 48), NumericVerdict::kDifferent);
  EXPECT_EQ(Judge(whole, MaximumOfRows({{0, 16}}), {}, 48), NumericVerdict::kDifferent);
}

// R10: 3 + 5 elements, mean of the means against the mean.
TEST(WitnessTest, MeanOfUnevenMeansIsRefuted) {
  const IndexFunction mean = Scalar(8, [](IndexFunctionBuilder* f) {
    return f->Binary(Op::kMul, f->Real(Rational(1, 8)), SumOver(f, 0, 8, Same));
  });
  const IndexFunction means = Scalar(8, [](IndexFunctionBuilder* f) {
    const ExprId a = f->Binary(Op::kMul, f->Real(Rational(1, 6)), SumOver(f, 0, 3, Same));
    const ExprId b = f->Binary(Op::kMul, f->Real(Rational(1, 10)), SumOver(f, 3, 8, Same));
    return f->Binary(Op::kAdd, a, b);
  });
  EXPECT_EQ(Judge(mean, means), NumericVerdict::kDifferent);
  EXPECT_EQ(Judge(mean, mean), NumericVerdict::kEqual);
}

// R3 and R12: variance in two ways; sum(x) sum(x) against n sum(x x).
TEST(WitnessTest, WeightsOfSquaresAndProductsOfSums) {
  auto square = [](IndexFunctionBuilder* f) {
    return [f](ExprId e) { return f->Binary(Op::kMul, e, e); };
  };
  const int64_t n = 1024;
  const IndexFunction centred = Scalar(n, [&](IndexFunctionBuilder* f) {
    const ExprId mu = f->Binary(Op::kMul, f->Real(Rational(1, n)), SumOver(f, 0, n, Same));
    return SumOver(f, 0, n, [&](ExprId e) {
      const ExprId d = f->Binary(Op::kAdd, e, f->Unary(Op::kNeg, mu));
      return f->Binary(Op::kMul, d, d);
    });
  });
  const IndexFunction moments = Scalar(n, [&](IndexFunctionBuilder* f) {
    const ExprId s = SumOver(f, 0, n, Same);
    return f->Binary(Op::kAdd, SumOver(f, 0, n, square(f)),
                     f->Binary(Op::kMul, f->Real(Rational(-1, n)), f->Binary(Op::kMul, s, s)));
  });
  EXPECT_EQ(Judge(centred, moments), NumericVerdict::kEqual);
  const IndexFunction product = Scalar(n, [&](IndexFunctionBuilder* f) {
    const ExprId s = SumOver(f, 0, n, Same);
    return f->Binary(Op::kMul, s, s);
  });
  const IndexFunction wrong = Scalar(n, [&](IndexFunctionBuilder* f) {
    return f->Binary(Op::kMul, f->Real(Rational(n)), SumOver(f, 0, n, square(f)));
  });
  EXPECT_EQ(Judge(product, wrong), NumericVerdict::kDifferent);
}

// A2: sqrt(x^2) against x and against |x|. A6: a literal that is nearly 1/3.
TEST(WitnessTest, RootsAndLiterals) {
  auto x = [](IndexFunctionBuilder* f) { return f->Element(0, {f->Int(0)}); };
  const IndexFunction root = Scalar(1, [&](IndexFunctionBuilder* f) {
    return f->Pow(f->Binary(Op::kMul, x(f), x(f)), Rational(1, 2));
  });
  const IndexFunction absolute = Scalar(
      1, [&](IndexFunctionBuilder* f) { return f->Unary(Op::kAbs, x(f), sdfg::TieRule::kZero); });
  EXPECT_EQ(Judge(root, Scalar(1, x)), NumericVerdict::kDifferent);
  EXPECT_EQ(Judge(root, absolute), NumericVerdict::kEqual);
  auto scaled = [&](Rational c) {
    return Scalar(1,
                  [&](IndexFunctionBuilder* f) { return f->Binary(Op::kMul, f->Real(c), x(f)); });
  };
  EXPECT_EQ(Judge(scaled(Rational(1, 3)), scaled(Rational::FromDouble(0.333333343f))),
            NumericVerdict::kDifferent);
}

// A8 and a wrong variant; exp(-inf) = 0 on the way.
TEST(WitnessTest, ShiftedSoftmaxIsEqualAndAWrongShiftIsNot) {
  auto softmax = [](int shift) {
    IndexFunctionBuilder f("softmax");
    f.AddInput("x", {4, 64}, DType::kFloat32);
    const int y = f.AddOutput("y", Shape{4, 64}, DType::kFloat32);
    const ExprId row = f.Index(f.OutputDims(y)[0]);
    const VarId k = f.AddVar("k", 64), m = f.AddVar("m", 64);
    const ExprId top = f.Reduce(Op::kReduceMax, m, f.Element(0, {row, f.Index(m)}));
    auto weight = [&](ExprId j, bool shifted) {
      const ExprId e = f.Element(0, {row, j});
      return f.Unary(Op::kExp, shifted ? f.Binary(Op::kAdd, e, f.Unary(Op::kNeg, top)) : e);
    };
    f.SetBody(y, f.Binary(Op::kDiv, weight(f.Index(f.OutputDims(y)[1]), shift > 0),
                          f.Reduce(Op::kSum, k, weight(f.Index(k), shift == 1))));
    IndexFunction function;
    const absl::Status status = f.Finish(&function);
    EXPECT_TRUE(status.ok()) << status;
    return function;
  };
  EXPECT_EQ(Judge(softmax(0), softmax(1)), NumericVerdict::kEqual);
  EXPECT_EQ(Judge(softmax(0), softmax(2)), NumericVerdict::kDifferent);
}

// A1: x y / y against x, only where y != 0; no input with y = 0 may be called a witness.
TEST(WitnessTest, InputsThatViolateAPremiseAreNoWitness) {
  auto quotient = [](bool divide) {
    IndexFunctionBuilder f("f");
    f.AddInput("x", {1}, DType::kFloat32);
    f.AddInput("y", {1}, DType::kFloat32);
    const int z = f.AddOutput("z", Shape{1}, DType::kFloat32);
    const ExprId x = f.Element(0, {f.Int(0)}), y = f.Element(1, {f.Int(0)});
    f.SetBody(z, divide ? f.Binary(Op::kDiv, f.Binary(Op::kMul, x, y), y) : x);
    IndexFunction function;
    const absl::Status status = f.Finish(&function);
    EXPECT_TRUE(status.ok()) << status;
    return function;
  };
  EXPECT_NE(Judge(quotient(true), quotient(false)), NumericVerdict::kDifferent);
  EXPECT_NE(Judge(quotient(false), quotient(true)), NumericVerdict::kDifferent);
}

// |x| against several ways to write it with roots of x.
TEST(WitnessTest, WhatHasNoValueInThePlanAloneIsAWitness) {
  const Rational half(1, 2);
  const auto x = [](IndexFunctionBuilder* f) { return f->Element(0, {f->Int(0)}); };
  const auto square_of_root = [&](IndexFunctionBuilder* f, ExprId of) {
    return f->Pow(f->Pow(of, half), Rational(2));
  };
  const auto positive = [&](IndexFunctionBuilder* f) {
    return f->Binary(Op::kRealLess, f->Real(0), x(f));
  };
  const IndexFunction model = Scalar(
      1, [&](IndexFunctionBuilder* f) { return f->Unary(Op::kAbs, x(f), sdfg::TieRule::kZero); });
  const IndexFunction root =
      Scalar(1, [&](IndexFunctionBuilder* f) { return square_of_root(f, x(f)); });
  const IndexFunction not_selected = Scalar(1, [&](IndexFunctionBuilder* f) {
    return f->Select(positive(f), square_of_root(f, x(f)), f->Unary(Op::kNeg, x(f)));
  });
  // [x > 0] sqrt(x)^2 + [x <= 0] (-x): doubles give no value where x < 0.
  const IndexFunction masked = Scalar(1, [&](IndexFunctionBuilder* f) {
    const ExprId is = f->Unary(Op::kIndicator, positive(f));
    const ExprId rest = f->Unary(Op::kIndicator, f->Unary(Op::kNot, positive(f)));
    return f->Binary(Op::kAdd, f->Binary(Op::kMul, is, square_of_root(f, x(f))),
                     f->Binary(Op::kMul, rest, f->Unary(Op::kNeg, x(f))));
  });
  WitnessOptions options;
  options.localise = false;
  EXPECT_EQ(SearchWitness(Both(model, root).problem, options).outcome, Witness::Outcome::kNone);
  options.undefined_counts = true;
  const SmallProblem wrong = Both(model, root);
  Witness witness = SearchWitness(wrong.problem, options);
  EXPECT_EQ(witness.outcome, Witness::Outcome::kConfirmed);
  EXPECT_EQ(witness.undefined.by, UndefinedBy::kRootOfNegative);
  ASSERT_EQ(witness.undefined.tensor, wrong.problem.required[0].parallel);
  EXPECT_GT(witness.logical_low, 0);

  // A proof that holds wherever the plan is defined.
  options.proved = {witness.undefined.tensor};
  EXPECT_EQ(SearchWitness(wrong.problem, options).outcome, Witness::Outcome::kNone);
  options.proved.clear();

  for (const IndexFunction& plan : {not_selected, masked}) {
    EXPECT_EQ(SearchWitness(Both(model, plan).problem, options).outcome, Witness::Outcome::kNone);
  }
  // Neither has a value where x < 0.
  const IndexFunction exp_of_log = Scalar(
      1, [&](IndexFunctionBuilder* f) { return f->Unary(Op::kExp, f->Unary(Op::kLog, x(f))); });
  const SmallProblem narrower = Both(exp_of_log, root);
  EXPECT_EQ(SearchWitness(narrower.problem, options).outcome, Witness::Outcome::kNone);
}

// Where doubles cancel, only multiple precision tells: x + 2^80 - 2^80 is x, and is not 2 x.
TEST(WitnessTest, CancellationIsDecidedAtHigherPrecision) {
  const Rational huge = Rational(2).Power(80);
  const IndexFunction cancelled = Scalar(1, [&](IndexFunctionBuilder* f) {
    const ExprId sum = f->Binary(Op::kAdd, f->Element(0, {f->Int(0)}), f->Real(huge));
    return f->Binary(Op::kAdd, sum, f->Real(-huge));
  });
  auto multiple = [](int64_t factor) {
    return Scalar(1, [&](IndexFunctionBuilder* f) {
      return f->Binary(Op::kMul, f->Real(Rational(factor)), f->Element(0, {f->Int(0)}));
    });
  };
  EXPECT_NE(Judge(cancelled, multiple(1)), NumericVerdict::kDifferent);
  EXPECT_EQ(Judge(cancelled, multiple(2)), NumericVerdict::kDifferent);
}

// R16: the row of one id against the row of another.
// A number of which doubles do not see a term, and one that is the same written otherwise.
TEST(WitnessTest, TermsThatDoublesDoNotSeeAreRefuted) {
  const auto x = [](IndexFunctionBuilder* f) { return f->Element(0, {f->Int(0)}); };
  const auto one_more = [&](IndexFunctionBuilder* f) {
    return f->Binary(Op::kAdd, f->Pow(x(f), Rational(2)), f->Real(1));
  };
  const IndexFunction model = Scalar(1, one_more);
  const IndexFunction otherwise = Scalar(1, [&](IndexFunctionBuilder* f) {
    const ExprId square = f->Pow(f->Binary(Op::kAdd, x(f), f->Real(1)), Rational(2));
    return f->Binary(Op::kAdd, square, f->Binary(Op::kMul, f->Real(-2), x(f)));
  });
  const IndexFunction wrong = Scalar(1, [&](IndexFunctionBuilder* f) {
    const Rational tiny = Rational::FromDouble(0x1p-90);
    return f->Binary(Op::kAdd, one_more(f), f->Binary(Op::kMul, f->Real(tiny), x(f)));
  });
  EXPECT_EQ(SearchWitness(Both(model, otherwise).problem, {}).outcome, Witness::Outcome::kNone);
  const Witness witness = SearchWitness(Both(model, wrong).problem, {});
  EXPECT_EQ(witness.outcome, Witness::Outcome::kConfirmed);
  EXPECT_EQ(witness.precision, 256);
  EXPECT_NE(witness.logical_value, witness.parallel_value);
}

TEST(WitnessTest, RowsOfDifferentIdsDiffer) {
  auto row = [](int which) {
    IndexFunctionBuilder f("row");
    f.AddInput("ids", {2}, DType::kInt64);
    f.AddInput("w", {51200, 8}, DType::kFloat32);
    const int y = f.AddOutput("y", Shape{8}, DType::kFloat32);
    f.SetBody(y, f.Element(1, {f.IntElement(0, {f.Int(which)}), f.Index(f.OutputDims(y)[0])}));
    IndexFunction function;
    const absl::Status status = f.Finish(&function);
    EXPECT_TRUE(status.ok()) << status;
    return function;
  };
  EXPECT_EQ(Judge(row(0), row(1)), NumericVerdict::kDifferent);
  EXPECT_EQ(Judge(row(0), row(0)), NumericVerdict::kEqual);
}

// R8: a square matrix against its transpose.
TEST(WitnessTest, TransposeOfASquareMatrixDiffers) {
  auto read = [](bool transpose) {
    IndexFunctionBuilder f("read");
    f.AddInput("x", {32, 32}, DType::kFloat32);
    const int y = f.AddOutput("y", Shape{32, 32}, DType::kFloat32);
    const ExprId i = f.Index(f.OutputDims(y)[0]), j = f.Index(f.OutputDims(y)[1]);
    f.SetBody(y, transpose ? f.Element(0, {j, i}) : f.Element(0, {i, j}));
    IndexFunction function;
    const absl::Status status = f.Finish(&function);
    EXPECT_TRUE(status.ok()) << status;
    return function;
  };
  EXPECT_EQ(Judge(read(false), read(true)), NumericVerdict::kDifferent);
}

// Two layers of an expert in one operator: each parameter is scaled by what its own contraction
// sums, not by all sums around it, or else the result vanishes beside everything that is added.
TEST(InputChooserTest, NestedSumsCountOnceEach) {
  sdfg::OperatorLibrary library = sdfg::OperatorLibrary::CopyOfBuiltIn();
  ASSERT_TRUE(library
                  .AddDeclarations("op layers(x[t, k], up[f, k], down[h, f]) -> y[t, h]: like x = "
                                   "sum(f: exp(sum(k: x[t, k] * up[f, k])) * down[h, f])\n",
                                   "layers.op")
                  .ok());
  const std::vector<Shape> shapes = {{4, 1024}, {256, 1024}, {8, 256}};
  std::vector<sdfg::Operand> operands(3);
  for (size_t k = 0; k < 3; ++k) {
    operands[k].shape = shapes[k];
    operands[k].dtype = DType::kFloat32;
  }
  const auto layers = library.Instantiate("layers", operands, {});
  ASSERT_TRUE(layers.ok()) << layers.status();
  SmallProblem p;
  const TensorId x = p.Logical("x", shapes[0]);
  const TensorId up = p.Logical("up", shapes[1], TensorRole::kParameter);
  const TensorId down = p.Logical("down", shapes[2], TensorRole::kParameter);
  const TensorId y = p.Apply(&p.problem.logical, *layers, {x, up, down});
  // A contraction over two dimensions at once counts both.
  const TensorId both = p.Logical("both", {256, 1024}, TensorRole::kParameter);
  ASSERT_TRUE(library
                  .AddDeclarations("op whole(x[f, k], w[f, k]) -> y[1]: like x = "
                                   "sum(f: sum(k: x[f, k] * w[f, k]))\n",
                                   "whole.op")
                  .ok());
  const auto whole = library.Instantiate("whole", {operands[1], operands[1]}, {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  const TensorId z = p.Logical("z", {256, 1024});
  p.Apply(&p.problem.logical, *whole, {z, both});
  ASSERT_NE(y, sdfg::kNone);
  ProgramCache programs;
  const InputChooser chooser(p.problem, &programs);
  EXPECT_EQ(chooser.ScaleOf(up), 1.0 / 1024);
  EXPECT_EQ(chooser.ScaleOf(down), 1.0 / 256);
  EXPECT_EQ(chooser.ScaleOf(both), 1.0 / (256 * 1024));
}

}  // namespace
}  // namespace planproof::shape_reduction
