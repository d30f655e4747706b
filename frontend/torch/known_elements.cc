#include "frontend/torch/known_elements.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torch/partial_value.h"
#include "frontend/torch/strided.h"
#include "sdfg/stack_room.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using solver::Rational;
using Elements = KnownElements::Elements;

constexpr int64_t kMostElements = 4096;
constexpr int64_t kMostSteps = int64_t{1} << 23;  // of one operator
constexpr int kMostOperators = 8;                 // one after another, of a uniform tensor

// One function applied to operands that are known, element by element. Conditions are 0 and 1.
class Application {
 public:
  Application(const sdfg::IndexFunction& function, std::vector<const Elements*> inputs)
      : f_(function), inputs_(std::move(inputs)), at_(function.vars.size(), 0) {}

  // The expression for each value of the variables, in row-major order.
  std::optional<Elements> All(const std::vector<sdfg::VarId>& dims, ExprId body) {
    Elements elements;
    int64_t count = 1;
    for (sdfg::VarId dim : dims) count *= f_.vars[dim].extent;
    if (count > kMostElements) return std::nullopt;
    for (int64_t number = 0; number < count; ++number) {
      int64_t rest = number;
      for (size_t k = dims.size(); k-- > 0;) {
        at_[dims[k]] = rest % f_.vars[dims[k]].extent;
        rest /= f_.vars[dims[k]].extent;
      }
      std::optional<Rational> value = Value(body);
      if (!value) return std::nullopt;
      elements.push_back(*std::move(value));
    }
    return elements;
  }

 private:
  using Maybe = std::optional<Rational>;

  Maybe Value(ExprId id) {
    if (++steps_ > kMostSteps || sdfg::StackIsShort()) return std::nullopt;
    const Node& node = f_.nodes[id];
    switch (node.op) {
      case Op::kIntConst:
        return Rational(node.value);
      case Op::kReal:
        return node.real;
      case Op::kIndex:
        return Rational(at_[node.var]);
      case Op::kElement:
      case Op::kIntElement:
        return Element(node);
      case Op::kSelect: {
        const Maybe condition = Value(node.args[0]);
        if (!condition) return std::nullopt;
        return Value(node.args[condition->IsZero() ? 2 : 1]);
      }
      case Op::kAnd:
      case Op::kOr: {
        const Maybe first = Value(node.args[0]);
        if (!first || first->IsZero() == (node.op == Op::kAnd)) return first;
        return Value(node.args[1]);
      }
      case Op::kMul: {
        const Maybe first = Value(node.args[0]);
        if (!first || first->IsZero()) return first;
        const Maybe second = Value(node.args[1]);
        if (!second) return std::nullopt;
        return *first * *second;
      }
      case Op::kSum:
      case Op::kReduceMax:
      case Op::kReduceMin:
        return Reduced(node);
      case Op::kOpaque:
        return Ordered(node);
      default:
        return Arithmetic(node);
    }
  }

  Maybe Arithmetic(const Node& node) {
    std::vector<Rational> args;
    for (ExprId arg : node.args) {
      Maybe value = Value(arg);
      if (!value) return std::nullopt;
      args.push_back(*std::move(value));
    }
    return Computed(node, args);
  }

  Maybe Element(const Node& node) {
    if (inputs_[node.input] == nullptr) return std::nullopt;
    const sdfg::Shape& shape = f_.inputs[node.input].shape;
    int64_t position = 0;
    for (size_t k = 0; k < node.args.size(); ++k) {
      const Maybe index = Value(node.args[k]);
      int64_t number = 0;
      if (!index || !index->ToInt64(&number) || number < 0 || number >= shape[k]) {
        return std::nullopt;
      }
      position = position * shape[k] + number;
    }
    return (*inputs_[node.input])[position];
  }

  Maybe Reduced(const Node& node) {
    Maybe result;
    if (node.op == Op::kSum) result = Rational(0);
    for (int64_t i = 0; i < f_.vars[node.var].extent; ++i) {
      at_[node.var] = i;
      const Maybe value = Value(node.args[0]);
      if (!value) return std::nullopt;
      if (node.op == Op::kSum) {
        *result += *value;
      } else if (!result || (node.op == Op::kReduceMax ? *result < *value : *value < *result)) {
        result = value;
      }
    }
    return result;
  }

