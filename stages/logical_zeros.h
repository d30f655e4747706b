// Finds logical tensors that are zero whatever the inputs are: the gradient of a bias that shifts
// all scores of a row of a softmax alike.
//
// Claims read logical tensors as unknown values, so a plan that treats such a tensor in another way
// (takes it twice, leaves it out of a norm) would stay open: no numbers differ and no terms agree.
// Here the definitions are unfolded until they are seen to be zero, and what is shown is recorded
// in the relations. For whole tensors this is worth its time only where numbers have found no
// difference.
#ifndef PLANPROOF_STAGES_LOGICAL_ZEROS_H_
#define PLANPROOF_STAGES_LOGICAL_ZEROS_H_

#include <vector>

#include "stages/claim.h"
#include "stages/relations.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// Of the logical tensors that these claims are about or read through lineages (RelatedInputs).
// Each is tried in a worker. Returns whether any was shown.
bool InferLogicalZeros(const lineage::Problem& problem, const std::vector<const Claim*>& claims,
                       const WorkerLimits& limits, Relations* relations);

// The same for tensors that are zero at some indices: gradients of scores that a mask hides, which
// a plan that leaves hidden blocks out does not compute. Few tensors are looked at, all in one
// worker.
void InferZeroRegions(const lineage::Problem& problem, const std::vector<const Claim*>& claims,
                      const WorkerLimits& limits, Relations* relations);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_LOGICAL_ZEROS_H_
