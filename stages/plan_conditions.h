// Collects the conditions under which a plan has values.
#ifndef PLANPROOF_STAGES_PLAN_CONDITIONS_H_
#define PLANPROOF_STAGES_PLAN_CONDITIONS_H_

#include <vector>

#include "lineage/lineage.h"
#include "stages/claim.h"
#include "stages/proof_search.h"
#include "stages/relations.h"

namespace planproof::stages {

// A condition of the plan that is not seen to hold wherever the model is defined.
struct OpenCondition {
  sdfg::OperatorId op = sdfg::kNone;  // of the parallel graph, that declares it
  int claim = -1;                     // or that met it
  Condition condition;
};
struct ConditionsAsked {
  bool discharge = true;           // by looking at the whole model
  bool behind_assumptions = true;  // those of operators behind what is assumed, too
};
// Those of the claims on which required outputs rest, and those that operators declare, also
// operators without effect, which run all the same, and those under which operators behind an
// assumption have a value. Looks at the whole model for those of claims,
// if `discharge`.
std::vector<OpenCondition> ConditionsOfPlan(const lineage::Problem& problem, ConditionsAsked asked,
                                            ProofSearch* search, Relations* relations);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PLAN_CONDITIONS_H_
