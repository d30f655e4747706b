// Logical tensors that given ones determine.
#ifndef PLANPROOF_INFERENCE_CANDIDATES_H_
#define PLANPROOF_INFERENCE_CANDIDATES_H_

#include <unordered_map>
#include <vector>

#include "inference/operands.h"
#include "sdfg/graph.h"

namespace planproof::inference {

class Candidates {
 public:
  Candidates(const sdfg::Graph& logical, Operands* operands);

  // Tensors that are computed from some of `values` and from nothing else that varies, nearest
  // first; a few dozen at most.
  std::vector<sdfg::TensorId> DeterminedBy(const std::vector<sdfg::TensorId>& values);
  // Whether the tensor, which these values determine, is computed from each of them.
  bool NeedsAll(sdfg::TensorId tensor, const std::vector<sdfg::TensorId>& values);
  // What the tensor, which is computed, is computed from.
  std::vector<sdfg::TensorId> OperandsOf(sdfg::TensorId tensor) {
    return operands_.Of(graph_, tensor);
  }

 private:
  bool IsDetermined(sdfg::TensorId t, int depth);

  const sdfg::Graph& graph_;
  Operands& operands_;
  // By tensor: what it is an operand of.
  std::vector<std::vector<sdfg::TensorId>> computed_from_;
  std::unordered_map<sdfg::TensorId, bool> determined_;  // by the values in question
  int visited_ = 0;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_CANDIDATES_H_
