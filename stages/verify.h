// Decides a verification problem: the entry point of everything below the command line.
#ifndef PLANPROOF_STAGES_VERIFY_H_
#define PLANPROOF_STAGES_VERIFY_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

Result Verify(const lineage::Problem& problem, const VerifyOptions& options);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_VERIFY_H_
