// `planproof convert` and `planproof show --operators`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

int64_t LineCount(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// An empty directory of this test's own.
std::string EmptyDirectory(const std::string& name) {
  const std::string path = testing::TempDir() + "convert_" + name + std::to_string(getpid());
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST(Convert, APathThatCannotBeWrittenIsAUsageErrorOfOneLine) {
  const std::string plan = RepositoryPath("examples/mlp_tp2.json");
  const std::string directory = EmptyDirectory("unwritable");
  for (const std::string& path :
       {std::string("/nonexistent/directory/out.plan"), directory, std::string("/dev/full")}) {
    for (const char* readable : {"", "--readable "}) {
      const Finished finished = RunProgram("convert " + (readable + plan) + " -o " + path);
      EXPECT_EQ(finished.exit_code, 64) << path;
      EXPECT_EQ(finished.output, "") << path;
      EXPECT_THAT(finished.errors, HasSubstr(path + ": cannot be written: ")) << path;
      EXPECT_EQ(LineCount(finished.errors), 1) << finished.errors;
    }
  }
  EXPECT_TRUE(FilesIn(directory).empty());
}

TEST(Convert, AFileThatIsThereStaysWhenTheInputIsWrong) {
  const std::string directory = EmptyDirectory("stays");
  std::ofstream(directory + "/out.plan") << "before";
  const Finished finished =
      RunProgram("convert " + RepositoryPath("examples/first_plan/wrong_name.json") + " -o " +
                 directory + "/out.plan");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(ContentOf(directory + "/out.plan"), "before");
}

// A file system without room: the file that was there is whole, and nothing lies beside it.
TEST(Convert, AFileThatIsThereStaysWhenTheDiskIsFull) {
  const std::string directory = EmptyDirectory("full");
  std::ofstream(directory + "/out.plan") << "before";
  const Finished finished = RunCommand("ulimit -f 8; trap '' XFSZ; " PLANPROOF_PROGRAM " convert " +
                                       RepositoryPath("examples/llama_dp2_pp2_tp2_mb2.json") +
                                       " -o " + directory + "/out.plan");
  EXPECT_EQ(finished.exit_code, 64) << finished.output << finished.errors;
  EXPECT_EQ(LineCount(finished.errors), 1) << finished.errors;
  EXPECT_EQ(ContentOf(directory + "/out.plan"), "before");
  EXPECT_THAT(FilesIn(directory), testing::ElementsAre("out.plan"));
}

TEST(Convert, ReplacesAFileAndKeepsItsModeAndItsLinks) {
  const std::string directory = EmptyDirectory("replaces");
  std::ofstream(directory + "/out.plan") << "before";
  fs::permissions(directory + "/out.plan", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("out.plan", directory + "/link.plan");
  const Finished finished = RunProgram("convert " + RepositoryPath("examples/mlp_tp2.json") +
                                       " -o " + directory + "/link.plan");
  EXPECT_EQ(finished.exit_code, 0) << finished.errors;
  EXPECT_TRUE(fs::is_symlink(directory + "/link.plan"));
  EXPECT_EQ(fs::status(directory + "/out.plan").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(RunProgram("verify -q --no-cache " + directory + "/out.plan").exit_code, 0);
  EXPECT_EQ(FilesIn(directory).size(), 2);
}

TEST(Convert, WritesToAPipe) {
  const Finished finished =
      RunCommand(PLANPROOF_PROGRAM " convert --readable " +
                 RepositoryPath("examples/mlp_tp2.json") + " -o /dev/stdout | head -1");
  EXPECT_EQ(finished.output, "{\n") << finished.errors;
}

TEST(Convert, AGeneratedPlanIsReadableAndHasTheSameVerdict) {
  const std::string directory = EmptyDirectory("generated");
  ASSERT_EQ(RunProgram("generate --model llama-tiny --dp 2 --tp 2 --output " + directory).exit_code,
            0);
  const std::string pair = directory + "/logical.plan " + directory + "/parallel.plan";
  const std::string readable = directory + "/readable.json";
  const Finished finished = RunProgram("convert --readable " + pair + " -o " + readable);
  EXPECT_EQ(finished.exit_code, 0) << finished.errors;
  EXPECT_THAT(ContentOf(readable), HasSubstr("\n      {\"op\": \"embedding\", \"in\": ["));
  const Finished verified = RunProgram("verify --no-cache " + readable);
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  // One role at a time.
  for (const char* role : {"logical", "parallel"}) {
    const std::string file = directory + "/" + role;
    EXPECT_EQ(RunProgram("convert --readable " + file + ".plan -o " + file + ".json").exit_code, 0);
  }
  EXPECT_EQ(RunProgram("verify -q --no-cache " + directory + "/logical.json " + directory +
                       "/parallel.json")
                .exit_code,
            0);
}

TEST(Convert, WhatHasNoReadableFormIsAUsageError) {
  const std::string raw = EmptyDirectory("raw") + "/raw.plan";
  ASSERT_EQ(
      RunProgram("convert " + RepositoryPath("examples/mlp_tp2.json") + " -o " + raw).exit_code, 0);
  for (const std::string& file : {raw, TemporaryFile("one.pkl", "\x80\x04N.")}) {
    const Finished finished = RunProgram("convert --readable " + file + " -o /dev/null");
    EXPECT_EQ(finished.exit_code, 64) << file;
    EXPECT_THAT(finished.errors, HasSubstr("planproof show --operators"));
    EXPECT_EQ(LineCount(finished.errors), 1);
  }
}

TEST(ShowOperators, ListsEveryOperatorOnALine) {
  const Finished finished =
      RunProgram("show --operators " + RepositoryPath("examples/pipeline_1f1b.json"));
  EXPECT_EQ(finished.exit_code, 0) << finished.errors;
  EXPECT_EQ(LineCount(finished.output), 2 + 6 + 13);
  EXPECT_THAT(finished.output,
              HasSubstr("\n  h[8, 16] = linear(x[8, 8], w[16, 8]); at model.py:3: h = x @ w.T\n"));
  EXPECT_THAT(
      finished.output,
      ContainsRegex("\n  stage1 F0      h\\[1, 16\\] = move\\(stage0:h\\[1, 16\\]\\); varies "
                    "over dp, microbatch; at .*pipeline_1f1b.json:37\n"));
  EXPECT_THAT(finished.output, HasSubstr("all_reduce(grad.w.sum[16, 8], over=dp); at "));
  EXPECT_THAT(finished.output, HasSubstr("; named y.backward; varies over dp, microbatch; at "));
}

TEST(ShowOperators, TakesDeclarationsInBothWays) {
  const std::string plan = RepositoryPath("examples/own_operator/tp2.json");
  const std::string declarations = RepositoryPath("examples/own_operator/squared_relu_linear.op");
  EXPECT_EQ(RunProgram("show " + plan).exit_code, 3) << "its operator is not declared";
  for (const std::string& arguments :
       {"--operators " + declarations + " " + plan, plan + " --operators " + declarations,
        "--declarations " + declarations + " " + plan}) {
    const Finished finished = RunProgram("show " + arguments);
    EXPECT_EQ(finished.exit_code, 0) << finished.errors;
    EXPECT_THAT(finished.output, HasSubstr("required outputs: ")) << arguments;
  }
  const Finished listed =
      RunProgram("show --operators --declarations " + declarations + " " + plan);
  EXPECT_EQ(listed.exit_code, 0) << listed.errors;
  EXPECT_THAT(listed.output, HasSubstr(" = squared_relu_linear("));
}

TEST(ShowOperators, ListsThoseOfPickles) {
  const std::string logical = SharedPlan("mlp_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly2.pkl");
  const std::string parallel = SharedPlan("mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly2.pkl");
  if (logical.empty() || parallel.empty()) GTEST_SKIP() << "no published plans";
  const Finished finished = RunProgram("show --operators " + logical + " " + parallel);
  EXPECT_EQ(finished.exit_code, 0) << finished.errors;
  EXPECT_THAT(finished.output, ContainsRegex("\n  devices 0, 4  .* = linear\\("));
  EXPECT_THAT(finished.output, HasSubstr("parallel graph: "));
  EXPECT_EQ(RunProgram("show --operators " + parallel).exit_code, 64);
}

}  // namespace
}  // namespace planproof::cli
