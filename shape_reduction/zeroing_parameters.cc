#include "shape_reduction/zeroing_parameters.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::Op;
using sdfg::TensorId;

namespace {

constexpr int kDepth = 12;  // operators between an inner parameter and the tensor

using Found = std::optional<ZeroingParameters>;

// The arguments of which zeros may make the expression zero.
absl::InlinedVector<ExprId, 2> Telling(const sdfg::Node& node) {
  switch (node.op) {
    case Op::kMul:
    case Op::kAdd:
    case Op::kMax:
    case Op::kMin:
      return {node.args[0], node.args[1]};
    case Op::kSelect:
      return {node.args[1], node.args[2]};
    case Op::kDiv:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kSum:
      return {node.args[0]};
    default:
      return {};
  }
}

Found Both(const Found& left, const Found& right) {
  if (!left.has_value() || !right.has_value()) return std::nullopt;
  ZeroingParameters both = *left;
  both.outer.insert(right->outer.begin(), right->outer.end());
  both.inner.insert(right->inner.begin(), right->inner.end());
  return both;
}

// Each tensor once for each number of operators that is left, each expression once.
class ZeroingSearch {
 public:
  explicit ZeroingSearch(const sdfg::Graph& graph) : graph_(graph) {}

  const Found& Tensor(TensorId id, int depth) {
    const auto known = found_.find({id, depth});
    if (known != found_.end()) return known->second;
    Found found;
    const sdfg::Tensor& tensor = graph_.tensors[id];
    if (tensor.role == sdfg::TensorRole::kParameter) {
      found = ZeroingParameters{{id}, {}};
    } else if (tensor.producer != sdfg::kNone && depth > 0) {
      const sdfg::Operator& op = graph_.operators[tensor.producer];
      found = Expression(op, op.function->outputs[tensor.producer_output].body, depth);
    }
    return found_.emplace(std::pair{id, depth}, std::move(found)).first->second;
  }

 private:
  bool IsParameter(const sdfg::Operator& op, ExprId id) const {
    const sdfg::Node& node = op.function->nodes[id];
    return node.op == Op::kElement &&
           graph_.tensors[op.inputs[node.input]].role == sdfg::TensorRole::kParameter;
  }

  // What makes an expression of the operator's body zero.
  Found Expression(const sdfg::Operator& op, ExprId root, int depth) {
    const std::vector<sdfg::Node>& nodes = op.function->nodes;
    std::vector<char> asked(root + 1, 0);
    asked[root] = 1;
    for (ExprId id = root; id >= 0; --id) {
      if (asked[id] == 0) continue;
      for (const ExprId argument : Telling(nodes[id])) asked[argument] = 1;
    }
    std::vector<Found> found(root + 1);
    for (ExprId id = 0; id <= root; ++id) {
      if (asked[id] == 0) continue;
      const sdfg::Node& node = nodes[id];
      const absl::InlinedVector<ExprId, 2> arguments = Telling(node);
      if (node.op == Op::kElement) {
        found[id] = Tensor(op.inputs[node.input], depth - 1);
      } else if (node.op == Op::kReal && node.real.IsZero()) {
        found[id] = ZeroingParameters();
      } else if (node.op == Op::kMul) {
        found[id] = Product(op, node, found);
      } else if (arguments.size() == 2) {
        found[id] = Both(found[arguments[0]], found[arguments[1]]);
      } else if (arguments.size() == 1) {
        found[id] = found[arguments[0]];
      }
    }
    return found[root];
  }

  // A factor that is a parameter, or else the first that can be made zero.
  Found Product(const sdfg::Operator& op, const sdfg::Node& node,
                const std::vector<Found>& found) const {
    for (const size_t k : {1, 0}) {
      if (!IsParameter(op, node.args[k])) continue;
      ZeroingParameters result = *found[node.args[k]];
      const Found& other = found[node.args[1 - k]];
      if (other.has_value()) result.inner = other->outer;
      return result;
    }
    return found[node.args[0]].has_value() ? found[node.args[0]] : found[node.args[1]];
  }

  const sdfg::Graph& graph_;
  std::map<std::pair<TensorId, int>, Found> found_;
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
    if (node.op == Op::kElement) {
      zero[id] = node.input == static_cast<int32_t>(input);
      continue;
    }
    const absl::InlinedVector<ExprId, 2> arguments = Telling(node);
    const auto is_zero = [&](ExprId argument) { return zero[argument] != 0; };
    if (node.op == Op::kMul) {
      zero[id] = std::any_of(arguments.begin(), arguments.end(), is_zero);
    } else if (!arguments.empty()) {
      zero[id] = std::all_of(arguments.begin(), arguments.end(), is_zero);
    } else {
      zero[id] = node.op == Op::kReal && node.real.IsZero();
    }
  }
  return zero[root] != 0;
}

}  // namespace planproof::shape_reduction
