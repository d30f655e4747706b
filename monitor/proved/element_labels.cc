#include "monitor/proved/element_labels.h"

#include <functional>
#include <string>

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

// Evaluates expressions at one index: integers and truth to numbers, reals to labels.
class LabelEvaluator {
 public:
  LabelEvaluator(const IndexFunction& function,
                 const std::vector<const std::vector<uint64_t>*>& inputs)
      : function_(function), inputs_(inputs), vars_(function.vars.size(), 0) {}

  std::vector<int64_t>* vars() { return &vars_; }
  bool failed() const { return failed_; }

  int64_t Whole(ExprId id) {
    const Node& node = function_.nodes[id];
    switch (node.op) {
      case Op::kIntConst:
        return node.value;
      case Op::kIndex:
        return vars_[node.var];
      case Op::kIntAdd:
        return Whole(node.args[0]) + Whole(node.args[1]);
      case Op::kIntScale:
        return node.value * Whole(node.args[0]);
      case Op::kIntDiv:
        return FloorDiv(Whole(node.args[0]), node.value);
      case Op::kIntMod: {
        const int64_t value = Whole(node.args[0]);
        return value - node.value * FloorDiv(value, node.value);
      }
      case Op::kSelect:
        return Whole(Truth(node.args[0]) ? node.args[1] : node.args[2]);
      default:
        failed_ = true;
        return 0;
    }
  }

  bool Truth(ExprId id) {
    const Node& node = function_.nodes[id];
    switch (node.op) {
      case Op::kIntLess:
        return Whole(node.args[0]) < Whole(node.args[1]);
      case Op::kIntLessEq:
        return Whole(node.args[0]) <= Whole(node.args[1]);
      case Op::kIntEq:
        return Whole(node.args[0]) == Whole(node.args[1]);
      case Op::kAnd:
        return Truth(node.args[0]) && Truth(node.args[1]);
      case Op::kOr:
        return Truth(node.args[0]) || Truth(node.args[1]);
      case Op::kNot:
        return !Truth(node.args[0]);
      default:
        failed_ = true;
        return false;
    }
  }

  uint64_t Label(ExprId id) {
    const Node& node = function_.nodes[id];
    if (node.op == Op::kElement) return LabelOfElement(node);
    if (node.op == Op::kSelect) return Label(Truth(node.args[0]) ? node.args[1] : node.args[2]);
    uint64_t label = Mixed(0x6c, static_cast<uint64_t>(node.op));
    if (node.op == Op::kReal) return Mixed(label, std::hash<std::string>()(node.real.ToString()));
    for (const ExprId arg : node.args) label = Mixed(label, Label(arg));
    return label;
  }

 private:
  static int64_t FloorDiv(int64_t a, int64_t b) {
    const int64_t quotient = a / b;
    return a % b < 0 ? quotient - 1 : quotient;
  }

  uint64_t LabelOfElement(const Node& node) {
    const sdfg::Shape& shape = function_.inputs[node.input].shape;
    int64_t position = 0;
    for (size_t d = 0; d < node.args.size(); ++d) {
      const int64_t index = Whole(node.args[d]);
      if (index < 0 || index >= shape[d]) failed_ = true;
      position = position * shape[d] + index;
    }
    const std::vector<uint64_t>& labels = *inputs_[node.input];
    if (failed_ || position >= static_cast<int64_t>(labels.size())) {
      failed_ = true;
      return 0;
    }
    return labels[position];
  }

  const IndexFunction& function_;
  const std::vector<const std::vector<uint64_t>*>& inputs_;
  std::vector<int64_t> vars_;
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
    for (size_t d = 0; d < shape.size(); ++d) (*evaluator.vars())[of.dims[d]] = index[d];
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
