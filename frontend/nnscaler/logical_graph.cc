#include "frontend/nnscaler/logical_graph.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/backward_operands.h"
#include "frontend/nnscaler/operator_functions.h"

namespace planproof::frontend::nnscaler {
namespace {

using sdfg::TensorId;

class LogicalBuilder {
 public:
  LogicalBuilder(const Plan& plan, const sdfg::OperatorLibrary& operators)
      : plan_(plan), functions_(operators, &result_.graph) {}

  absl::StatusOr<LogicalGraph> Run() {
    result_.tensor_of_full.assign(plan_.fulls.size(), sdfg::kNone);
    value_.assign(plan_.subs.size(), sdfg::kNone);
    writes_.resize(plan_.subs.size());
    differentiated_ = ReadByDifferentiated(plan_);
    absl::Status status = CollectNodes();
    if (status.ok()) status = FindLoss();
    if (status.ok()) status = Writes();
    if (status.ok()) status = Accumulate();
    for (size_t i = 0; i < nodes_.size() && status.ok(); ++i) status = AddNode(nodes_[i]);
    if (status.ok()) status = TotalGradients();
    if (!status.ok()) return status;
    result_.assumptions = functions_.assumptions();
    return std::move(result_);
  }

 private:
  absl::Status CollectNodes() {
    if (plan_.devices.size() != 1 || plan_.copies != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the logical plan must be a single-device one, this has ",
                       plan_.devices.size(), " devices and ", plan_.copies, " copies"));
    }
    absl::flat_hash_set<int64_t> ids;
    for (const Cell& cell : plan_.sequences[0].cells) {
      if (!ids.insert(cell.id).second) {
        return absl::UnimplementedError(absl::StrCat(
            "cell ", cell.id, " runs twice; the logical plan must have one microbatch"));
      }
      for (int n : plan_.bodies[cell.body]) {
        const Node& node = plan_.nodes[n];
        if (node.kind == NodeKind::kAdapter && !node.prims.empty()) {
          return absl::InvalidArgumentError(absl::StrCat(
              "cell ", node.id, " communicates; the logical plan must be a single-device one"));
        }
        if (node.kind == NodeKind::kReducer || node.kind == NodeKind::kAdapter) continue;
        nodes_.push_back(n);
      }
    }
    return absl::OkStatus();
  }

  // The loss must be the plain sum of one tensor: only then is the loss of a microbatch the part of
  // the sum that runs over its rows.
  absl::Status FindLoss() {
    for (int n : nodes_) {
      const Node& node = plan_.nodes[n];
      if (node.kind != NodeKind::kForward) continue;
      for (const NodeOperand& output : node.outputs) {
        const FullTensor& full = plan_.FullOf(output.tensor);
        if (!full.is_loss || full.is_gradient) continue;
        if (result_.loss != kNoIndex) {
          return absl::UnimplementedError(absl::StrCat("two losses, ",
                                                       plan_.fulls[result_.loss].name, " and ",
                                                       full.name, "; one is expected"));
        }
        result_.loss = plan_.subs[output.tensor].full;
        bool plain =
            node.name == "sum" && node.inputs.size() == 1 && node.inputs[0].tensor != kNoIndex;
        for (const auto& [name, value] : node.attributes) {
          plain = plain && std::holds_alternative<std::monostate>(value);
        }
        if (!plain) {
          return absl::UnimplementedError(
              absl::StrCat("the loss, ", full.name, ", is made by ", node.Label(),
                           "; only a plain sum of one tensor is supported"));
        }
        result_.summed = plan_.subs[node.inputs[0].tensor].full;
      }
    }
    if (result_.loss == kNoIndex) {
      return absl::InvalidArgumentError("no operator of the logical plan makes a loss");
    }
    return absl::OkStatus();
  }

  TensorId AddTensor(int sub, sdfg::TensorRole role, const sdfg::SourceLocation& source = {}) {
    const SubTensor& piece = plan_.subs[sub];
    sdfg::Tensor tensor;
    tensor.name = plan_.fulls[piece.full].name;
    tensor.dtype = RealDType(piece.dtype);
    tensor.shape = RealShape(piece.shape(), piece.dtype);
    tensor.role = role;
    tensor.source = source;
    return result_.graph.AddTensor(std::move(tensor));
  }

