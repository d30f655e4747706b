// The premises of a proof: those declared, and those that the definitions imply.
#ifndef PLANPROOF_STAGES_PREMISES_H_
#define PLANPROOF_STAGES_PREMISES_H_

#include <string>
#include <vector>

#include "stages/claim_outcomes.h"
#include "stages/claim_table.h"
#include "stages/relations.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// "y > 0", "0 <= ids < 1024", one per declared premise.
std::vector<std::string> DeclaredPremises(const lineage::Problem& problem);

// Whether the declared premises can be met together, seen from their form: each restricts one
// input, and those on one input have a common value. False means "not seen".
bool DeclaredHoldTogether(const lineage::Problem& problem);

// Premises of logical operators that no claim evaluates (their results are read as unknown values
// on both sides, yet the specification is defined only where they are): 1/y is undefined at y = 0
// even where it is multiplied by 0. Also the conditions that operators declare. `complete` is false
// when some definition could not be evaluated; `why` then names it.
struct ImpliedPremises {
  std::vector<std::string> texts;
  bool need_sample = false;  // some of them can clash: they are not known to hold together
  bool unsatisfiable = false;
  bool complete = true;
  std::string why;
};
// Definitions are evaluated in one worker.
ImpliedPremises CollectImplied(const lineage::Problem& problem, const ClaimTable& table,
                               const ClaimOutcomes& outcomes, const WorkerLimits& limits,
                               Relations* relations);

// Conditions that operators of the plan declare and that are not seen to hold wherever the model is
// defined. Also of operators without effect, which run all the same: a derivative does not repeat
// the conditions of its forward operator. They are evaluated in one worker.
struct OpenCondition {
  sdfg::OperatorId op = sdfg::kNone;  // of the parallel graph, that declares it
  int claim = -1;                     // or that met it
  Condition condition;
};
std::vector<OpenCondition> OpenConditions(const lineage::Problem& problem,
                                          const WorkerLimits& limits, Relations* relations);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PREMISES_H_
