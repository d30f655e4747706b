// Translates masks that are used as indices.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_MASKS_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_MASKS_H_

#include "absl/status/statusor.h"
#include "frontend/torch/aten_call.h"

namespace planproof::frontend::torch {

// The numbers, in row-major order, of the elements at which the mask is true: a tensor of `count`
// integers. A premise says that there are so many.
absl::StatusOr<sdfg::TensorId> PlacesOf(AtenCall* call, sdfg::TensorId mask, int64_t count);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_MASKS_H_
