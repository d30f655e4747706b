#include "monitor/proved/program_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/monitor/proved/small_program.h"

namespace planproof::monitor {
namespace {

using ::testing::HasSubstr;

ProgramComparison Compared(const RankProgram& proved, const RankProgram& run,
                           const SizeRatios& ratios = SizeRatios()) {
  return ComparePrograms(proved, run, ratios, [](const auto& proved_group, const auto& run_group) {
    return proved_group == run_group;
  });
}

TEST(ProgramComparison, EqualProgramsAreEqual) {
  const ProgramComparison found = Compared(ProgramOf({}), ProgramOf({}));
  EXPECT_FALSE(found.difference.has_value());
  EXPECT_EQ(found.compared, 5);
  EXPECT_TRUE(found.same_sizes);
}

TEST(ProgramComparison, AnotherWidthAndBatchIsNoDifference) {
  const ProgramComparison found = Compared(ProgramOf({}), ProgramOf({.width = 4096, .batch = 3}));
  EXPECT_FALSE(found.difference.has_value()) << found.difference->statement;
  EXPECT_FALSE(found.same_sizes);
}

TEST(ProgramComparison, AnotherNumberIs) {
  const ProgramComparison found = Compared(ProgramOf({}), ProgramOf({.scale = 0.25}));
  ASSERT_TRUE(found.difference.has_value());
  EXPECT_EQ(found.difference->expected, 0.5);
  EXPECT_EQ(found.difference->found, 0.25);
  EXPECT_EQ(found.difference->place, "train.py:7");
}

TEST(ProgramComparison, AMeanOverMoreRanksHasTheirNumber) {
  SizeRatios ratios;
  ratios.Add(2, 8);
  EXPECT_FALSE(Compared(ProgramOf({}), ProgramOf({.scale = 0.125}), ratios).difference.has_value());
  EXPECT_TRUE(Compared(ProgramOf({}), ProgramOf({.scale = 0.3}), ratios).difference.has_value());
}

TEST(ProgramComparison, ACollectiveThatIsLeftOutIsTold) {
  const ProgramComparison found = Compared(ProgramOf({}), ProgramOf({.reduces = false}));
  ASSERT_TRUE(found.difference.has_value());
  EXPECT_THAT(found.difference->statement, HasSubstr("all_reduce"));
  EXPECT_THAT(found.difference->statement, HasSubstr("the run does not have it"));
}

TEST(ProgramComparison, SoIsOneThatIsAdded) {
  const ProgramComparison found = Compared(ProgramOf({.reduces = false}), ProgramOf({}));
  ASSERT_TRUE(found.difference.has_value());
  EXPECT_THAT(found.difference->statement,
              HasSubstr("the proved iteration does not have all_reduce"));
}

// An expert without tokens runs no operators, or others: what lacks may be the data's doing.
TEST(ProgramComparison, EndsWhereDataMayDecideWhichOperatorsRun) {
  for (const bool in_run : {true, false}) {
    RankProgram proved = ProgramOf({}), run = ProgramOf({.reduces = false});
    (in_run ? run : proved).sizes_by_data = true;
    const ProgramComparison found = Compared(proved, run);
    EXPECT_FALSE(found.difference.has_value());
    EXPECT_TRUE(found.ended_by_data);
    EXPECT_GT(found.compared, 0);
    EXPECT_LT(found.compared, 5);
  }
  RankProgram alike = ProgramOf({});
  alike.sizes_by_data = true;
  EXPECT_FALSE(Compared(alike, alike).ended_by_data);
}

TEST(ProgramComparison, AnotherGroupIsADifference) {
  const ProgramComparison found = Compared(ProgramOf({}), ProgramOf({.group = {0, 2}}));
  ASSERT_TRUE(found.difference.has_value());
  EXPECT_THAT(found.difference->statement, HasSubstr("another group"));
}

TEST(ProgramComparison, WhatReadsAnotherTensorIsADifference) {
  const auto program = [](bool other) {
    SmallProgram own;
    const int32_t w = own.Tensor({4}, MemoryRole::kParameter, "w");
    const int32_t a = own.Tensor({4}), b = own.Tensor({4});
    own.Call("aten.neg.default", {w}, a);
    own.Call("aten.neg.default", {a}, b);
    own.Call("aten.sub_.Tensor", {w, other ? a : b}, w).writes = {w};
    own.Call("aten.add_.Tensor", {w, b}, w).writes = {w};
    own.Updates(w);
    return RelevantPart(own.program());
  };
  EXPECT_FALSE(Compared(program(false), program(false)).difference.has_value());
  const ProgramComparison found = Compared(program(false), program(true));
  ASSERT_TRUE(found.difference.has_value());
  EXPECT_EQ(found.difference->at, 2);
}

TEST(ProgramComparison, PartsOfTheDataAreReadInOneOrder) {
  const auto program = [](int64_t first, int64_t second) {
    SmallProgram own;
    const int32_t w = own.Tensor({4}, MemoryRole::kParameter, "w");
    own.Tensor({8}, MemoryRole::kData);
    own.Call("aten.add_.Tensor", {w, own.View(1, {4}, first)}, w).writes = {w};
    own.Call("aten.add_.Tensor", {w, own.View(1, {4}, second)}, w).writes = {w};
    own.Updates(w);
    return RelevantPart(own.program());
  };
  EXPECT_FALSE(Compared(program(0, 4), program(0, 4)).difference.has_value());
  EXPECT_TRUE(Compared(program(0, 4), program(4, 0)).difference.has_value());
  EXPECT_TRUE(Compared(program(0, 4), program(0, 0)).difference.has_value());
}

TEST(ProgramComparison, WhatStandsBetweenStepsBelongsToEither) {
  RankProgram run = ProgramOf({});
  run.operators.insert(run.operators.begin(), run.operators.back());
  run.operators[0].between = true;
  EXPECT_FALSE(Compared(ProgramOf({}), run).difference.has_value());
  RankProgram early = ProgramOf({});
  early.operators[0].between = true;
  EXPECT_FALSE(Compared(ProgramOf({}), early).difference.has_value());
}

}  // namespace
}  // namespace planproof::monitor
