// Reads copies where they were made from.
#ifndef PLANPROOF_LINEAGE_ROUNDS_WITHOUT_COPIES_H_
#define PLANPROOF_LINEAGE_ROUNDS_WITHOUT_COPIES_H_

#include "lineage/lineage.h"

namespace planproof::lineage::rounds {

// The problem in which operators of the plan read x where they read a copy of it that a computation
// made (derivatives of sums do), and copies are gone that nothing reads any more and nothing
// requires. The operators have been checked.
Problem WithoutCopies(const Problem& problem);

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_WITHOUT_COPIES_H_