  // Where the elements of a row are, the largest first, equal ones by their indices: what the
  // operators that sort assume (sdfg/native_operators_order.cc).
  Maybe Ordered(const Node& node) {
    if (!node.int_valued || node.var < 0 || node.args.size() != 2) return std::nullopt;
    const int64_t extent = f_.vars[node.var].extent;
    bool sorts = false;
    for (int64_t k = 1; k <= extent && !sorts; ++k) {
      sorts = node.name == absl::StrCat("topk_index(k=", k, ")");
    }
    if (!sorts) return std::nullopt;
    const Maybe rank = Value(node.args[1]);
    int64_t place = 0;
    if (!rank || !rank->ToInt64(&place) || place < 0 || place >= extent) return std::nullopt;
    Elements row;
    for (int64_t i = 0; i < extent; ++i) {
      at_[node.var] = i;
      Maybe value = Value(node.args[0]);
      if (!value) return std::nullopt;
      row.push_back(*std::move(value));
    }
    std::vector<int64_t> order(extent);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return row[b] < row[a]; });
    return Rational(order[place]);
  }

  const sdfg::IndexFunction& f_;
  const std::vector<const Elements*> inputs_;
  std::vector<int64_t> at_;
  int64_t steps_ = 0;
};

std::optional<Elements> ConstantElements(const sdfg::Graph& graph, sdfg::TensorId tensor,
                                         int operators) {
  const sdfg::OperatorId producer = graph.tensors[tensor].producer;
  if (producer == sdfg::kNone || operators == 0) return std::nullopt;
  const sdfg::Operator& op = graph.operators[producer];
  if (op.kind != sdfg::OperatorKind::kCompute || !op.lifted) return std::nullopt;
  if (!op.function->premises.empty()) return std::nullopt;
  if (ElementsOf(graph.tensors[tensor].shape) > kMostElements) return std::nullopt;
  std::vector<Elements> operands;
  for (sdfg::TensorId input : op.inputs) {
    if (input == sdfg::kNone) return std::nullopt;
    std::optional<Elements> elements = ConstantElements(graph, input, operators - 1);
    if (!elements) return std::nullopt;
    operands.push_back(*std::move(elements));
  }
  std::vector<const Elements*> inputs;
  for (const Elements& operand : operands) inputs.push_back(&operand);
  const sdfg::FunctionOutput& output = op.function->outputs[graph.tensors[tensor].producer_output];
  return Application(*op.function, std::move(inputs)).All(output.dims, output.body);
}

}  // namespace

std::optional<Rational> UniformElement(const sdfg::Graph& graph, sdfg::TensorId tensor) {
  const std::optional<Elements> elements = ConstantElements(graph, tensor, kMostOperators);
  if (!elements || elements->empty()) return std::nullopt;
  const bool uniform = std::all_of(elements->begin(), elements->end(),
                                   [&](const Rational& each) { return each == elements->front(); });
  return uniform ? std::make_optional(elements->front()) : std::nullopt;
}

absl::Status KnownElements::Visit(sdfg::OperatorId id) {
  const sdfg::Operator& op = graph_.operators[id];
  const sdfg::IndexFunction& function = *op.function;
  std::vector<const Elements*> inputs;
  bool all = op.kind != sdfg::OperatorKind::kUninitialised && op.lifted;
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
      known = Application(function, inputs).All(function.outputs[o].dims, function.outputs[o].body);
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
  return std::all_of(function.premises.begin(), function.premises.end(),
                     [&](const sdfg::FunctionPremise& premise) {
                       const std::optional<Elements> truth =
                           Application(function, known)
                               .All(function.outputs[premise.output].dims, premise.condition);
                       return truth && std::none_of(truth->begin(), truth->end(),
                                                    [](const Rational& t) { return t.IsZero(); });
                     });
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
