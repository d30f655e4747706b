// The verdict on one form of the problem: claims are proved, or numbers are found against them.
#ifndef PLANPROOF_STAGES_DECISION_H_
#define PLANPROOF_STAGES_DECISION_H_

#include <chrono>
#include <cstdint>

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// A stop was requested: what is known then is reported, and nothing more is looked for.
bool Stopped(const VerifyOptions& options);

// How much is tried where claims fail.
enum class Effort : uint8_t {
  kProofs,   // without the lineages that failed, for a moment
  kNumbers,  // then numbers, and their explanation
  kAll,      // then what takes long
};

// What is the same for all forms of the problem in one run.
struct RunContext {
  const VerifyOptions& options;
  // As the files state it: the operators of this form are counted.
  const lineage::Problem& read;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  // Further attempts end when so much of the time that one claim may take has gone since then.
  double share_of_attempts = 0;
  // CheckPlan objects to nothing in the problem.
  bool well_formed = false;
};

// `form` is well-formed, and says what `context.read` says. The result goes on from what is known.
Result Decide(const lineage::Problem& form, const RunContext& context, Effort effort, Result known);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DECISION_H_
