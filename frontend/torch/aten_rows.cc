#include "frontend/torch/aten_rows.h"

#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {

absl::StatusOr<sdfg::TensorId> AsRow(AtenCall* call, sdfg::TensorId tensor) {
  if (!call->writer().tensor(tensor).shape.empty()) return tensor;
  return call->writer().Reshape(tensor, {1});
}

absl::StatusOr<Argument> AsResult(AtenCall* call, Argument result, size_t target) {
  if (result.tensor == sdfg::kNone || target >= call->targets().size() ||
      !call->target(target).shape.empty() ||
      call->writer().tensor(result.tensor).shape != sdfg::Shape{1}) {
    return result;
  }
  PLAN_ASSIGN_OR_RETURN(result.tensor, call->writer().Reshape(result.tensor, {}));
  return result;
}

}  // namespace planproof::frontend::torch
