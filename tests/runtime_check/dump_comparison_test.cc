// Comparisons of dumps, from files that the test writes.
#include "runtime_check/dump_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime_check/dumped_values.h"
#include "runtime_check/stage_inputs.h"
#include "tests/dump_files.h"
#include "tests/temporary_directory.h"

namespace planproof::runtime_check {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const nlohmann::json kTwo = nlohmann::json::parse(R"([["tp", 2]])");

class DumpComparison : public testing::Test {
 protected:
  absl::StatusOr<DumpReport> Run(const std::string& annotations = "tensors: []\n",
                                 const DumpLimits& limits = {}) const {
    const auto reference = dumps::ReadReferenceDump(Reference());
    EXPECT_TRUE(reference.ok()) << reference.status();
    const auto candidate = dumps::ReadDump(Candidate());
    EXPECT_TRUE(candidate.ok()) << candidate.status();
    const auto parsed = dumps::ParseAnnotations(annotations, "a.yaml");
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return CompareDumps(*reference, *candidate, *parsed, limits);
  }
  DumpReport Report(const std::string& annotations = "tensors: []\n") const {
    absl::StatusOr<DumpReport> report = Run(annotations);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : DumpReport{};
  }
  std::string Reference() const { return directory_.path() + "reference"; }
  std::string Candidate() const { return directory_.path() + "candidate"; }
  void WriteRanks(const std::vector<RankTensors>& ranks, const std::string& dtype = "float32") {
    std::vector<TestRank> written;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      written.push_back({{static_cast<int64_t>(rank)}, ranks[rank]});
    WriteDump(Candidate(), nlohmann::json::array({nlohmann::json::array({"tp", ranks.size()})}),
              written, dtype);
  }

