// One rank's journal: frames, steps, late values, and what is wrong with files.
#include "monitor/journal/rank_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "monitor/journal/words.h"
#include "tests/monitor/journal_writer.h"
#include "tests/temporary_directory.h"

namespace planproof::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RankJournalTest : public testing::Test {
 protected:
  RankJournal Written(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return RankJournal(path_);
  }
  void Append(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::app) << bytes;
  }
  // Numbers of the steps that are there, to the end.
  static std::vector<int64_t> Steps(RankJournal* journal) {
    std::vector<int64_t> steps;
    while (*journal->ReadOn(false) == Arrival::kStep) {
      steps.push_back(journal->step()->step);
      journal->Pass();
    }
    return steps;
  }
  static std::string ErrorOf(RankJournal* journal) {
    while (true) {
      const auto arrival = journal->ReadOn(false);
      if (!arrival.ok()) return std::string(arrival.status().message());
      if (*arrival != Arrival::kStep) return "";
      journal->Pass();
    }
  }

  TemporaryDirectory directory_{"rank_journal"};
  std::string path_ = directory_.path() + "rank00000.journal";
};

TEST_F(RankJournalTest, StepsHaveTheirEventsAndValues) {
  JournalWriter writer;
  writer.Tensors({"w", "b"});
  writer.Values(0, Moment::kBefore, "exp_avg", {1, 2});
  writer.Elements(0, Moment::kAfter, "parameter", {0.5, 0.25});
  writer.PlainStep(0);
  writer.Close(1);
  RankJournal journal = Written(writer.bytes());
  ASSERT_EQ(*journal.ReadOn(false), Arrival::kStep);
  const StepOfRank& step = *journal.step();
  EXPECT_TRUE(step.sampled);
  EXPECT_TRUE(step.complete);
  ASSERT_EQ(step.events.size(), 5u);
  EXPECT_EQ(*step.events[0].subject, "SGD");
  ASSERT_EQ(step.values.size(), 1u);
  EXPECT_EQ(step.values[0].kind, TensorSet::kExpAvg);
  EXPECT_THAT(step.values[0].norms, ElementsAre(1, 2));
  EXPECT_EQ((*step.values[0].table)[1].name, "b");
  EXPECT_EQ((*step.table)[0].significand_bits, 24);
  EXPECT_THAT(step.elements[0].values, ElementsAre(0.5, 0.25));
  EXPECT_EQ(journal.header()->optimizers[0].kind, OptimizerKind::kSgd);
}

TEST_F(RankJournalTest, AStepIsHandedOnTwoStepsLater) {
  JournalWriter writer;
  RankJournal journal = Written(writer.bytes());
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(*journal.ReadOn(true), step < 3 ? Arrival::kWaiting : Arrival::kStep) << step;
    const size_t before = writer.bytes().size();
    writer.PlainStep(step);
    Append(writer.bytes().substr(before));
  }
  EXPECT_EQ(journal.step()->step, 0);
}

TEST_F(RankJournalTest, ACutOffFrameWaitsForItsRest) {
  JournalWriter writer;
  for (int64_t step = 0; step < 3; ++step) writer.PlainStep(step);
  for (const size_t cut : {size_t{1}, size_t{10}, size_t{100}}) {
    RankJournal journal = Written(writer.bytes().substr(0, writer.bytes().size() - cut));
    EXPECT_EQ(*journal.ReadOn(true), Arrival::kWaiting);
    EXPECT_GT(journal.unfinished_bytes(), 0u);
    Append(writer.bytes().substr(writer.bytes().size() - cut));
    EXPECT_EQ(*journal.ReadOn(true), Arrival::kStep);
  }
  RankJournal journal = Written(writer.bytes().substr(0, writer.bytes().size() - 1));
  EXPECT_THAT(Steps(&journal), ElementsAre(0, 1));
}

