// What a mask made is read without -inf where, and only where, it is read under the mask's own
// condition.
#include "shape_reduction/guarded_read.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sdfg/operator_library.h"
#include "shape_reduction/domain_interval.h"
#include "tests/shape_reduction/reduced_testing.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;

constexpr int64_t kPlaces = 200;
// Not at all, as a copy, as one of two selections of which the other reads it elsewhere.
constexpr const char* kPassedOn[] = {"", "x[q, k]", "where(k < 60, x[q, k], max(x[k, q], -2))"};

// x is masked, passed on by `between` or not, and read. All three are bodies of functions of x,
// which is what came before, and of t.
class GuardedReadTest : public testing::Test {
 protected:
  // Whether the reader's result is bounded everywhere. Fails if it does not enclose every element.
  bool IsBounded(const std::string& mask, const std::string& reader,
                 const std::string& between = "") {
    SmallProblem small;
    sdfg::Graph* graph = &small.problem.logical;
    const TensorId x = small.Logical("x", {kPlaces, kPlaces});
    const TensorId t = small.Logical("t", {kPlaces, kPlaces});
    TensorId read =
        small.Apply(graph, Function("mask(x[q, k], t[q, k]) -> y[q, k] = " + mask), {x, t});
    const TensorId masked = read;
    if (!between.empty()) {
      read = small.Apply(
          graph, Function("between(x[q, k], t[q, k])\n  ties first\n  -> y[q, k] = " + between),
          {read, t});
    }
    const TensorId result = small.Apply(
        graph, Function("reader(x[q, k], t[q, k])\n  ties first\n  -> y[q, k] = " + reader),
        {read, t});
    small.Check();
    Random random(5);
    const PartitionsByExtent cuts = {{kPlaces, std::make_shared<const DimPartition>(
                                                   DimPartition::WithCuts(kPlaces, {1, 40, 90}))}};
    std::map<TensorId, sdfg::DenseTensor> dense;
    std::vector<BlockTensorPtr<Interval>> values(graph->tensors.size());
    for (const TensorId id : {x, t}) {
      auto enclosed = std::make_shared<BlockTensor<Interval>>();
      BlockTensor<double> numbers;
      numbers.dims = enclosed->dims = {cuts.at(kPlaces), cuts.at(kPlaces)};
      for (int64_t k = 0; k < numbers.Blocks(); ++k) {
        const double value = static_cast<double>(Pick(&random, -8, 8)) / 4;
        numbers.values.push_back(value);
        const double width = id == t ? 5 : 0;  // so that conditions on it are not decided
        enclosed->values.push_back({value - width, value + width});
      }
      dense[id] = Expand(numbers);
      values[id] = enclosed;
    }
    const auto expected = sdfg::EvaluateDenseGraph(*graph, dense);
    EXPECT_TRUE(expected.ok()) << expected.status();
    ProgramCache programs;
    ReducedEvaluator<IntervalDomain> evaluator(&programs, /*enclose=*/true, cuts);
    std::vector<ReducedEvaluator<IntervalDomain>::OpenPremise> open;
    ReducedOptions options;
    options.free_intermediates = true;
    options.cone_of = {result};
    EXPECT_TRUE(evaluator.Evaluate(*graph, options, &values, &open).ok());
    EXPECT_EQ(values[masked], nullptr);  // nothing is kept alive in its place
    bool bounded = true;
    for (int64_t q = 0; q < kPlaces; ++q) {
      for (int64_t k = 0; k < kPlaces; ++k) {
        const Interval& enclosure = values[result]->values[values[result]->Offset({q, k})];
        const double number = expected->at(result).data[q * kPlaces + k];
        EXPECT_LE(enclosure.lo, number) << reader << " at " << q << ", " << k;
        EXPECT_GE(enclosure.hi, number) << reader << " at " << q << ", " << k;
        bounded &= std::isfinite(enclosure.lo) && std::isfinite(enclosure.hi);
      }
    }
    return bounded;
  }

  static sdfg::IndexFunction Function(const std::string& declaration) {
    sdfg::OperatorLibrary library = sdfg::OperatorLibrary::CopyOfBuiltIn();
    const absl::Status added = library.AddDeclarations("op " + declaration + "\n", "test.op");
    EXPECT_TRUE(added.ok()) << added;
    sdfg::Operand operand;
    operand.shape = {kPlaces, kPlaces};
    operand.dtype = sdfg::DType::kFloat32;
    auto function =
        library.Instantiate(declaration.substr(0, declaration.find('(')), {operand, operand}, {});
    EXPECT_TRUE(function.ok()) << declaration << function.status();
    return function.ok() ? *function : sdfg::IndexFunction();
  }

