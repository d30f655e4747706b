// Lists what one output of an operator is computed from.
#ifndef PLANPROOF_INFERENCE_OPERANDS_H_
#define PLANPROOF_INFERENCE_OPERANDS_H_

#include <map>
#include <utility>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::inference {

// A derivative lists what the forward operator read, also where one of its outputs needs none of
// it.
class Operands {
 public:
  // Of the tensor, which has a producer: operands that its value mentions, in their order.
  std::vector<sdfg::TensorId> Of(const sdfg::Graph& graph, sdfg::TensorId tensor);

 private:
  const std::vector<int32_t>& UsedBy(const sdfg::IndexFunction& function, int output);

  std::map<std::pair<const sdfg::IndexFunction*, int>, std::vector<int32_t>> used_;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_OPERANDS_H_
