// Encodes definitions as bytes: equal bytes, equal definitions up to names of tensors.
//
// So that what was found for a layer is known for all layers that repeat it.
#ifndef PLANPROOF_INFERENCE_DEFINITION_KEY_H_
#define PLANPROOF_INFERENCE_DEFINITION_KEY_H_

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "inference/frontier.h"
#include "inference/operands.h"
#include "lineage/lineage.h"

namespace planproof::inference {

class DefinitionKeys {
 public:
  DefinitionKeys(const lineage::Problem& problem, const Frontier& frontier, Operands* operands)
      : problem_(problem),
        frontier_(frontier),
        operands_(*operands),
        logical_(problem.logical.tensors.size(), -1),
        parallel_(problem.parallel.tensors.size(), -1) {}

  // Of a parallel tensor, down to related ones and how they are related. `values` gets the logical
  // tensors that it is computed from, in the order of their first appearance. Empty if the
  // definition is too large: more than `max_operators` between it and what is related.
  std::string OfParallel(sdfg::TensorId t, int max_operators, std::vector<sdfg::TensorId>* values);
  // How many the last definition was made of.
  int operators() const { return operators_; }
  // Definitions that lead to this parallel tensor are too large from now on.
  void AddTooLarge(sdfg::TensorId t) { too_large_.insert(t); }
  // Of a logical tensor, down to these. Empty if it is computed from others, too, or not from all
  // of them, or is too large.
  std::string OfLogical(sdfg::TensorId t, const std::vector<sdfg::TensorId>& values);

 private:
  void Begin();
  void Put(int64_t value);
  void PutTensor(const sdfg::Tensor& tensor);
  void PutMap(const std::vector<sdfg::IndexMap>& map);
  void PutFunction(const sdfg::Operator& op, int output);
  void PutParallel(sdfg::TensorId t);
  void PutRelated(sdfg::TensorId logical);
  void PutLogical(sdfg::TensorId t);

  const lineage::Problem& problem_;
  const Frontier& frontier_;
  Operands& operands_;
  std::unordered_map<const sdfg::IndexFunction*, int64_t> functions_;
  std::vector<int32_t> logical_, parallel_;  // numbers of what was met
  std::vector<sdfg::TensorId> met_logical_, met_parallel_;
  std::vector<sdfg::TensorId>* values_ = nullptr;
  std::set<sdfg::TensorId> used_;  // of the values down to which a definition is written
  std::set<sdfg::TensorId> too_large_;
  int operators_ = 0, max_operators_ = 0;
  bool failed_ = false;
  std::string bytes_;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_DEFINITION_KEY_H_
