// Tries one form of a problem with what the files state of the plan's tensors, and with what
// inference adds where they state little (kRelations of strategy_table.h).
#ifndef PLANPROOF_STRATEGY_RELATION_ATTEMPTS_H_
#define PLANPROOF_STRATEGY_RELATION_ATTEMPTS_H_

#include "lineage/lineage.h"
#include "stages/result.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

// Walks the table until a row answers, doing at most what the method says. The result goes on from
// what is known.
stages::Result TryRelations(const lineage::Problem& problem, const RunContext& context,
                            Method method, stages::Result known);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_RELATION_ATTEMPTS_H_
