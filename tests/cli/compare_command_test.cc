// `planproof compare`: dumps of training runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"
#include "tests/temporary_directory.h"

namespace planproof::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Small(const std::string& name) {
  return RepositoryPath("examples/compare/small/" + name);
}

Finished Compare(const std::string& reference, const std::string& candidate,
                 const std::string& options = "") {
  return RunProgram(absl::StrCat("compare --reference ", reference, " --candidate ", candidate,
                                 " --annotations ", RepositoryPath("examples/compare/small.yaml"),
                                 " ", options));
}

TEST(CompareCommand, ARightRunIsNoAlarm) {
  const Finished run = Compare(Small("reference"), Small("right"));
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_THAT(run.output, StartsWith("NO ALARM: in float32 the 2 ranks compute what the reference "
                                     "does, up to rounding: 5 tensors, "));
  EXPECT_THAT(run.output, Not(HasSubstr("forward/hidden")));
  EXPECT_THAT(Compare(Small("reference"), Small("right"), "-v").output,
              HasSubstr("\n  forward/hidden "));
}

TEST(CompareCommand, AnAlarmNamesTensorPlaceAndValues) {
  const Finished run = Compare(Small("reference"), Small("broken"));
  EXPECT_EQ(run.exit_code, 1) << run.errors;
  EXPECT_THAT(run.output, StartsWith("ALARM: forward/y differs from the reference: error 0.43, "));
  EXPECT_THAT(run.output, HasSubstr("\n  place      tp 1; rank 1\n"));
  EXPECT_THAT(run.output, HasSubstr("\n  that is    rank 1's [3,1]: -0.449716, the reference's "
                                    "[3,1]: 0.541661\n"));
  EXPECT_THAT(run.output, HasSubstr("  replicas\n"));
  const Finished quiet = Compare(Small("reference"), Small("broken"), "-q");
  EXPECT_EQ(std::count(quiet.output.begin(), quiet.output.end(), '\n'), 1);
}

TEST(CompareCommand, JsonHasTheFirstTensorThatAlarms) {
  const auto report =
      nlohmann::json::parse(Compare(Small("reference"), Small("broken"), "--json -").output);
  EXPECT_EQ(report["answer"], "alarm");
  EXPECT_EQ(report["exit_code"], 1);
  EXPECT_EQ(report["samples"], 3);
  const auto& first = report["tensors"][report["first"].get<int>()];
  EXPECT_EQ(first["tensor"], "forward/y");
  EXPECT_EQ(first["finding"], "differs");
  EXPECT_EQ(first["ranks"], std::vector<int>{1});
  EXPECT_EQ(first["reference_index"], (std::vector<int>{3, 1}));
  EXPECT_GT(first["ratio"].get<double>(), first["bound"].get<double>());
  const auto right =
      nlohmann::json::parse(Compare(Small("reference"), Small("right"), "--json -").output);
  EXPECT_TRUE(right["first"].is_null());
}

TEST(CompareCommand, WithoutAnnotationsPartsAreNoWholes) {
  const Finished run = RunProgram(
      absl::StrCat("compare --reference ", Small("reference"), " --candidate ", Small("right")));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, StartsWith("ALARM: initial/u: rank 0 holds [4, 6] of the reference's "
                                     "[8, 6]: dimension 0 is not said to be split\n"));
}

