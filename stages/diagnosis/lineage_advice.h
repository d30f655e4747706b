// Which lineage to claim where a proof got stuck: relations that numbers support.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_LINEAGE_ADVICE_H_
#define PLANPROOF_STAGES_DIAGNOSIS_LINEAGE_ADVICE_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim.h"

namespace planproof::stages {

struct LineageAdvice {
  sdfg::TensorId parallel = sdfg::kNone;  // nothing is known of it so far
  lineage::Lineage lineage;               // full; it holds on the inputs tried
  // As a plan file says it, without the tensor's name: {"0": "tp"} or {"of": "h", "1": ["dp",
  // "tp"]}.
  std::string relation;
};

// For tensors between the claimed one and those of which a relation is known: at most `most`, those
// first that share the name of a logical tensor. Numbers do not prove; what is found is a claim to
// be tried. Empty if the graphs cannot be evaluated within `seconds`.
std::vector<LineageAdvice> AdviseLineage(const lineage::Problem& problem, const Claim& claim,
                                         size_t most, double seconds);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_LINEAGE_ADVICE_H_
