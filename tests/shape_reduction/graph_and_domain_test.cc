// Lifted operators in graphs, and the agreement of the number domains.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "shape_reduction/domain_floating.h"
#include "shape_reduction/domain_interval.h"
#include "shape_reduction/domain_mpfi.h"
#include "tests/shape_reduction/reduced_testing.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;

TEST(ReducedGraphTest, LiftedOperatorsEqualTheDenseGraphAtEveryCoordinate) {
  Random random(21);
  for (int trial = 0; trial < 30; ++trial) {
    sdfg::Graph graph;
    graph.axes = {{"dp", 3}, {"microbatch", 4}};
    graph.axis_device_stride = {2, 0};
    auto add = [&](const char* name, sdfg::Shape shape, std::vector<sdfg::AxisId> axes) {
      sdfg::Tensor tensor;
      tensor.name = name;
      tensor.shape = std::move(shape);
      tensor.axes = std::move(axes);
      tensor.role = sdfg::TensorRole::kInput;
      tensor.dtype = sdfg::DType::kFloat32;
      return graph.AddTensor(std::move(tensor));
    };
    const TensorId x = add("x", {4, 5, 6}, {1});        // varies over microbatches
    const TensorId w = add("w", {3, 7, 6}, {0});        // over copies
    const TensorId y = add("y", {3, 4, 5, 7}, {0, 1});  // over both
    const TensorId z = add("z", {3, 4, 5, 7}, {0, 1});
    auto apply = [&](const char* name, std::vector<sdfg::Shape> shapes, std::vector<TensorId> in,
                     TensorId out) {
      sdfg::Operator op;
      op.name = name;
      op.function = graph.Intern(Instantiate(name, shapes));
      op.inputs = std::move(in);
      op.outputs = {out};
      graph.AddOperator(std::move(op));
      graph.tensors[out].role = sdfg::TensorRole::kIntermediate;
    };
    apply("linear", {{5, 6}, {7, 6}}, {x, w}, y);
    apply("softmax", {{5, 7}}, {y}, z);
    ASSERT_TRUE(graph.Check().ok()) << graph.Check();

    std::vector<BlockTensorPtr<double>> values(graph.tensors.size());
    std::map<TensorId, sdfg::DenseTensor> dense;
    for (TensorId id : {x, w}) {
      values[id] = RandomBlocks(graph.tensors[id].shape, false, 0, &random);
      dense[id] = Expand(*values[id]);
    }
    const auto expected = sdfg::EvaluateDenseGraph(graph, dense);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ProgramCache cache;
    ReducedEvaluator<DoubleDomain> evaluator(&cache);
    std::vector<ReducedEvaluator<DoubleDomain>::OpenPremise> open;
    ASSERT_TRUE(evaluator.Evaluate(graph, {}, &values, &open).ok());
    const sdfg::DenseTensor actual = Expand(*values[z]);
    ASSERT_EQ(actual.shape, (*expected)[z].shape);
    for (size_t k = 0; k < actual.data.size(); ++k) {
      ASSERT_NEAR(actual.data[k], (*expected)[z].data[k], 1e-12);
    }
  }
}

TEST(ReducedGraphTest, TooManyBlocksNameTheOperator) {
  SmallProblem p;
  const TensorId x = p.Logical("x", {512, 512});
  const TensorId y = p.Apply(&p.problem.logical, Instantiate("softmax", {{512, 512}}), {x});
  p.problem.logical.tensors[y].name = "the_result";
  p.Check();
  auto full = std::make_shared<BlockTensor<double>>();
  for (int d = 0; d < 2; ++d) {
    full->dims.push_back(std::make_shared<const DimPartition>(DimPartition::Full(512)));
  }
  full->values.assign(512 * 512, 1);
  ProgramCache cache;
  ReducedEvaluator<DoubleDomain> evaluator(&cache);
  std::vector<BlockTensorPtr<double>> values = {full, nullptr};
  std::vector<ReducedEvaluator<DoubleDomain>::OpenPremise> open;
  ReducedOptions options;
  options.max_elements = 1000;
  const absl::Status status = evaluator.Evaluate(p.problem.logical, options, &values, &open);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_NE(std::string(status.message()).find("the_result"), std::string::npos) << status;
}

