// Small plans with schedules, and what is said about them.
#ifndef PLANPROOF_TESTS_SCHEDULES_PIPELINE_PLAN_H_
#define PLANPROOF_TESTS_SCHEDULES_PIPELINE_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "strategy/verify.h"

namespace planproof::schedules {

// `text` with the first `from` replaced; the test fails if there is none.
std::string Replaced(std::string text, const std::string& from, const std::string& to);

// Two stages of a linear model with its gradients and 4 microbatches: phases F, B and "end". An
// empty list of steps: the program has no schedule.
std::string PipelinePlan(const std::string& steps_of_stage0, const std::string& steps_of_stage1);
// The same with the order 1F1B.
std::string OneForwardOneBackward();

// One program on two devices of axis tp, 4 microbatches, whose operators are `operators` and whose
// other keys are `keys`: s = x + x, t = s * s; required is t. x varies over the microbatch.
std::string OneProgram(const std::string& operators, const std::string& keys = "");

absl::StatusOr<lineage::Problem> ReadText(const std::string& text);
stages::Result Verified(const std::string& text,
                        stages::PipelineSchedule expected = stages::PipelineSchedule::kAny);
// "PROVED", or the verdict, kind, cause and message of the first violation; for what the reader
// refuses "MALFORMED: " and its message.
std::string Said(const std::string& text,
                 stages::PipelineSchedule expected = stages::PipelineSchedule::kAny);

}  // namespace planproof::schedules

#endif  // PLANPROOF_TESTS_SCHEDULES_PIPELINE_PLAN_H_
