#include "shape_reduction/zeroing_parameters.h"

#include <vector>

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::Op;
using sdfg::TensorId;

namespace {

constexpr int kDepth = 8;  // operators between the last parameter and the tensor

class ZeroingSearch {
 public:
  explicit ZeroingSearch(const sdfg::Graph& graph) : graph_(graph) {}

  std::optional<ZeroingParameters> Tensor(TensorId id, int depth) const {
    const sdfg::Tensor& tensor = graph_.tensors[id];
    if (tensor.role == sdfg::TensorRole::kParameter) return ZeroingParameters{{id}, {}};
    if (tensor.producer == sdfg::kNone || depth == 0) return std::nullopt;
    const sdfg::Operator& op = graph_.operators[tensor.producer];
    return Expression(op, op.function->outputs[tensor.producer_output].body, depth);
  }

 private:
  bool IsParameter(const sdfg::Operator& op, ExprId id) const {
    const sdfg::Node& node = op.function->nodes[id];
    return node.op == Op::kElement &&
           graph_.tensors[op.inputs[node.input]].role == sdfg::TensorRole::kParameter;
  }

  // What makes an expression of the operator's body zero.
  std::optional<ZeroingParameters> Expression(const sdfg::Operator& op, ExprId id,
                                              int depth) const {
    const sdfg::Node& node = op.function->nodes[id];
    switch (node.op) {
      case Op::kElement:
        return Tensor(op.inputs[node.input], depth - 1);
      case Op::kMul:
        return Product(op, node, depth);
      case Op::kAdd:
      case Op::kMax:
      case Op::kMin:
        return Both(op, node.args[0], node.args[1], depth);
      case Op::kSelect:
        return Both(op, node.args[1], node.args[2], depth);
      case Op::kDiv:
      case Op::kNeg:
      case Op::kAbs:
      case Op::kSum:
        return Expression(op, node.args[0], depth);
      case Op::kReal:
        if (node.real.IsZero()) return ZeroingParameters();
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  std::optional<ZeroingParameters> Both(const sdfg::Operator& op, ExprId left, ExprId right,
                                        int depth) const {
    std::optional<ZeroingParameters> result = Expression(op, left, depth);
    if (!result.has_value()) return std::nullopt;
    const std::optional<ZeroingParameters> other = Expression(op, right, depth);
    if (!other.has_value()) return std::nullopt;
    result->outer.insert(other->outer.begin(), other->outer.end());
    result->inner.insert(other->inner.begin(), other->inner.end());
    return result;
  }

  // A factor that is a parameter, or else the first that can be made zero.
  std::optional<ZeroingParameters> Product(const sdfg::Operator& op, const sdfg::Node& node,
                                           int depth) const {
    for (const size_t k : {1, 0}) {
      if (!IsParameter(op, node.args[k])) continue;
      ZeroingParameters result = *Expression(op, node.args[k], depth);
      const auto other = Expression(op, node.args[1 - k], kDepth);
      if (other.has_value()) result.inner = other->outer;
      return result;
    }
    for (const ExprId factor : node.args) {
      auto result = Expression(op, factor, depth);
      if (result.has_value()) return result;
    }
    return std::nullopt;
  }

  const sdfg::Graph& graph_;
};

}  // namespace

std::optional<ZeroingParameters> FindZeroingParameters(const sdfg::Graph& graph, TensorId tensor) {
  return ZeroingSearch(graph).Tensor(tensor, kDepth);
}

bool VanishesWith(const sdfg::Operator& op, size_t input) {
  const sdfg::IndexFunction& function = *op.function;
  const ExprId root = function.outputs[0].body;
  std::vector<char> zero(root + 1, 0);
  for (ExprId id = 0; id <= root; ++id) {
    const sdfg::Node& node = function.nodes[id];
    const auto arg = [&](size_t k) { return zero[node.args[k]] != 0; };
    switch (node.op) {
      case Op::kElement:
        zero[id] = node.input == static_cast<int32_t>(input);
        break;
      case Op::kMul:
        zero[id] = arg(0) || arg(1);
        break;
      case Op::kAdd:
      case Op::kMax:
      case Op::kMin:
        zero[id] = arg(0) && arg(1);
        break;
      case Op::kDiv:
      case Op::kNeg:
      case Op::kAbs:
      case Op::kSum:
        zero[id] = arg(0);
        break;
      case Op::kSelect:
        zero[id] = arg(1) && arg(2);
        break;
      case Op::kReal:
        zero[id] = node.real.IsZero();
        break;
      default:
        break;
    }
  }
  return zero[root] != 0;
}

}  // namespace planproof::shape_reduction
