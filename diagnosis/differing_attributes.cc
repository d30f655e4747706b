#include "diagnosis/differing_attributes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::diagnosis {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

// Whether the operator does with its operands what the model's does: each of which it is known what
// it is, and at least one, is a slice of the model's operand.
bool InTheSameRole(const lineage::Problem& problem, const sdfg::Operator& op,
                   const sdfg::Operator& model) {
  if (op.name != model.name || op.inputs.size() != model.inputs.size()) return false;
  bool known = false;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const lineage::Lineage& read = problem.lineage[op.inputs[k]];
    if (read.kind == lineage::LineageKind::kNone) continue;
    if (read.logical != model.inputs[k]) return false;
    known = true;
  }
  return known;
}

}  // namespace

std::string AttributesThatDiffer(const lineage::Problem& problem, TensorId logical,
                                 const std::vector<OperatorId>& operators) {
  const OperatorId producer = problem.logical.tensors[logical].producer;
  if (producer == kNone) return "";
  const sdfg::Operator& model = problem.logical.operators[producer];
  std::vector<std::string> different;
  for (OperatorId id : operators) {
    const sdfg::Operator& op = problem.parallel.operators[id];
    if (!InTheSameRole(problem, op, model)) continue;
    for (const auto& [name, value] : op.attributes) {
      for (const auto& [model_name, model_value] : model.attributes) {
        if (name != model_name || value == model_value || different.size() >= 4) continue;
        different.push_back(absl::StrCat(name, " is ", value, ", in the model ", model_value));
      }
    }
    if (!different.empty()) {
      return absl::StrCat("value differs, perhaps by an attribute of ", op.name,
                          op.label.empty() ? "" : absl::StrCat(" (", op.label, ")"), ": ",
                          absl::StrJoin(different, "; "));
    }
  }
  return "";
}

}  // namespace planproof::diagnosis
