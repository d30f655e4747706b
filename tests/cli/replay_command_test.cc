// `planproof replay`: model and plan on numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"
#include "tests/temporary_directory.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ReplayCommand, ExamplesReplayWithoutAlarmInEveryType) {
  for (const char* file :
       {"mlp_tp2.json", "llama_dp2_pp2_tp2_mb2.json", "moe_dp2_ep2.json", "pipeline_1f1b.json",
        "rotary_sp2.json", "recurrent_loop.json", "first_plan/plan.json"}) {
    for (const char* type :
         {"float64", "float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2"}) {
      for (const int seed : {0, 1}) {
        const Finished run =
            RunProgram(absl::StrCat("replay ", Example(file), " --dtype ", type, " --seed ", seed));
        EXPECT_EQ(run.exit_code, 0) << file << " " << type << "\n" << run.output << run.errors;
        EXPECT_THAT(run.output, StartsWith("NO ALARM: in "));
      }
    }
  }
}

TEST(ReplayCommand, GeneratedPlansOfAllModelsReplayWithoutAlarm) {
  const TemporaryDirectory directory("replay_generated");
  for (const char* plan :
       {"llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2", "llama-tiny --cp 2 --ring",
        "deepseek-tiny --tp 2 --sequence-parallel", "deepseek-tiny --dp 2 --dispatch --ep 2",
        "gpt-tiny --dp 2 --zero 3", "qwen-tiny --tp 2 --recompute"}) {
    ASSERT_EQ(RunProgram(absl::StrCat("generate --model ", plan, " --output ", directory.path()))
                  .exit_code,
              0);
    for (const char* type : {"float64", "float32", "bfloat16", "float8_e4m3"}) {
      const Finished run =
          RunProgram(absl::StrCat("replay ", directory.path(), "logical.plan ", directory.path(),
                                  "parallel.plan --dtype ", type));
      EXPECT_EQ(run.exit_code, 0) << plan << " " << type << "\n" << run.output << run.errors;
    }
  }
}

struct Bug {
  std::string kind, plan, stage;  // the first tensor that alarms
};

// The plan with its bug, beside the right one.
bool Write(const Bug& bug, const std::string& directory, const std::string& plan) {
  return RunProgram(absl::StrCat("generate --model ", bug.plan, " --output ", directory))
                 .exit_code == 0 &&
         RunProgram(absl::StrCat("mutate ", directory, "logical.plan ", directory,
                                 "parallel.plan --kind ", bug.kind, " -o ", plan))
                 .exit_code == 0;
}

// Rounding to 8 bits hides an eps in a norm, a parameter that stays old, a gradient that is not
// summed, a loss that is twice as large; the same inputs in float64 show them.
TEST(ReplayCommand, BugsOfTheCatalogueAlarmAtTheirStageInEveryType) {
  const std::vector<Bug> bugs = {{"BR7", "llama-tiny --dp 2 --tp 2", "layers.0.attention_norm"},
                                 {"GG6", "llama-tiny --microbatches 2", "loss"},
                                 {"TT6", "deepseek-tiny --cp 2", "grad.layers.1.router.weight"},
                                 {"TT9", "llama-tiny --dp 2 --zero 1", "embedding.weight.new"}};
  const TemporaryDirectory directory("replay_types");
  const std::string& path = directory.path();
  for (const Bug& bug : bugs) {
    const std::string plan = absl::StrCat(path, "broken.plan");
    ASSERT_TRUE(Write(bug, path, plan));
    for (const std::string type : {"float32", "bfloat16", "float8_e4m3", "float8_e5m2"}) {
      SCOPED_TRACE(bug.kind + " in " + type);
      const Finished run =
          RunProgram(absl::StrCat("replay --by-stage ", plan, " --json - --dtype ", type));
      EXPECT_EQ(run.exit_code, 1) << run.errors;
      const auto json = nlohmann::json::parse(run.output);
      const auto& first = json["tensors"][json["first"].get<int>()];
      EXPECT_EQ(first["logical"], bug.stage);
      EXPECT_EQ(first["exact"]["alarms"], true);
      EXPECT_GT(json["alarms_exact"], 0);
    }
    const Finished hidden =
        RunProgram(absl::StrCat("replay --by-stage ", plan, " --dtype float8_e5m2"));
    EXPECT_THAT(hidden.output, HasSubstr("; rounding in float8_e5m2 hides it\n"));
    const Finished alone =
        RunProgram(absl::StrCat("replay --by-stage --no-exact ", plan, " --dtype float8_e5m2"));
    EXPECT_EQ(alone.exit_code, 0) << bug.kind;
  }
}

