// Bounds the integer expressions of index functions by interval arithmetic.
#ifndef PLANPROOF_SDFG_INDEX_RANGE_H_
#define PLANPROOF_SDFG_INDEX_RANGE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::sdfg {

// Values that an integer expression takes: low <= value <= high.
struct IndexRange {
  int64_t low = 0;
  int64_t high = 0;
};

// floor(a / b), b > 0.
int64_t FloorDiv(int64_t a, int64_t b);

// Sets `range` to the range of `node` from the variables' extents and the ranges of its arguments
// (`ranges`, by expression); absent where it is not known or the sort is not integer. A variable
// without values counts as {0}. Returns false if 64 bits do not suffice.
bool IntRangeOf(const Node& node, const std::vector<IndexVariable>& vars,
                const std::vector<std::optional<IndexRange>>& ranges,
                std::optional<IndexRange>* range);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_RANGE_H_
