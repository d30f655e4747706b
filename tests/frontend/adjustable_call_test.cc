// An operator that is built again with another attribute is what the reader makes of a plan that
// has this attribute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "sdfg/adjustable_operator.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using sdfg::AdjustableOperator;
using solver::Rational;
using testing::ElementsAre;

// Operators 0 and 1 of the plan are the narrow and the band.
std::string Text(const std::string& narrow_start, const std::string& band) {
  return absl::StrCat(R"plan({"planproof": 1,
    "operators": ["op band(x[q, k]) {width: int, start = 0, slope: real = 1}",
                  "  -> y[q, k] = where(k < q + start + width, slope * x[q, k], 0)"],
    "specification": {
      "inputs": {"x": [16, 8]},
      "operators": [{"op": "band", "in": "x", "out": "y", "attrs": {"width": 4}}],
      "outputs": {"y": {"0": "tp"}}},
    "plan": {
      "mesh": {"dp": 2, "tp": 4},
      "programs": [{
        "inputs": {"x": {}},
        "operators": [
          {"op": "narrow", "in": "x", "out": "part",
           "attrs": {"dim": 0, "length": 4, "start": )plan",
                      narrow_start, R"(}},
          {"op": "band", "in": "part", "out": "y", "attrs": {)",
                      band, "}}]}]}}");
}

struct Read {
  explicit Read(const std::string& narrow_start = R"("=tp * 4")",
                const std::string& band = R"("width": 3, "start": "=tp * 4")") {
    absl::StatusOr<lineage::Problem> read = ReadText(Text(narrow_start, band));
    EXPECT_TRUE(read.ok()) << read.status();
    if (read.ok()) problem = *std::move(read);
  }
  const sdfg::Operator& Narrow() const { return problem.parallel.operators[0]; }
  const sdfg::Operator& Band() const { return problem.parallel.operators[1]; }
  lineage::Problem problem;
};

void ExpectSame(const absl::StatusOr<AdjustableOperator::Adjusted>& made,
                const sdfg::Operator& op) {
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->function.Serialize(), op.function->Serialize());
  EXPECT_EQ(made->lifted, op.lifted);
}

constexpr int kTp = 1;  // the axis

TEST(AdjustableCall, TheNumbersOfAnOperatorAreThoseGivenAndTheDefaults) {
  const Read plan;
  ASSERT_NE(plan.Band().adjustable, nullptr);
  const std::vector<AdjustableOperator::Number> numbers = plan.Band().adjustable->Numbers();
  ASSERT_EQ(numbers.size(), 3);
  EXPECT_EQ(numbers[0].name, "width");
  EXPECT_THAT(numbers[0].values, testing::Each(Rational(3)));
  EXPECT_EQ(numbers[1].name, "start");
  EXPECT_THAT(numbers[1].values, ElementsAre(Rational(0), Rational(4), Rational(8), Rational(12)));
  EXPECT_EQ(numbers[2].name, "slope");
  EXPECT_FALSE(numbers[2].whole);
  EXPECT_THAT(plan.Band().adjustable->axes(), ElementsAre(kTp));
}

TEST(AdjustableCall, WithItsOwnNumberAnOperatorIsWhatItWas) {
  const Read plan;
  ExpectSame(plan.Band().adjustable->With("width", {.start = 3}), plan.Band());
  ExpectSame(plan.Narrow().adjustable->With("length", {.start = 4}), plan.Narrow());
}

TEST(AdjustableCall, WithAnotherNumberAnOperatorIsWhatTheReaderMakesOfIt) {
  const Read plan, other(R"("=tp * 4")", R"("width": 7, "start": "=tp * 4")");
  ExpectSame(plan.Band().adjustable->With("width", {.start = 7}), other.Band());
  const Read half(R"("=tp * 4")", R"("width": 3, "start": "=tp * 4", "slope": 0.5)");
  ExpectSame(plan.Band().adjustable->With("slope", {.start = Rational(1, 2)}), half.Band());
}

TEST(AdjustableCall, WithANumberForEachRankAnOperatorIsWhatTheReaderMakesOfTheExpression) {
  const Read plan(R"("=tp * 2")", R"("width": 3)"),
      other(R"("=tp * 4")", R"("width": 3, "start": "=tp * 2 + 1")");
  ExpectSame(plan.Narrow().adjustable->With("start", {.start = 0, .slope = 4, .axis = kTp}),
             other.Narrow());
  ExpectSame(plan.Band().adjustable->With("start", {.start = 1, .slope = 2, .axis = kTp}),
             other.Band());
}

TEST(AdjustableCall, ANumberThatTheOperatorDoesNotTakeIsAnError) {
  const Read plan;
  EXPECT_FALSE(plan.Narrow().adjustable->With("start", {.start = 14}).ok());
  EXPECT_FALSE(plan.Band().adjustable->With("width", {.start = Rational(1, 2)}).ok());
  // The results do not vary over dp.
  EXPECT_FALSE(plan.Band().adjustable->With("start", {.start = 0, .slope = 4, .axis = 0}).ok());
}

TEST(AdjustableCall, OperatorsThatAreCalledAlikeShareWhatIsKept) {
  const absl::StatusOr<lineage::Problem> problem = ReadText(R"({"planproof": 1, "specification": {
      "inputs": {"x": [4, 8], "z": [4, 8]},
      "operators": [{"op": "softmax", "in": "x", "out": "a", "attrs": {"dim": 1}},
                    {"op": "softmax", "in": "z", "out": "b", "attrs": {"dim": 1}},
                    {"op": "softmax", "in": "z", "out": "c", "attrs": {"dim": 0}},
                    {"op": "exp", "in": "z", "out": "d"}],
      "outputs": ["a", "b", "c", "d"]},
    "plan": {"mesh": {}, "programs": [{"inputs": ["x", "z"], "operators": [
      {"op": "softmax", "in": "x", "out": "a", "attrs": {"dim": 1}},
      {"op": "softmax", "in": "z", "out": "b", "attrs": {"dim": 1}},
      {"op": "softmax", "in": "z", "out": "c", "attrs": {"dim": 0}},
      {"op": "exp", "in": "z", "out": "d"}]}]}})");
  ASSERT_TRUE(problem.ok()) << problem.status();
  for (const sdfg::Graph* graph : {&problem->logical, &problem->parallel}) {
    EXPECT_NE(graph->operators[0].adjustable, nullptr);
    EXPECT_EQ(graph->operators[0].adjustable, graph->operators[1].adjustable);
    EXPECT_NE(graph->operators[0].adjustable, graph->operators[2].adjustable);
    EXPECT_EQ(graph->operators[3].adjustable, nullptr) << "it has no numbers";
  }
}

}  // namespace
}  // namespace planproof::plan
