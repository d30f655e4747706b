#include "frontend/torch/constant_folding.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/torch/strided.h"
#include "sdfg/graph_check.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

constexpr int64_t kMaxElements = 4096;
constexpr int64_t kMaxWork = int64_t{1} << 22;  // expressions evaluated, of one graph

// What a tensor is computed from.
enum class Origin : uint8_t {
  kAnything,
  kNumbers,  // numbers in operators
  kListed,   // these, and listed constants
};

// One that int32 and int64 have.
bool IsSmallInteger(const solver::Rational& number) {
  int64_t whole = 0;
  return number.ToInt64(&whole) && whole < int64_t{1} << 31 && whole >= -(int64_t{1} << 31);
}

bool AreSmallIntegers(const ExactElements& elements) {
  return std::all_of(elements.begin(), elements.end(), IsSmallInteger);
}

class Folding {
 public:
  Folding(const sdfg::OperatorLibrary& operators, const ListedElements& listed, sdfg::Graph* graph)
      : operators_(operators), graph_(*graph) {
    origins_.assign(graph_.tensors.size(), Origin::kAnything);
    known_.resize(graph_.tensors.size());
    from_.resize(graph_.tensors.size());
    reads_constant_.assign(graph_.tensors.size(), false);
    whole_.assign(graph_.tensors.size(), false);
    for (const auto& [tensor, elements] : listed) {
      origins_[tensor] = Origin::kListed;
      known_[tensor] = elements;
      from_[tensor] = {tensor};
      reads_constant_[tensor] = true;
      whole_[tensor] = AreSmallIntegers(elements);
    }
  }

  absl::Status Run() {
    std::vector<OperatorId> order;
    PLAN_RETURN_IF_ERROR(sdfg::TopologicalOrder(graph_, &order));
    for (OperatorId id : order) PLAN_RETURN_IF_ERROR(Visit(id));
    return absl::OkStatus();
  }

  const std::set<TensorId>& used() const { return used_; }

