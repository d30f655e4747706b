// Checks that an operator has the keys that its collective needs, and no others. One that it does
// not have would be read by nobody: "dim" beside softmax, where it belongs under "attrs", or
// "reduce": "max" at an operator that sums. One that is missing would be guessed.
#ifndef PLANPROOF_FRONTEND_PLAN_COLLECTIVE_KEYS_H_
#define PLANPROOF_FRONTEND_PLAN_COLLECTIVE_KEYS_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/plan/plan.pb.h"

namespace planproof::plan {

// InvalidArgument with the key and what the operator has instead, or that it needs. `collective`:
// the operator is one; any other has none of these keys.
absl::Status CheckCollectiveKeys(const Operator& op, bool collective);

// What all participants of a collective between programs must agree on, beside its operands:
// "all_reduce (sum)".
std::string ExchangeText(const Operator& op);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_COLLECTIVE_KEYS_H_