// A value of every kind of node, in a domain; intervals must contain the next finer domain's.
template <typename D>
std::vector<typename D::Value> Samples() {
  std::vector<typename D::Value> result;
  const solver::Rational third(1, 3), half(1, 2);
  for (int k = -20; k <= 20; ++k) {
    const auto x = D::Mul(D::FromInt(k), D::FromRational(solver::Rational(3, 7)));
    const auto positive = D::Add(D::Mul(x, x), D::FromRational(third));
    result.push_back(D::Exp(x));
    result.push_back(D::Log(positive));
    result.push_back(D::Pow(positive, half));
    result.push_back(D::Pow(positive, -half));
    result.push_back(D::Pow(positive, third));
    result.push_back(D::Pow(x, solver::Rational(3)));
    result.push_back(D::Pow(x, solver::Rational(2)));
    result.push_back(D::Div(x, positive));
    result.push_back(D::Erf(x));
    result.push_back(D::Sin(x));
    result.push_back(D::Cos(x));
    result.push_back(D::Abs(x));
    result.push_back(D::Max(x, D::Neg(positive)));
    result.push_back(D::Min(x, D::TwoOverSqrtPi()));
    result.push_back(D::Add(D::Exp(D::NegInf()), D::Mul(x, D::Mul(x, x))));
  }
  return result;
}

TEST(DomainTest, IntervalsContainTheValuesOfFinerDomains) {
  MpfiDomain::precision = 200;
  const auto fine = Samples<MpfiDomain>();
  const auto intervals = Samples<IntervalDomain>();
  const auto doubles = Samples<DoubleDomain>();
  const auto extended = Samples<LongDoubleDomain>();
  ASSERT_EQ(fine.size(), intervals.size());
  for (size_t k = 0; k < fine.size(); ++k) {
    const double low = MpfiDomain::Lower(fine[k]), high = MpfiDomain::Upper(fine[k]);
    EXPECT_LE(intervals[k].lo, high) << k;
    EXPECT_GE(intervals[k].hi, low) << k;
    EXPECT_LE(intervals[k].hi - intervals[k].lo, 1e-12 * std::max(1.0, std::fabs(low))) << k;
    EXPECT_NEAR(doubles[k], low, 1e-12 * std::max(1.0, std::fabs(low))) << k;
    EXPECT_NEAR(static_cast<double>(extended[k]), low, 1e-14 * std::max(1.0, std::fabs(low))) << k;
  }
}

// Of intervals of all signs: every sum and product of numbers in them is enclosed, and the bounds
// are those of the corners up to rounding.
TEST(DomainTest, SumsAndProductsOfAllSigns) {
  using D = IntervalDomain;
  const double ends[] = {-7.3, -1e-300, -0.1, 0, 3e-290, 0.3, 1, 1e9, 5e150};
  std::vector<Interval> all;
  for (double lo : ends) {
    for (double hi : ends) {
      if (lo <= hi) all.push_back({lo, hi});
    }
  }
  for (const Interval a : all) {
    for (const Interval b : all) {
      long double low = INFINITY, high = -INFINITY;
      for (double x : {a.lo, a.hi}) {
        for (double y : {b.lo, b.hi}) {
          const long double product = static_cast<long double>(x) * y;
          low = std::min(low, product);
          high = std::max(high, product);
        }
      }
      const Interval product = D::Mul(a, b), sum = D::Add(a, b);
      const long double slack = 4e-16L;
      EXPECT_TRUE(product.lo <= low && product.hi >= high)
          << a.lo << " " << a.hi << " times " << b.lo << " " << b.hi;
      EXPECT_LE(low - product.lo, slack * std::fabs(low) + 1e-290L);
      EXPECT_LE(product.hi - high, slack * std::fabs(high) + 1e-290L);
      const long double least = static_cast<long double>(a.lo) + b.lo;
      const long double most = static_cast<long double>(a.hi) + b.hi;
      EXPECT_TRUE(sum.lo <= least && sum.hi >= most);
      EXPECT_LE(least - sum.lo, slack * std::fabs(least));
      EXPECT_LE(sum.hi - most, slack * std::fabs(most));
    }
  }
}

