#include "shape_reduction/updated_parameters.h"

#include <algorithm>
#include <vector>

namespace planproof::shape_reduction {

using sdfg::TensorId;
using sdfg::TensorRole;

namespace {

constexpr int kMaxMoves = 4;  // operators that only hand a new value on

// Inputs that the new value `tensor` is computed from directly, in its shape.
std::vector<TensorId> UpdatedBy(const sdfg::Graph& graph, TensorId tensor) {
  const sdfg::Shape& shape = graph.tensors[tensor].shape;
  std::vector<TensorId> updated;
  for (int moves = 0; moves < kMaxMoves && graph.tensors[tensor].producer != sdfg::kNone; ++moves) {
    const std::vector<TensorId>& inputs = graph.operators[graph.tensors[tensor].producer].inputs;
    for (const TensorId id : inputs) {
      if (id == sdfg::kNone) continue;
      const sdfg::Tensor& input = graph.tensors[id];
      if (input.producer == sdfg::kNone && input.role == TensorRole::kInput &&
          sdfg::IsFloating(input.dtype) && input.shape == shape) {
        updated.push_back(id);
      }
    }
    if (inputs.size() != 1 || inputs[0] == sdfg::kNone || !updated.empty()) break;
    tensor = inputs[0];
  }
  return updated;
}

}  // namespace

std::optional<lineage::Problem> WithUpdatedParameters(const lineage::Problem& problem) {
  const sdfg::Graph& graph = problem.logical;
  if (std::any_of(graph.tensors.begin(), graph.tensors.end(), [](const sdfg::Tensor& tensor) {
        return tensor.role == TensorRole::kParameter;
      })) {
    return std::nullopt;
  }
  std::vector<TensorId> parameters;
  for (const lineage::RequiredRelation& required : problem.required) {
    for (const TensorId id : UpdatedBy(graph, required.lineage.logical)) parameters.push_back(id);
  }
  if (parameters.empty()) return std::nullopt;
  lineage::Problem named = problem;
  for (const TensorId id : parameters) named.logical.tensors[id].role = TensorRole::kParameter;
  return named;
}

}  // namespace planproof::shape_reduction