// The counterexample that refutes a bug of the catalogue shows it in a replay, too, and the first
// tensor that differs is the stage that the verdict names.
TEST(ReplayCommand, WitnessesOfTheCatalogueAreConfirmed) {
  const std::vector<Bug> bugs = {
      {"BR1", "llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2", "embedding"},
      {"BR5", "llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2", "grad.norm"},
      {"BR7", "llama-tiny --dp 2 --tp 2", "layers.0.attention_norm"},
      {"C1", "llama-tiny --cp 2", "layers.0.q_rotary"},
      {"GG2", "deepseek-tiny --tp 2 --sequence-parallel", "grad.layers.1.ffn_norm"},
      {"TT1", "llama-tiny --tp 2", "embedding"},
      {"TT13", "llama-tiny --cp 2 --sequences 2", "grad.layers.1.v_heads"},
      {"X1", "llama-tiny --dp 2", "clipped.embedding.weight"}};
  const TemporaryDirectory directory("replay_bugs");
  const std::string& path = directory.path();
  for (const Bug& bug : bugs) {
    SCOPED_TRACE(bug.kind);
    const std::string plan = absl::StrCat(path, "broken.plan");
    const std::string witness = absl::StrCat(path, "witness.safetensors");
    ASSERT_TRUE(Write(bug, path, plan));
    const Finished verified =
        RunProgram(absl::StrCat("verify -q --no-cache ", plan, " --witness-out ", witness));
    ASSERT_THAT(verified.output, StartsWith("REFUTED: stage " + bug.stage + ":"));
    for (const char* type : {"float64", "float32"}) {
      const Finished run =
          RunProgram(absl::StrCat("replay ", plan, " --witness ", witness, " --dtype ", type));
      EXPECT_EQ(run.exit_code, 1) << run.output << run.errors;
      EXPECT_THAT(run.output, testing::MatchesRegex("ALARM: (stage[01]:)?" + bug.stage +
                                                    " differs from the model: (.|\n)*"))
          << type;
    }
  }
}

// Recorded PyTorch programs: the trace of one process, then those of the ranks.
TEST(ReplayCommand, RecordedProgramsAreReplayed) {
  const std::pair<const char*, const char*> faults[] = {{"ddp_sum_for_average", "gradient of "},
                                                        {"positions_of_sequence_parts", "loss "}};
  for (const auto& [fault, first] : faults) {
    const std::string traces =
        absl::StrCat(PLANPROOF_SOURCE_DIR, "/tests/torch/fault_traces/", fault);
    const auto replay = [](const std::string& directory) {
      return RunProgram(
          absl::StrCat("replay -q ", directory, "/reference.trace ", directory, "/rank*.trace"));
    };
    EXPECT_EQ(replay(traces + ".right").exit_code, 0) << fault;
    const Finished broken = replay(traces);
    EXPECT_EQ(broken.exit_code, 1) << fault << broken.errors;
    EXPECT_THAT(broken.output, StartsWith(absl::StrCat("ALARM: ", first)));
  }
}

