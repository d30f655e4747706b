// Tries the forms of a problem one after the other: with rounds or ranks folded, and as it was read
// (kForms of strategy_table.h).
#ifndef PLANPROOF_STRATEGY_FORM_ATTEMPTS_H_
#define PLANPROOF_STRATEGY_FORM_ATTEMPTS_H_

#include "lineage/lineage.h"
#include "stages/result.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

// Walks the table until a row answers. Before that, what the model computes again is taken to be
// computed once. The result goes on from what is known.
stages::Result TryForms(const lineage::Problem& read, RunContext context, stages::Result known);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_FORM_ATTEMPTS_H_