TEST(DomainTest, ExactOperationsGiveIntervalsOfOnePoint) {
  using D = IntervalDomain;
  const Interval x = D::Add(D::Mul(D::FromInt(3), D::FromDouble(0.125)), D::FromInt(-2));
  EXPECT_EQ(x.lo, -1.625);
  EXPECT_EQ(x.hi, -1.625);
  EXPECT_EQ(D::Eq(x, D::FromDouble(-1.625)), Truth::kTrue);
  EXPECT_EQ(D::Exp(D::NegInf()).hi, 0);
}

TEST(DomainTest, UndefinedOperationsAreInvalidInEveryDomain) {
  auto check = []<typename D>(D) {
    const auto zero = D::FromInt(0), one = D::FromInt(1);
    EXPECT_TRUE(D::IsInvalid(D::Div(one, zero)));
    EXPECT_TRUE(D::IsInvalid(D::Log(zero)));
    EXPECT_TRUE(D::IsInvalid(D::Pow(D::FromInt(-1), solver::Rational(1, 2))));
    EXPECT_TRUE(D::IsInvalid(D::Pow(zero, solver::Rational(-2))));
    EXPECT_TRUE(D::IsInvalid(D::Mul(zero, D::NegInf())));
    EXPECT_TRUE(D::IsInvalid(D::Add(D::NegInf(), D::Neg(D::NegInf()))));
    EXPECT_EQ(D::Less(D::Invalid(), one), Truth::kInvalid);
  };
  check(DoubleDomain());
  check(LongDoubleDomain());
  check(IntervalDomain());
  check(MpfiDomain());
}

TEST(DomainTest, ThatAValueIsUndefinedIsKnownOnlyWhereItIsForAllEnclosedNumbers) {
  using D = IntervalDomain;
  const solver::Rational half(1, 2);
  const Interval negative = {-2, -1}, across = {-1, 1}, positive = {1, 2}, zero = {0, 0};
  const auto by = [](Interval x) { return D::CertainlyUndefined(x); };
  const Interval root = D::Pow(negative, half);
  EXPECT_EQ(by(root), UndefinedBy::kRootOfNegative);
  EXPECT_EQ(by(D::Pow({-1, 0}, half)), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Pow({-1, 0}, -half)), UndefinedBy::kDivisionByZero);
  EXPECT_EQ(by(D::Pow(zero, half)), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Log({-1, 0})), UndefinedBy::kLogarithm);
  EXPECT_EQ(by(D::Div(positive, zero)), UndefinedBy::kDivisionByZero);
  EXPECT_EQ(by(D::Pow(zero, solver::Rational(-2))), UndefinedBy::kDivisionByZero);
  EXPECT_EQ(by(D::Mul(zero, D::NegInf())), UndefinedBy::kMaskTimesZero);
  EXPECT_EQ(by(D::Mul({0, 1}, D::NegInf())), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Mul(zero, {-HUGE_VAL, 0})), UndefinedBy::kNothing);
  const Interval infinite = D::Neg(D::NegInf());
  EXPECT_EQ(by(D::Add(infinite, D::NegInf())), UndefinedBy::kBothInfinities);
  EXPECT_EQ(by(D::Add(D::Mul(D::NegInf(), negative), D::Mul(positive, D::NegInf()))),
            UndefinedBy::kBothInfinities);
  EXPECT_EQ(by(D::Add(D::Add(infinite, positive), D::NegInf())), UndefinedBy::kBothInfinities);
  EXPECT_EQ(by(D::Add(D::Div(infinite, positive), D::Div(infinite, negative))),
            UndefinedBy::kBothInfinities);
  EXPECT_EQ(by(D::Add({1, HUGE_VAL}, D::NegInf())), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Add(infinite, {-HUGE_VAL, 1})), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Add(D::NegInf(), D::NegInf())), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Add(D::Mul(across, D::NegInf()), infinite)), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Div(infinite, D::NegInf())), UndefinedBy::kInfinityByInfinity);
  EXPECT_EQ(by(D::Div(D::Exp(infinite), infinite)), UndefinedBy::kInfinityByInfinity);
  EXPECT_EQ(by(D::Div(infinite, {1, HUGE_VAL})), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Mul(D::Div(positive, infinite), infinite)), UndefinedBy::kMaskTimesZero);
  // What is only too large for a double is not infinite.
  EXPECT_EQ(by(D::Div(D::Exp({1e300, 1e300}), infinite)), UndefinedBy::kNothing);
  const Interval large = D::Mul({1e200, 1e200}, {1e200, 1e200});
  EXPECT_EQ(by(D::Add(large, D::NegInf())), UndefinedBy::kNothing);
  // Perhaps undefined.
  for (const Interval open : {D::Pow(across, half), D::Log(across), D::Div(positive, across),
                              D::Pow(across, solver::Rational(-1)), D::Invalid()}) {
    EXPECT_TRUE(D::IsInvalid(open));
    EXPECT_EQ(by(open), UndefinedBy::kNothing);
    EXPECT_EQ(by(D::Neg(open)), UndefinedBy::kNothing);
    EXPECT_EQ(by(D::Mul(open, root)), UndefinedBy::kNothing);
    EXPECT_EQ(by(D::Hull(open, root)), UndefinedBy::kNothing);
    EXPECT_EQ(by(D::Add(open, root)), UndefinedBy::kRootOfNegative);
  }
  // A factor that may be 0, or one of two branches, may take it away.
  EXPECT_EQ(by(D::Mul(zero, root)), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Mul(root, across)), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Div(zero, root)), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Hull(positive, root)), UndefinedBy::kNothing);
  EXPECT_EQ(by(D::Pow(root, solver::Rational(0))), UndefinedBy::kNothing);
  // Nothing else does.
  const Interval reached[] = {D::Neg(root),
                              D::Add(positive, root),
                              D::Add(root, D::NegInf()),
                              D::Mul(negative, root),
                              D::Mul(root, root),
                              D::Div(root, positive),
                              D::Div(positive, root),
                              D::Exp(root),
                              D::Log(root),
                              D::Erf(root),
                              D::Sin(root),
                              D::Abs(root),
                              D::Max(root, positive),
                              D::Min(positive, root),
                              D::Pow(root, half),
                              D::Hull(root, root),
                              D::Max(D::NegInf(), root)};
  for (const Interval x : reached) {
    EXPECT_TRUE(D::IsInvalid(x));
    EXPECT_EQ(by(x), UndefinedBy::kRootOfNegative);
    EXPECT_EQ(D::Less(x, positive), Truth::kInvalid);
  }
}

