// Finds reads of memory that nothing has written: a write, or the collective that makes it, is
// missing.
#ifndef PLANPROOF_STAGES_UNWRITTEN_MEMORY_H_
#define PLANPROOF_STAGES_UNWRITTEN_MEMORY_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// Some required output is another number if the memory holds another one, all inputs being the
// same: the first operator of the plan that computes with it. What was written in part, is masked
// or is chosen by data counts as far as it has an effect. Numbers in double precision, in a worker,
// within seconds; nothing if no operator reads such memory or the numbers are the same.
std::optional<Violation> EffectOfUnwrittenMemory(const lineage::Problem& problem,
                                                 const VerifyOptions& options, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_UNWRITTEN_MEMORY_H_
