// Runs leave a record of what they tried, and the rows of the strategy table come in their order.
#include "strategy/form_attempts.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/load_problem.h"
#include "inference/relation_inference.h"
#include "strategy/attempt_log.h"
#include "strategy/strategy_table.h"
#include "strategy/verify.h"

namespace planproof::strategy {
namespace {

using stages::Attempt;

class FormAttemptsTest : public testing::Test {
 protected:
  stages::Result VerdictOn(const std::string& example) {
    const auto problem =
        frontend::LoadProblem({std::string(PLANPROOF_SOURCE_DIR "/examples/") + example}, {});
    EXPECT_TRUE(problem.ok()) << problem.status();
    if (!problem.ok()) return {};
    return Verify(*problem, options_);
  }

  inference::RelationInference inference_;
  stages::VerifyOptions options_{.jobs = 1, .inference = &inference_};
};

// The position of the attempt's form and method in the table, not before `from`; nothing if no row
// has them.
std::optional<size_t> RowOf(const Attempt& attempt, size_t from) {
  for (size_t r = from; r < std::size(kForms); ++r) {
    if (kForms[r].form == attempt.form && attempt.method <= kForms[r].most) return r;
  }
  return std::nullopt;
}

TEST_F(FormAttemptsTest, OneThatProvesIsTheLast) {
  const stages::Result result = VerdictOn("mlp_tp2.json");
  ASSERT_EQ(result.verdict, stages::Verdict::kProved);
  ASSERT_FALSE(result.attempts.empty());
  for (const Attempt& attempt : result.attempts) {
    const bool last = &attempt == &result.attempts.back();
    EXPECT_EQ(attempt.stopped == Attempt::Stopped::kProved, last) << InWords(attempt);
  }
  EXPECT_EQ(result.attempts.back().claims, result.stages.total);
  EXPECT_EQ(result.attempts.back().proved, result.stages.total);
}

TEST_F(FormAttemptsTest, OneThatRefutesIsTheLast) {
  const stages::Result result = VerdictOn("mlp_tp2_broken.json");
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  ASSERT_FALSE(result.attempts.empty());
  for (const Attempt& attempt : result.attempts) {
    const bool last = &attempt == &result.attempts.back();
    EXPECT_EQ(attempt.stopped == Attempt::Stopped::kRefuted, last) << InWords(attempt);
  }
}

// Without explanation and with hardly any work: nothing answers, and the record says for want of
// what.
TEST_F(FormAttemptsTest, OneWithoutAnswerSaysWhy) {
  options_.explain = false;
  options_.work_limit = 0.00001;
  const stages::Result result = VerdictOn("mlp_tp2.json");
  ASSERT_EQ(result.verdict, stages::Verdict::kUnknown);
  ASSERT_FALSE(result.attempts.empty());
  EXPECT_EQ(result.attempts.back().stopped, Attempt::Stopped::kOutOfWork)
      << InWords(result.attempts.back());
  EXPECT_DOUBLE_EQ(result.attempts.back().work, options_.work_limit);
  for (const Attempt& attempt : result.attempts) {
    EXPECT_TRUE(attempt.method <= Method::kProve || attempt.method == Method::kUnwritten)
        << InWords(attempt);
  }
}

TEST_F(FormAttemptsTest, FollowsTheTable) {
  for (const char* example : {"mlp_tp2.json", "mlp_tp2_broken.json"}) {
    size_t row = 0;
    for (const Attempt& attempt : VerdictOn(example).attempts) {
      const std::optional<size_t> at = RowOf(attempt, row);
      ASSERT_TRUE(at.has_value()) << example << ": " << InWords(attempt);
      row = *at;
    }
  }
}

TEST_F(FormAttemptsTest, NothingIsTriedOfAMalformedPlan) {
  const auto problem = frontend::LoadProblem({PLANPROOF_SOURCE_DIR "/examples/mlp_tp2.json"}, {});
  ASSERT_TRUE(problem.ok());
  lineage::Problem malformed = *problem;
  malformed.required[0].parallel = -1;
  const stages::Result result = Verify(malformed, options_);
  EXPECT_NE(result.verdict, stages::Verdict::kProved);
  EXPECT_TRUE(result.attempts.empty());
}

TEST(AttemptInWords, NamesEveryPart) {
  const Attempt attempt{.form = Form::kRanksFolded,
                        .relations = Attempt::Relations::kInferred,
                        .inference = 2,
                        .method = Method::kProve,
                        .work = 0.06,
                        .seconds = 10,
                        .spent_s = 0.125,
                        .claims = 30,
                        .proved = 24,
                        .stopped = Attempt::Stopped::kOutOfWork};
  EXPECT_EQ(InWords(attempt),
            "ranks folded, inferred relations (2): prove with work 0.06, at most 10 s a claim; "
            "0.125 s, 24 of 30 claims; out of work");
}

}  // namespace
}  // namespace planproof::strategy