  TemporaryDirectory directory_{"dump_comparison"};
};

constexpr char kSplit[] = "tensors:\n  - name: forward/*\n    split: {0: tp}\n";

TEST_F(DumpComparison, PartsOfTheReferenceAreNoAlarm) {
  WriteReference(Reference(), {{"forward/a", Float32({4}, {1, 2, 3, 4})}});
  WriteRanks({{{"forward/a", Float32({2}, {1, 2})}}, {{"forward/a", Float32({2}, {3, 4})}}});
  const DumpReport report = Report(kSplit);
  EXPECT_EQ(report.first, -1);
  EXPECT_EQ(report.compared, 1);
  EXPECT_EQ(report.samples, 2);
  EXPECT_EQ(report.tensors[0].measure.error, 0);
}

TEST_F(DumpComparison, AWrongElementIsNamedWithItsRankAndPlace) {
  WriteReference(Reference(), {{"forward/a", Float32({4}, {1, 2, 3, 4})}});
  WriteRanks({{{"forward/a", Float32({2}, {1, 2})}}, {{"forward/a", Float32({2}, {3, 4.5})}}});
  const DumpReport report = Report(kSplit);
  ASSERT_EQ(report.first, 0);
  const DumpTensorReport& first = report.tensors[0];
  EXPECT_EQ(first.finding, DumpFinding::kDiffers);
  EXPECT_EQ(first.rank, 1);
  EXPECT_THAT(first.ranks, ElementsAre(1));
  ASSERT_EQ(first.at.size(), 1u);
  EXPECT_THAT(first.at[0].values, ElementsAre(1));
  EXPECT_THAT(first.measure.parallel_index, ElementsAre(1));
  EXPECT_THAT(first.measure.logical_index, ElementsAre(3));
  EXPECT_EQ(first.measure.parallel_value, 4.5);
}

// One epsilon is what is expected; 24 times of it for one value (RatioBound).
TEST_F(DumpComparison, TheBoundIsThatOfPerturbedRuns) {
  WriteReference(Reference(), {{"forward/a", Float32({1}, {1})}});
  for (const auto& [epsilons, alarms] : {std::pair{20, 0}, std::pair{30, 1}}) {
    const auto value = static_cast<float>(1 + epsilons * 0x1p-23);
    WriteRanks({{{"forward/a", Float32({1}, {value})}}});
    EXPECT_EQ(Report().alarms, alarms) << epsilons;
  }
}

TEST_F(DumpComparison, TheFirstAlarmIsInTheOrderOfTheReference) {
  WriteReference(Reference(), {{"forward/b", Float32({1}, {1})}, {"forward/a", Float32({1}, {1})}});
  WriteRanks({{{"forward/a", Float32({1}, {2})}, {"forward/b", Float32({1}, {2})}}});
  const DumpReport report = Report();
  EXPECT_EQ(report.alarms, 2);
  EXPECT_EQ(report.tensors[report.first].name, "forward/b");
}

TEST_F(DumpComparison, ReplicasThatDifferAreAFindingOfTheirOwn) {
  WriteReference(Reference(), {{"gradient/w", Float32({2}, {1, 2})}});
  WriteRanks({{{"gradient/w", Float32({2}, {1, 2})}}, {{"gradient/w", Float32({2}, {1, 5})}}});
  const DumpReport report = Report();
  ASSERT_EQ(report.tensors.size(), 2u);
  EXPECT_EQ(report.tensors[0].finding, DumpFinding::kDiffers);
  EXPECT_EQ(report.tensors[1].finding, DumpFinding::kReplicasDiffer);
  EXPECT_EQ(report.tensors[1].elements, 1);
  EXPECT_THAT(report.tensors[1].index, ElementsAre(1));
  EXPECT_GT(report.tensors[1].ratio, report.tensors[1].measure.bound);
}

TEST_F(DumpComparison, PartialValuesAreAddedUpAndMultiplesDivided) {
  WriteReference(Reference(), {{"backward/a", Float32({2}, {4, 6})}});
  WriteRanks({{{"backward/a", Float32({2}, {5, 7})}}, {{"backward/a", Float32({2}, {3, 5})}}});
  EXPECT_EQ(Report("tensors:\n  - {name: backward/*, partial: tp}\n").tensors[0].measure.error, 1);
  EXPECT_EQ(
      Report("tensors:\n  - {name: backward/*, partial: tp, times: tp}\n").tensors[0].measure.error,
      0);
}

TEST_F(DumpComparison, NamesOfStagesAreMapped) {
  WriteReference(Reference(),
                 {{"forward/l.0.x", Float32({1}, {1})}, {"forward/l.1.x", Float32({1}, {2})}});
  WriteRanks({{{"forward/m.0.x", Float32({1}, {1})}}, {{"forward/m.0.x", Float32({1}, {2})}}});
  const std::string names =
      "names:\n  - {candidate: '*m.{n}.*', reference: '*l.{n}.*', offset: {tp: 1}}\n";
  EXPECT_EQ(Report(names).first, -1);
  const DumpReport unmapped = Report();
  EXPECT_EQ(unmapped.tensors[0].finding, DumpFinding::kMissing);
  EXPECT_THAT(unmapped.unmatched, ElementsAre("forward/m.0.x"));
  EXPECT_EQ(unmapped.alarms, 2);
  // Both ranks have the first layer: the second is missing.
  EXPECT_EQ(Report("names:\n  - {candidate: '*m.{n}.*', reference: '*l.{n}.*'}\n").alarms, 3);
}

TEST_F(DumpComparison, WhatIsSkippedIsNotMissing) {
  WriteReference(Reference(), {{"forward/a", Float32({1}, {1})}, {"update/a", Float32({1}, {1})}});
  WriteRanks({{{"forward/a", Float32({1}, {1})}}});
  EXPECT_EQ(Report().tensors[1].finding, DumpFinding::kMissing);
  const DumpReport report = Report("skip: 'update/*'\ntensors:\n  - name: nothing\n");
  EXPECT_EQ(report.first, -1);
  EXPECT_EQ(report.skipped, 1);
  EXPECT_THAT(report.unused, ElementsAre(3));
}

TEST_F(DumpComparison, NotANumberAlarmsUnlessItIsTheReferences) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  WriteReference(Reference(), {{"forward/a", Float32({2}, {1, 2})}});
  WriteRanks({{{"forward/a", Float32({2}, {1, nan})}}});
  EXPECT_EQ(Report().alarms, 1);
  WriteReference(Reference(),
                 {{"forward/a", Float32({2}, {1, nan})}, {"forward/b", Float32({1}, {1})}});
  WriteRanks({{{"forward/a", Float32({2}, {1, 1})}, {"forward/b", Float32({1}, {1})}}});
  const DumpReport report = Report();
  EXPECT_EQ(report.undefined, 1);
  EXPECT_EQ(report.compared, 1);
  EXPECT_EQ(report.first, -1);
}

