// Builds a Plan from a pickle; internal.
#ifndef PLANPROOF_FRONTEND_NNSCALER_PLAN_READER_H_
#define PLANPROOF_FRONTEND_NNSCALER_PLAN_READER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "frontend/nnscaler/object_access.h"
#include "frontend/nnscaler/plan_objects.h"

namespace planproof::frontend::nnscaler {

class PlanReader {
 public:
  explicit PlanReader(const Pickle& pickle) : pickle_(pickle), access_(pickle) {}
  absl::StatusOr<Plan> Run();

 private:
  bool ok() const { return access_.ok(); }
  void Malformed(const std::string& text) { access_.Fail(absl::InvalidArgumentError(text)); }

  void ReadHeader(ValueId root);
  void ReadSequences(ValueId execplan);
  int ReadBody(ValueId cell);
  // Nodes: plan_nodes.cc.
  int ReadNode(ValueId object);
  void ReadMirrors();
  NodeOperand ReadOperand(ValueId node, Field field, ValueId value);
  sdfg::AttributeValue ReadLiteral(ValueId owner, std::string_view what, ValueId value);
  void ReadAttributes(ValueId object, Node* node);
  Prim ReadPrim(ValueId object);
  void CheckPrimKeywords(ValueId object, ValueId kwargs, const Prim& prim);
  void ReadPrimNumber(ValueId prim, ValueId kwargs, std::string_view name, int* out);
  // Tensors: plan_tensors.cc.
  bool IsSubTensor(ValueId object) const;
  int ReadSubTensor(ValueId object);
  int ReadFullTensor(ValueId object);
  void ReadFullGradients();
  sdfg::DType ReadDType(ValueId object);
  sdfg::DType ReadDTypeValue(ValueId object, ValueId value);
  sdfg::Shape ReadShape(ValueId object, Field field);

  const Pickle& pickle_;
  ObjectAccess access_;
  Plan plan_;
  absl::flat_hash_map<ValueId, int> bodies_, nodes_, subs_, fulls_;
  absl::flat_hash_map<int64_t, int> sub_ids_, full_ids_;
  std::vector<ValueId> node_objects_, full_objects_;  // by index in the plan
};

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_PLAN_READER_H_
