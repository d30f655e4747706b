// Claims, relations and places in words, for reports.
#ifndef PLANPROOF_STAGES_DESCRIBE_H_
#define PLANPROOF_STAGES_DESCRIBE_H_

#include <string>

#include "stages/claim_table.h"
#include "stages/rounds.h"
#include "stages/verify.h"

namespace planproof::stages {

// "layers.0.wq.weight gradient [0:512, :] full on device 3"
std::string DescribeLineage(const lineage::Problem& problem, sdfg::TensorId parallel,
                            const lineage::Lineage& l);
std::string DescribeRequired(const lineage::Problem& problem, const lineage::RequiredRelation& r);
// Fills stage, operators, sources, devices, microbatches and lineage of the claim into v.
void DescribePlace(const lineage::Problem& problem, const Claim& claim, Violation* v);
// One violation per undecided claim that a required output rests on (the first few by position).
void ListUndecided(const lineage::Problem& problem, const ClaimTable& table, const Rounds& rounds,
                   Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DESCRIBE_H_
