// Finds operators that overwrite their operand ("inplace=True"), and who reads it afterwards.
#ifndef PLANPROOF_FRONTEND_NNSCALER_OVERWRITTEN_OPERANDS_H_
#define PLANPROOF_FRONTEND_NNSCALER_OVERWRITTEN_OPERANDS_H_

#include "absl/status/status.h"
#include "frontend/nnscaler/plan_objects.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::nnscaler {

// In the order in which each device executes, nothing reads a tensor after an operator has
// overwritten it, nor a tensor that may lie in the same memory (a view, another output of
// multiref): InvalidArgument with both operators. The backward of relu counts as a reader of its
// result, and that of dropout as none, as in the framework.
absl::Status CheckOverwrittenOperands(const Plan& plan, const sdfg::OperatorLibrary& operators);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_OVERWRITTEN_OPERANDS_H_
