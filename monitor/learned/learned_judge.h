// Learns facts from journals, and judges a run by them.
#ifndef PLANPROOF_MONITOR_LEARNED_LEARNED_JUDGE_H_
#define PLANPROOF_MONITOR_LEARNED_LEARNED_JUDGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "monitor/judge.h"
#include "monitor/learned/facts.h"
#include "monitor/learned/learner.h"

namespace planproof::monitor::learned {

// What the run in `directory` shows. Errors name the file.
absl::StatusOr<LearnedRun> LearnJournal(const std::string& directory);

// Rules `learned.FORM`. A run of another program than the references' is said to be one, and not
// judged; so are facts that were learned from traces.
std::unique_ptr<Judge> LearnedJudge(FactSet facts);

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_LEARNED_JUDGE_H_
