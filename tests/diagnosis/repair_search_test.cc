// What is named as the cause of a difference: an attribute, an input's layout, an operand, the
// order of two steps, a result that nothing reads. Each has a neighbour, similar but for another
// cause.
#include "diagnosis/repair_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "strategy/verify.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::diagnosis {
namespace {

using testing::HasSubstr;
using testing::Not;

// The cause named first of a plan that is refuted; or the verdict.
std::string CauseIn(const std::string& specification, const std::string& plan,
                    const std::string& declarations = "") {
  const std::string text =
      absl::StrCat(R"({"planproof": 1, "operators": [)", declarations, R"(], "specification": {)",
                   specification, R"(}, "plan": {)", plan, "}}");
  const absl::StatusOr<lineage::Problem> problem = plan::ReadTexts({{"plan.json", text}});
  if (!problem.ok()) return std::string(problem.status().message());
  stages::VerifyOptions options;
  options.jobs = 1;
  const stages::Result result = strategy::Verify(*problem, options);
  if (result.verdict != stages::Verdict::kRefuted) return "not refuted";
  return result.violations[0].cause;
}

// y is a band of x, whose rows are cut over two ranks.
constexpr char kBand[] =
    R"op("op band(x[q, k]) {width: int, start = 0}",
         "  -> y[q, k] = where(k < q + start + width, x[q, k], 0)")op";

std::string BandCause(const std::string& attributes, const std::string& more = "",
                      const std::string& out = "y") {
  return CauseIn(
      R"("inputs": {"x": [8, 12]},
         "operators": [{"op": "band", "in": "x", "out": "y", "attrs": {"width": 4}}],
         "outputs": {"y": {"0": "cp"}})",
      absl::StrCat(R"("mesh": {"cp": 2}, "programs": [{"inputs": {"x": {"0": "cp"}},
                      "operators": [{"op": "band", "in": "x", "out": ")",
                   out, R"(", "attrs": {)", attributes, "}}", more, "]}]"),
      kBand);
}

TEST(RepairSearch, ARightPlanHasNoCause) {
  EXPECT_EQ(BandCause(R"("width": 4, "start": "=cp * 4")"), "not refuted");
}

TEST(RepairSearch, AnAttributeIsNamedWithTheNumberThatWouldBeRight) {
  EXPECT_EQ(BandCause(R"("width": 3, "start": "=cp * 4")"),
            "width of band (y) is 3; with 4 it would be right");
}

TEST(RepairSearch, AnAttributeThatDependsOnTheRankIsNamedAsAnExpressionOfTheRank) {
  EXPECT_EQ(BandCause(R"("width": 4, "start": "=cp * 2")"),
            "start of band (y) is 2 cp; with 4 cp it would be right");
}

TEST(RepairSearch, AnAttributeThatWasLeftOutIsNamedWithItsDefault) {
  EXPECT_EQ(BandCause(R"("width": 4)"), "start of band (y) is 0; with 4 cp it would be right");
}

TEST(RepairSearch, AFactorIsNoFaultOfTheAttributesBeforeIt) {
  const std::string cause = BandCause(R"("width": 4, "start": "=cp * 4")",
                                      R"(, {"op": "mul", "in": ["h", 3], "out": "y"})", "h");
  EXPECT_THAT(cause, HasSubstr("3 times too large"));
  EXPECT_THAT(cause, Not(HasSubstr("width")));
  EXPECT_THAT(cause, Not(HasSubstr("start")));
}

std::string SliceCause(const std::string& start) {
  return CauseIn(R"("inputs": {"w": [16, 3]},
                    "operators": [{"op": "exp", "in": "w", "out": "y"}],
                    "outputs": {"y": {"0": "dp"}})",
                 absl::StrCat(R"("mesh": {"dp": 4}, "programs": [{"inputs": {"w": {}},
                   "operators": [
                     {"op": "narrow", "in": "w", "out": "shard",
                      "attrs": {"dim": 0, "start": ")",
                              start, R"(", "length": 4}},
                     {"op": "exp", "in": "shard", "out": "y"}]}])"));
}

