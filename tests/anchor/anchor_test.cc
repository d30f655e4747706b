// Recorded programs as a whole: right ones raise no alarm, and a reader that misreads an operator
// does not keep its proof.
#include "anchor/anchor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "anchor/withdrawal.h"
#include "frontend/load_problem.h"
#include "sdfg/index_function.h"
#include "sdfg/operator_library.h"

namespace planproof::anchor {
namespace {

using anchor::AnchorComparison;
using frontend::Recording;
using stages::AnchorOutcome;
using stages::AnchorReport;
using stages::Verdict;
using testing::HasSubstr;

// A program of tests/torch/anchored, as the reader reads it.
struct ReadProgram {
  std::optional<Recording> recording;
  absl::StatusOr<lineage::Problem> problem = absl::UnknownError("not read");

  AnchorReport Compare() const {
    absl::StatusOr<AnchorComparison> comparison =
        CompareRecording(*recording, problem.ok() ? &*problem : nullptr);
    EXPECT_TRUE(comparison.ok()) << comparison.status();
    return comparison.ok() ? comparison->report : AnchorReport{};
  }
};

ReadProgram Read(const std::string& name) {
  const std::string directory =
      std::string(PLANPROOF_SOURCE_DIR) + "/tests/torch/anchored/" + name + "/";
  std::vector<std::string> paths = {directory + "reference.trace"};
  for (int rank = 0; std::filesystem::exists(directory + "rank" + std::to_string(rank) + ".trace");
       ++rank) {
    paths.push_back(directory + "rank" + std::to_string(rank) + ".trace");
  }
  ReadProgram read;
  frontend::LoadOptions options;
  options.recording = &read.recording;
  read.problem = frontend::LoadProblem(paths, options);
  return read;
}

stages::Result Proved() {
  stages::Result result;
  result.verdict = Verdict::kProved;
  return result;
}

TEST(Anchor, ARightProgramIsAnchored) {
  const ReadProgram program = Read("mlp");
  ASSERT_TRUE(program.problem.ok()) << program.problem.status();
  const AnchorReport report = program.Compare();
  EXPECT_EQ(report.outcome, AnchorOutcome::kAnchored) << report.why << report.text;
  EXPECT_GT(report.held, 0);
  EXPECT_GT(report.results, 0);
  EXPECT_GT(report.computed, report.results);
  stages::Result result = Proved();
  ApplyAnchor({report}, true, &result);
  EXPECT_EQ(result.verdict, Verdict::kProved);
}

TEST(Anchor, ReplicasThatStartFromOtherValuesAreNamed) {
  const AnchorReport report = Read("init_differs").Compare();
  ASSERT_EQ(report.outcome, AnchorOutcome::kHeldDiffers) << report.why << report.text;
  EXPECT_THAT(report.text, HasSubstr("on rank 1"));
  EXPECT_THAT(report.differences[0].usual, HasSubstr("replicas are seeded apart"));
  stages::Result result = Proved();
  ApplyAnchor({report}, false, &result);
  EXPECT_EQ(result.verdict, Verdict::kMalformed);
}

TEST(Anchor, RanksThatReadOtherDataAreNamed) {
  const AnchorReport report = Read("tp_different_data").Compare();
  ASSERT_EQ(report.outcome, AnchorOutcome::kHeldDiffers) << report.why << report.text;
  EXPECT_THAT(report.text, HasSubstr("input x"));
}

// Exchanges the meaning of one operator for another's of the same operands, in all graphs of the
// program, as a reader would that has a wrong row in its table.
int Exchange(const std::string& name, const std::string& other, ReadProgram* program) {
  int exchanged = 0;
  const auto exchange = [&](sdfg::Graph* graph) {
    for (sdfg::Operator& op : graph->operators) {
      if (op.name != name) continue;
      std::vector<sdfg::Operand> operands;
      for (const sdfg::TensorId input : op.inputs) {
        sdfg::Operand& operand = operands.emplace_back();
        operand.shape = graph->tensors[input].shape;
        operand.dtype = graph->tensors[input].dtype;
      }
      auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(other, operands, {});
      ASSERT_TRUE(function.ok()) << function.status();
      op.function = graph->Intern(*std::move(function));
      ++exchanged;
    }
  };
  exchange(&program->problem->logical);
  exchange(&program->problem->parallel);
  exchange(&*program->recording->translated_reference);
  exchange(&*program->recording->translated_ranks);
  return exchanged;
}

TEST(Anchor, AMeaningThatIsExchangedWithdrawsProofAndRefutation) {
  ReadProgram program = Read("mlp");
  ASSERT_TRUE(program.problem.ok()) << program.problem.status();
  ASSERT_GT(Exchange("gelu", "silu", &program), 0);
  const AnchorReport report = program.Compare();
  ASSERT_EQ(report.outcome, AnchorOutcome::kTranslationDiffers) << report.why << report.text;
  EXPECT_THAT(report.text, HasSubstr("the reader does not understand operator aten.gelu"));
  EXPECT_THAT(report.text, HasSubstr("models.py:"));
  for (const Verdict verdict : {Verdict::kProved, Verdict::kRefuted}) {
    stages::Result result;
    result.verdict = verdict;
    ApplyAnchor({report}, false, &result);
    EXPECT_EQ(result.verdict, Verdict::kUnknown);
    ASSERT_EQ(result.violations.size(), 1u);
    EXPECT_EQ(result.violations[0].kind, "not understood");
  }
}

TEST(Anchor, WithoutValuesTheAnswerStaysUnlessTheyAreRequired) {
  AnchorReport report;
  report.outcome = AnchorOutcome::kNotAnchored;
  report.why = "no values were recorded";
  stages::Result stays = Proved(), refused = Proved();
  ApplyAnchor({report}, false, &stays);
  ApplyAnchor({report}, true, &refused);
  EXPECT_EQ(stays.verdict, Verdict::kProved);
  ASSERT_EQ(stays.assumptions.size(), 1u);
  EXPECT_THAT(stays.assumptions[0], HasSubstr("not anchored: no values were recorded"));
  EXPECT_EQ(refused.verdict, Verdict::kUnknown);
  EXPECT_THAT(refused.violations[0].cause, HasSubstr("no values were recorded"));
}

TEST(Anchor, ResultsThatDifferExcludeAProofAndNothingElse) {
  AnchorReport report;
  report.outcome = AnchorOutcome::kResultsDiffer;
  report.text = "loss differs";
  report.differences.emplace_back();
  for (const Verdict verdict : {Verdict::kProved, Verdict::kRefuted, Verdict::kMalformed}) {
    stages::Result result;
    result.verdict = verdict;
    ApplyAnchor({report}, false, &result);
    EXPECT_EQ(result.verdict, verdict == Verdict::kProved ? Verdict::kUnknown : verdict);
  }
}

// A state that steps have made is a result of the graphs: what refutes them explains it, and
// nothing but a refutation does.
TEST(Anchor, StatesThatAWrongGraphMadeDoNotHideItsRefutation) {
  AnchorReport report;
  report.outcome = AnchorOutcome::kHeldDiffers;
  report.text = "state w.exp_avg differs";
  report.differences.emplace_back().text = report.text;
  for (const bool may_follow : {false, true}) {
    const AnchorComparison comparison{report, may_follow};
    EXPECT_EQ(comparison.DecidesAlone(), !may_follow);
    for (const Verdict verdict : {Verdict::kProved, Verdict::kRefuted, Verdict::kUnknown}) {
      stages::Result result;
      result.verdict = verdict;
      result.violations.emplace_back().verdict = verdict;
      ApplyAnchor(comparison, false, &result);
      const bool stays = may_follow && verdict == Verdict::kRefuted;
      EXPECT_EQ(result.verdict, stays ? Verdict::kRefuted : Verdict::kMalformed);
      ASSERT_EQ(result.violations.size(), 1u);
      EXPECT_EQ(result.violations[0].verdict, result.verdict);
    }
  }
}

}  // namespace
}  // namespace planproof::anchor