TEST(CompareCommand, BadInputIsOneLineWithItsPlace) {
  const TemporaryDirectory directory("compare_bad");
  const std::string run = directory.path() + "run";
  const auto restore = [&run] {
    fs::remove_all(run);
    fs::copy(Small("right"), run, fs::copy_options::recursive);
  };
  const auto says = [&](const std::string& text, int exit_code = 2) {
    const Finished finished = Compare(Small("reference"), run);
    EXPECT_EQ(finished.exit_code, exit_code) << finished.output << finished.errors;
    EXPECT_THAT(finished.errors, StartsWith("planproof: "));
    EXPECT_THAT(finished.errors, HasSubstr(text));
    EXPECT_EQ(std::count(finished.errors.begin(), finished.errors.end(), '\n'), 1);
    EXPECT_EQ(finished.output, "");
  };
  restore();
  fs::resize_file(run + "/rank1.safetensors", 300);
  says("rank1.safetensors: ");
  restore();
  fs::remove(run + "/rank1.json");
  says("rank1.json: there is no such file");
  restore();
  std::ofstream(run + "/rank0.json") << "{\"planproof_dump\": 1, \"rank\": \"zero\"}";
  says("rank0.json: \"ranks\" is missing");
  restore();
  std::ofstream(run + "/rank1.safetensors") << "PK\x03\x04";
  says("rank1.safetensors: /: a damaged archive");
  const Finished yaml = RunProgram(
      absl::StrCat("compare --reference ", Small("reference"), " --candidate ", Small("right"),
                   " --annotations ", TemporaryFile("laughs.yaml", "a: &a [x]\nb: [*a, *a]\n")));
  EXPECT_EQ(yaml.exit_code, 2);
  EXPECT_THAT(yaml.errors, HasSubstr("laughs.yaml:1: anchors (&name) and tags (!name)"));
}

// Every file of a dump, cut at many places and with bytes changed: an answer or one line.
TEST(CompareCommand, DamagedFilesNeverCrash) {
  const TemporaryDirectory directory("compare_damaged");
  const std::string run = directory.path() + "run";
  fs::copy(Small("right"), run, fs::copy_options::recursive);
  for (const char* name : {"/rank0.json", "/rank0.safetensors"}) {
    std::ostringstream whole;
    whole << std::ifstream(run + name, std::ios::binary).rdbuf();
    const std::string content = whole.str();
    for (size_t at = 0; at < content.size(); at += 1 + content.size() / 40) {
      std::string changed = content;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      for (const std::string& damaged : {changed, content.substr(0, at)}) {
        std::ofstream(run + name, std::ios::binary) << damaged;
        const Finished finished = Compare(Small("reference"), run);
        // 0: a last bit of a number.
        EXPECT_THAT(finished.exit_code, testing::AnyOf(0, 1, 2))
            << name << " " << at << finished.output << finished.errors;
        EXPECT_LE(std::count(finished.errors.begin(), finished.errors.end(), '\n'), 1);
      }
    }
    std::ofstream(run + name, std::ios::binary) << content;
  }
  EXPECT_EQ(Compare(Small("reference"), run).exit_code, 0);
}

TEST(CompareCommand, NothingComparedIsExitCode3) {
  const Finished run = RunProgram(absl::StrCat("compare --reference ", Small("reference"),
                                               " --candidate ", Small("right"), " --annotations ",
                                               TemporaryFile("skip.yaml", "skip: '*'\n")));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.errors, HasSubstr("nothing was compared"));
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(Compare(Small("reference"), Small("right"), "--element-limit 10").exit_code, 3);
}

TEST(CompareCommand, WrongArgumentsAreUsageErrors) {
  EXPECT_EQ(RunProgram("compare --reference x").exit_code, 64);
  EXPECT_EQ(Compare("/nowhere", Small("right")).exit_code, 64);
  EXPECT_EQ(Compare(Small("reference"), "/nowhere").exit_code, 64);
  EXPECT_EQ(Compare(Small("reference"), Small("right"), "--json /nowhere/x").exit_code, 64);
  EXPECT_EQ(Compare(Small("reference"), Small("right"), "--element-limit 0").exit_code, 64);
  EXPECT_EQ(Compare(Small("reference"), Small("right"), "--stage-inputs /dev/null/x").exit_code,
            64);
  EXPECT_EQ(RunProgram(absl::StrCat("compare --reference ", Small("reference"), " --candidate ",
                                    Small("right"), " --annotations /nowhere.yaml"))
                .exit_code,
            64);
}

TEST(CompareCommand, StageInputsAreWrittenForEachRank) {
  const TemporaryDirectory directory("compare_inputs");
  const std::string inputs = directory.path() + "inputs";
  EXPECT_EQ(Compare(Small("reference"), Small("broken"), "--stage-inputs " + inputs).exit_code, 1);
  EXPECT_TRUE(fs::exists(inputs + "/rank0.safetensors"));
  EXPECT_TRUE(fs::exists(inputs + "/rank1.safetensors"));
}

}  // namespace
}  // namespace planproof::cli