TEST(RepairSearch, TheStartOfASliceThatIsWrongOnAllRanksIsNamed) {
  EXPECT_EQ(SliceCause("=dp * 4"), "not refuted");
  EXPECT_THAT(SliceCause("=dp * 2"),
              HasSubstr("start of narrow (shard) is 2 dp; with 4 dp it would be right"));
  EXPECT_THAT(SliceCause("=12 - dp * 4"),
              HasSubstr("start of narrow (shard) is -4 dp + 12; with 4 dp it would be right"));
}

// Two operators of one stage that have an attribute alike.
std::string SharedCause(const std::string& starts) {
  return CauseIn(
      R"("inputs": {"x": [16, 16]},
         "operators": [{"op": "band", "in": "x", "out": "h", "attrs": {"width": 4}},
                       {"op": "exp", "in": "h", "out": "e"},
                       {"op": "band", "in": "e", "out": "y", "attrs": {"width": 4}}],
         "outputs": {"y": {"0": "cp"}})",
      absl::StrCat(R"("mesh": {"cp": 4}, "programs": [{"inputs": {"x": {"0": "cp"}},
                      "operators": [
                        {"op": "band", "in": "x", "out": "h1", "attrs": {"width": 4, "start": ")",
                   starts, R"("}},
                        {"op": "exp", "in": "h1", "out": "e"},
                        {"op": "band", "in": "e", "out": "y", "attrs": {"width": 4, "start": ")",
                   starts, R"("}}]}])"),
      kBand);
}

TEST(RepairSearch, OperatorsThatHaveAWrongAttributeAlikeAreNamedTogether) {
  EXPECT_EQ(SharedCause("=cp * 4"), "not refuted");
  EXPECT_EQ(SharedCause("=cp * 2"),
            "start of band (h1) and band (y) is 2 cp; with 4 cp it would be right");
}

// A smaller width would do what a smaller start does: either is named.
TEST(RepairSearch, ARankWhoseNumberAloneIsWrongIsNamed) {
  EXPECT_THAT(SharedCause("=cp * 4 + (4 - cp) / 4 * 8"), HasSubstr("of band (y) at cp 0 is "));
}

// What the plan's operators have otherwise because they see a part is no cause.
TEST(RepairSearch, AttributesThatFitTheRanksPartAreNoCause) {
  const std::string declared =
      R"op("op groups_mean(x[n, (g:groups c), l]) {groups: int}",
           "  -> m[n, g] = mean(c, l: x[n, (g c), l])")op";
  const std::string specification =
      R"("inputs": {"x": [2, 8, 6]},
         "operators": [{"op": "groups_mean", "in": "x", "out": "m", "attrs": {"groups": 4}}],
         "outputs": {"m": {"1": "tp"}})";
  const auto plan = [](const std::string& sum) {
    return absl::StrCat(R"("mesh": {"tp": 2, "sp": 2}, "programs": [{
                            "inputs": {"x": {"1": "tp", "2": "sp"}},
                            "operators": [{"op": "groups_mean", "in": "x", "out": "part",
                                           "attrs": {"groups": 2}}, )",
                        sum, R"(]}])");
  };
  EXPECT_EQ(CauseIn(specification,
                    plan(R"({"op": "all_reduce", "over": "sp", "reduce": "avg", "in": "part",
                             "out": "m"})"),
                    declared),
            "not refuted");
  EXPECT_THAT(
      CauseIn(specification, plan(R"({"op": "identity", "in": "part", "out": "m"})"), declared),
      Not(HasSubstr("groups is")));
}

