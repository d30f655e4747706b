// Decides whether two ranks run one program, from what their traces say that cannot depend on a
// coordinate.
//
// The text of a trace is all of it but the numbers that may be other ones on another rank
// (rank_numbers.h) and the positions of tensors and groups in its tables: where one rank has one
// view of some memory, another one may have two.
#ifndef PLANPROOF_FRONTEND_TORCH_PROGRAM_TEXT_H_
#define PLANPROOF_FRONTEND_TORCH_PROGRAM_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// InvalidArgument: the first difference, with the operator and its line. The tables of tensors and
// groups are not compared.
absl::Status SameText(const Trace& a, const Trace& b);

// "operator 41, aten.add.Tensor at train.py:12: y = x + b".
std::string OperatorPlace(const Trace& trace, size_t index);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_PROGRAM_TEXT_H_
