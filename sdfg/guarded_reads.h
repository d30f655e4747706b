// Finds reads that only a selection's condition keeps within their tensor.
#ifndef PLANPROOF_SDFG_GUARDED_READS_H_
#define PLANPROOF_SDFG_GUARDED_READS_H_

#include <optional>
#include <string>
#include <vector>

#include "sdfg/index_function.h"
#include "sdfg/index_range.h"

namespace planproof::sdfg {

// A read, under selections whose conditions are on indices alone, that leaves its input's
// dimension at some index: which, in one clause. Values of the indices are tried, all of them where
// there are few and those next to the expressions' constants otherwise, so nullopt does not mean
// that there is none; reads under conditions on data are not looked at. `ranges`: of each
// expression, as IntRangeOf gives them, of a function that is well-formed otherwise.
std::optional<std::string> FindGuardedReadOutside(
    const IndexFunction& function, const std::vector<std::optional<IndexRange>>& ranges);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_GUARDED_READS_H_
