// Builds a graph in which dense tensors take the places of tensors of chosen rows.
#ifndef PLANPROOF_FRONTEND_TORCH_DENSE_GRAPH_H_
#define PLANPROOF_FRONTEND_TORCH_DENSE_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/known_elements.h"
#include "frontend/torch/row_tensors.h"
#include "sdfg/graph.h"

namespace planproof::frontend::torch {

// An operator in place of one output of another; `dense`: it makes the dense tensor.
struct DenseOperator {
  sdfg::Operator op;
  size_t output = 0;
  bool dense = false;
};
using DenseOperators = std::vector<std::vector<DenseOperator>>;  // by operator of the graph

// Through which operators rows cannot be followed, and why.
using Obstacles = std::map<sdfg::OperatorId, std::string>;

// What an operator is called, and where it stands.
std::string NameAndPlaceOf(const sdfg::Operator& op);

class DenseGraph {
 public:
  // All outlive this. `order` is a topological one; the first `given` tensors are those that were
  // read, of which `kept` stay what they were.
  DenseGraph(const KnownElements& known, const RowTensors& rows,
             const std::vector<sdfg::OperatorId>& order, const std::vector<bool>& kept,
             sdfg::TensorId given, sdfg::Graph* graph)
      : known_(known), rows_(rows), order_(order), kept_(kept), given_(given), graph_(*graph) {}

  // Unimplemented if nothing was chosen of some set: then no row says where the rows would be that
  // could be.
  absl::Status CheckThatAllSetsAreChosen() const;
  // Unimplemented if what is kept is computed from an obstacle: as many rows as were recorded are a
  // matter of the recording.
  absl::Status CheckThatRowsAreFollowed(const DenseOperators& dense,
                                        const Obstacles& obstacles) const;

  // The operators whose recorded results the choices are computed from.
  std::vector<std::string> ChoicesOf(const DenseOperators& dense,
                                     const RecordedElements& recorded) const;
  // Operators of which every output has something in its place are left out, unless their rows are
  // read as they were.
  void Replace(DenseOperators dense);

 private:
  using TensorId = sdfg::TensorId;
  bool IsKept(TensorId tensor) const {
    return tensor < static_cast<TensorId>(kept_.size()) && kept_[tensor];
  }
  std::vector<bool> Retained(const DenseOperators& dense) const;
  void Rebuild(const std::vector<bool>& retained, std::map<TensorId, TensorId> place,
               DenseOperators dense);
  void DropPremisesThatHold(sdfg::Operator* op);

  const KnownElements& known_;
  const RowTensors& rows_;
  const std::vector<sdfg::OperatorId>& order_;
  const std::vector<bool>& kept_;
  const TensorId given_;
  sdfg::Graph& graph_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_DENSE_GRAPH_H_
