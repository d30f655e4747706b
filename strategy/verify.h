// Decides a verification problem: the entry point of everything below the command line.
#ifndef PLANPROOF_STRATEGY_VERIFY_H_
#define PLANPROOF_STRATEGY_VERIFY_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::strategy {

stages::Result Verify(const lineage::Problem& problem, const stages::VerifyOptions& options);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_VERIFY_H_
