// Concludes what an error of a reader says about a plan.
#ifndef PLANPROOF_STRATEGY_READER_ERROR_H_
#define PLANPROOF_STRATEGY_READER_ERROR_H_

#include "absl/status/status.h"
#include "strategy/verify.h"

namespace planproof::strategy {

// An undeclared operator or an exhausted limit leaves the plan UNKNOWN; everything else that input
// can cause makes it MALFORMED. This is the one place where the codes become verdicts.
stages::Result ResultOfReaderError(const absl::Status& error);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_READER_ERROR_H_
