#include "monitor/proved/element_labels.h"

#include <functional>
#include <string>

#include "monitor/proved/index_evaluator.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::monitor {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;

bool IsIndexArithmetic(Op op) { return op <= Op::kIntMod; }
bool IsComparison(Op op) {
  return op == Op::kIntLess || op == Op::kIntLessEq || op == Op::kIntEq || op == Op::kAnd ||
         op == Op::kOr || op == Op::kNot;
}
bool IsArithmetic(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kNeg || op == Op::kDiv || op == Op::kMax ||
         op == Op::kMin || op == Op::kAbs;
}

// How many arithmetic operations the function has; nothing if it has others.
std::optional<int> ArithmeticOperations(const IndexFunction& function) {
  int count = 0;
  for (const Node& node : function.nodes) {
    if (IsArithmetic(node.op)) {
      ++count;
      continue;
    }
    const bool other = IsIndexArithmetic(node.op) || IsComparison(node.op) ||
                       node.op == Op::kElement || node.op == Op::kSelect || node.op == Op::kReal;
    if (!other) return std::nullopt;
  }
  return count;
}

// Reals to labels.
class LabelEvaluator {
 public:
  LabelEvaluator(const IndexFunction& function,
                 const std::vector<const std::vector<uint64_t>*>& inputs)
      : function_(function), inputs_(inputs), index_(function) {}

  IndexEvaluator* index() { return &index_; }
  bool failed() const { return failed_ || index_.failed(); }

  uint64_t Label(ExprId id) {
    const Node& node = function_.nodes[id];
    if (node.op == Op::kElement) return LabelOfElement(node);
    if (node.op == Op::kSelect) {
      return Label(index_.Truth(node.args[0]) ? node.args[1] : node.args[2]);
    }
    uint64_t label = Mixed(0x6c, static_cast<uint64_t>(node.op));
    if (node.op == Op::kReal) return Mixed(label, std::hash<std::string>()(node.real.ToString()));
    for (const ExprId arg : node.args) label = Mixed(label, Label(arg));
    return label;
  }

 private:
  uint64_t LabelOfElement(const Node& node) {
    const std::optional<int64_t> position = index_.PositionOf(node);
    const std::vector<uint64_t>& labels = *inputs_[node.input];
    if (!position || *position >= static_cast<int64_t>(labels.size())) {
      failed_ = true;
      return 0;
    }
    return labels[*position];
  }

  const IndexFunction& function_;
  const std::vector<const std::vector<uint64_t>*>& inputs_;
  IndexEvaluator index_;
  bool failed_ = false;
};

}  // namespace

uint64_t Mixed(uint64_t label, uint64_t other) {
  uint64_t x = label * 0x9e3779b97f4a7c15 + other + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void Advance(const sdfg::Shape& shape, std::vector<int64_t>* index) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++(*index)[d] < shape[d]) return;
    (*index)[d] = 0;
  }
}

std::optional<std::vector<uint64_t>> LabelsElementByElement(
    const IndexFunction& function, int output,
    const std::vector<const std::vector<uint64_t>*>& inputs, uint64_t seed, bool exact) {
  const std::optional<int> operations = ArithmeticOperations(function);
  if (!operations || output >= static_cast<int>(function.outputs.size())) return std::nullopt;
  const sdfg::FunctionOutput& of = function.outputs[output];
  const sdfg::Shape shape = of.shape(function.vars);
  const bool moved = *operations == 0;
  const bool anywhere = exact || *operations <= 1;
  LabelEvaluator evaluator(function, inputs);
  std::vector<uint64_t> labels;
  std::vector<int64_t> index(shape.size(), 0);
  const int64_t elements = sdfg::ElementCount(shape);
  for (int64_t k = 0; k < elements; ++k) {
    for (size_t d = 0; d < shape.size(); ++d) evaluator.index()->Set(of.dims[d], index[d]);
    uint64_t label = evaluator.Label(of.body);
    if (evaluator.failed()) return std::nullopt;
    if (!moved) label = Mixed(seed, label);
    if (!anywhere) {
      label = Mixed(label, static_cast<uint64_t>(k));
      for (const int64_t extent : shape) label = Mixed(label, static_cast<uint64_t>(extent));
    }
    labels.push_back(label);
    Advance(shape, &index);
  }
  return labels;
}

}  // namespace planproof::monitor
