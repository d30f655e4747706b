// Concludes what an error of a reader says about a plan.
#ifndef PLANPROOF_STAGES_READER_ERROR_H_
#define PLANPROOF_STAGES_READER_ERROR_H_

#include "absl/status/status.h"
#include "stages/verify.h"

namespace planproof::stages {

// An undeclared operator or an exhausted limit leaves the plan UNKNOWN; everything else that input
// can cause makes it MALFORMED. This is the one place where the codes become verdicts.
Result ResultOfReaderError(const absl::Status& error);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_READER_ERROR_H_
