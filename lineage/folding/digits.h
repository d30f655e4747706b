// Fits numbers, one per rank, by an expression over digits of the rank.
//
// Slice starts are mostly affine in the rank. Where ranks stand for two coordinates, or hold the
// pieces in another order (devices 0 to 7 hold 0 2 4 6 1 3 5 7), they are affine in its digits.
#ifndef PLANPROOF_LINEAGE_FOLDING_DIGITS_H_
#define PLANPROOF_LINEAGE_FOLDING_DIGITS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sdfg/index_function.h"
#include "sdfg/index_map.h"

namespace planproof::lineage::folding {

// constant + sum of scale * digit of dimension `dim`, equal to values[r] at every r. Nothing where
// no such form exists: it has been checked at every rank.
std::optional<sdfg::IndexMap> FitDigits(const std::vector<int64_t>& values, int32_t dim);

// The value of such a form at `rank`.
int64_t ValueAt(const sdfg::IndexMap& form, int64_t rank);

// The form as an expression of the integer expression `rank`.
sdfg::ExprId Express(const sdfg::IndexMap& form, sdfg::ExprId rank,
                     sdfg::IndexFunctionBuilder* builder);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_DIGITS_H_
