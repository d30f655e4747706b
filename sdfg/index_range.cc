#include "sdfg/index_range.h"

#include <algorithm>
#include <utility>

namespace planproof::sdfg {

int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-(a + 1)) / b) - 1; }

bool IntRangeOf(const Node& node, const std::vector<IndexVariable>& vars,
                const std::vector<std::optional<IndexRange>>& ranges,
                std::optional<IndexRange>* range) {
  range->reset();
  const auto arg = [&](size_t i) { return ranges[node.args[i]]; };
  switch (node.op) {
    case Op::kIntConst:
      *range = IndexRange{node.value, node.value};
      return true;
    case Op::kIndex:
      *range = IndexRange{0, std::max<int64_t>(vars[node.var].extent - 1, 0)};
      return true;
    case Op::kIntAdd: {
      if (!arg(0) || !arg(1)) return true;
      IndexRange sum;
      if (__builtin_add_overflow(arg(0)->low, arg(1)->low, &sum.low) ||
          __builtin_add_overflow(arg(0)->high, arg(1)->high, &sum.high)) {
        return false;
      }
      *range = sum;
      return true;
    }
    case Op::kIntScale: {
      if (!arg(0)) return true;
      IndexRange product;
      if (__builtin_mul_overflow(arg(0)->low, node.value, &product.low) ||
          __builtin_mul_overflow(arg(0)->high, node.value, &product.high)) {
        return false;
      }
      if (product.low > product.high) std::swap(product.low, product.high);
      *range = product;
      return true;
    }
    case Op::kIntDiv:
      if (!arg(0)) return true;
      *range = IndexRange{FloorDiv(arg(0)->low, node.value), FloorDiv(arg(0)->high, node.value)};
      return true;
    case Op::kIntMod:
      *range = IndexRange{0, node.value - 1};
      if (arg(0) && FloorDiv(arg(0)->low, node.value) == FloorDiv(arg(0)->high, node.value)) {
        const int64_t base = FloorDiv(arg(0)->low, node.value) * node.value;
        *range = IndexRange{arg(0)->low - base, arg(0)->high - base};
      }
      return true;
    case Op::kSelect:  // of reals: the branches have no range
      if (!arg(1) || !arg(2)) return true;
      *range = IndexRange{std::min(arg(1)->low, arg(2)->low), std::max(arg(1)->high, arg(2)->high)};
      return true;
    default:
      return true;
  }
}

}  // namespace planproof::sdfg
