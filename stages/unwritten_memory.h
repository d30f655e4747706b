// Reads of memory that nothing has written: a write, or the collective that makes it, is missing.
#ifndef PLANPROOF_STAGES_UNWRITTEN_MEMORY_H_
#define PLANPROOF_STAGES_UNWRITTEN_MEMORY_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/cone.h"
#include "stages/result.h"

namespace planproof::stages {

// The first operator of the plan within the cone that computes with a tensor, or the first required
// output, none of whose elements has been written. What is written in part is not looked at: a view
// may read the rest; nor are operators that choose among operands. A plan may do this and still be
// right, if what it reads has no effect.
std::optional<Violation> ReadOfUnwrittenMemory(const lineage::Problem& problem, const Cone& cone);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_UNWRITTEN_MEMORY_H_
