// Claim outcomes as bytes, for the way from a worker to its parent.
#ifndef PLANPROOF_STAGES_WORKERS_OUTCOME_BYTES_H_
#define PLANPROOF_STAGES_WORKERS_OUTCOME_BYTES_H_

#include <string>

#include "stages/claim.h"

namespace planproof::stages {

std::string ToBytes(const ClaimOutcome& outcome);
// False if the bytes are not an outcome.
bool FromBytes(const std::string& bytes, ClaimOutcome* outcome);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_OUTCOME_BYTES_H_