  absl::Status Writes() {
    for (int n : nodes_) {
      const Node& node = plan_.nodes[n];
      for (const NodeOperand& output : node.outputs) {
        const SubTensor& sub = plan_.subs[output.tensor];
        const FullTensor& full = plan_.fulls[sub.full];
        if (sub.shape() != full.shape) {
          return absl::InvalidArgumentError(
              absl::StrCat("cell ", node.id, " makes a piece of ", full.name,
                           "; tensors of the logical plan must be whole"));
        }
        const bool data = node.kind == NodeKind::kData;
        const TensorId tensor = AddTensor(
            output.tensor, data ? sdfg::TensorRole::kInput : sdfg::TensorRole::kIntermediate,
            node.source);
        outputs_[n].push_back(tensor);
        writes_[output.tensor].push_back(tensor);
        if (writes_[output.tensor].size() > 1 && !full.is_gradient) {
          return absl::InvalidArgumentError(absl::StrCat(
              "tensor ", plan_.TensorName(output.tensor), " has two producers, the second is ",
              node.Label(), "; single assignment is violated"));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TensorId> Sum(const std::vector<TensorId>& terms, const std::string& label) {
    if (terms.size() == 1) return terms[0];
    sdfg::Tensor total = result_.graph.tensors[terms[0]];
    total.producer = sdfg::kNone;
    absl::StatusOr<Function> function =
        functions_.Add(total.shape, total.dtype, static_cast<int>(terms.size()));
    if (!function.ok()) return function.status();
    sdfg::Operator op;
    op.name = "accumulate";
    op.function = *std::move(function);
    op.inputs = terms;
    op.outputs = {result_.graph.AddTensor(std::move(total))};
    op.label = label;
    const TensorId out = op.outputs[0];
    result_.graph.AddOperator(std::move(op));
    return out;
  }

  absl::Status Accumulate() {
    for (size_t s = 0; s < writes_.size(); ++s) {
      if (writes_[s].empty()) continue;
      absl::StatusOr<TensorId> total =
          Sum(writes_[s], absl::StrCat("gradient ", plan_.TensorName(static_cast<int>(s))));
      if (!total.ok()) return total.status();
      value_[s] = *total;
    }
    return absl::OkStatus();
  }

  // The tensor behind a piece that is read; kNone if nothing makes it.
  TensorId Read(int sub) {
    if (value_[sub] != sdfg::kNone) return value_[sub];
    const int full_index = plan_.subs[sub].full;
    const FullTensor& full = plan_.fulls[full_index];
    TensorId& source = result_.tensor_of_full[full_index];
    if (source == sdfg::kNone) {
      if (full.is_attribute && !full.is_gradient && plan_.subs[sub].shape() == full.shape) {
        source = AddTensor(sub, full.gradient == kNoIndex ? sdfg::TensorRole::kBuffer
                                                          : sdfg::TensorRole::kParameter);
      } else if (full_index == plan_.fulls[result_.loss].gradient) {
        source = AddTensor(sub, sdfg::TensorRole::kOne);
      } else {
        return sdfg::kNone;
      }
    }
    return value_[sub] = source;
  }

  absl::Status Dangling(const Node& node, int sub) {
    return absl::InvalidArgumentError(absl::StrCat("dangling tensor: ", plan_.TensorName(sub),
                                                   " is read by ", node.Label(),
                                                   " of the logical plan, nothing makes it"));
  }

  absl::Status AddNode(int n) {
    const Node& node = plan_.nodes[n];
    if (node.kind == NodeKind::kData) return absl::OkStatus();
    const bool backward = node.kind == NodeKind::kBackward;
    const Node& forward = backward ? plan_.nodes[node.mirror] : node;
    absl::StatusOr<Function> function = functions_.Forward(plan_, forward);
    if (!function.ok()) return function.status();
    sdfg::Operator op;
    op.name = backward ? forward.name + ".backward" : forward.name;
    op.source = forward.source;
    op.label = absl::StrCat("cell ", node.id);
    for (const NodeOperand& input : forward.inputs) {
      if (input.tensor == kNoIndex) continue;
      op.inputs.push_back(Read(input.tensor));
      if (op.inputs.back() == sdfg::kNone) return Dangling(forward, input.tensor);
    }
    op.outputs = outputs_[n];
    if (backward) {
      absl::StatusOr<BackwardOperands> match = MatchBackward(node, forward);
      if (!match.ok()) return match.status();
      std::vector<int> wrt, gradients;
      for (const BackwardOperands::Gradient& gradient : match->outputs)
        wrt.push_back(gradient.position);
      for (const BackwardOperands::Gradient& gradient : match->inputs) {
        const int sub = node.inputs[gradient.operand].tensor;
        const TensorId tensor = sub == kNoIndex ? sdfg::kNone : Read(sub);
        if (tensor == sdfg::kNone) {
          const int full = plan_.subs[forward.outputs[gradient.position].tensor].full;
          if (forward.name == "multiref" && !differentiated_[full]) continue;
          return sub == kNoIndex ? absl::InvalidArgumentError(absl::StrCat(
                                       "dangling tensor: ", node.Label(), " lacks an input"))
                                 : Dangling(node, sub);
        }
        gradients.push_back(gradient.position);
        op.inputs.push_back(tensor);
      }
      function = functions_.Backward(*function, wrt, gradients);
      if (!function.ok()) {
        return absl::Status(
            function.status().code(),
            absl::StrCat("backward of ", forward.Label(), ": ", function.status().message()));
      }
    }
    op.function = *std::move(function);
    result_.graph.AddOperator(std::move(op));
    return absl::OkStatus();
  }

  absl::Status TotalGradients() {
    std::vector<std::vector<TensorId>> terms(plan_.fulls.size());
    for (size_t s = 0; s < value_.size(); ++s) {
      if (value_[s] == sdfg::kNone || writes_[s].empty()) continue;
      terms[plan_.subs[s].full].push_back(value_[s]);
    }
    for (size_t f = 0; f < terms.size(); ++f) {
      if (terms[f].empty()) continue;
      absl::StatusOr<TensorId> total =
          Sum(terms[f], absl::StrCat("gradient ", plan_.fulls[f].name));
      if (!total.ok()) return total.status();
      result_.tensor_of_full[f] = *total;
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  LogicalGraph result_;
  FunctionCache functions_;
  std::vector<int> nodes_;
  std::vector<TensorId> value_;                              // per sub tensor
  std::vector<std::vector<TensorId>> writes_;                // per sub tensor
  absl::flat_hash_map<int, std::vector<TensorId>> outputs_;  // per node
  std::vector<bool> differentiated_;
};

}  // namespace

absl::StatusOr<LogicalGraph> BuildLogicalGraph(const Plan& plan,
                                               const sdfg::OperatorLibrary& operators) {
  return LogicalBuilder(plan, operators).Run();
}

}  // namespace planproof::frontend::nnscaler
