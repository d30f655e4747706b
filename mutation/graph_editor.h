// Finds places in a parallel graph for mutations, and makes their edits.
#ifndef PLANPROOF_MUTATION_GRAPH_EDITOR_H_
#define PLANPROOF_MUTATION_GRAPH_EDITOR_H_

#include <functional>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "mutation/mutate.h"
#include "sdfg/graph.h"

namespace planproof::mutation {

// Which tensors depend on a tensor of ones, the seed of the backward pass: gradients and what is
// made of them.
std::vector<bool> TensorsAfterLoss(const sdfg::Graph& graph);

class GraphEditor {
 public:
  explicit GraphEditor(lineage::Problem& problem);

  sdfg::Graph& graph() { return problem_.parallel; }
  lineage::Problem& problem() { return problem_; }
  const sdfg::Operator& op(sdfg::OperatorId id) const { return problem_.parallel.operators[id]; }
  int size() const { return static_cast<int>(problem_.parallel.operators.size()); }

  // It runs after the loss: it depends on the loss's gradient.
  bool IsBackward(sdfg::OperatorId id) const { return backward_[id]; }
  bool IsGradient(sdfg::TensorId tensor) const { return after_loss_[tensor]; }
  bool NameContains(sdfg::OperatorId id, const std::string& text) const;
  sdfg::Device DeviceOf(sdfg::OperatorId id) const;
  // The operand that lives where the first output lives; -1 if there is none.
  int OwnInput(sdfg::OperatorId id) const;
  bool SameShape(sdfg::TensorId a, sdfg::TensorId b) const;
  // Operators of the same collective: same name and the same operands.
  std::vector<sdfg::OperatorId> Group(sdfg::OperatorId id) const;
  // The operators on other devices that make the same logical value in the same way.
  std::vector<sdfg::OperatorId> Replicas(sdfg::OperatorId id) const;
  bool HasConsumer(sdfg::TensorId tensor) const { return consumed_[tensor]; }

  // The output becomes the operand `input`: shapes must agree. For a collective along an axis
  // (one operand, not lifted) only the first rank's term remains; false if neither is possible.
  bool BypassWith(sdfg::OperatorId id, int input);
  // Replaces the function by an edited copy; false (and no change) if `edit` says so.
  bool EditFunction(sdfg::OperatorId id, const std::function<bool(sdfg::IndexFunction&)>& edit);
  void SetInput(sdfg::OperatorId id, int input, sdfg::TensorId tensor);
  void SetFunction(sdfg::OperatorId id, sdfg::IndexFunction function,
                   std::vector<sdfg::TensorId> inputs);
  void Remove(std::vector<sdfg::OperatorId> ids);

  // Fills in operators and devices, and "what" from the description of operators and `change`.
  Mutation Done(const std::string& kind, const std::vector<sdfg::OperatorId>& ids,
                const std::string& change) const;

 private:
  lineage::Problem& problem_;
  std::vector<bool> backward_;
  std::vector<bool> consumed_;
  std::vector<bool> after_loss_;
};

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_GRAPH_EDITOR_H_
