#include "monitor/proved/index_evaluator.h"

namespace planproof::monitor {
namespace {

int64_t FloorDivided(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

}  // namespace

int64_t IndexEvaluator::Whole(sdfg::ExprId id) {
  const sdfg::Node& node = function_.nodes[id];
  switch (node.op) {
    case sdfg::Op::kIntConst:
      return node.value;
    case sdfg::Op::kIndex:
      return vars_[node.var];
    case sdfg::Op::kIntAdd:
      return Whole(node.args[0]) + Whole(node.args[1]);
    case sdfg::Op::kIntScale:
      return node.value * Whole(node.args[0]);
    case sdfg::Op::kIntDiv:
      return FloorDivided(Whole(node.args[0]), node.value);
    case sdfg::Op::kIntMod: {
      const int64_t value = Whole(node.args[0]);
      return value - node.value * FloorDivided(value, node.value);
    }
    case sdfg::Op::kSelect:
      return Whole(Truth(node.args[0]) ? node.args[1] : node.args[2]);
    default:
      failed_ = true;
      return 0;
  }
}

bool IndexEvaluator::Truth(sdfg::ExprId id) {
  const sdfg::Node& node = function_.nodes[id];
  switch (node.op) {
    case sdfg::Op::kIntLess:
      return Whole(node.args[0]) < Whole(node.args[1]);
    case sdfg::Op::kIntLessEq:
      return Whole(node.args[0]) <= Whole(node.args[1]);
    case sdfg::Op::kIntEq:
      return Whole(node.args[0]) == Whole(node.args[1]);
    case sdfg::Op::kAnd:
      return Truth(node.args[0]) && Truth(node.args[1]);
    case sdfg::Op::kOr:
      return Truth(node.args[0]) || Truth(node.args[1]);
    case sdfg::Op::kNot:
      return !Truth(node.args[0]);
    default:
      failed_ = true;
      return false;
  }
}

std::optional<int64_t> IndexEvaluator::PositionOf(const sdfg::Node& element) {
  const sdfg::Shape& shape = function_.inputs[element.input].shape;
  int64_t position = 0;
  for (size_t d = 0; d < element.args.size(); ++d) {
    const int64_t index = Whole(element.args[d]);
    if (failed_ || index < 0 || index >= shape[d]) return std::nullopt;
    position = position * shape[d] + index;
  }
  return position;
}

}  // namespace planproof::monitor
