// Does work beside the claims in a worker of its own: whatever goes wrong there costs this work.
#ifndef PLANPROOF_STRATEGY_ASIDE_H_
#define PLANPROOF_STRATEGY_ASIDE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "stages/options.h"
#include "stages/result.h"
#include "stages/workers/process_pool.h"
#include "strategy/run_context.h"
#include "strategy/witness_bytes.h"

namespace planproof::strategy {

// Of so much processor time. Every task gets the time of one claim beyond its own limits, which it
// looks at.
struct Aside {
  std::string name;  // for the fault injection of tests, and for people who wait
  double seconds;
  std::function<std::string()> work;
};

// Outcomes in order. Tasks that come later find what earlier ones left in memory.
std::vector<stages::TaskOutcome> RunAside(const stages::VerifyOptions& options,
                                          const std::vector<Aside>& tasks, stages::Result* result);

// What a worker made of a task; false, with a warning, if that is lost.
template <typename T>
bool Take(const stages::TaskOutcome& outcome, const char* what,
          const stages::VerifyOptions& options, T* value, stages::Result* result) {
  if (outcome.status == stages::TaskStatus::kDone && FromBytes(outcome.result, value)) return true;
  if (Stopped(options)) return false;  // the report says so
  result->warnings.push_back(absl::StrCat(
      what, " failed: ",
      outcome.reason.empty() ? "the worker's answer was not readable" : outcome.reason));
  return false;
}

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_ASIDE_H_
