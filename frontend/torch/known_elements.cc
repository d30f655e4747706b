#include "frontend/torch/known_elements.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torch/strided.h"

namespace planproof::frontend::torch {
namespace {

using solver::Rational;
using Elements = ExactElements;

constexpr int64_t kMostElements = 4096;
constexpr int64_t kMostSteps = int64_t{1} << 23;  // of one operator
constexpr int kMostOperators = 8;                 // one after another, of a uniform tensor

// Tensors in `but` are not known. `whole`: nothing is known of a tensor with fractions, or with
// numbers that its type rounds.
struct Constants {
  const std::map<sdfg::TensorId, double>* but = nullptr;
  bool whole = false;
};

// Whether the type has all real numbers that stand in the function. Where a third or a root stands
// for the double that a program has, a product may be whole of which PyTorch has a little less.
bool HasExactNumbers(const sdfg::IndexFunction& function, sdfg::DType dtype) {
  const sdfg::DType computed = sdfg::IsFloating(dtype) ? dtype : sdfg::DType::kFloat64;
  return std::all_of(function.nodes.begin(), function.nodes.end(), [&](const sdfg::Node& node) {
    return node.op != sdfg::Op::kReal || HoldsExactly(computed, node.real);
  });
}

std::optional<Elements> ConstantElements(const sdfg::Graph& graph, sdfg::TensorId tensor,
                                         int operators, const Constants& constants = {}) {
  const sdfg::OperatorId producer = graph.tensors[tensor].producer;
  if (producer == sdfg::kNone || operators == 0) return std::nullopt;
  const sdfg::Operator& op = graph.operators[producer];
  if (op.kind != sdfg::OperatorKind::kCompute || !op.lifted) return std::nullopt;
  if (ElementsOf(graph.tensors[tensor].shape) > kMostElements) return std::nullopt;
  if (constants.but != nullptr && constants.but->count(tensor) != 0) return std::nullopt;
  if (constants.whole && !HasExactNumbers(*op.function, graph.tensors[tensor].dtype)) {
    return std::nullopt;
  }
  std::vector<Elements> operands;
  for (sdfg::TensorId input : op.inputs) {
    if (input == sdfg::kNone) return std::nullopt;
    std::optional<Elements> elements = ConstantElements(graph, input, operators - 1, constants);
    if (!elements) return std::nullopt;
    operands.push_back(*std::move(elements));
  }
  std::vector<const Elements*> inputs;
  for (const Elements& operand : operands) inputs.push_back(&operand);
  int64_t work = kMostSteps;
  std::optional<Elements> elements =
      EvaluateExactly(*op.function, graph.tensors[tensor].producer_output, inputs, &work);
  const sdfg::DType dtype = graph.tensors[tensor].dtype;
  const bool exact = !constants.whole || !elements ||
                     std::all_of(elements->begin(), elements->end(), [&](const Rational& element) {
                       return element.IsInteger() && HoldsExactly(dtype, element);
                     });
  return exact ? elements : std::nullopt;
}

// The number that the operator gives by its form, everywhere, or rearranges of such a tensor:
// however many elements there are.
struct Filled {
  Rational number;
  sdfg::TensorId tensor = sdfg::kNone;  // which the operator gives
};
std::optional<Filled> UniformByForm(const sdfg::Graph& graph, sdfg::TensorId tensor) {
  for (int operators = 0; operators < kMostOperators && tensor != sdfg::kNone; ++operators) {
    const sdfg::OperatorId producer = graph.tensors[tensor].producer;
    if (producer == sdfg::kNone || ElementsOf(graph.tensors[tensor].shape) == 0) break;
    const sdfg::Operator& op = graph.operators[producer];
    if (op.kind != sdfg::OperatorKind::kCompute || !op.lifted) break;
    if (!op.function->premises.empty()) break;
    const sdfg::Node& body =
        op.function->nodes[op.function->outputs[graph.tensors[tensor].producer_output].body];
    if (body.op == sdfg::Op::kReal) return Filled{body.real, tensor};
    if (body.op == sdfg::Op::kIntConst) return Filled{Rational(body.value), tensor};
    if (body.op != sdfg::Op::kElement && body.op != sdfg::Op::kIntElement) break;
    tensor = op.inputs[body.input];
  }
  return std::nullopt;
}

// The number that all of them are.
std::optional<Rational> TheOne(const std::optional<Elements>& elements) {
  if (!elements || elements->empty()) return std::nullopt;
  const bool uniform = std::all_of(elements->begin(), elements->end(),
                                   [&](const Rational& each) { return each == elements->front(); });
  return uniform ? std::make_optional(elements->front()) : std::nullopt;
}

}  // namespace

std::optional<Rational> UniformElement(const sdfg::Graph& graph, sdfg::TensorId tensor) {
  if (std::optional<Filled> filled = UniformByForm(graph, tensor); filled) return filled->number;
  return TheOne(ConstantElements(graph, tensor, kMostOperators));
}

std::optional<KnownNumber> UniformNumber(const sdfg::Graph& graph, sdfg::TensorId tensor,
                                         const std::map<sdfg::TensorId, double>& errors) {
  const sdfg::DType dtype = graph.tensors[tensor].dtype;
  if (const std::optional<Filled> filled = UniformByForm(graph, tensor); filled) {
    const auto error = errors.find(filled->tensor);
    return InType({filled->number, dtype, error == errors.end() ? 0 : error->second}, dtype);
  }
  std::optional<Rational> number =
      TheOne(ConstantElements(graph, tensor, kMostOperators, {&errors, true}));
  if (!number) return std::nullopt;
  return KnownNumber{*std::move(number), dtype, 0};
}

std::optional<ExactElements> WholeElements(const sdfg::Graph& graph, sdfg::TensorId tensor) {
  return ConstantElements(graph, tensor, kMostOperators, {nullptr, true});
}

absl::Status KnownElements::Visit(sdfg::OperatorId id) {
  const sdfg::Operator& op = graph_.operators[id];
  const sdfg::IndexFunction& function = *op.function;
  std::vector<const Elements*> inputs;
  bool all = op.kind != sdfg::OperatorKind::kUninitialised && op.lifted;
  int64_t work = kMostSteps;
  std::set<sdfg::TensorId> origins;
  for (sdfg::TensorId input : op.inputs) {
    inputs.push_back(input == sdfg::kNone ? nullptr : Of(input));
    all = all && inputs.back() != nullptr;
    origins.insert(OriginsOf(input).begin(), OriginsOf(input).end());
  }
  for (size_t o = 0; o < op.outputs.size(); ++o) {
    const sdfg::TensorId output = op.outputs[o];
    if (output == sdfg::kNone || static_cast<size_t>(output) >= known_.size()) continue;
    std::optional<Elements>& known = known_[output];
    if (all && ElementsOf(graph_.tensors[output].shape) <= kMostElements) {
      known = EvaluateExactly(function, static_cast<int>(o), inputs, &work);
    }
    if (known) origins_[output] = origins;
    const auto recorded = recorded_.find(output);
    if (recorded == recorded_.end()) continue;
    const Elements elements(recorded->second.begin(), recorded->second.end());
    if (known && *known != elements) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.label, op.source.ToString().empty() ? "" : ", at ", op.source.ToString(),
                       ": other values were recorded than the operator gives; record again"));
    }
    known = elements;
    origins_[output] = {output};
  }
  return absl::OkStatus();
}

bool KnownElements::PremisesHold(const sdfg::IndexFunction& function,
                                 const std::vector<sdfg::TensorId>& inputs) const {
  std::vector<const Elements*> known;
  for (sdfg::TensorId input : inputs) known.push_back(Of(input));
  int64_t work = kMostSteps;
  return PremisesHoldExactly(function, known, &work);
}

std::set<sdfg::TensorId> KnownElements::OriginsOfPremises(
    const sdfg::IndexFunction& function, const std::vector<sdfg::TensorId>& inputs) const {
  std::set<sdfg::TensorId> origins;
  if (function.premises.empty()) return origins;
  for (sdfg::TensorId input : inputs) {
    origins.insert(OriginsOf(input).begin(), OriginsOf(input).end());
  }
  return origins;
}

}  // namespace planproof::frontend::torch
