// Finds operators of a specification that overwrite their operand ("inplace").
#ifndef PLANPROOF_FRONTEND_PLAN_OVERWRITTEN_OPERANDS_H_
#define PLANPROOF_FRONTEND_PLAN_OVERWRITTEN_OPERANDS_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/plan/specification.h"

namespace planproof::plan {

// A specification has no order of execution. So what an operator overwrites may be read by nothing
// else, under no name: whether the reader gets the old value or the new one would be open.
// InvalidArgument with both places otherwise. Derived gradients are those of the values and count
// as no readers.
absl::Status CheckOverwrittenOperands(const Specification& specification, const LogicalModel& model,
                                      const std::string& file);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_OVERWRITTEN_OPERANDS_H_
