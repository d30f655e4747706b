#include "sdfg/reverse_mode.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/coordinate_functions.h"
#include "sdfg/differentiate.h"
#include "sdfg/shared_functions.h"
#include "sdfg/status_macros.h"

namespace planproof::sdfg {
namespace {

class Reverse {
 public:
  Reverse(Graph* graph, std::unordered_map<std::string, TensorId>* names)
      : graph_(*graph), names_(*names), functions_(graph) {}

  absl::Status Run(TensorId loss, const std::vector<TensorId>& of) {
    const size_t tensors = graph_.tensors.size();
    const OperatorId operators = static_cast<OperatorId>(graph_.operators.size());
    depends_.assign(tensors, false);
    for (TensorId tensor : of) depends_[tensor] = true;
    for (OperatorId id = 0; id < operators; ++id) {
      const Operator& op = graph_.operators[id];
      for (TensorId input : op.inputs) {
        if (!depends_[input]) continue;
        for (TensorId output : op.outputs) {
          if (output != kNone && IsReal(output)) depends_[output] = true;
        }
        break;
      }
    }
    contributions_.resize(tensors);
    gradient_.assign(tensors, kNone);
    Tensor seed;
    seed.shape = graph_.tensors[loss].shape;
    seed.dtype = graph_.tensors[loss].dtype;
    seed.role = TensorRole::kOne;
    seed.source = graph_.tensors[loss].source;
    PLAN_ASSIGN_OR_RETURN(TensorId one, Add(GradientName(loss), std::move(seed)));
    gradient_[loss] = one;
    for (OperatorId id = operators; id-- > 0;) PLAN_RETURN_IF_ERROR(Visit(id));
    for (TensorId tensor : of) {
      PLAN_RETURN_IF_ERROR(Collect(tensor));
      if (gradient_[tensor] == kNone) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", graph_.tensors[loss].name, "\" does not depend on \"",
                         graph_.tensors[tensor].name, "\", so it has no gradient"));
      }
    }
    return absl::OkStatus();
  }

 private:
  bool IsReal(TensorId tensor) const {
    const DType dtype = graph_.tensors[tensor].dtype;
    return !IsInteger(dtype) && dtype != DType::kBool;
  }
  std::string GradientName(TensorId tensor) const {
    return absl::StrCat("grad.", graph_.tensors[tensor].name);
  }

  absl::StatusOr<TensorId> Add(const std::string& name, Tensor tensor) {
    tensor.name = name;
    const TensorId id = static_cast<TensorId>(graph_.tensors.size());
    if (!names_.emplace(name, id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the gradient's name \"", name, "\" is taken by another tensor"));
    }
    return graph_.AddTensor(std::move(tensor));
  }

  // Sums the contributions to `tensor`, once all its consumers have been visited.
  absl::Status Collect(TensorId tensor) {
    std::vector<TensorId>& parts = contributions_[tensor];
    if (parts.empty() || gradient_[tensor] != kNone) return absl::OkStatus();
    if (parts.size() == 1) {
      const std::string name = GradientName(tensor);
      if (!names_.emplace(name, parts[0]).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("the gradient's name \"", name, "\" is taken by another tensor"));
      }
      graph_.tensors[parts[0]].name = name;
      gradient_[tensor] = parts[0];
      return absl::OkStatus();
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      graph_.tensors[parts[i]].name = absl::StrCat(GradientName(tensor), ".", i + 1);
      names_.emplace(graph_.tensors[parts[i]].name, parts[i]);
    }
    Tensor total;
    total.shape = graph_.tensors[tensor].shape;
    total.dtype = graph_.tensors[tensor].dtype;
    total.source = graph_.tensors[tensor].source;
    const auto count = static_cast<int>(parts.size());
    FunctionKey key("add");
    key.List(total.shape).Number(static_cast<int64_t>(total.dtype)).Number(count);
    PLAN_ASSIGN_OR_RETURN(FunctionPointer sum, functions_.Get(key.Take(), [&] {
      return AddAll(total.shape, total.dtype, count);
    }));
    PLAN_ASSIGN_OR_RETURN(TensorId id, Add(GradientName(tensor), std::move(total)));
    Operator add;
    add.name = "add";
    add.label = GradientName(tensor);
    add.function = std::move(sum);
    add.inputs = parts;
    add.outputs = {id};
    add.source = graph_.tensors[tensor].source;
    graph_.AddOperator(std::move(add));
    gradient_[tensor] = id;
    return absl::OkStatus();
  }

  absl::Status Visit(OperatorId id) {
    std::vector<int> output_gradients;
    std::vector<TensorId> gradients;
    for (size_t o = 0; o < graph_.operators[id].outputs.size(); ++o) {
      const TensorId output = graph_.operators[id].outputs[o];
      if (output == kNone) continue;
      PLAN_RETURN_IF_ERROR(Collect(output));  // may add an operator
      if (gradient_[output] == kNone) continue;
      output_gradients.push_back(static_cast<int>(o));
      gradients.push_back(gradient_[output]);
    }
    const Operator& op = graph_.operators[id];
    std::vector<int> wrt;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (depends_[op.inputs[i]] && IsReal(op.inputs[i])) wrt.push_back(static_cast<int>(i));
    }
    if (gradients.empty() || wrt.empty()) return absl::OkStatus();
    FunctionKey key("derivative");
    key.Function(op.function.get()).List(wrt).List(output_gradients);
    const absl::StatusOr<FunctionPointer> derivative = functions_.Get(
        key.Take(), [&] { return Differentiate(*op.function, wrt, output_gradients); });
    if (!derivative.ok()) {
      return absl::Status(derivative.status().code(),
                          absl::StrCat("derivative of ", op.name, " (", op.label,
                                       "): ", std::string(derivative.status().message())));
    }
    Operator backward;
    backward.name = absl::StrCat(op.name, ".backward");
    backward.label = absl::StrCat(op.label, ".backward");
    backward.derivative = true;
    backward.source = op.source;
    backward.attributes = op.attributes;
    backward.inputs = op.inputs;
    backward.inputs.insert(backward.inputs.end(), gradients.begin(), gradients.end());
    for (int input : wrt) {
      Tensor part;
      part.name = GradientName(op.inputs[input]);
      part.shape = graph_.tensors[op.inputs[input]].shape;
      part.dtype = graph_.tensors[op.inputs[input]].dtype;
      part.source = op.source;
      const TensorId added = graph_.AddTensor(std::move(part));
      contributions_[op.inputs[input]].push_back(added);
      backward.outputs.push_back(added);
    }
    backward.function = *derivative;
    graph_.AddOperator(std::move(backward));
    return absl::OkStatus();
  }

  Graph& graph_;
  std::unordered_map<std::string, TensorId>& names_;
  SharedFunctions functions_;
  std::vector<bool> depends_;
  std::vector<std::vector<TensorId>> contributions_;
  std::vector<TensorId> gradient_;
};

}  // namespace

absl::Status AddGradients(Graph* graph, std::unordered_map<std::string, TensorId>* names,
                          TensorId loss, const std::vector<TensorId>& of) {
  return Reverse(graph, names).Run(loss, of);
}

}  // namespace planproof::sdfg
