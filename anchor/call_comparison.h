// Numbers that Python's functions gave in a recording, against each other and against what the
// functions mean.
//
// A proof takes of such a function that equal operands give equal numbers, and graphs are run with
// the numbers that were recorded. Neither is believed: a function that has a meaning must have
// given what it means, and a function must not have given two numbers for the same operands,
// whoever called it.
#ifndef PLANPROOF_ANCHOR_CALL_COMPARISON_H_
#define PLANPROOF_ANCHOR_CALL_COMPARISON_H_

#include <optional>

#include "frontend/recording.h"
#include "stages/anchor_report.h"

namespace planproof::anchor {

// The first call of a program of the recording that gave something else; none: all agree.
std::optional<stages::RecordedDifference> CompareCalls(const frontend::Recording& recording);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_CALL_COMPARISON_H_