// x times the rows of w and b, which the ranks hold as `map` says, in three thirds.
std::string FusedCause(const std::string& w, const std::string& b, const std::string& more = "") {
  return CauseIn(
      R"("inputs": {"x": [4, 5]}, "parameters": {"w": [24, 5], "b": [24]},
         "operators": [{"op": "linear", "in": ["x", "w", "b"], "out": "h"},
                       {"op": "chunk", "in": "h", "out": ["q", "k", "v"],
                        "attrs": {"chunks": 3, "dim": 1}}],
         "outputs": {"k": {"1": "tp"}, "v": {"1": "tp"}})",
      absl::StrCat(R"("mesh": {"tp": 2}, "programs": [{"inputs": {"x": {}, "w": )", w, R"(, "b": )",
                   b, R"(}, "operators": [{"op": "linear", "in": ["x", "w", "b"], "out": "h"}, )",
                   more.empty() ? R"({"op": "chunk", "in": "h", "out": ["q", "k", "v"],
                                      "attrs": {"chunks": 3, "dim": 1}})"
                                : more,
                   "]}]"));
}

constexpr char kThirdsOfW[] =
    R"({"map": ["i0 / 4 * 8 + tp * 4 + i0 % 4", "i1"], "shape": [12, 5]})";
constexpr char kThirdsOfB[] = R"({"map": ["i0 / 4 * 8 + tp * 4 + i0 % 4"], "shape": [12]})";

TEST(RepairSearch, InputsThatAreCutAsAWholeAndNotInEachBlockAreNamed) {
  EXPECT_EQ(FusedCause(kThirdsOfW, kThirdsOfB), "not refuted");
  EXPECT_EQ(FusedCause(R"({"0": "tp"})", R"({"0": "tp"})"),
            "inputs w and b: a rank of tp holds one contiguous part along dimension 0; its part of "
            "each of 3 equal blocks would be right");
  EXPECT_EQ(
      FusedCause(kThirdsOfW, R"({"0": "tp"})"),
      "input b: a rank of tp holds one contiguous part along dimension 0; its part of each of 3 "
      "equal blocks would be right");
}

TEST(RepairSearch, TheLayoutOfInputsIsNotBlamedForExchangedResults) {
  EXPECT_THAT(FusedCause(kThirdsOfW, kThirdsOfB,
                         R"({"op": "chunk", "in": "h", "out": ["q", "v", "k"],
                             "attrs": {"chunks": 3, "dim": 1}})"),
              Not(HasSubstr("holds")));
}

TEST(RepairSearch, ExpertsThatAreHeldRoundRobinAreNamed) {
  EXPECT_EQ(
      CauseIn(R"("inputs": {"x": [8, 3, 5]}, "parameters": {"up": [8, 5, 6]},
                       "operators": [{"op": "bmm", "in": ["x", "up"], "out": "y"}],
                       "outputs": {"y": {"0": "ep"}})",
              R"("mesh": {"ep": 4}, "programs": [{
                         "inputs": {"x": {"0": "ep"},
                                    "up": {"map": ["i0 * 4 + ep", "i1", "i2"], "shape": [2, 5, 6]}},
                         "operators": [{"op": "bmm", "in": ["x", "up"], "out": "y"}]}])"),
      "input up: a rank of ep holds one index in 4, from its number on, along dimension 0; one "
      "contiguous part would be right");
}

// c = f(a, b) with intermediate results of one shape.
std::string StepsCause(const std::string& plan_operators, const std::string& lineage = "") {
  return CauseIn(
      R"("inputs": {"x": [4, 6], "z": [4, 6]},
         "operators": [{"op": "exp", "in": "x", "out": "a"},
                       {"op": "mul", "in": ["a", "z"], "out": "b"},
                       {"op": "tanh", "in": "b", "out": "c"},
                       {"op": "mul", "in": ["c", 0.5], "out": "d"},
                       {"op": "sub", "in": ["d", "a"], "out": "y"}],
         "outputs": {"y": {"0": "dp"}})",
      absl::StrCat(R"("mesh": {"dp": 2}, "programs": [{
                         "inputs": {"x": {"0": "dp"}, "z": {"0": "dp"}}, "operators": [)",
                   plan_operators, "]", lineage, "}]"));
}

