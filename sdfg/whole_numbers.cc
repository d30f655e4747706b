#include "sdfg/whole_numbers.h"

#include <algorithm>
#include <functional>

namespace planproof::sdfg {
namespace {

// Whether a node below the expression, reached as a value and not as a condition or an index, has
// the property.
bool AnyValue(const IndexFunction& function, ExprId expression,
              const std::function<bool(const Node&)>& has) {
  std::vector<bool> seen(function.nodes.size(), false);
  std::vector<ExprId> work = {expression};
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Node& node = function.nodes[id];
    if (has(node)) return true;
    if (node.op == Op::kElement || node.op == Op::kIntElement || node.op == Op::kIndicator)
      continue;
    work.insert(work.end(), node.args.begin() + (node.op == Op::kSelect ? 1 : 0), node.args.end());
  }
  return false;
}

}  // namespace

bool IsWholeNode(const IndexFunction& function, ExprId id, const std::vector<bool>& whole) {
  const Node& node = function.nodes[id];
  switch (node.op) {
    case Op::kIntConst:
    case Op::kIndex:
    case Op::kIntAdd:
    case Op::kIntScale:
    case Op::kIntDiv:
    case Op::kIntMod:
    case Op::kWhole:
    case Op::kIntElement:
    case Op::kPosition:
    case Op::kIndicator:
      return true;
    case Op::kReal: {
      int64_t value = 0;  // masks of float32's least number are no integers that we count with
      return node.real.ToInt64(&value);
    }
    case Op::kElement: {
      const DType dtype = function.inputs[node.input].dtype;
      return IsInteger(dtype) || dtype == DType::kBool;
    }
    case Op::kPow:
      return node.real.IsInteger() && node.real.Sign() >= 0 && whole[node.args[0]];
    case Op::kSelect:
      return whole[node.args[1]] && whole[node.args[2]];
    case Op::kAdd:
    case Op::kMul:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kMax:
    case Op::kMin:
    case Op::kSum:
    case Op::kReduceMax:
    case Op::kReduceMin:
      return std::all_of(node.args.begin(), node.args.end(),
                         [&](ExprId arg) { return whole[arg]; });
    case Op::kOpaque:
      return node.int_valued;
    default:
      return false;
  }
}

bool IsWhole(const IndexFunction& function, ExprId expression) {
  std::vector<bool> whole;
  for (ExprId id = 0; id <= expression; ++id) whole.push_back(IsWholeNode(function, id, whole));
  return whole[expression];
}

bool ReadsIntegers(const IndexFunction& function, ExprId expression) {
  return AnyValue(function, expression, [&](const Node& node) {
    if (node.op != Op::kElement && node.op != Op::kIntElement) return false;
    const DType dtype = function.inputs[node.input].dtype;
    return IsInteger(dtype) || dtype == DType::kBool;
  });
}

bool AddsUp(const IndexFunction& function, ExprId expression) {
  return AnyValue(function, expression, [](const Node& node) { return node.op == Op::kSum; });
}

}  // namespace planproof::sdfg
