// Checks the sorts of expressions and the well-formedness of index functions.
#ifndef PLANPROOF_SDFG_INDEX_FUNCTION_CHECK_H_
#define PLANPROOF_SDFG_INDEX_FUNCTION_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

enum class Sort : uint8_t { kInt, kReal, kBool };

// Sort of every node of a well-formed function. (kSelect has the sort of its branches, kOpaque is
// int_valued or real.)
std::vector<Sort> SortsOf(const IndexFunction& function);

// Checks that the function is well-formed: children precede their parents, arity and sorts, input
// and variable numbers, one index per input dimension, scopes of variables (an output's body uses
// its own dimensions and variables bound inside; a variable is bound by one node at most), and, as
// far as intervals over the variables decide it, that every index lies within its dimension.
// Accesses that occur only under a kSelect are looked at where its condition is one on indices
// (guarded_reads.h) and trusted to be guarded by it otherwise, and an interval that may be wider
// than the values decides nothing: evaluators check reads themselves.
// InvalidArgument, naming the operator, otherwise.
absl::Status CheckIndexFunction(const IndexFunction& function);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_FUNCTION_CHECK_H_