TEST(RepairSearch, AnOperandReadInPlaceOfOneNearItIsNamed) {
  EXPECT_EQ(StepsCause(R"({"op": "exp", "in": "x", "out": "a"},
                          {"op": "mul", "in": ["a", "z"], "out": "b"},
                          {"op": "tanh", "in": "b", "out": "c"},
                          {"op": "mul", "in": ["c", 0.5], "out": "d"},
                          {"op": "sub", "in": ["d", "b"], "out": "y"})"),
            "sub (y) reads b in place of a");
}

TEST(RepairSearch, StepsInTheWrongOrderAreNamed) {
  EXPECT_EQ(StepsCause(R"({"op": "exp", "in": "x", "out": "a"},
                          {"op": "mul", "in": ["a", "z"], "out": "b"},
                          {"op": "mul", "in": ["b", 0.5], "out": "c"},
                          {"op": "tanh", "in": "c", "out": "d"},
                          {"op": "sub", "in": ["d", "a"], "out": "y"})"),
            "mul (c) runs before tanh (d); the other way round it would be right");
}

TEST(RepairSearch, StepsAreNotSaidToBeInTheWrongOrderForAConstant) {
  const std::string cause = StepsCause(R"({"op": "exp", "in": "x", "out": "a"},
                                          {"op": "mul", "in": ["a", "z"], "out": "b"},
                                          {"op": "tanh", "in": "b", "out": "c"},
                                          {"op": "mul", "in": ["c", 0.75], "out": "d"},
                                          {"op": "sub", "in": ["d", "a"], "out": "y"})");
  EXPECT_THAT(cause, HasSubstr("a constant of mul (d) is 3/4, in the model it is 1/2"));
  EXPECT_THAT(cause, Not(HasSubstr("the other way round")));
}

TEST(RepairSearch, ContributionsThatNothingReadsAreNamed) {
  const auto cause = [](const std::string& last) {
    return CauseIn(R"("inputs": {"x": [4, 6], "z": [4, 6]},
                      "operators": [{"op": "exp", "in": "x", "out": "a"},
                                    {"op": "tanh", "in": "x", "out": "b"},
                                    {"op": "sigmoid", "in": "z", "out": "c"},
                                    {"op": "add", "in": ["a", "b"], "out": "d"},
                                    {"op": "add", "in": ["d", "c"], "out": "y"}],
                      "outputs": {"y": {"0": "dp"}})",
                   absl::StrCat(R"("mesh": {"dp": 2}, "programs": [{
                         "inputs": {"x": {"0": "dp"}, "z": {"0": "dp"}}, "operators": [
                           {"op": "exp", "in": "x", "out": "a"},
                           {"op": "tanh", "in": "x", "out": "b"},
                           {"op": "sigmoid", "in": "z", "out": "c"},
                           {"op": "add", "in": ["a", "b"], "out": "d"}, )",
                                last, "]}]"));
  };
  EXPECT_EQ(cause(R"({"op": "add", "in": ["d", "c"], "out": "y"})"), "not refuted");
  EXPECT_EQ(cause(R"({"op": "identity", "in": "a", "out": "y"})"),
            "it should be the sum of c and d, which nothing reads");
  EXPECT_THAT(cause(R"({"op": "mul", "in": ["d", 2], "out": "y"})"),
              Not(HasSubstr("nothing reads")));
}

// A plan on one device that computes y by this operator.
std::string OneOperatorCause(const std::string& model, const std::string& plan,
                             const std::string& declarations) {
  return CauseIn(
      absl::StrCat(R"("inputs": {"x": [4, 4], "w": [4, 4]}, "operators": [)", model,
                   R"(], "outputs": {"y": {}})"),
      absl::StrCat(R"("programs": [{"inputs": {"x": {}, "w": {}}, "operators": [)", plan, "]}]"),
      declarations);
}

