// Lists numbers that left tensors and went on unseen: decisions, conversions, sizes.
//
// A recording has their values, and a verdict is about runs in which they are these. It is listed
// with the verdict where that is so. Where ranks take another function of what they read than the
// reference does, an equal number in the recording is an accident, and there is no verdict.
#ifndef PLANPROOF_FRONTEND_TORCH_UNFOLLOWED_NUMBERS_H_
#define PLANPROOF_FRONTEND_TORCH_UNFOLLOWED_NUMBERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// A number for messages: "0.5", "15".
std::string Decimal(const solver::Rational& number);

// Unimplemented, with the number, its line and what it feeds, if a rank passes on a number that the
// reference does not compute in this way, or the other way round.
absl::Status SameUnfollowedNumbers(const Trace& reference, const std::vector<Trace>& ranks);

// What is assumed of the numbers of a job; a line each, the same of several ranks once.
std::vector<std::string> AssumedOfNumbers(const Trace& reference, const std::vector<Trace>& ranks);

// What the program has read from its environment, a line for each variable.
std::vector<std::string> AssumedOfEnvironment(const Trace& reference,
                                              const std::vector<Trace>& ranks);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_UNFOLLOWED_NUMBERS_H_
