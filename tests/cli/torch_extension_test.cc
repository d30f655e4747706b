// Some ranks of a job as planproof verify --extend reads them: proved with what is assumed, and not
// where the plan that follows is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command_line.h"
#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kDdp[] = "ddp_dp64", kFsdp[] = "fsdp2_dp64", kTensorParallel[] = "fsdp2_tp_dp64";

std::string Files(const std::string& program) { return Directory(program) + "/*.trace"; }

// What is said of the program, if both of its first ranks are changed so.
std::string Extended(const std::string& program, const std::function<void(json*, int)>& put,
                     const std::string& options = "--no-explain") {
  std::vector<json> ranks = {RankOf(program, 0), RankOf(program, 1)};
  for (int r = 0; r < 2; ++r) put(&ranks[r], r);
  return Verify(program, ranks, "--extend dp=64 " + options);
}

json* InputOf(json* rank, const std::string& name) {
  for (json& input : (*rank)["inputs"]) {
    if (input["name"] == name) return &input;
  }
  ADD_FAILURE() << name;
  return &(*rank)["inputs"][0];
}

class ExtendedTraces : public testing::TestWithParam<const char*> {};

TEST_P(ExtendedTraces, AreProvedUnderTheAssumption) {
  const Finished finished =
      RunProgram(absl::StrCat("verify --no-cache --json - ", Files(GetParam()), " --extend dp=64"));
  ASSERT_EQ(finished.exit_code, 0) << finished.output << finished.errors;
  const json report = json::parse(finished.output);
  EXPECT_EQ(report["verdict"], "PROVED");
  EXPECT_THAT(report["assumptions"][0].get<std::string>(),
              testing::MatchesRegex("ranks .*run the program.* with their own coordinates along dp "
                                    "\\(--extend dp=64\\)"));
}

INSTANTIATE_TEST_SUITE_P(Traces, ExtendedTraces, testing::Values(kDdp, kFsdp, kTensorParallel),
                         [](const auto& info) { return std::string(info.param); });

TEST(TorchExtension, TheAssumptionIsTheFirstOfTheReport) {
  EXPECT_THAT(RunProgram("verify --no-cache " + Files(kFsdp) + " --extend dp=64").output,
              HasSubstr("assumes    ranks 2 to 62 run the program of ranks 0, 1 and 63 with their "
                        "own coordinates along dp (--extend dp=64)\n"));
}

TEST(TorchExtension, WithoutItTheRanksAreMissing) {
  EXPECT_THAT(RunProgram("verify --no-cache " + Files(kFsdp)).output,
              testing::AllOf(StartsWith("MALFORMED"), HasSubstr("--extend AXIS=SIZE")));
}

TEST(TorchExtension, ARememberedProofIsOfTheExtendedPlanOnly) {
  const std::string cache = "--cache " + TemporaryFile("extension_cache/marker", "") + ".d ";
  EXPECT_THAT(RunProgram("verify -q " + cache + Files(kFsdp) + " --extend dp=64").output,
              StartsWith("PROVED"));
  const std::string again = RunProgram("verify " + cache + Files(kFsdp) + " --extend dp=64").output;
  EXPECT_THAT(again, StartsWith("PROVED"));
  EXPECT_THAT(again, HasSubstr("were proved by earlier runs"));
  EXPECT_THAT(again, HasSubstr("(--extend dp=64)"));
  EXPECT_THAT(RunProgram("verify " + cache + Files(kFsdp)).output, StartsWith("MALFORMED"));
  EXPECT_EQ(RunProgram("verify " + cache + Files(kFsdp) + " --extend dp=8").exit_code, 64);
}

TEST(TorchExtension, RanksThatContradictItGetNoVerdict) {
  const Finished finished = RunProgram(absl::StrCat(
      "verify --no-cache ", Directory(kDdp), "/reference.trace ", Directory(kDdp), "/rank0.trace ",
      TraceFile("other_rank1",
                [] {
                  json rank = RankOf(kDdp, 1);
                  json& operators = rank["operators"];
                  operators.insert(operators.begin() + 4, operators[3]);
                  return rank;
                }()),
      " --extend dp=64"));
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_EQ(finished.output, "");
  EXPECT_THAT(finished.errors, StartsWith("planproof: --extend dp=64: ranks 0 and 1 do not run one "
                                          "program: another operator in operator 4, "));
}

TEST(TorchExtension, TracesOfASmallerJobGetNoVerdict) {
  const Finished finished = RunProgram("verify --no-cache " + Files("fsdp2") + " --extend dp=64");
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_THAT(finished.errors, HasSubstr("--mesh dp=64 --ranks 0,1"));
}

TEST(TorchExtension, IsOfTracesAndAxes) {
  const std::string plan = RepositoryPath("examples/mlp_tp2.json");
  const Finished of_plan = RunProgram("verify --no-cache " + plan + " --extend dp=64");
  EXPECT_EQ(of_plan.exit_code, 64);
  EXPECT_THAT(of_plan.errors, HasSubstr("--extend is for PyTorch traces"));
  for (const char* wrong : {"dp", "=2", "dp=two", "dp=0", "dp=64,tp"}) {
    const Finished finished =
        RunProgram(absl::StrCat("verify --no-cache ", Files(kDdp), " --extend ", wrong));
    EXPECT_EQ(finished.exit_code, 64) << wrong;
    EXPECT_THAT(finished.errors, HasSubstr("expected an axis with its size, such as dp=64"));
  }
}

// Plans in which what follows from two ranks is wrong, or what they do is wrong for 64 of them.

