#include "monitor/proved/export_contributions.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "monitor/proved/index_evaluator.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/element_type.h"

namespace planproof::monitor {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::TensorId;

constexpr int64_t kMostElementsOfGradient = 1 << 16;
constexpr size_t kMostElementsRead = size_t{1} << 22;
constexpr size_t kMostTermsOfElement = 4096;
constexpr int kMostOperatorsInRow = 256;
constexpr double kSameFactorOfTerms = 1e-12;  // relative

// An element of one of the function's inputs, times a number.
struct ElementTerm {
  int32_t input = 0;
  int64_t position = 0;
  double factor = 1;
};

// One element of an output as a sum of elements of inputs.
class LinearElement {
 public:
  explicit LinearElement(const IndexFunction& function) : function_(function), index_(function) {}

  // Nothing if the expression is another one.
  std::optional<std::vector<ElementTerm>> Read(const sdfg::FunctionOutput& output,
                                               int64_t position) {
    const sdfg::Shape shape = output.shape(function_.vars);
    for (size_t d = shape.size(); d-- > 0;) {
      index_.Set(output.dims[d], position % shape[d]);
      position /= shape[d];
    }
    terms_.clear();
    if (!Add(output.body, 1) || index_.failed()) return std::nullopt;
    return terms_;
  }

 private:
  bool Add(ExprId id, double factor) {
    const Node& node = function_.nodes[id];
    switch (node.op) {
      case Op::kReal:
        return node.real.IsZero();
      case Op::kElement: {
        const std::optional<int64_t> position = index_.PositionOf(node);
        if (position) terms_.push_back({node.input, *position, factor});
        return position.has_value() && terms_.size() <= kMostTermsOfElement;
      }
      case Op::kSelect:
        return Add(node.args[index_.Truth(node.args[0]) ? 1 : 2], factor);
      case Op::kNeg:
        return Add(node.args[0], -factor);
      case Op::kAdd:
        return Add(node.args[0], factor) && Add(node.args[1], factor);
      case Op::kMul:
        for (const int constant : {0, 1}) {
          const std::optional<double> number = Number(node.args[constant]);
          if (number) return Add(node.args[1 - constant], factor * *number);
        }
        return false;
      case Op::kDiv: {
        const std::optional<double> number = Number(node.args[1]);
        return number && *number != 0 && Add(node.args[0], factor / *number);
      }
      case Op::kSum:
        if (function_.vars[node.var].extent != 1) return false;
        index_.Set(node.var, 0);
        return Add(node.args[0], factor);
      default:
        return false;
    }
  }

  std::optional<double> Number(ExprId id) const {
    const Node& node = function_.nodes[id];
    if (node.op != Op::kReal) return std::nullopt;
    return node.real.ToDouble();
  }

  const IndexFunction& function_;
  IndexEvaluator index_;
  std::vector<ElementTerm> terms_;
};

bool IsReduction(sdfg::OperatorKind kind) {
  return kind == sdfg::OperatorKind::kAllReduce || kind == sdfg::OperatorKind::kReduceScatter ||
         kind == sdfg::OperatorKind::kReduce;
}

// Differentiation adds up over the batch.
bool Contracts(const IndexFunction& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), [&](const Node& node) {
    return node.op == Op::kSum && function.vars[node.var].extent > 1;
  });
}

}  // namespace

class ContributionReader::Impl {
 public:
  Impl(const sdfg::Graph& graph, const std::vector<std::pair<TensorId, TensorId>>& in_place)
      : graph_(graph), in_place_(graph.tensors.size(), false) {
    for (const auto& [first, last] : in_place) {
      const TensorId end = std::min(last, static_cast<TensorId>(graph.tensors.size()));
      for (TensorId t = std::max(first, 0); t < end; ++t) in_place_[t] = true;
    }
  }

  std::optional<ContributionForm> FormOf(TensorId gradient) {
    const int64_t elements = sdfg::ElementCount(graph_.tensors[gradient].shape);
    if (elements == 0 || elements > kMostElementsOfGradient) return std::nullopt;
    least_bits_ = sdfg::SignificandBits(graph_.tensors[gradient].dtype);
    std::optional<ContributionForm> form;
    for (int64_t k = 0; k < elements; ++k) {
      found_.clear();
      if (!Read(gradient, k, 1, 0)) return std::nullopt;
      const std::optional<ContributionForm> own = FormOfFound();
      if (!own) return std::nullopt;
      if (!form) form = own;
      if (own->ranks != form->ranks || !Same(own->factor, form->factor)) return std::nullopt;
    }
    return form;
  }

 private:
  struct Found {
    int32_t rank = 0;
    double factor = 1;
  };

  static bool Same(double a, double b) {
    return std::abs(a - b) <= kSameFactorOfTerms * std::abs(b);
  }

  std::optional<ContributionForm> FormOfFound() const {
    if (found_.empty()) return std::nullopt;
    ContributionForm form{found_[0].factor, {}};
    for (const Found& term : found_) {
      if (!Same(term.factor, form.factor)) return std::nullopt;
      form.ranks.insert(term.rank);
    }
    return form;
  }

  // Adds what contributes to the element to `found_`.
  bool Read(TensorId tensor, int64_t position, double factor, int depth) {
    const sdfg::Tensor& held = graph_.tensors[tensor];
    if (held.role == sdfg::TensorRole::kZero) return true;
    if (held.producer == sdfg::kNone || depth > kMostOperatorsInRow) return false;
    if (++read_ > kMostElementsRead || found_.size() > kMostTermsOfElement) return false;
    const sdfg::Operator& op = graph_.operators[held.producer];
    if (op.function == nullptr || held.producer_output >= Outputs(*op.function)) return false;
    const std::optional<std::vector<ElementTerm>> terms =
        LinearElement(*op.function).Read(op.function->outputs[held.producer_output], position);
    if (!terms) {
      if (IsReduction(op.kind) || !Contracts(*op.function)) return false;
      found_.push_back({held.device, factor});
      return true;
    }
    if (sdfg::SignificandBits(held.dtype) < least_bits_) return false;
    const bool own_factor = IsReduction(op.kind) || in_place_[tensor];
    return std::all_of(terms->begin(), terms->end(), [&](const ElementTerm& term) {
      return (own_factor || term.factor == 1) &&
             Read(op.inputs[term.input], term.position, factor * term.factor, depth + 1);
    });
  }

  static int Outputs(const IndexFunction& function) {
    return static_cast<int>(function.outputs.size());
  }

  const sdfg::Graph& graph_;
  std::vector<bool> in_place_;
  std::vector<Found> found_;
  int least_bits_ = 0;
  size_t read_ = 0;
};

ContributionReader::ContributionReader(const sdfg::Graph& graph,
                                       const std::vector<std::pair<TensorId, TensorId>>& in_place)
    : impl_(std::make_unique<Impl>(graph, in_place)) {}
ContributionReader::~ContributionReader() = default;

std::optional<ContributionForm> ContributionReader::FormOf(TensorId gradient) {
  return impl_->FormOf(gradient);
}

}  // namespace planproof::monitor
