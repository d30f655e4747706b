#include "monitor/proved/export_squares.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sdfg/dense_evaluator.h"

namespace planproof::monitor {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::TensorId;

constexpr int kMostOperatorsOfNorm = 1 << 16;
constexpr int64_t kMostElementsMoved = 1 << 22;

// What is summed: the elements themselves or their squares.
enum class Summed { kElements, kSquares };

// The function only moves elements, and its output has each element of its inputs once.
bool OnlyMoves(const IndexFunction& function, int output) {
  int64_t elements = 0;
  for (const sdfg::FunctionInput& input : function.inputs) {
    elements += sdfg::ElementCount(input.shape);
  }
  if (elements > kMostElementsMoved || function.outputs.size() != 1) return false;
  for (const Node& node : function.nodes) {
    const bool moves = node.op <= Op::kIntMod || node.op == Op::kElement ||
                       node.op == Op::kSelect || node.op == Op::kIntLess ||
                       node.op == Op::kIntLessEq || node.op == Op::kIntEq || node.op == Op::kAnd ||
                       node.op == Op::kOr || node.op == Op::kNot;
    if (!moves) return false;
  }
  std::vector<sdfg::DenseTensor> numbered;
  double next = 0;
  for (const sdfg::FunctionInput& input : function.inputs) {
    sdfg::DenseTensor& tensor = numbered.emplace_back();
    tensor.shape = input.shape;
    tensor.data.resize(sdfg::ElementCount(input.shape));
    std::iota(tensor.data.begin(), tensor.data.end(), next);
    next += static_cast<double>(tensor.data.size());
  }
  auto moved = sdfg::EvaluateDense(function, numbered);
  if (!moved.ok()) return false;
  std::vector<double>& data = (*moved)[output].data;
  std::sort(data.begin(), data.end());
  for (size_t k = 0; k < data.size(); ++k) {
    if (data[k] != static_cast<double>(k)) return false;
  }
  return data.size() == static_cast<size_t>(elements);
}

class SquareReader {
 public:
  SquareReader(const sdfg::Graph& graph, const std::set<TensorId>& leaves)
      : graph_(graph), leaves_(leaves) {}

  // The sum over all elements of the tensor is a sum of squares over what is added to `found`.
  bool Read(TensorId tensor, Summed summed) {
    if (leaves_.count(tensor) != 0 && summed == Summed::kSquares) {
      return found_.insert(tensor).second;  // twice: counted twice
    }
    const sdfg::OperatorId producer = graph_.tensors[tensor].producer;
    if (producer == sdfg::kNone || ++operators_ > kMostOperatorsOfNorm) return false;
    const sdfg::Operator& op = graph_.operators[producer];
    if (op.function == nullptr) return false;
    const int output = graph_.tensors[tensor].producer_output;
    if (output >= static_cast<int>(op.function->outputs.size())) return false;
    const sdfg::FunctionOutput& of = op.function->outputs[output];
    if (ReadExpression(op, of.body, of.dims, summed)) return true;
    return OnlyMoves(*op.function, output) && ReadInputs(op, summed);
  }

  std::set<TensorId> Take() { return std::move(found_); }

 private:
  // The sum over `vars` of the expression, or of its square.
  bool ReadExpression(const sdfg::Operator& op, ExprId id, std::vector<sdfg::VarId> vars,
                      Summed summed) {
    const IndexFunction& function = *op.function;
    const Node& node = function.nodes[id];
    const bool squares = summed == Summed::kSquares;
    switch (node.op) {
      case Op::kElement:
        return AreAllElements(function, node, vars) && Read(op.inputs[node.input], summed);
      case Op::kAbs:
      case Op::kNeg:
        return squares && ReadExpression(op, node.args[0], std::move(vars), summed);
      case Op::kSum:
        vars.push_back(node.var);
        return !squares && ReadExpression(op, node.args[0], std::move(vars), summed);
      case Op::kPow:
        if (squares && node.real == solver::Rational(1) / solver::Rational(2)) {
          return ReadExpression(op, node.args[0], std::move(vars), Summed::kElements);
        }
        return !squares && node.real == solver::Rational(2) &&
               ReadExpression(op, node.args[0], std::move(vars), Summed::kSquares);
      case Op::kMul:
        return !squares && IsSquare(op, node) &&
               ReadExpression(op, node.args[0], std::move(vars), Summed::kSquares);
      default:
        return false;
    }
  }

  static bool IsSquare(const sdfg::Operator& op, const Node& product) {
    if (product.args[0] == product.args[1]) return true;
    const Node& a = op.function->nodes[product.args[0]];
    const Node& b = op.function->nodes[product.args[1]];
    return a.op == Op::kElement && b.op == Op::kElement && a.args == b.args &&
           op.inputs[a.input] == op.inputs[b.input];
  }

  // Whether the variables run through all elements of the input, each once.
  static bool AreAllElements(const IndexFunction& function, const Node& element,
                             const std::vector<sdfg::VarId>& vars) {
    std::set<sdfg::VarId> left(vars.begin(), vars.end());
    for (size_t d = 0; d < element.args.size(); ++d) {
      const int64_t extent = function.inputs[element.input].shape[d];
      const Node& index = function.nodes[element.args[d]];
      if (index.op == Op::kIntConst && index.value == 0 && extent == 1) continue;
      if (index.op != Op::kIndex || function.vars[index.var].extent != extent) return false;
      if (left.erase(index.var) == 0) return false;
    }
    return std::all_of(left.begin(), left.end(),
                       [&function](sdfg::VarId var) { return function.vars[var].extent == 1; });
  }

  bool ReadInputs(const sdfg::Operator& op, Summed summed) {
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [&](TensorId input) { return Read(input, summed); });
  }

  const sdfg::Graph& graph_;
  const std::set<TensorId>& leaves_;
  std::set<TensorId> found_;
  int operators_ = 0;
};

}  // namespace

std::optional<std::set<TensorId>> RootOfSquaresOf(const sdfg::Graph& graph, TensorId norm,
                                                  const std::set<TensorId>& leaves) {
  SquareReader reader(graph, leaves);
  // The square of a number that is a root is what is under it.
  if (!reader.Read(norm, Summed::kSquares)) return std::nullopt;
  return reader.Take();
}

TensorId BeforeMoves(const sdfg::Graph& graph, TensorId tensor) {
  for (int k = 0; k < kMostOperatorsOfNorm; ++k) {
    const sdfg::OperatorId producer = graph.tensors[tensor].producer;
    if (producer == sdfg::kNone) return tensor;
    const sdfg::Operator& op = graph.operators[producer];
    const bool moves = op.function != nullptr && op.inputs.size() == 1 &&
                       OnlyMoves(*op.function, graph.tensors[tensor].producer_output);
    if (!moves) return tensor;
    tensor = op.inputs[0];
  }
  return tensor;
}

}  // namespace planproof::monitor