TEST(ExtensionThatWouldLie, AMeanOverTheRanksOfASmallerJob) {
  const auto half = [](json* rank, int) {
    for (json& op : (*rank)["operators"]) {
      if (op.value("op", "") == "aten.mul.out") op["args"][1] = 0.5;
    }
  };
  EXPECT_THAT(Extended(kDdp, half), StartsWith("UNKNOWN"));
  EXPECT_THAT(Extended(kDdp, half, ""), StartsWith("REFUTED"));
}

TEST(ExtensionThatWouldLie, AReductionThatIsLeftOut) {
  EXPECT_THAT(Extended(
                  kDdp,
                  [](json* rank, int) {
                    json& operators = (*rank)["operators"];
                    for (size_t i = 0; i < operators.size(); ++i) {
                      if (operators[i].contains("collective")) operators.erase(i);
                    }
                  },
                  ""),
              StartsWith("REFUTED"));
}

TEST(ExtensionThatWouldLie, AReductionOverSomeOfTheRanks) {
  const std::string said = Extended(kDdp, [](json* rank, int) {
    (*rank)["groups"].push_back({0, 1});
    (*FirstOf(rank, "c10d.allreduce_").find("group")) = 1;
  });
  EXPECT_THAT(said, StartsWith("planproof: --extend dp=64: operator 16, c10d.allreduce_.default"));
  EXPECT_THAT(said, HasSubstr("on rank 2 the group would be 0, 1, without it"));
}

TEST(ExtensionThatWouldLie, AReductionOverTensorInsteadOfDataParallelRanks) {
  std::vector<json> ranks;
  for (int r = 0; r < 4; ++r) {
    ranks.push_back(RankOf(kTensorParallel, r));
    json& scatter = FirstOf(&ranks[r], "c10d._reduce_scatter_base_");
    scatter["group"] = FirstOf(&ranks[r], "_c10d_functional.all_reduce")["group"];
  }
  EXPECT_THAT(Verify(kTensorParallel, ranks, "--extend dp=64 --no-explain"),
              Not(StartsWith("PROVED")));
}

TEST(ExtensionThatWouldLie, ASumOfLossesForTheirMean) {
  EXPECT_THAT(Extended(
                  kDdp,
                  [](json* rank, int) {
                    for (json& result : (*rank)["results"]) {
                      if (result["name"] == "loss") result["reduce"] = "sum";
                    }
                  },
                  ""),
              StartsWith("REFUTED"));
}

TEST(ExtensionThatWouldLie, ALossOfTwoRanksForThatOfAll) {
  EXPECT_THAT(Extended(kDdp,
                       [](json* rank, int) {
                         (*rank)["groups"].push_back({0, 1});
                         for (json& result : (*rank)["results"]) {
                           if (result["name"] == "loss") result["group"] = 1;
                         }
                       }),
              HasSubstr("the result loss: on rank 2 the group would be 0, 1, without it"));
}

TEST(ExtensionThatWouldLie, ABatchOfWhichTheRanksHaveOneRow) {
  const std::string said = Extended(kDdp, [](json* rank, int) {
    for (const char* name : {"x", "y"}) (*InputOf(rank, name))["place"][0][0][0] = 0;
  });
  EXPECT_THAT(said, StartsWith("MALFORMED"));
  EXPECT_THAT(said, HasSubstr("assumed: ranks 2 to 63 run the program of ranks 0 and 1"));
}

TEST(ExtensionThatWouldLie, ABatchThatTheReferenceHasInAnotherSize) {
  const std::string said =
      RunProgram(absl::StrCat("verify --no-cache ", Directory("ddp"), "/reference.trace ",
                              Directory(kDdp), "/rank*.trace --extend dp=64"))
          .output;
  EXPECT_THAT(said, StartsWith("MALFORMED"));
}

TEST(ExtensionThatWouldLie, RowsThatDoNotMoveEvenly) {
  EXPECT_THAT(Extended(kDdp,
                       [](json* rank, int r) {
                         for (const char* name : {"x", "y"}) {
                           (*InputOf(rank, name))["place"][0][0][0] = 2 * r;
                         }
                       }),
              HasSubstr("on rank 32 the part would lie outside of the reference's tensor"));
}

TEST(ExtensionThatWouldLie, LabelsOfOtherRows) {
  EXPECT_THAT(Extended(kDdp, [](json* rank, int) { (*InputOf(rank, "y"))["place"][0][0][0] = 0; }),
              Not(StartsWith("PROVED")));
}

TEST(ExtensionThatWouldLie, APieceOfABucketOfAnotherRank) {
  // What each rank gathers stands where the next one's should.
  EXPECT_THAT(Extended(kFsdp,
                       [](json* rank, int r) {
                         json& tensors = (*rank)["tensors"];
                         const int own = FirstOf(rank, "fsdp.all_gather_copy_in")["writes"][0];
                         tensors[own][2] = (1 - r) * tensors[own][3][0].get<int>();
                       }),
              Not(StartsWith("PROVED")));
}

TEST(ExtensionThatWouldLie, AnotherStepOfTheOptimizerOnTheLastRank) {
  std::vector<json> ranks = {RankOf(kFsdp, 0), RankOf(kFsdp, 1), RankOf(kFsdp, 63)};
  FirstOf(&ranks[2], "aten.lerp_.Scalar")["args"][2] = 0.2;
  EXPECT_THAT(Verify(kFsdp, ranks, "--extend dp=64"),
              HasSubstr("ranks 0 and 63 do not run one program: other arguments in operator 34"));
}

}  // namespace
}  // namespace planproof::cli