  const std::string causal_ = "where(k <= q, x[q, k], -inf)";
};

TEST_F(GuardedReadTest, UnderTheMasksOwnCondition) {
  for (const char* between : kPassedOn) {
    EXPECT_TRUE(IsBounded(causal_, "where(k <= q, x[q, k], 0)", between));
    EXPECT_TRUE(IsBounded(causal_, "where(k <= q, x[q, k], t[q, k]) + t[k, q]", between));
    EXPECT_TRUE(
        IsBounded("where(q < k, -inf, x[q, k])", "where(q < k, t[q, k], x[q, k])", between));
  }
  // At the indices of a sum.
  EXPECT_TRUE(IsBounded(causal_, "t[q, k] + sum(j < 200: where(j <= q, x[q, j], 0))"));
  EXPECT_FALSE(IsBounded(causal_, "t[q, k] + sum(j < 200: where(j <= q + 1, x[q, j], 0))"));
  // Of the transposed tensor, under the transposed condition.
  EXPECT_TRUE(IsBounded(causal_, "where(q <= k, x[k, q], 0)"));
}

// As ranks that begin elsewhere mask.
TEST_F(GuardedReadTest, UnderConditionsOnConditions) {
  const std::string two =
      "where(q < 50, where(k <= q + 9, x[q, k], ELSE), where(k <= q, x[q, k], ELSE))";
  const std::string other =
      "where(q < 50, where(k <= q, x[q, k], ELSE), where(k <= q + 9, x[q, k], ELSE))";
  const std::string crossed =
      "where(q < 51, where(k <= q + 9, x[q, k], ELSE), where(k <= q, x[q, k], ELSE))";
  const auto with = [](std::string text, const char* otherwise) {
    for (size_t at; (at = text.find("ELSE")) != std::string::npos;) text.replace(at, 4, otherwise);
    return text;
  };
  const std::string mask = with(two, "-inf");
  for (const char* between : kPassedOn) {
    EXPECT_TRUE(IsBounded(mask, with(two, "0"), between));
    EXPECT_FALSE(IsBounded(mask, with(other, "0"), between));
    EXPECT_FALSE(IsBounded(mask, with(crossed, "0"), between));
    // Of one of the conditions, what the other one masks is not known.
    EXPECT_FALSE(IsBounded(mask, "where(k <= q, x[q, k], 0)", between));
    EXPECT_FALSE(IsBounded(mask, "where(k <= q + 9, x[q, k], 0)", between));
    EXPECT_TRUE(IsBounded(mask, "where(k <= q, where(q < 50, 0, x[q, k]), 0)", between));
    EXPECT_FALSE(IsBounded(mask, "where(k <= q, where(q < 50, x[q, k], 0), 0)", between));
  }
}

TEST_F(GuardedReadTest, UnderAConditionOnATensor) {
  EXPECT_TRUE(IsBounded("where(t[q, k] <= 0, x[q, k], -inf)", "where(t[q, k] <= 0, x[q, k], 0)"));
}

// Each reads an element that the mask made -inf, or could: no less may be enclosed.
TEST_F(GuardedReadTest, UnderAnotherConditionItIsWhatTheMaskMade) {
  for (const char* between : kPassedOn) {
    for (const char* reader : {
             "where(k <= q + 1, x[q, k], 0)",                      // a diagonal more
             "where(q <= k, x[q, k], 0)",                          // the other half
             "where(k <= q, 0, x[q, k])",                          // the other branch
             "where(k <= q, x[k, q], 0)",                          // the transposed tensor
             "where(k <= q, x[q, k], 0) + max(x[q, 0], x[0, k])",  // also elsewhere
             "where(k <= q, x[q, k], max(x[q, k], -1))",           // in both branches
             "where(x[q, k] <= 0, x[q, k], 0)",                    // under a condition on itself
             "where(k <= q, max(x[q, k], x[0, k]), 0)",            // not as the branch itself
             "where(t[q, k] <= 0, x[q, k], 0)",
         }) {
      EXPECT_FALSE(IsBounded(causal_, reader, between)) << reader;
    }
    EXPECT_FALSE(IsBounded("where(t[q, k] <= 0, x[q, k], -inf)", "where(t[k, q] <= 0, x[q, k], 0)",
                           between));
    EXPECT_FALSE(
        IsBounded("where(t[q, k] < 0, x[q, k], -inf)", "where(t[q, k] <= 0, x[q, k], 0)", between));
  }
  // The mask of another element is not that of this one.
  EXPECT_FALSE(IsBounded("where(k <= q, x[k, q], -inf)", "where(q <= k, x[q, k], 0)"));
}

}  // namespace
}  // namespace planproof::shape_reduction
