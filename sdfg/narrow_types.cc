#include "sdfg/narrow_types.h"

#include <cstdint>
#include <vector>

#include "sdfg/element_type.h"
#include "sdfg/whole_numbers.h"

namespace planproof::sdfg {
bool NarrowHolds(DType dtype, const solver::Rational& number) {
  const auto within = [&](int64_t low, int64_t high) {
    return !(number < solver::Rational(low)) && !(solver::Rational(high) < number);
  };
  switch (dtype) {
    case DType::kInt64:
    case DType::kInt32:
      return within(INT32_MIN, INT32_MAX);
    case DType::kInt16:
      return within(-32768, 32767);
    case DType::kInt8:
      return within(-128, 127);
    case DType::kUInt8:
      return within(0, 255);
    default:
      return number.IsZero() || number.IsOne();
  }
}

bool KeepsNarrow(const IndexFunction& function, ExprId expression, DType dtype,
                 const std::function<DType(int input)>& type_of) {
  std::vector<bool> seen(function.nodes.size(), false);
  std::vector<ExprId> work = {expression};
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Node& node = function.nodes[id];
    size_t first = 0;  // of the operands that are values
    switch (node.op) {
      case Op::kElement:
      case Op::kIntElement:
        if (!HoldsAllNumbersOf(dtype, type_of(node.input))) return false;
        continue;  // its operands are indices
      case Op::kIndicator:
        continue;
      case Op::kIntConst:
        if (!NarrowHolds(dtype, solver::Rational(node.value))) return false;
        continue;
      case Op::kReal:
        if (!NarrowHolds(dtype, node.real)) return false;
        continue;
      case Op::kSelect:
        first = 1;
        break;
      case Op::kMul:  // of truth values: both
        if (dtype != DType::kBool) return false;
        break;
      case Op::kPosition:
      case Op::kWhole:
      case Op::kMax:
      case Op::kMin:
      case Op::kReduceMax:
      case Op::kReduceMin:
        break;
      default:
        return false;
    }
    work.insert(work.end(), node.args.begin() + static_cast<std::ptrdiff_t>(first),
                node.args.end());
  }
  return true;
}

bool LeavesNarrow(const IndexFunction& function, ExprId expression, DType dtype,
                  const std::function<DType(int input)>& type_of) {
  if (IsWhole(function, expression)) return false;
  std::vector<bool> seen(function.nodes.size(), false);
  std::vector<ExprId> work = {expression};
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Node& node = function.nodes[id];
    if (node.op == Op::kIndicator) continue;
    if (IsWhole(function, id)) {
      if (ReadsIntegers(function, id) && !KeepsNarrow(function, id, dtype, type_of)) return false;
      continue;
    }
    if (node.op == Op::kElement || node.op == Op::kIntElement) continue;
    work.insert(work.end(), node.args.begin() + (node.op == Op::kSelect ? 1 : 0), node.args.end());
  }
  return true;
}

}  // namespace planproof::sdfg
