// `planproof lineage`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;

std::string Written() {
  return testing::TempDir() + "lineage" + std::to_string(getpid()) + ".json";
}

TEST(LineageCommand, WhatItWritesNeedsNoInference) {
  for (const std::string plan : {"sequence_parallel_mlp", "ring_attention", "pipeline_1f1b"}) {
    const std::string file = RepositoryPath("examples/daily/" + plan + ".json");
    const Finished wrote = RunProgram("lineage --discard-lineage " + file + " -o " + Written());
    EXPECT_EQ(wrote.exit_code, 0) << wrote.output << wrote.errors;
    EXPECT_THAT(wrote.output, HasSubstr(" relations\n")) << plan;
    const Finished verified = RunProgram("verify -q --no-cache --no-infer " + Written());
    EXPECT_EQ(verified.exit_code, 0) << plan << verified.output << verified.errors;
    std::filesystem::remove(Written());
  }
}

TEST(LineageCommand, AWrongPlanStaysWrong) {
  const std::string file = RepositoryPath("examples/mlp_tp2_broken.json");
  const Finished wrote = RunProgram("lineage --discard-lineage " + file + " -o " + Written());
  EXPECT_EQ(wrote.exit_code, 1) << wrote.output << wrote.errors;
  const Finished verified = RunProgram("verify -q --no-cache " + Written());
  EXPECT_EQ(verified.exit_code, 1) << verified.output << verified.errors;
  std::filesystem::remove(Written());
}

TEST(LineageCommand, WhatHasNoProgramsIsAUsageError) {
  const std::string file = Written();
  ASSERT_EQ(
      RunProgram("convert " + RepositoryPath("examples/mlp_tp2.json") + " -o " + file).exit_code,
      0);
  const Finished finished = RunProgram("lineage " + file + " -o " + file + ".out");
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_THAT(finished.errors, HasSubstr("a raw problem"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace planproof::cli
