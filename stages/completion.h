// Completes one form of a problem of which too little is stated, with the relations that one
// inference finds.
#ifndef PLANPROOF_STAGES_COMPLETION_H_
#define PLANPROOF_STAGES_COMPLETION_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/lineage_inference.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// The problem with what inference adds; `known` is then what is known of that. Nothing if it takes
// too much: `known` then says so.
std::optional<lineage::Problem> Complete(const LineageInference& inference,
                                         const lineage::Problem& problem,
                                         const VerifyOptions& options, Result* known);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_COMPLETION_H_
