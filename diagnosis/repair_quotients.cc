// Repairs about quotients of what single ranks hold.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "diagnosis/repair_search.h"

namespace planproof::diagnosis {

using sdfg::ExprId;
using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

// The operator's only output is a quotient: its two parts as operators of the same operands.
std::optional<std::pair<sdfg::Operator, sdfg::Operator>> PartsOfQuotient(const sdfg::Operator& op) {
  if (op.outputs.size() != 1) return std::nullopt;
  const sdfg::Node& body = op.function->nodes[op.function->outputs[0].body];
  if (body.op != Op::kDiv) return std::nullopt;
  const auto part = [&](int k) {
    sdfg::IndexFunction function = *op.function;
    function.outputs[0].body = body.args[k];
    sdfg::Operator changed = op;
    changed.function = std::make_shared<const sdfg::IndexFunction>(std::move(function));
    return changed;
  };
  return std::pair{part(0), part(1)};
}

bool Varies(const shape_reduction::BlockTensor<double>& tensor) {
  return std::adjacent_find(tensor.values.begin(), tensor.values.end(), std::not_equal_to<>()) !=
         tensor.values.end();
}

}  // namespace

// Each rank divides by what it counts itself, and the counts differ: a mean of means. What the
// numerators become, over what the denominators become in the same way, would be right.
bool RepairSearch::TryQuotients() {
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    const auto parts = PartsOfQuotient(op);
    if (!parts) continue;
    std::vector<Values> inputs;
    for (const TensorId input : op.inputs) inputs.push_back(replay_.Parallel(input));
    const Values counts = replay_.Apply(parts->second, 0, inputs);
    if (counts == nullptr || !Varies(*counts)) continue;
    const Values above = With(id, parts->first), below = With(id, parts->second);
    if (above == nullptr || below == nullptr) continue;
    std::vector<double> quotients = AtPoints(above);
    const std::vector<double> divisors = AtPoints(below);
    for (size_t i = 0; i < quotients.size(); ++i) quotients[i] /= divisors[i];
    if (!AgreeNumbers(quotients, claimed_at_)) continue;
    Found(absl::StrCat("a mean of means: ", Name(id),
                       " divides by the count of each rank, and the counts differ; add up sums and "
                       "counts over the ranks, and divide then"),
          id);
    return true;
  }
  return false;
}

}  // namespace planproof::diagnosis
