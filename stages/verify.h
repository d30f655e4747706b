// Deciding a verification problem: the entry point of everything below the command line.
#ifndef PLANPROOF_STAGES_VERIFY_H_
#define PLANPROOF_STAGES_VERIFY_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::lineage {
struct SampledInputs;
}

namespace planproof::stages {

// `sample`, if not null: inputs of the model on which it was run, or none. They are tried where a
// proof's premises must be shown to hold together.
Result Verify(const lineage::Problem& problem, const VerifyOptions& options,
              const lineage::SampledInputs* sample = nullptr);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_VERIFY_H_
