// Holds what the steps of one run share.
#ifndef PLANPROOF_STRATEGY_RUN_CONTEXT_H_
#define PLANPROOF_STRATEGY_RUN_CONTEXT_H_

#include <chrono>
#include <string>
#include <vector>

#include "stages/attempt.h"
#include "stages/cone.h"
#include "stages/options.h"
#include "stages/result.h"
#include "stages/workers/process_pool.h"

namespace planproof::strategy {

using Form = stages::Attempt::Form;
// How much is tried where claims fail. From kClaims to kAll each does what those before it do.
using Method = stages::Attempt::Method;

// A full search for a counterexample in one form, which found none: it is not made again.
struct SearchMade {
  bool made = false;
  bool undefined_seen = false;  // there are inputs on which only the plan has no value
  std::vector<std::string> warnings;
};

// What is the same for all forms of the problem in one run.
struct RunContext {
  const stages::VerifyOptions& options;
  // Of the problem as the files state it.
  const stages::OperatorCounts& operators;
  std::chrono::steady_clock::time_point start;
  // Further attempts end when so much of the time that one claim may take has gone since then.
  double share_of_time = 0;
  // CheckPlan objects to nothing in the problem.
  bool well_formed = false;
  // Conditions of operators behind what is assumed are looked at. A question whose answer is no
  // verdict about the plan need not ask for them.
  bool behind_assumptions = true;
  // A quick look for a counterexample found none.
  bool looked = false;
  // Of the form that is decided; null: its search is not remembered.
  SearchMade* search = nullptr;
  Form form = Form::kAsRead;
  // Where attempts are recorded; null: nowhere.
  std::vector<stages::Attempt>* attempts = nullptr;
};

// A stop was requested: what is known then is reported, and nothing more is looked for.
inline bool Stopped(const stages::VerifyOptions& options) {
  return options.stop != nullptr && options.stop->requested;
}

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_RUN_CONTEXT_H_