TEST_F(RankJournalTest, LateValuesAreFilledIn) {
  JournalWriter writer;
  writer.Step(0, {{.type = EventType::kLoss, .a = 5},
                  {.type = EventType::kLoss, .flags = kComesLate, .a = NAN}});
  writer.PlainStep(1);
  writer.Late(0, EventType::kLoss, 1, 0, 7.5);
  writer.PlainStep(2);
  RankJournal journal = Written(writer.bytes());
  ASSERT_EQ(*journal.ReadOn(false), Arrival::kStep);
  EXPECT_EQ(journal.step()->events[0].a, 5);
  EXPECT_EQ(journal.step()->events[1].a, 7.5);
}

TEST_F(RankJournalTest, LearningRatesOfEventsAreOptions) {
  JournalWriter writer;
  writer.Tensors({"w"});
  writer.Json(
      FrameKind::kOptions,
      {{"optimizer", 0}, {"groups", {{{"lr", 0.5}, {"tensors", {0}}, {"others", {{4, 2}}}}}}});
  writer.PlainStep(0);
  writer.Step(1, {{.type = EventType::kLearningRate, .subject = "SGD", .a = 0.25}});
  RankJournal journal = Written(writer.bytes());
  std::vector<double> rates;
  while (*journal.ReadOn(false) == Arrival::kStep) {
    const ParameterGroup& group = journal.step()->options.at(0).groups.at(0);
    rates.push_back(group.options.at(0).second.number);
    EXPECT_EQ(group.others.at(0), (std::vector<int64_t>{4, 2}));
    journal.Pass();
  }
  EXPECT_THAT(rates, ElementsAre(0.5, 0.25));
}

TEST_F(RankJournalTest, ALateLearningRateIsThatOfItsStepAndOfThoseAfterIt) {
  JournalWriter writer;
  writer.Tensors({"w"});
  writer.Json(FrameKind::kOptions,
              {{"optimizer", 0}, {"groups", {{{"lr", "Tensor"}, {"tensors", {0}}}}}});
  const auto comes_late = [] {
    return JournalWriter::EventToWrite{
        .type = EventType::kLearningRate, .subject = "SGD", .flags = kComesLate, .a = NAN};
  };
  writer.Step(0, {comes_late()});
  writer.PlainStep(1);
  writer.Late(0, EventType::kLearningRate, 0, 0, 0.5);
  writer.Step(2, {comes_late()});
  writer.PlainStep(3);
  writer.Late(2, EventType::kLearningRate, 0, 0, 0.25);
  RankJournal journal = Written(writer.bytes());
  std::vector<double> rates;
  while (*journal.ReadOn(false) == Arrival::kStep) {
    rates.push_back(journal.step()->options.at(0).groups.at(0).options.at(0).second.number);
    journal.Pass();
  }
  EXPECT_THAT(rates, ElementsAre(0.5, 0.5, 0.25, 0.25));
}

TEST_F(RankJournalTest, OptionsAreThoseOfTheStepsAfterThem) {
  JournalWriter writer;
  writer.Tensors({"w"});
  const auto options = [&](double rate) {
    writer.Json(FrameKind::kOptions,
                {{"optimizer", 0}, {"groups", {{{"lr", rate}, {"tensors", {0}}}}}});
  };
  options(0.5);
  writer.PlainStep(0);
  options(0.75);
  options(0.25);
  writer.PlainStep(1);
  writer.PlainStep(2);
  RankJournal journal = Written(writer.bytes());
  std::vector<double> rates;
  while (*journal.ReadOn(false) == Arrival::kStep) {
    rates.push_back(journal.step()->options.at(0).groups.at(0).options.at(0).second.number);
    journal.Pass();
  }
  EXPECT_THAT(rates, ElementsAre(0.5, 0.25, 0.25));
}

TEST_F(RankJournalTest, UnknownFramesAndEventsAreSkipped) {
  JournalWriter writer;
  writer.Frame(static_cast<FrameKind>(77), "something newer");
  writer.Step(0, {{.type = static_cast<EventType>(99)}});
  RankJournal journal = Written(writer.bytes());
  EXPECT_THAT(Steps(&journal), ElementsAre(0));
  EXPECT_EQ(EventName(static_cast<EventType>(99)), "event 99");
}

