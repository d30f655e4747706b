// A run is followed while its journal grows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/journal/run_journal.h"
#include "monitor/laws/laws.h"
#include "monitor/watch.h"
#include "tests/monitor/journal_writer.h"
#include "tests/temporary_directory.h"

namespace planproof::monitor {
namespace {

// Observes all steps that are there; whether the run has ended.
bool ReadAll(RunJournal* run, Watch* watch) {
  while (true) {
    const auto arrival = run->ReadOn();
    EXPECT_TRUE(arrival.ok()) << arrival.status();
    if (!arrival.ok() || *arrival != Arrival::kStep)
      return !arrival.ok() || *arrival == Arrival::kEnded;
    watch->Observe(run->run(), run->step());
  }
}

TEST(Follow, AnAlarmIsRaisedWithinTwoStepsOfItsStepsArrival) {
  constexpr int64_t kFirstWrong = 3;
  const TemporaryDirectory directory("follow");
  auto run = *RunJournal::Open(directory.path(), {.follow = true});
  std::vector<Alarm> raised;
  Watch watch(AllLaws(), MutedRules(), [&](const Alarm& alarm) { raised.push_back(alarm); });
  JournalWriter writer;
  for (int64_t step = 0; step < kFirstWrong + RankJournal::kStepsToWait; ++step) {
    writer.PlainStep(step, step < kFirstWrong);
    writer.WriteTo(directory.path());
    EXPECT_FALSE(ReadAll(run.get(), &watch));
    EXPECT_TRUE(raised.empty()) << step;
  }
  writer.PlainStep(kFirstWrong + RankJournal::kStepsToWait, false);
  writer.WriteTo(directory.path());
  EXPECT_FALSE(ReadAll(run.get(), &watch));
  ASSERT_EQ(raised.size(), 1);
  EXPECT_EQ(raised[0].step, kFirstWrong);
  EXPECT_EQ(raised[0].rule, "gradients_cleared");
  EXPECT_LE(RankJournal::kStepsToWait, 2);
  writer.Close(6);
  writer.WriteTo(directory.path());
  EXPECT_TRUE(ReadAll(run.get(), &watch));
  EXPECT_EQ(raised.size(), 1);
}

}  // namespace
}  // namespace planproof::monitor
