#include "monitor/proved/export_definitions.h"

#include <algorithm>
#include <cmath>

#include "monitor/proved/export_squares.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::monitor {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::TensorId;

constexpr int kMostOperatorsOfForm = 32;
constexpr int kMostOperatorsOfCoefficient = 32;

// The operator that computes the tensor element by element; null if none does.
const sdfg::Operator* LiftedProducer(const sdfg::Graph& graph, TensorId tensor) {
  const sdfg::OperatorId producer = graph.tensors[tensor].producer;
  if (producer == sdfg::kNone) return nullptr;
  const sdfg::Operator& op = graph.operators[producer];
  const size_t output = graph.tensors[tensor].producer_output;
  const bool usable = op.lifted && op.function != nullptr && output < op.function->outputs.size();
  return usable ? &op : nullptr;
}

// Whether the element is read at the output's own index.
bool IsSameElement(const IndexFunction& function, const sdfg::FunctionOutput& output,
                   const Node& element) {
  if (element.args.size() != output.dims.size()) return false;
  for (size_t d = 0; d < output.dims.size(); ++d) {
    const Node& index = function.nodes[element.args[d]];
    const int64_t extent = function.inputs[element.input].shape[d];
    if (extent == 1 && function.vars[output.dims[d]].extent == 1) continue;
    if (index.op != Op::kIndex || index.var != output.dims[d]) return false;
  }
  return true;
}

class FormReader {
 public:
  FormReader(const sdfg::Graph& graph, const std::set<TensorId>& leaves)
      : graph_(graph), leaves_(leaves) {}

  std::optional<LinearForm> Of(TensorId tensor, bool may_be_leaf) {
    if (may_be_leaf && leaves_.count(tensor) != 0) return LinearForm{{{tensor, 1}}, 0};
    const sdfg::Operator* op = LiftedProducer(graph_, tensor);
    if (op == nullptr || ++operators_ > kMostOperatorsOfForm) return std::nullopt;
    const sdfg::FunctionOutput& output =
        op->function->outputs[graph_.tensors[tensor].producer_output];
    return OfExpression(*op, output, output.body);
  }

 private:
  std::optional<LinearForm> OfExpression(const sdfg::Operator& op,
                                         const sdfg::FunctionOutput& output, ExprId id) {
    const IndexFunction& function = *op.function;
    const Node& node = function.nodes[id];
    if (node.op == Op::kReal) return LinearForm{{}, node.real};
    if (node.op == Op::kElement) {
      if (!IsSameElement(function, output, node)) return std::nullopt;
      return Of(op.inputs[node.input], true);
    }
    const bool unary = node.op == Op::kNeg;
    const bool binary = node.op == Op::kAdd || node.op == Op::kMul || node.op == Op::kDiv;
    if (!unary && !binary) return std::nullopt;
    std::optional<LinearForm> a = OfExpression(op, output, node.args[0]);
    if (!a) return std::nullopt;
    if (unary) return Times(*a, -1);
    const std::optional<LinearForm> b = OfExpression(op, output, node.args[1]);
    if (!b) return std::nullopt;
    if (node.op == Op::kAdd) return Sum(*std::move(a), *b);
    if (b->factors.empty() && node.op == Op::kMul) return Times(*a, b->constant);
    if (a->factors.empty() && node.op == Op::kMul) return Times(*b, a->constant);
    if (b->factors.empty() && !b->constant.IsZero()) {
      return Times(*a, solver::Rational(1) / b->constant);
    }
    return std::nullopt;
  }

  static LinearForm Times(LinearForm form, const solver::Rational& factor) {
    for (auto& [tensor, own] : form.factors) own = own * factor;
    form.constant = form.constant * factor;
    return form;
  }
  static LinearForm Sum(LinearForm a, const LinearForm& b) {
    for (const auto& [tensor, factor] : b.factors) a.factors[tensor] = a.factors[tensor] + factor;
    a.constant = a.constant + b.constant;
    return a;
  }

  const sdfg::Graph& graph_;
  const std::set<TensorId>& leaves_;
  int operators_ = 0;
};

// The coefficient as a function of the norm, a number computed from a number by one operator after
// another.
class CoefficientOfNorm {
 public:
  CoefficientOfNorm(const sdfg::Graph& graph, TensorId coefficient) : graph_(graph) {
    path_.push_back(coefficient);
  }

  // One operator further towards what the coefficient is computed from; false: there is none.
  bool Descend() {
    const sdfg::OperatorId producer = graph_.tensors[path_.back()].producer;
    if (producer == sdfg::kNone || path_.size() > kMostOperatorsOfCoefficient) return false;
    const sdfg::Operator& op = graph_.operators[producer];
    if (op.function == nullptr || op.inputs.empty()) return false;
    TensorId next = op.inputs[0];
    for (const TensorId input : op.inputs) {
      if (input != next) return false;
    }
    if (sdfg::ElementCount(graph_.tensors[next].shape) != 1) return false;
    path_.push_back(next);
    return true;
  }

  TensorId norm() const { return path_.back(); }

  std::optional<double> At(double norm) const {
    double value = norm;
    for (size_t k = path_.size() - 1; k > 0; --k) {
      const sdfg::Tensor& tensor = graph_.tensors[path_[k - 1]];
      const sdfg::Operator& op = graph_.operators[tensor.producer];
      std::vector<sdfg::DenseTensor> inputs(op.inputs.size(),
                                            {graph_.tensors[path_[k]].shape, {value}});
      const auto outputs = sdfg::EvaluateDense(*op.function, inputs);
      if (!outputs.ok() || (*outputs)[tensor.producer_output].data.size() != 1) return std::nullopt;
      value = (*outputs)[tensor.producer_output].data[0];
    }
    return value;
  }

