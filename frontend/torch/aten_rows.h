// Lets operators that work along a dimension take tensors without one: to PyTorch they have one
// element along dimension 0, which is also -1.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_ROWS_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_ROWS_H_

#include "absl/status/statusor.h"
#include "frontend/torch/aten_call.h"

namespace planproof::frontend::torch {

// A tensor without dimensions as one of shape [1]; any other as it is.
absl::StatusOr<sdfg::TensorId> AsRow(AtenCall* call, sdfg::TensorId tensor);
// A result of one element in the shape of the target if that has no dimensions.
absl::StatusOr<Argument> AsResult(AtenCall* call, Argument result, size_t target);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_ROWS_H_
