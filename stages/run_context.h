// Holds what the steps of one run share.
#ifndef PLANPROOF_STAGES_RUN_CONTEXT_H_
#define PLANPROOF_STAGES_RUN_CONTEXT_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "stages/cone.h"
#include "stages/options.h"
#include "stages/result.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// How much is tried where claims fail.
enum class Effort : uint8_t {
  kClaims,        // nothing
  kQuickNumbers,  // a quick look for a counterexample, and its explanation
  kProofs,        // proofs without the lineages that failed, for a moment
  kFirstNumbers,  // and as kNumbers where the first numbers differ
  kNumbers,       // then numbers, and their explanation
  kAll,           // then what takes long
};

// A full search for a counterexample in one form, which found none: it is not made again.
struct SearchMade {
  bool made = false;
  bool undefined_seen = false;  // there are inputs on which only the plan has no value
  std::vector<std::string> warnings;
};

// What is the same for all forms of the problem in one run.
struct RunContext {
  const VerifyOptions& options;
  // Of the problem as the files state it.
  const OperatorCounts& operators;
  std::chrono::steady_clock::time_point start;
  // Further attempts end when so much of the time that one claim may take has gone since then.
  double share_of_attempts = 0;
  // CheckPlan objects to nothing in the problem.
  bool well_formed = false;
  // Conditions of operators behind what is assumed are looked at. A question whose answer is no
  // verdict about the plan need not ask for them.
  bool behind_assumptions = true;
  // A quick look for a counterexample found none.
  bool looked = false;
  // Of the form that is decided; null: its search is not remembered.
  SearchMade* search = nullptr;
};

// A stop was requested: what is known then is reported, and nothing more is looked for.
inline bool Stopped(const VerifyOptions& options) {
  return options.stop != nullptr && options.stop->requested;
}

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_RUN_CONTEXT_H_