TEST_F(RankJournalTest, DamageIsNamedWithItsPlace) {
  JournalWriter writer;
  writer.PlainStep(0);
  std::string damaged = writer.bytes();
  damaged[damaged.size() - 20] ^= 1;
  RankJournal journal = Written(damaged);
  EXPECT_THAT(ErrorOf(&journal), HasSubstr("rank00000.journal: at byte "));
  RankJournal again = Written(damaged);
  EXPECT_THAT(ErrorOf(&again), HasSubstr("the check of a frame fails"));
  RankJournal other = Written("no journal at all");
  EXPECT_THAT(ErrorOf(&other), HasSubstr("at byte 0: no journal of a training run"));
  RankJournal version = Written(std::string("PPMONIT\n\2\0\0\0", 12));
  EXPECT_THAT(ErrorOf(&version), HasSubstr("version 2"));
}

// Facts come late, but not from before the last four tables.
TEST_F(RankJournalTest, FourTablesAreKept) {
  const auto error = [&](int tables) {
    JournalWriter writer;
    for (int table = 0; table < tables; ++table) writer.Tensors({"w"});
    writer.Values(0, Moment::kBefore, "p", {1}, /*table=*/0);
    RankJournal journal = Written(writer.bytes());
    return ErrorOf(&journal);
  };
  EXPECT_EQ(error(4), "");
  EXPECT_THAT(error(5), HasSubstr("more than 4 tables ago"));
}

TEST_F(RankJournalTest, FramesThatContradictThemselvesAreErrors) {
  const auto error = [&](const std::function<void(JournalWriter*)>& write) {
    JournalWriter writer;
    writer.Tensors({"w"});
    write(&writer);
    RankJournal journal = Written(writer.bytes());
    return ErrorOf(&journal);
  };
  EXPECT_EQ(error([](JournalWriter*) {}), "");
  EXPECT_THAT(error([](JournalWriter* w) {
                w->Values(0, Moment::kBefore, "p", {1, 2});
              }),
              HasSubstr("there is no tensor 1"));
  EXPECT_THAT(error([](JournalWriter* w) { w->Values(0, Moment::kBefore, "p", {1}, 3); }),
              HasSubstr("table 3 is not there"));
  EXPECT_THAT(error([](JournalWriter* w) { w->PlainStep(2), w->PlainStep(1); }),
              HasSubstr("step 1 comes after step 2"));
  EXPECT_THAT(error([](JournalWriter* w) { w->Frame(FrameKind::kStep, "short"); }),
              HasSubstr("another size"));
  EXPECT_THAT(error([](JournalWriter* w) {
                w->Json(FrameKind::kTensors, {{"tensors", 3}});
              }),
              HasSubstr("is no list"));
  EXPECT_THAT(error([](JournalWriter* w) { w->Frame(FrameKind::kClose, std::string(99, '[')); }),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(error([](JournalWriter* w) { w->Frame(FrameKind::kHeader, "{}"); }),
              HasSubstr("a second header"));
}

TEST_F(RankJournalTest, AFrameLargerThanAllowedIsNotRead) {
  JournalWriter writer;
  JournalWriter::Number<uint32_t>((16 << 20) + 1, &writer.bytes());
  writer.bytes() += '\5';
  RankJournal journal = Written(writer.bytes());
  EXPECT_THAT(ErrorOf(&journal), HasSubstr("a frame of 16777217 bytes"));
}

TEST(Words, CollectivesAreRead) {
  const Collective collective = CollectiveFromText("all_reduce [0,3] sum float32");
  EXPECT_EQ(collective.kind, CollectiveKind::kAllReduce);
  EXPECT_THAT(collective.group, ElementsAre(0, 3));
  EXPECT_EQ(collective.dtype, "float32");
  EXPECT_EQ(CollectiveFromText("").kind, CollectiveKind::kOther);
}

}  // namespace
}  // namespace planproof::monitor
