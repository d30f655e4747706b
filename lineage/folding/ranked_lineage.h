// Combines the lineages of all ranks into one, and takes them apart again.
#ifndef PLANPROOF_LINEAGE_FOLDING_RANKED_LINEAGE_H_
#define PLANPROOF_LINEAGE_FOLDING_RANKED_LINEAGE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::lineage::folding {

// The lineage of a tensor with the rank as dimension `rank_dim` whose instance at r has lineage
// members[r]; nothing if kinds, logical tensors or maps differ by more than constants that
// digits.h fits.
std::optional<Lineage> FoldLineage(const std::vector<const Lineage*>& members, int rank_dim);

// The lineage of the instance at `rank`.
Lineage LineageAt(const Lineage& folded, int rank_dim, int64_t rank);

// Whether both say the same; which term of how many a partial one is, is for people.
bool SameLineage(const Lineage& a, const Lineage& b);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_RANKED_LINEAGE_H_
