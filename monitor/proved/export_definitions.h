// Reads from the model's graph which results are linear in others, and how gradients are clipped.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_DEFINITIONS_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_DEFINITIONS_H_

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sdfg/graph.h"
#include "solver/rational.h"

namespace planproof::monitor {

// constant + sum of factor * tensor, element by element; tensors of one shape.
struct LinearForm {
  std::map<sdfg::TensorId, solver::Rational> factors;
  solver::Rational constant;
};

// `tensor` as a linear form of tensors in `leaves`, with constants as factors; nothing if its
// operators say something else. It is not a leaf of itself.
std::optional<LinearForm> LinearFormOf(const sdfg::Graph& graph, sdfg::TensorId tensor,
                                       const std::set<sdfg::TensorId>& leaves);

// `tensor` is `whole` times the number `scalar`, a tensor without dimensions.
struct ScaledTensor {
  sdfg::TensorId whole = sdfg::kNone;
  sdfg::TensorId scalar = sdfg::kNone;
};
std::optional<ScaledTensor> ScaledTensorOf(const sdfg::Graph& graph, sdfg::TensorId tensor);

// The numbers that multiply `tensor`, or the terms of the sum over ranks that it is. Nothing if a
// term is multiplied by none.
std::optional<std::set<sdfg::TensorId>> MultipliersOf(const sdfg::Graph& graph,
                                                      sdfg::TensorId tensor);

// A number that is min(1, bound / (norm + epsilon)), or, if it is `unlimited`, that without the
// minimum: of a program that computes it only where the norm is above the bound.
struct ClipCoefficient {
  double bound = 0;
  double epsilon = 0;
  bool unlimited = false;
  sdfg::TensorId norm = sdfg::kNone;
  // Of ClipCoefficientOf: `norm` is the root of the sum of squares of all their elements, each of
  // which is counted once.
  std::set<sdfg::TensorId> of;
};
std::optional<ClipCoefficient> ClipCoefficientOf(const sdfg::Graph& graph, sdfg::TensorId scalar,
                                                 const std::set<sdfg::TensorId>& gradients);
// Whether the number is the same function of some number, whatever that is the norm of.
bool IsClipCoefficient(const sdfg::Graph& graph, sdfg::TensorId scalar,
                       const ClipCoefficient& clip);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_DEFINITIONS_H_
