// Adds constants of a program whose values a trace lists.
#ifndef PLANPROOF_FRONTEND_TORCH_LISTED_CONSTANT_H_
#define PLANPROOF_FRONTEND_TORCH_LISTED_CONSTANT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/torch/graph_writer.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// Values that are start + step (i mod period): positions.
struct Progression {
  int64_t start = 0, step = 0, period = 1;
};
std::optional<Progression> ProgressionOf(const Storage& storage);
inline bool CountsUp(const Storage& storage) { return ProgressionOf(storage).has_value(); }

// The values as a tensor of one dimension, each of them spelled out unless they are a progression.
absl::StatusOr<sdfg::TensorId> ListConstant(GraphWriter* writer, const Storage& storage);

// Storages with equal texts hold the same: of one type and size, by their values or digest.
std::string ContentOf(const Storage& storage);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_LISTED_CONSTANT_H_
