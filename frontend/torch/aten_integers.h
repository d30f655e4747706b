// Translates arithmetic and choices of integers whose results stay integers.
//
// A declared operator computes in real numbers, and what it gives is a whole number by its form at
// best. Token ids, positions and masks of a part of the vocabulary are compared with indices, and
// their constants depend on the rank: they are kept as integer expressions.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_INTEGERS_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_INTEGERS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/torch/aten_call.h"

namespace planproof::frontend::torch {

// x op (alpha y) of an int32 or int64 tensor and an integer, op being add, sub or a comparison (lt,
// le, gt, ge, eq, ne). Nothing if it is no such case.
absl::StatusOr<std::optional<Argument>> OfIntegers(AtenCall* call, const std::string& declared,
                                                   const Argument& x, const Argument& y,
                                                   const solver::Rational& alpha);

// floor(x / divisor), or what remains of x, of a tensor of integers; the divisor is positive.
absl::StatusOr<Argument> Divided(AtenCall* call, sdfg::TensorId x, int64_t divisor, bool remains);

// x where the condition is not 0, else y; broadcast.
absl::StatusOr<Argument> Chosen(AtenCall* call, const Argument& condition, const Argument& x,
                                const Argument& y);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_INTEGERS_H_
