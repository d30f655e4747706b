// Guesses which operators and tensors of a group's devices are instances of one. Whether they are
// the same, up to the rank, is decided by content where they are folded.
#ifndef PLANPROOF_LINEAGE_FOLDING_ALIGNMENT_H_
#define PLANPROOF_LINEAGE_FOLDING_ALIGNMENT_H_

#include <cstdint>
#include <vector>

#include "lineage/folding/groups.h"
#include "lineage/lineage.h"

namespace planproof::lineage::folding {

// Instances by rank, all of them.
struct Aligned {
  int group = sdfg::kNone;
  std::vector<int32_t> members;  // operators or tensors
};

struct Alignment {
  std::vector<Aligned> operators;
  std::vector<Aligned> sources;  // tensors that no operator makes
};

// Operators are instances of one if they have one name and read instances of the same; where that
// leaves some rank out (one of them reads something else), the next operator of that name in the
// rank's program takes the place. Nothing is aligned where ranks hold different tensors of the
// model and compute hardly anything else.
Alignment Align(const Problem& problem, const Groups& groups);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_ALIGNMENT_H_
