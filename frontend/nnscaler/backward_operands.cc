#include "frontend/nnscaler/backward_operands.h"

#include "absl/strings/str_cat.h"

namespace planproof::frontend::nnscaler {

absl::StatusOr<BackwardOperands> MatchBackward(const Node& backward, const Node& forward) {
  BackwardOperands operands;
  int next = 0;
  for (size_t o = 0; o < forward.outputs.size(); ++o) {
    if (forward.outputs[o].gradient == kNoIndex) continue;
    operands.inputs.push_back({next++, static_cast<int>(o)});
  }
  const auto mismatch = [&](const char* what, size_t have, int want) {
    return absl::InvalidArgumentError(
        absl::StrCat("backward cell ", backward.id, " of ", forward.Label(), ": has ", have, " ",
                     what, ", its forward operator has ", want, " with a gradient"));
  };
  if (next != static_cast<int>(backward.inputs.size())) {
    return mismatch("inputs, but for outputs", backward.inputs.size(), next);
  }
  next = 0;
  int position = 0;
  for (const NodeOperand& input : forward.inputs) {
    if (input.tensor == kNoIndex) continue;
    if (input.gradient != kNoIndex) operands.outputs.push_back({next++, position});
    ++position;
  }
  if (next != static_cast<int>(backward.outputs.size())) {
    return mismatch("outputs, but for inputs", backward.outputs.size(), next);
  }
  return operands;
}

std::vector<bool> ReadByDifferentiated(const Plan& plan) {
  std::vector<bool> read(plan.fulls.size(), false);
  for (const Node& node : plan.nodes) {
    if (node.kind != NodeKind::kBackward) continue;
    for (const NodeOperand& input : plan.nodes[node.mirror].inputs) {
      if (input.tensor != kNoIndex) read[plan.subs[input.tensor].full] = true;
    }
  }
  return read;
}

}  // namespace planproof::frontend::nnscaler