 private:
  const sdfg::Graph& graph_;
  std::vector<TensorId> path_;
};

// `bound`, `epsilon` and `unlimited` of a clip coefficient, if that is what the coefficient is.
std::optional<ClipCoefficient> FunctionOfNorm(const CoefficientOfNorm& coefficient) {
  double norm = 0x1p-40;
  std::optional<double> at;
  const auto first = coefficient.At(norm);
  if (!first || !(*first >= 1)) return std::nullopt;
  while (norm < 0x1p60 && (at = coefficient.At(norm)) && *at >= 1) norm *= 2;
  if (!at || !(*at < 1) || !(*at > 0)) return std::nullopt;
  const double far = 4 * norm;
  const std::optional<double> there = coefficient.At(far);
  if (!there || !(*there > 0)) return std::nullopt;
  ClipCoefficient clip;
  clip.unlimited = *first != 1;
  clip.bound = (far - norm) / (1 / *there - 1 / *at);
  clip.epsilon = std::max(0.0, clip.bound / *at - norm);
  for (const double test : {0x1p-30, norm / 4, norm / 2, norm, 1.37 * norm, far, 0x1p10 * norm}) {
    const std::optional<double> value = coefficient.At(test);
    if (!value) return std::nullopt;
    const double share = clip.bound / (test + clip.epsilon);
    const double expected = clip.unlimited ? share : std::min(1.0, share);
    if (!(std::abs(*value - expected) <= 1e-9 * expected)) return std::nullopt;
  }
  if (clip.epsilon < 1e-12 * clip.bound) clip.epsilon = 0;
  return clip;
}

bool AddMultipliers(const sdfg::Graph& graph, TensorId tensor, int depth,
                    std::set<TensorId>* found) {
  if (depth > kMostOperatorsOfCoefficient) return false;
  tensor = BeforeMoves(graph, tensor);
  if (const auto scaled = ScaledTensorOf(graph, tensor)) {
    found->insert(scaled->scalar);
    return true;
  }
  const sdfg::OperatorId producer = graph.tensors[tensor].producer;
  if (producer == sdfg::kNone) return false;
  const sdfg::Operator& op = graph.operators[producer];
  const bool reduces =
      op.kind == sdfg::OperatorKind::kAllReduce || op.kind == sdfg::OperatorKind::kReduceScatter;
  return reduces && std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
           return AddMultipliers(graph, input, depth + 1, found);
         });
}

}  // namespace

std::optional<LinearForm> LinearFormOf(const sdfg::Graph& graph, TensorId tensor,
                                       const std::set<TensorId>& leaves) {
  return FormReader(graph, leaves).Of(tensor, false);
}

std::optional<ScaledTensor> ScaledTensorOf(const sdfg::Graph& graph, TensorId tensor) {
  const sdfg::Operator* op = LiftedProducer(graph, tensor);
  if (op == nullptr) return std::nullopt;
  const IndexFunction& function = *op->function;
  const sdfg::FunctionOutput& output = function.outputs[graph.tensors[tensor].producer_output];
  const Node& product = function.nodes[output.body];
  if (product.op != Op::kMul) return std::nullopt;
  ScaledTensor scaled;
  for (const ExprId id : {product.args[0], product.args[1]}) {
    const Node& factor = function.nodes[id];
    if (factor.op != Op::kElement) return std::nullopt;
    const TensorId input = op->inputs[factor.input];
    const bool number = sdfg::ElementCount(function.inputs[factor.input].shape) == 1;
    if (number && scaled.scalar == sdfg::kNone && (id == product.args[1] || !output.dims.empty())) {
      scaled.scalar = input;
    } else if (IsSameElement(function, output, factor)) {
      scaled.whole = input;
    }
  }
  if (scaled.whole == sdfg::kNone || scaled.scalar == sdfg::kNone) return std::nullopt;
  return scaled;
}

std::optional<ClipCoefficient> ClipCoefficientOf(const sdfg::Graph& graph, TensorId scalar,
                                                 const std::set<TensorId>& gradients) {
  CoefficientOfNorm coefficient(graph, scalar);
  while (coefficient.Descend()) {
    std::optional<std::set<TensorId>> of = RootOfSquaresOf(graph, coefficient.norm(), gradients);
    if (!of) continue;
    std::optional<ClipCoefficient> clip = FunctionOfNorm(coefficient);
    if (!clip) return std::nullopt;
    clip->norm = coefficient.norm();
    clip->of = *std::move(of);
    return clip;
  }
  return std::nullopt;
}

bool IsClipCoefficient(const sdfg::Graph& graph, TensorId scalar, const ClipCoefficient& clip) {
  CoefficientOfNorm coefficient(graph, scalar);
  while (coefficient.Descend()) {
    const auto own = FunctionOfNorm(coefficient);
    if (own && own->unlimited == clip.unlimited &&
        std::abs(own->bound - clip.bound) <= 1e-9 * clip.bound &&
        std::abs(own->epsilon - clip.epsilon) <= 1e-3 * clip.epsilon) {
      return true;
    }
  }
  return false;
}

std::optional<std::set<TensorId>> MultipliersOf(const sdfg::Graph& graph, TensorId tensor) {
  std::set<TensorId> found;
  if (!AddMultipliers(graph, tensor, 0, &found)) return std::nullopt;
  return found;
}

}  // namespace planproof::monitor
