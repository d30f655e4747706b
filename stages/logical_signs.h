// Derives signs of logical tensors from their definitions: a mean of squares plus eps is positive.
//
// Claims read logical tensors as unknown values, so the premise "add > 0" of rsqrt(add) could not
// be discharged inside its claim. Here the definitions of the tensors that premises are about are
// evaluated, inputs first, and what they show is recorded in the relations.
#ifndef PLANPROOF_STAGES_LOGICAL_SIGNS_H_
#define PLANPROOF_STAGES_LOGICAL_SIGNS_H_

#include <string>

#include "stages/relations.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// For the operands of roots, logarithms, divisions and negative powers, and what they are made of.
void InferLogicalSigns(const lineage::Problem& problem, Relations* relations);
// The same in a worker, if there are such operands. Returns why signs are missing; empty if none
// are.
std::string InferLogicalSignsInWorker(const lineage::Problem& problem, WorkerLimits limits,
                                      Relations* relations);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_LOGICAL_SIGNS_H_
