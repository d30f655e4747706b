// Records what a run tries (stages/attempt.h), and says it in words.
#ifndef PLANPROOF_STRATEGY_ATTEMPT_LOG_H_
#define PLANPROOF_STRATEGY_ATTEMPT_LOG_H_

#include <chrono>
#include <string>

#include "stages/attempt.h"
#include "stages/result.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

// Records an attempt to answer that began at `start` and gave this result, with the limits of
// context.options.
void RecordAnswer(const RunContext& context, stages::Attempt attempt,
                  std::chrono::steady_clock::time_point start, const stages::Result& result);
// Records a step that gives no answer but decides what comes next.
void RecordStep(const RunContext& context, stages::Attempt attempt,
                std::chrono::steady_clock::time_point start);

// The words of files: "ranks folded", "out of work".
const char* NameOf(stages::Attempt::Form form);
const char* NameOf(stages::Attempt::Relations relations);
const char* NameOf(stages::Attempt::Method method);
const char* NameOf(stages::Attempt::Stopped stopped);

// One line: "ranks folded, inferred relations (1): prove with 0.06 of the work, at most 10 s a
// claim; 0.12 s, 24 of 30 claims; out of work".
std::string InWords(const stages::Attempt& attempt);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_ATTEMPT_LOG_H_