 private:
  absl::Status Visit(OperatorId id) {
    const sdfg::Operator& op = graph_.operators[id];
    if (!op.lifted) return absl::OkStatus();
    Origin origin = IsListing(op) ? Origin::kListed : Origin::kNumbers;
    for (TensorId input : op.inputs) {
      if (input == kNone || origins_[input] == Origin::kAnything) return absl::OkStatus();
      origin = std::max(origin, origins_[input]);
    }
    // Evaluation reads operands where the function says that they have elements.
    PLAN_RETURN_IF_ERROR(sdfg::CheckOperator(graph_, id));
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorId output = op.outputs[o];
      if (output == kNone) continue;
      origins_[output] = origin;
      if (origin == Origin::kListed) known_[output] = ElementsOfOutput(op, o);
      whole_[output] = known_[output] && AreSmallIntegers(*known_[output]) &&
                       std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
                         return Known(input) != nullptr && AreSmallIntegers(*Known(input)) &&
                                (whole_[input] || origins_[input] == Origin::kNumbers);
                       });
      for (TensorId input : op.inputs) {
        from_[output].insert(from_[input].begin(), from_[input].end());
        reads_constant_[output] = reads_constant_[output] || reads_constant_[input];
      }
    }
    if (origin == Origin::kListed) FoldIfNumber(id);
    return absl::OkStatus();
  }

  // Elements spelled out one by one.
  static bool IsListing(const sdfg::Operator& op) {
    return op.inputs.empty() && op.function->outputs.size() == 1 &&
           op.function->nodes[op.function->outputs[0].body].op == sdfg::Op::kSelect;
  }

  std::optional<ExactElements> ElementsOfOutput(const sdfg::Operator& op, size_t output) {
    if (ElementsOf(graph_.tensors[op.outputs[output]].shape) > kMaxElements) return std::nullopt;
    std::vector<const ExactElements*> inputs;
    for (TensorId input : op.inputs) inputs.push_back(Known(input));
    std::optional<ExactElements> elements =
        EvaluateExactly(*op.function, static_cast<int>(output), inputs, &work_);
    // Rounding may have led beside a whole number that is computed of fractions.
    if (!elements && IsTruncation(op) && inputs[0] != nullptr && whole_[op.inputs[0]]) {
      return *inputs[0];
    }
    return elements;
  }

  // Null if they are not known.
  const ExactElements* Known(TensorId tensor) {
    const OperatorId producer = graph_.tensors[tensor].producer;
    if (!known_[tensor] && origins_[tensor] == Origin::kNumbers && producer != kNone) {
      const sdfg::Operator& op = graph_.operators[producer];
      if (op.inputs.empty()) {
        known_[tensor] = ElementsOfOutput(op, graph_.tensors[tensor].producer_output);
      }
    }
    return known_[tensor] ? &*known_[tensor] : nullptr;
  }

  // The conversion from real numbers to integers, which is no identity for fractions.
  bool IsTruncation(const sdfg::Operator& op) {
    if (op.inputs.size() != 1 || op.outputs.size() != 1) return false;
    const sdfg::Tensor& from = graph_.tensors[op.inputs[0]];
    const sdfg::Tensor& to = graph_.tensors[op.outputs[0]];
    if (to.dtype != sdfg::DType::kInt32 && to.dtype != sdfg::DType::kInt64) return false;
    if (!sdfg::IsFloating(from.dtype)) return false;
    sdfg::Operand operand;
    operand.shape = from.shape;
    operand.dtype = from.dtype;
    absl::StatusOr<sdfg::IndexFunction> function = operators_.Instantiate(
        "to", {operand}, {{"dtype", std::string(sdfg::DTypeName(to.dtype))}});
    return function.ok() && graph_.Intern(*std::move(function)) == op.function;
  }

  void FoldIfNumber(OperatorId id) {
    sdfg::Operator& op = graph_.operators[id];
    if (op.kind != sdfg::OperatorKind::kCompute || op.inputs.empty() || op.outputs.size() != 1) {
      return;
    }
    const TensorId output = op.outputs[0];
    const sdfg::Tensor& tensor = graph_.tensors[output];
    if (!tensor.shape.empty() || !known_[output]) return;
    const solver::Rational& number = known_[output]->at(0);
    int64_t whole = 0;
    if (sdfg::IsInteger(tensor.dtype) && !number.ToInt64(&whole)) return;
    sdfg::IndexFunctionBuilder builder(op.function->operator_name);
    // A constant is no operand any more, or what is divided by the number seems to depend on it.
    std::vector<TensorId> inputs = op.inputs;
    if (reads_constant_[output]) inputs.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const sdfg::FunctionInput& input = op.function->inputs[i];
      builder.AddInput(input.name, input.shape, input.dtype);
    }
    const int y = builder.AddOutput("y", sdfg::Shape{}, tensor.dtype);
    builder.SetBody(y, sdfg::IsInteger(tensor.dtype) ? builder.Int(whole) : builder.Real(number));
    sdfg::IndexFunction function;
    if (!builder.Finish(&function).ok()) return;
    function.assumptions = op.function->assumptions;
    op.function = graph_.Intern(std::move(function));
    op.inputs = std::move(inputs);
    reads_constant_[output] = false;
    used_.insert(from_[output].begin(), from_[output].end());
  }

  const sdfg::OperatorLibrary& operators_;
  sdfg::Graph& graph_;
  std::vector<Origin> origins_;                      // by tensor
  std::vector<std::optional<ExactElements>> known_;  // by tensor
  std::vector<std::set<TensorId>> from_;             // by tensor: listed ones
  std::vector<bool> reads_constant_;                 // by tensor: its operators, as they are now
  std::vector<bool> whole_;  // by tensor: integers that are computed of integers alone
  std::set<TensorId> used_;
  int64_t work_ = kMaxWork;
};

}  // namespace

absl::StatusOr<std::set<TensorId>> FoldConstants(const sdfg::OperatorLibrary& operators,
                                                 const ListedElements& listed, sdfg::Graph* graph) {
  Folding folding(operators, listed, graph);
  PLAN_RETURN_IF_ERROR(folding.Run());
  return folding.used();
}

}  // namespace planproof::frontend::torch
