// Keeps the elements of tensors that are known for the routing that was recorded.
//
// Which experts a router chose is in the trace (docs/torch-trace.md, `values`). What the program
// computes from that alone, counts, orders, places, offsets, follows from the index functions of
// the graph, and is computed here exactly: nothing of it has to be recorded, and nothing that was
// recorded is believed where it can be computed.
#ifndef PLANPROOF_FRONTEND_TORCH_KNOWN_ELEMENTS_H_
#define PLANPROOF_FRONTEND_TORCH_KNOWN_ELEMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/exact_values.h"
#include "frontend/torch/number_conversion.h"
#include "sdfg/graph.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

// Elements in row-major order, by tensor.
using RecordedElements = std::map<sdfg::TensorId, std::vector<int64_t>>;

// The number that all elements are, if the tensor is computed from nothing but numbers in a few
// operators.
std::optional<solver::Rational> UniformElement(const sdfg::Graph& graph, sdfg::TensorId tensor);

// The same where PyTorch has that number, too, or lies by a known error beside it: what is computed
// of whole numbers and remains whole, or a number that was filled in. `errors` are those of tensors
// that were filled with a rounded number.
std::optional<KnownNumber> UniformNumber(const sdfg::Graph& graph, sdfg::TensorId tensor,
                                         const std::map<sdfg::TensorId, double>& errors);

// Elements of a tensor of integers that is computed from nothing but whole numbers.
std::optional<ExactElements> WholeElements(const sdfg::Graph& graph, sdfg::TensorId tensor);

class KnownElements {
 public:
  // Both outlive this. Tensors that are added to the graph later are not known.
  KnownElements(const sdfg::Graph& graph, const RecordedElements& recorded)
      : graph_(graph),
        recorded_(recorded),
        known_(graph.tensors.size()),
        origins_(graph.tensors.size()) {}

  // What follows for the outputs of an operator; operators come in a topological order.
  // InvalidArgument if something else was recorded.
  absl::Status Visit(sdfg::OperatorId id);

  // Null if they are not known.
  const ExactElements* Of(sdfg::TensorId tensor) const {
    const auto index = static_cast<size_t>(tensor);
    return index < known_.size() && known_[index] ? &*known_[index] : nullptr;
  }
  // The recorded tensors that known elements are computed from; what was recorded is computed from
  // itself.
  const std::set<sdfg::TensorId>& OriginsOf(sdfg::TensorId tensor) const {
    static const std::set<sdfg::TensorId> none;
    return static_cast<size_t>(tensor) < origins_.size() ? origins_[tensor] : none;
  }
  bool DependsOnRouting(sdfg::TensorId tensor) const { return !OriginsOf(tensor).empty(); }

  // Whether all premises of the function hold for these operands at all indices. False where that
  // is not known.
  bool PremisesHold(const sdfg::IndexFunction& function,
                    const std::vector<sdfg::TensorId>& inputs) const;

  // The recorded tensors on which that rests.
  std::set<sdfg::TensorId> OriginsOfPremises(const sdfg::IndexFunction& function,
                                             const std::vector<sdfg::TensorId>& inputs) const;

 private:
  const sdfg::Graph& graph_;
  const RecordedElements& recorded_;
  std::vector<std::optional<ExactElements>> known_;
  std::vector<std::set<sdfg::TensorId>> origins_;  // by tensor
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_KNOWN_ELEMENTS_H_