// Random expressions over intervals against the same over numbers in them.
TEST(DomainTest, WhatCertainlyIsUndefinedHasNoValueAtAnyPoint) {
  std::mt19937_64 random(7);
  const auto number = [&] { return static_cast<double>(random() % 17) / 4 - 2; };
  const auto apply = []<typename D>(D, uint64_t op, const auto& a, const auto& b) {
    const solver::Rational half(1, 2);
    switch (op) {
      case 0:
        return D::Add(a, b);
      case 1:
        return D::Mul(a, b);
      case 2:
        return D::Div(a, b);
      case 3:
        return D::Max(a, b);
      case 4:
        return D::Neg(a);
      case 5:
        return D::Pow(a, half);
      case 6:
        return D::Pow(a, -half);
      case 7:
        return D::Log(a);
      default:
        return D::Hull(a, b);
    }
  };
  int certain = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<Interval> boxes;
    std::vector<double> points;
    for (int k = 0; k < 3; ++k) {
      const double a = number(), b = number();
      boxes.push_back({std::fmin(a, b), std::fmax(a, b)});
      points.push_back(random() % 2 == 0 ? a : b);
    }
    boxes.push_back(IntervalDomain::NegInf());
    points.push_back(-HUGE_VAL);
    for (int step = 0; step < 6; ++step) {
      const uint64_t op = random() % 9;
      const size_t i = random() % boxes.size(), j = random() % boxes.size();
      boxes.push_back(apply(IntervalDomain(), op, boxes[i], boxes[j]));
      points.push_back(op == 8 ? points[random() % 2 == 0 ? i : j]
                               : apply(DoubleDomain(), op, points[i], points[j]));
      if (IntervalDomain::CertainlyUndefined(boxes.back()) == UndefinedBy::kNothing) continue;
      ++certain;
      ASSERT_TRUE(std::isnan(points.back())) << trial;
    }
  }
  EXPECT_GT(certain, 1000);
}

}  // namespace
}  // namespace planproof::shape_reduction
