// Finds reads of memory that nothing has written: a write, or the collective that makes it, is
// missing.
#ifndef PLANPROOF_STRATEGY_UNWRITTEN_MEMORY_H_
#define PLANPROOF_STRATEGY_UNWRITTEN_MEMORY_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::strategy {

// Some required output is another number if the memory holds another one, all inputs being the
// same: the first operator of the plan that computes with it. What was written in part, is masked
// or is chosen by data counts as far as it has an effect. Numbers in double precision, in a worker,
// within seconds; nothing if no operator reads such memory or the numbers are the same.
std::optional<stages::Violation> EffectOfUnwrittenMemory(const lineage::Problem& problem,
                                                         const stages::VerifyOptions& options,
                                                         stages::Result* result);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_UNWRITTEN_MEMORY_H_
