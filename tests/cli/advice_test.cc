// What an UNKNOWN says may help: the limit to raise, the lineage to claim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line.h"
#include "tests/cli/plans.h"

namespace planproof::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kLayers = 4;

// Layers of a tensor-parallel perceptron, without lineage, or with `lineage`.
std::string Perceptron(const std::string& lineage) {
  std::string parameters, held, model, plan;
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string l = std::to_string(layer), comma = layer == 0 ? "" : ", ";
    const std::string input = layer == 0 ? "x" : "y" + std::to_string(layer - 1);
    parameters += comma + "\"a" + l + "\": [32, 16], \"b" + l + "\": [16, 32]";
    held += ", \"a" + l + "\": {\"0\": \"tp\"}, \"b" + l + "\": {\"1\": \"tp\"}";
    const std::string hidden = comma + R"({"op": "linear", "in": [")" + input + R"(", "a)" + l +
                               R"("], "out": "h)" + l + R"("}, {"op": "gelu", "in": "h)" + l +
                               R"(", "out": "g)" + l + R"("}, {"op": "linear", "in": ["g)" + l +
                               R"(", "b)" + l + R"("], "out": ")";
    model += hidden + "y" + l + "\"}";
    plan += hidden + "p" + l + R"("}, {"op": "all_reduce", "over": "tp", "in": "p)" + l +
            R"(", "out": "y)" + l + "\"}";
  }
  return R"({"planproof": 1, "specification": {"inputs": {"x": [8, 16]}, "parameters": {)" +
         parameters + R"(}, "operators": [)" + model + R"(], "outputs": ["y)" +
         std::to_string(kLayers - 1) +
         R"("]}, "plan": {"mesh": {"tp": 4}, "programs": [{"inputs": {"x": {})" + held +
         R"(}, "operators": [)" + plan + "]" + lineage + "}]}}\n";
}

Finished VerifyPlan(const std::string& name, const std::string& plan, const std::string& options) {
  return RunProgram("verify --no-cache " + options + " " + TemporaryFile(name, plan));
}

TEST(Advice, RelationsThatNumbersSupportAreNamedAsThePlanWouldClaimThem) {
  const Finished without =
      VerifyPlan("advice.json", Perceptron(""), "--no-infer --work-limit 0.01");
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.output,
              AllOf(HasSubstr("exceed the work limit"), HasSubstr("--work-limit 0.1"),
                    HasSubstr(R"(claim "lineage": {"h0": {"1": "tp"}, "g0": {"1": "tp"}, )"
                              R"("y0": {}, "h1": {"1": "tp"}, "g1": {"1": "tp"}, "y1": {}})")));
  // p0 is a part of a sum, no slice of anything.
  EXPECT_THAT(without.output, Not(HasSubstr("\"p0\":")));
  const std::string claims =
      R"(, "lineage": {"h0": {"1": "tp"}, "g0": {"1": "tp"}, "y0": {}, "h1": {"1": "tp"}, "g1": {"1": "tp"}, "y1": {}})";
  EXPECT_THAT(VerifyPlan("advised.json", Perceptron(claims), "--work-limit 0.01").output,
              StartsWith("PROVED"));
}

TEST(Advice, ARaisedLimitHelps) {
  EXPECT_THAT(VerifyPlan("advice.json", Perceptron(""), "").output, StartsWith("PROVED"));
}

TEST(Advice, OfAnotherFormatNoLineageIsAdvised) {
  const std::string plan = TemporaryFile("advice.json", Perceptron(""));
  const std::string binary = plan + ".plan";
  ASSERT_EQ(RunProgram("convert " + plan + " -o " + binary).exit_code, 0);
  const Finished finished = RunProgram("verify --no-cache --no-infer --work-limit 0.01 " + binary);
  EXPECT_THAT(finished.output,
              AllOf(HasSubstr("--work-limit 0.1"), Not(HasSubstr("claim \"lineage\""))));
}

TEST(Advice, TheLimitThatEndedAClaimIsTheOneToRaise) {
  const std::string plan = TemporaryFile("limited.json", RowParallelPlan());
  const Finished slow = RunProgram("verify --no-cache --no-explain --stage-timeout 0.5 " + plan,
                                   "PLANPROOF_TEST_WORKER_FAULT=sleep:y ");
  EXPECT_THAT(slow.output, AllOf(StartsWith("UNKNOWN"), HasSubstr("--stage-timeout 5 "),
                                 Not(HasSubstr("--memory-limit"))));
  const Finished large = RunProgram("verify --no-cache --no-explain --memory-limit 64 " + plan,
                                    "PLANPROOF_TEST_WORKER_FAULT=alloc:y ");
  EXPECT_THAT(large.output, AllOf(StartsWith("UNKNOWN"), HasSubstr("--memory-limit 256 "),
                                  Not(HasSubstr("--stage-timeout"))));
}

}  // namespace
}  // namespace planproof::cli
