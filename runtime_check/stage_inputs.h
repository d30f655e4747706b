// Makes what each rank's modules would get if all before them were right: the reference's inputs
// and gradients of results, cut as the annotations say. A run that is given them shows a wrong
// module by itself, and no other after it.
#ifndef PLANPROOF_RUNTIME_CHECK_STAGE_INPUTS_H_
#define PLANPROOF_RUNTIME_CHECK_STAGE_INPUTS_H_

#include <string>

#include "absl/status/status.h"
#include "dumps/annotations.h"
#include "dumps/dump.h"

namespace planproof::runtime_check {

// Writes rankN.safetensors into the directory, which is there: by the rank's names, tensors of kind
// input and backward of which each rank's values are a part (not a term of a sum). InvalidArgument
// as CompareDumps; FailedPrecondition if there is no such tensor.
absl::Status WriteStageInputs(const dumps::ReferenceDump& reference, const dumps::Dump& candidate,
                              const dumps::Annotations& annotations, const std::string& directory);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_STAGE_INPUTS_H_
