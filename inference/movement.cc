#include "inference/movement.h"

#include <algorithm>

namespace planproof::inference {

bool TakesElementsByPlace(const sdfg::IndexFunction& function) {
  return std::all_of(function.nodes.begin(), function.nodes.end(), [](const sdfg::Node& node) {
    switch (node.op) {
      case sdfg::Op::kIntConst:
      case sdfg::Op::kIndex:
      case sdfg::Op::kIntAdd:
      case sdfg::Op::kIntScale:
      case sdfg::Op::kIntDiv:
      case sdfg::Op::kIntMod:
      case sdfg::Op::kReal:
      case sdfg::Op::kElement:
      case sdfg::Op::kSelect:
      case sdfg::Op::kIntLess:
      case sdfg::Op::kIntLessEq:
      case sdfg::Op::kIntEq:
      case sdfg::Op::kAnd:
      case sdfg::Op::kOr:
      case sdfg::Op::kNot:
        return true;
      default:
        return false;
    }
  });
}

}  // namespace planproof::inference
