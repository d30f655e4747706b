// Removes operators of the model that compute the same again.
#ifndef PLANPROOF_LINEAGE_REPEATED_OPERATORS_H_
#define PLANPROOF_LINEAGE_REPEATED_OPERATORS_H_

#include <optional>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::lineage {

// The problem with a model in which nothing is computed twice: a model with recomputation runs a
// layer again in its backward pass, and the angles of rotary embeddings for queries and for keys.
// Operators are functions, so one that applies the same function to the same operands has the same
// results; the first one's stand for them, in the model and in all that is said of the plan. Sums
// and products of two operands have the same results in either order. A plan may then compute a
// tensor as often as it likes, in any order, and each is related to the one. The model must have
// been checked (operators in topological order). Nothing if no operator repeats another.
std::optional<Problem> WithoutRepeatedOperators(const Problem& problem);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_REPEATED_OPERATORS_H_
