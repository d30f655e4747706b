// Journals of several ranks, put together.
#include "monitor/journal/run_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/monitor/journal_writer.h"
#include "tests/temporary_directory.h"

namespace planproof::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JournalWriter Ranks(int rank, int world, int64_t steps, bool close = true) {
  JournalWriter writer(rank, world);
  for (int64_t step = 0; step < steps; ++step) writer.PlainStep(step);
  if (close) writer.Close(steps);
  return writer;
}

struct ReadRunResult {
  std::vector<size_t> ranks;  // of each step
  std::vector<Notice> notices;
  std::string error;
};

ReadRunResult ReadAll(const std::string& directory, const ReadingOptions& options) {
  ReadRunResult result;
  auto run = RunJournal::Open(directory, options);
  if (!run.ok()) return {.error = std::string(run.status().message())};
  while (true) {
    const auto arrival = (*run)->ReadOn();
    for (Notice& notice : (*run)->TakeNotices()) result.notices.push_back(std::move(notice));
    if (!arrival.ok()) result.error = std::string(arrival.status().message());
    if (!arrival.ok() || *arrival != Arrival::kStep) return result;
    EXPECT_EQ((*run)->step().step, static_cast<int64_t>(result.ranks.size()));
    result.ranks.push_back((*run)->step().ranks.size());
  }
}

TEST(RunJournal, StepsHaveAllRanks) {
  TemporaryDirectory directory("run_journal_all");
  for (int rank = 0; rank < 3; ++rank) Ranks(rank, 3, 4).WriteTo(directory.path(), rank);
  const ReadRunResult result = ReadAll(directory.path(), {});
  EXPECT_THAT(result.ranks, ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(result.notices, IsEmpty());
}

TEST(RunJournal, AKilledRankIsLeftOutWithANotice) {
  TemporaryDirectory directory("run_journal_killed");
  Ranks(0, 2, 4).WriteTo(directory.path(), 0);
  Ranks(1, 2, 2, /*close=*/false).WriteTo(directory.path(), 1);
  const ReadRunResult result = ReadAll(directory.path(), {});
  EXPECT_THAT(result.ranks, ElementsAre(2, 2, 1, 1));
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_EQ(result.notices[0].subject, "rank 1");
  EXPECT_THAT(result.notices[0].statement, HasSubstr("killed"));
}

TEST(RunJournal, AMissingRankIsNoted) {
  TemporaryDirectory directory("run_journal_missing");
  Ranks(0, 2, 2).WriteTo(directory.path(), 0);
  const ReadRunResult result = ReadAll(directory.path(), {});
  EXPECT_THAT(result.ranks, ElementsAre(1, 1));
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_EQ(result.notices[0].subject, "2 ranks");
}

TEST(RunJournal, ALateRankIsWaitedForUntilItIsFarBehind) {
  TemporaryDirectory directory("run_journal_late");
  Ranks(0, 2, 12, /*close=*/false).WriteTo(directory.path(), 0);
  Ranks(1, 2, 4, /*close=*/false).WriteTo(directory.path(), 1);
  EXPECT_THAT(ReadAll(directory.path(), {.follow = true}).ranks, ElementsAre(2, 2));
  const ReadRunResult result = ReadAll(directory.path(), {.follow = true, .most_steps_behind = 8});
  EXPECT_EQ(result.ranks.size(), 10u);
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_THAT(result.notices[0].statement, HasSubstr("left out"));
}

TEST(RunJournal, JournalsOfTwoRunsAreRefused) {
  TemporaryDirectory directory("run_journal_mixed");
  Ranks(0, 2, 2).WriteTo(directory.path(), 0);
  Ranks(1, 3, 2).WriteTo(directory.path(), 1);
  EXPECT_THAT(ReadAll(directory.path(), {}).error, HasSubstr("several runs in one directory"));
  Ranks(0, 2, 2).WriteTo(directory.path(), 1);
  EXPECT_THAT(ReadAll(directory.path(), {}).error, HasSubstr("its header says rank 0"));
}

TEST(RunJournal, ADirectoryWithoutJournalsIsRefused) {
  TemporaryDirectory directory("run_journal_none");
  EXPECT_THAT(ReadAll(directory.path(), {}).error, HasSubstr("no journals rankNNNNN.journal"));
  EXPECT_THAT(ReadAll(directory.path() + "missing", {}).error, HasSubstr("no directory"));
}

}  // namespace
}  // namespace planproof::monitor
