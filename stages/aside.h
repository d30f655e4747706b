// Does work beside the claims in a worker of its own: whatever goes wrong there costs this work.
#ifndef PLANPROOF_STAGES_ASIDE_H_
#define PLANPROOF_STAGES_ASIDE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "stages/options.h"
#include "stages/result.h"
#include "stages/run_context.h"
#include "stages/workers/process_pool.h"
#include "stages/workers/witness_bytes.h"

namespace planproof::stages {

// Of so much processor time. Every task gets the time of one claim beyond its own limits, which it
// looks at.
struct Aside {
  std::string name;  // for the fault injection of tests, and for people who wait
  double seconds;
  std::function<std::string()> work;
};

// Outcomes in order. Tasks that come later find what earlier ones left in memory.
std::vector<TaskOutcome> RunAside(const VerifyOptions& options, const std::vector<Aside>& tasks,
                                  Result* result);

// What a worker made of a task; false, with a warning, if that is lost.
template <typename T>
bool Take(const TaskOutcome& outcome, const char* what, const VerifyOptions& options, T* value,
          Result* result) {
  if (outcome.status == TaskStatus::kDone && FromBytes(outcome.result, value)) return true;
  if (Stopped(options)) return false;  // the report says so
  result->warnings.push_back(absl::StrCat(
      what, " failed: ",
      outcome.reason.empty() ? "the worker's answer was not readable" : outcome.reason));
  return false;
}

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ASIDE_H_
