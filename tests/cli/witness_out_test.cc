// --witness-out: the counterexample of a refuted plan as a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"
#include "tests/temporary_directory.h"
#include "witness/witness_file.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Finished VerifyAndWrite(const std::string& plan, const std::string& file) {
  return RunProgram(absl::StrCat("verify --no-cache --witness-out ", file, " ",
                                 PLANPROOF_SOURCE_DIR, "/examples/first_plan/", plan));
}

TEST(WitnessOut, ACounterexampleIsReadBackAsItWasReported) {
  const TemporaryDirectory directory("witness_out");
  const std::string file = directory.path() + "witness.safetensors";
  const auto run = VerifyAndWrite("missing_sum.json", file);
  EXPECT_THAT(run.output, StartsWith("REFUTED"));
  const absl::StatusOr<witness::Witness> read = witness::ReadFile(file);
  ASSERT_TRUE(read.ok()) << read.status();
  std::vector<std::string> names;
  for (const witness::Tensor& input : read->inputs) names.push_back(input.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"x", "t", "w"}));
  const witness::Difference& d = read->difference;
  EXPECT_TRUE(d.precision > 53 || d.logical.high < d.parallel.low ||
              d.parallel.high < d.logical.low);
  EXPECT_FALSE(d.what.empty());
}

TEST(WitnessOut, WithoutACounterexampleNothingIsWritten) {
  const TemporaryDirectory directory("witness_out");
  const std::string file = directory.path() + "witness.safetensors";
  const auto run = VerifyAndWrite("plan.json", file);
  EXPECT_THAT(run.output, StartsWith("PROVED"));
  EXPECT_THAT(run.errors, HasSubstr("is not written"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(WitnessOut, AFileThatCannotBeWrittenIsAnError) {
  const auto run = VerifyAndWrite("missing_sum.json", "/nowhere/witness");
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_THAT(run.errors, HasSubstr("/nowhere/witness"));
}

}  // namespace
}  // namespace planproof::cli
