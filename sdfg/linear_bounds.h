// Derives bounds of indices from several conditions at once.
#ifndef PLANPROOF_SDFG_LINEAR_BOUNDS_H_
#define PLANPROOF_SDFG_LINEAR_BOUNDS_H_

#include "absl/types/span.h"
#include "solver/term.h"

namespace planproof::sdfg {

// Whether `e` is not negative wherever all of `conditions` (0 or 1 each) are 1 and symbols lie in
// their ranges: some multiples of what the conditions say, added, are at most a multiple of `e`. A
// read of row 3 i + j of a view is inside where i and j are. False means "not seen".
bool IsNonNegativeWhere(const solver::Arena& arena, absl::Span<const solver::PolyId> conditions,
                        const solver::Affine& e);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_LINEAR_BOUNDS_H_
