// Files go to the reader that knows them.
#include "frontend/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "frontend/load_problem.h"

namespace planproof::frontend {
namespace {

using testing::HasSubstr;

TEST(RegistryTest, AFileIsReadByWhoRecognisesItsContent) {
  EXPECT_EQ(ReaderOf({"a.txt", " {\"planproof\": 1}"}), &plan::PlanFiles());
  EXPECT_EQ(ReaderOf({"a.json", "\x80\x04 pickle"}), &nnscaler::PicklePairs());
  EXPECT_EQ(ReaderOf({"a.plan", "\x08\x01"}), &plan::PlanFiles());
  EXPECT_EQ(ReaderOf({"a.json", ""}), nullptr);
  EXPECT_EQ(ReaderOf({"a.json", "\x80"}), nullptr);
  EXPECT_EQ(ReaderOf({"a.json", "import os"}), nullptr);
}

TEST(RegistryTest, EachReaderIsListedOnceAndHasAName) {
  const std::vector<const Reader*>& readers = Readers();
  ASSERT_GE(readers.size(), 2);
  for (const Reader* reader : readers) {
    EXPECT_EQ(std::count(readers.begin(), readers.end(), reader), 1);
    EXPECT_FALSE(reader->Name().empty());
    EXPECT_LE(reader->HowMany().least, reader->HowMany().most);
  }
}

class LoadTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) / "planproof_load";
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string File(const std::string& name, const std::string& content) {
    const std::string path = (directory_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  static std::string Said(const absl::StatusOr<lineage::Problem>& problem) {
    return std::string(problem.status().message());
  }

  std::filesystem::path directory_;
};

TEST_F(LoadTest, FilesOfTwoFormatsAreNoPair) {
  const auto problem = LoadProblem({File("a", "{}"), File("b", "\x80\x04")}, {});
  EXPECT_THAT(Said(problem), HasSubstr("they are no pair"));
  EXPECT_FALSE(IsUsageError(problem.status())) << "that is about the plan";
}

TEST_F(LoadTest, AFormatThatNobodyKnowsIsNamedWithThoseThatAre) {
  const auto problem = LoadProblem({File("a", "hello")}, {});
  EXPECT_TRUE(absl::IsInvalidArgument(problem.status()));
  EXPECT_THAT(Said(problem), HasSubstr("nnScaler pickle, plan file"));
}

TEST_F(LoadTest, TooFewFilesAndMissingOnesAreMistakesOfTheCaller) {
  EXPECT_TRUE(IsUsageError(LoadProblem({File("a", "\x80\x04")}, {}).status()));
  EXPECT_TRUE(
      IsUsageError(LoadProblem({File("a", "{}"), File("b", "{}"), File("c", "{}")}, {}).status()));
  EXPECT_TRUE(IsUsageError(LoadProblem({(directory_ / "none").string()}, {}).status()));
  EXPECT_TRUE(IsUsageError(LoadProblem({directory_.string()}, {}).status()));
  EXPECT_TRUE(IsUsageError(LoadProblem({}, {}).status()));
}

}  // namespace
}  // namespace planproof::frontend