TEST(ReplayCommand, AnAlarmNamesOperatorPlaceAndValues) {
  const Finished run = RunProgram("replay " + Example("first_plan/missing_sum.json"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, StartsWith("ALARM: y differs from the model: error 0.68, "));
  EXPECT_THAT(run.output, HasSubstr("\n  operator   "));
  EXPECT_THAT(run.output, HasSubstr("\n  place      devices 0, 1\n"));
  EXPECT_THAT(run.output, HasSubstr("\n  that is    y["));
  EXPECT_THAT(run.output, HasSubstr("\n  tensors that alarm "));
  EXPECT_EQ(run.errors, "");
}

// A wrong first operator makes all that follows differ; fed the model's values only it differs.
TEST(ReplayCommand, ByStageOnlyTheWrongStageAlarms) {
  const std::string plan = Example("first_plan/missing_sum.json");
  const auto alarms = [&](const char* options) {
    const Finished run = RunProgram(absl::StrCat("replay ", plan, " --json - ", options));
    EXPECT_EQ(run.exit_code, 1);
    const nlohmann::json json = nlohmann::json::parse(run.output);
    std::vector<std::string> names;
    for (const auto& tensor : json["tensors"]) {
      if (tensor["finding"] != "none") names.push_back(tensor["tensor"]);
    }
    return std::pair(json["by_stage"].get<bool>(), names);
  };
  EXPECT_GT(alarms("").second.size(), 1u);
  EXPECT_EQ(alarms("--by-stage"), std::pair(true, std::vector<std::string>{"y", "y"}));
  EXPECT_THAT(RunProgram("replay --by-stage " + plan).output, HasSubstr("\n  by stage   "));
}

TEST(ReplayCommand, QuietAndVerbose) {
  const Finished quiet = RunProgram("replay -q " + Example("mlp_tp2.json"));
  EXPECT_EQ(std::count(quiet.output.begin(), quiet.output.end(), '\n'), 1);
  const Finished verbose = RunProgram("replay -v " + Example("mlp_tp2.json"));
  EXPECT_THAT(verbose.output, HasSubstr("\n  grad.w2 "));
  EXPECT_THAT(RunProgram("replay " + Example("mlp_tp2.json")).output,
              testing::Not(HasSubstr("grad.w2")));
}

TEST(ReplayCommand, JsonHasTheFirstTensorThatAlarms) {
  const Finished run =
      RunProgram("replay --json - --dtype bfloat16 " + Example("mlp_tp2_broken.json"));
  EXPECT_EQ(run.exit_code, 1);
  const auto report = nlohmann::json::parse(run.output);
  EXPECT_EQ(report["answer"], "alarm");
  EXPECT_EQ(report["exit_code"], 1);
  EXPECT_EQ(report["dtype"], "bfloat16");
  const auto& first = report["tensors"][report["first"].get<int>()];
  EXPECT_EQ(first["tensor"], "y");
  EXPECT_EQ(first["finding"], "differs");
  EXPECT_GT(first["ratio"].get<double>(), first["bound"].get<double>());
  const Finished right = RunProgram("replay --json - " + Example("mlp_tp2.json"));
  EXPECT_EQ(right.exit_code, 0);
  EXPECT_TRUE(nlohmann::json::parse(right.output)["first"].is_null());
}

TEST(ReplayCommand, EqualSeedsGiveEqualReports) {
  const auto tensors = [](int seed) {
    const Finished run = RunProgram(absl::StrCat("replay --json - --dtype float16 --seed ", seed,
                                                 " ", Example("mlp_tp2.json")));
    return nlohmann::json::parse(run.output)["tensors"].dump();
  };
  EXPECT_EQ(tensors(5), tensors(5));
  EXPECT_NE(tensors(5), tensors(6));
}

// Whatever this build and this machine have, one line says where it did not run.
TEST(ReplayCommand, WithoutAGpuTheCpuIsUsedAndThatIsSaid) {
  const Finished run = RunProgram("replay --device cuda --json - " + Example("mlp_tp2.json"));
  if (run.exit_code == 64) {
    EXPECT_EQ(run.errors,
              "planproof: --device cuda: this build has no CUDA backend; use --device cpu\n");
    EXPECT_EQ(run.output, "");
    return;
  }
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  const std::string device = nlohmann::json::parse(run.output)["device"];
  if (device == "cpu") {
    EXPECT_THAT(run.errors, testing::StartsWith("planproof: --device cuda: no CUDA device ("));
    EXPECT_THAT(run.errors, testing::EndsWith("); the CPU is used\n"));
  } else {
    EXPECT_EQ(run.errors, "");
  }
}

TEST(ReplayCommand, WrongArgumentsAreUsageErrors) {
  for (const char* arguments : {"--dtype int8", "--seed x", "--samples 0", "--seed 1 --witness w",
                                "--device tpu", "--json /nowhere/x", "--witness /nowhere/w"}) {
    const Finished run =
        RunProgram(absl::StrCat("replay ", Example("mlp_tp2.json"), " ", arguments));
    EXPECT_EQ(run.exit_code, 64) << arguments << run.errors;
  }
  EXPECT_EQ(RunProgram("replay /nowhere.json").exit_code, 64);
}

TEST(ReplayCommand, ABadPlanOrWitnessIsBadInput) {
  EXPECT_EQ(RunProgram("replay " + Example("first_plan/wrong_shape.json")).exit_code, 2);
  const TemporaryDirectory directory("replay_bad");
  const std::string witness = directory.path() + "w.safetensors";
  ASSERT_EQ(RunProgram(absl::StrCat("verify -q --no-cache ", Example("first_plan/missing_sum.json"),
                                    " --witness-out ", witness))
                .exit_code,
            1);
  const Finished other =
      RunProgram(absl::StrCat("replay ", Example("mlp_tp2.json"), " --witness ", witness));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("replay it with the files of which verify wrote it"));
  std::ofstream(witness) << "no witness";
  EXPECT_EQ(RunProgram(absl::StrCat("replay ", Example("first_plan/missing_sum.json"),
                                    " --witness ", witness))
                .exit_code,
            2);
}

TEST(ReplayCommand, WhatIsTooLargeIsNotRun) {
  const TemporaryDirectory directory("replay_large");
  ASSERT_EQ(RunProgram("generate --model llama3-8b --tp 8 --output " + directory.path()).exit_code,
            0);
  const Finished run = RunProgram(absl::StrCat("replay ", directory.path(), "logical.plan ",
                                               directory.path(), "parallel.plan"));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.errors, HasSubstr("more than the limit of 1.34e+08"));
  EXPECT_THAT(run.errors, HasSubstr("raise --element-limit"));
  EXPECT_EQ(run.output, "");
}

}  // namespace
}  // namespace planproof::cli