TEST_F(DumpComparison, NothingComparedIsNoPass) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  WriteReference(Reference(), {{"forward/a", Float32({1}, {nan})}});
  WriteRanks({{{"forward/a", Float32({1}, {1})}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(Run().status())) << Run().status();
  EXPECT_THAT(Run("skip: '*'\n").status().message(), HasSubstr("nothing was compared"));
  WriteReference(Reference(), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(Run().status()));
}

TEST_F(DumpComparison, AReferenceThatWasNotPerturbedIsRefused) {
  const RankTensors tensors = {{"forward/a", Float32({1}, {1})}};
  WriteReference(Reference(), tensors, 1);
  WriteDump(Reference() + "/perturbed1", nlohmann::json::array(), {{{}, tensors}});
  WriteRanks({tensors});
  EXPECT_TRUE(absl::IsInvalidArgument(Run().status()));
  EXPECT_THAT(Run().status().message(), HasSubstr("its inputs were not perturbed"));
}

TEST_F(DumpComparison, ANarrowerRunNeedsAReferenceOfItsType) {
  WriteReference(Reference(), {{"forward/a", Float32({1}, {1})}});
  WriteRanks({{{"forward/a", Float32({1}, {1})}}}, "bfloat16");
  EXPECT_THAT(Run().status().message(), HasSubstr("dump the reference in the same type"));
  WriteRanks({{{"forward/a", Float32({1}, {1})}}}, "float64");
  EXPECT_EQ(Report().first, -1);
}

TEST_F(DumpComparison, IntegersHaveNoRoomForRounding) {
  dumps::TensorBytes ids, other;
  ids.type = other.type = {sdfg::DType::kUInt8, {3}};
  ids.bytes = "\x01\x02\x03";
  other.bytes = "\x01\x02\x04";
  const dumps::TensorBytes a = Float32({1}, {1});
  WriteReference(Reference(), {{"input/ids", ids}, {"forward/a", a}});
  WriteRanks({{{"input/ids", other}, {"forward/a", a}}});
  EXPECT_EQ(Report().tensors[0].finding, DumpFinding::kDiffers);
}

TEST_F(DumpComparison, AZeroTensorIsComparedOnTheScaleOfItsKind) {
  const dumps::TensorBytes big = Float32({1}, {1000});
  WriteReference(Reference(), {{"gradient/a", Float32({1}, {0})}, {"gradient/b", big}});
  WriteRanks({{{"gradient/a", Float32({1}, {1e-5f})}, {"gradient/b", big}}});
  EXPECT_EQ(Report().first, -1);
  WriteRanks({{{"gradient/a", Float32({1}, {1})}, {"gradient/b", big}}});
  EXPECT_EQ(Report().alarms, 1);
}

// The parameter's numbers are 2^-23 apart, and so an update, which is small, may be by one of them.
TEST_F(DumpComparison, AnUpdateIsRoundedAsItsParameterIs) {
  const float one = 0x1p-10f, other = one + 0x1p-23f, wrong = one * 1.5f;
  const dumps::TensorBytes ones = Float32({1}, {1});
  WriteReference(Reference(), {{"initial/w", ones}, {"update/w", Float32({1}, {one})}});
  WriteRanks({{{"initial/w", ones}, {"update/w", Float32({1}, {other})}}});
  EXPECT_EQ(Report().first, -1);
  WriteRanks({{{"initial/w", ones}, {"update/w", Float32({1}, {wrong})}}});
  EXPECT_EQ(Report().alarms, 1);
  WriteReference(Reference(), {{"update/w", Float32({1}, {one})}});
  WriteRanks({{{"update/w", Float32({1}, {other})}}});
  EXPECT_EQ(Report().alarms, 1);
}

TEST_F(DumpComparison, LimitsAndWrongRulesAreSaid) {
  const RankTensors tensors = {{"forward/a", Float32({4}, {1, 2, 3, 4})}};
  WriteReference(Reference(), tensors);
  WriteRanks({tensors});
  const absl::Status limit = Run("tensors: []\n", {.elements = 7}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(limit)) << limit;
  EXPECT_THAT(limit.message(), HasSubstr("raise --element-limit"));
  EXPECT_EQ(Run("tensors:\n  - {name: '*', split: {0: cp}}\n").status().message(),
            "a.yaml:2: the candidate's mesh has no axis \"cp\", only tp (forward/a)");
  EXPECT_THAT(
      Run("names:\n  - {candidate: '*', reference: '*', where: {pp: 0}}\n").status().message(),
      HasSubstr("a.yaml:2: the candidate's mesh has no axis \"pp\""));
  WriteRanks({{{"forward/a", tensors[0].second}, {"forward/b", tensors[0].second}}});
  EXPECT_THAT(
      Run("names:\n  - {candidate: forward/b, reference: forward/a}\n").status().message(),
      HasSubstr("two tensors of rank 0, forward/a and forward/b, are the reference's forward/a"));
}

TEST_F(DumpComparison, StageInputsAreTheReferencesCutForEachRank) {
  WriteReference(Reference(), {{"input/m", Float32({4}, {1, 2, 3, 4})},
                               {"forward/m", Float32({1}, {1})},
                               {"backward/m", Float32({2}, {5, 6})}});
  WriteDump(Candidate(), kTwo,
            {{{0}, {{"input/m", Float32({2}, {0, 0})}, {"backward/m", Float32({2}, {0, 0})}}},
             {{1}, {{"input/m", Float32({2}, {0, 0})}, {"backward/m", Float32({2}, {0, 0})}}}});
  const auto reference = dumps::ReadReferenceDump(Reference());
  const auto candidate = dumps::ReadDump(Candidate());
  const auto annotations = dumps::ParseAnnotations(
      "tensors:\n  - {name: input/*, split: {0: tp}}\n  - {name: backward/*, times: tp}\n", "a");
  ASSERT_TRUE(WriteStageInputs(*reference, *candidate, *annotations, directory_.path()).ok());
  const auto file = dumps::TensorFile::Open(directory_.path() + "rank1.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*(*file)->Read("input/m"), Float32({2}, {3, 4}).bytes);
  EXPECT_EQ(*(*file)->Read("backward/m"), Float32({2}, {10, 12}).bytes);
  EXPECT_EQ((*file)->tensors().size(), 2u);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      WriteStageInputs(*reference, *candidate, *dumps::ParseAnnotations("skip: input/*\n", "a"),
                       directory_.path())));
}

}  // namespace
}  // namespace planproof::runtime_check
