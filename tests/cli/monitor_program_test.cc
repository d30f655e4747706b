#include "cli/monitor_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace planproof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class AuditsOfRunTest : public testing::Test {
 protected:
  AuditsOfRunTest() { std::filesystem::create_directories(directory_); }
  ~AuditsOfRunTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name) { std::ofstream(directory_ / name) << "{}"; }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AuditsOfRunTest, AreNamedByRankAndStep) {
  Write("rank00001.step000000000012.trace");
  Write("rank00000.step000000000012.trace");
  Write("rank00000.step000000000003.trace");
  Write("rank00000.journal");
  Write("rank0000x.step000000000003.trace");
  Write("rank00000.step.trace");
  EXPECT_THAT(AuditsOfRun(directory_)->Steps(), ElementsAre(Pair(3, 0), Pair(12, 0), Pair(12, 1)));
}

// Files that come within the resolution of the directory's time are found, too.
TEST_F(AuditsOfRunTest, OfARunThatGoesOnAreFound) {
  const auto audits = AuditsOfRun(directory_);
  EXPECT_THAT(audits->Steps(), IsEmpty());
  const auto time = std::filesystem::last_write_time(directory_);
  Write("rank00000.step000000000003.trace");
  std::filesystem::last_write_time(directory_, time);
  EXPECT_THAT(audits->Steps(), SizeIs(1));
}

TEST_F(AuditsOfRunTest, AreNoMoreThanTheLimit) {
  for (const char* name : {"rank00000.step000000000001.trace", "rank00000.step000000000002.trace",
                           "rank00000.step000000000003.trace"}) {
    Write(name);
  }
  EXPECT_THAT(AuditsOfRun(directory_, 3)->Steps(), SizeIs(3));
  EXPECT_THAT(AuditsOfRun(directory_, 2)->Steps(), SizeIs(2));
}

}  // namespace
}  // namespace planproof::cli
