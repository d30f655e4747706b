// Advises which lineage to claim where a proof got stuck: relations that numbers support.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_LINEAGE_ADVICE_H_
#define PLANPROOF_STAGES_DIAGNOSIS_LINEAGE_ADVICE_H_

#include <string>

#include "lineage/lineage.h"
#include "stages/claim.h"

namespace planproof::stages {

// One clause, as a plan file says it: claim "lineage": {"h": {"0": "tp"}}, or {"of": "h", "1":
// ["dp", "tp"]}. For tensors between the claimed one and those of which a relation is known, those
// first that share the name of a logical tensor. Numbers do not prove; what is found is a claim to
// be tried. Empty if there is none, or if the graphs cannot be evaluated within `seconds`.
std::string LineageToClaim(const lineage::Problem& problem, const Claim& claim, double seconds);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_LINEAGE_ADVICE_H_