TEST(RepairSearch, ANodeOfAnOperatorsFunctionThatIsWrongIsNamed) {
  const std::string twice = R"({"op": "add", "in": ["x", "x"], "out": "y"})";
  const std::string own = R"({"op": "own", "in": "x", "out": "y"})";
  EXPECT_EQ(OneOperatorCause(twice, own, R"op("op own(x[i, j]) -> y[i, j] = x[i, j] + x[i, j]")op"),
            "not refuted");
  EXPECT_EQ(OneOperatorCause(twice, own, R"op("op own(x[i, j]) -> y[i, j] = x[i, j] * x[i, j]")op"),
            "own (y) multiplies where adding would be right");
  const std::string exp = R"({"op": "exp", "in": "x", "out": "y"})";
  EXPECT_EQ(OneOperatorCause(exp, own, R"op("op own(x[i, j]) -> y[i, j] = exp(x[j, i])")op"),
            "own (y) reads x with its indices 0 and 1 exchanged");
}

TEST(RepairSearch, ATermOfTheModelThatIsMissingIsNamed) {
  const std::string model = R"({"op": "exp", "in": "x", "out": "a"},
                               {"op": "sin", "in": "w", "out": "b"},
                               {"op": "add", "in": ["a", "b"], "out": "y"})";
  EXPECT_EQ(OneOperatorCause(model, R"({"op": "exp", "in": "x", "out": "y"})", ""),
            "the term b is missing");
}

TEST(RepairSearch, SeveralOperandsOfAnotherLayerAreNamedTogether) {
  const auto cause = [](const std::string& scale, const std::string& shift) {
    return CauseIn(
        R"("inputs": {"x": [4, 6], "w1": [6], "b1": [6], "w2": [6], "b2": [6]},
           "operators": [{"op": "scaled", "in": ["x", "w2", "b2"], "out": "y"}],
           "outputs": {"y": {}})",
        absl::StrCat(R"("programs": [{"inputs": {"x": {}, "w1": {}, "b1": {}, "w2": {}, "b2": {}},
           "operators": [{"op": "scaled", "in": ["x", ")",
                     scale, R"(", ")", shift, R"("], "out": "y"}]}])"),
        R"op("op scaled(x[i, j], w[j], b[j]) -> y[i, j] = exp(x[i, j]) * w[j] + b[j]")op");
  };
  EXPECT_EQ(cause("w2", "b2"), "not refuted");
  EXPECT_EQ(cause("w1", "b1"), "scaled (y) reads w1 in place of w2, b1 in place of b2");
  EXPECT_EQ(cause("w1", "b2"), "scaled (y) reads w1 in place of w2");
}

// As the logit of a loss: what is missing makes the result too large.
TEST(RepairSearch, ATermThatIsSubtractedIsMissingWhereTheResultIsTooLarge) {
  const auto cause = [](const std::string& sum) {
    return CauseIn(
        R"("inputs": {"a": [4], "x": [4, 6]},
           "operators": [{"op": "sum", "in": "x", "out": "s", "attrs": {"dim": 1}},
                         {"op": "less", "in": ["a", "s"], "out": "y"}],
           "outputs": {"y": {}})",
        absl::StrCat(R"("mesh": {"tp": 2}, "programs": [{"inputs": {"a": {}, "x": {"1": "tp"}},
           "operators": [{"op": "sum", "in": "x", "out": "part", "attrs": {"dim": 1}},)",
                     sum, R"({"op": "less", "in": ["a", "s"], "out": "y"}]}])"),
        R"op("op less(a[i], s[i]) -> y[i] = exp(a[i]) - s[i]")op");
  };
  EXPECT_EQ(cause(R"({"op": "all_reduce", "over": "tp", "in": "part", "out": "s"},)"),
            "not refuted");
  const std::string missing = cause(R"({"op": "identity", "in": "part", "out": "s"},)");
  EXPECT_THAT(missing, HasSubstr("missing"));
  EXPECT_THAT(missing, Not(HasSubstr("too often")));
}

}  // namespace
}  // namespace planproof::diagnosis
