// Finds facts that all reference runs have in common, from what each of them shows.
#ifndef PLANPROOF_MONITOR_LEARNED_COMBINE_H_
#define PLANPROOF_MONITOR_LEARNED_COMBINE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "monitor/learned/facts.h"
#include "monitor/learned/learner.h"

namespace planproof::monitor::learned {

// How often a fact must have been seen to hold before it is asserted.
inline constexpr int64_t kLeastSupport = 3;
// Of ends, of which each process of a run has one.
inline constexpr int64_t kLeastEnds = 2;
// Of relations between contents, which may agree by accident.
inline constexpr int64_t kLeastContentSupport = 4;
// False alarms per run that facts about values may give, all together.
inline constexpr double kFalseAlarmBudget = 1e-3;

// Facts hold in every reference; references of different programs are an error. Docs:
// monitor-learned.md.
absl::StatusOr<FactSet> Combine(const std::vector<LearnedRun>& runs);

// Steps in a row that must contradict a fact about values before that is an alarm: the least m with
// steps * p^m <= budget, where p = 1 - 0.05^(1/support) is the 95 % bound of the rate of exceptions
// when `support` steps showed none. 0: none is enough.
int WindowsForAlarm(int64_t support, int64_t steps, double budget);

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_COMBINE_H_
