// Returns early where an absl::Status is not OK.
#ifndef PLANPROOF_SDFG_STATUS_MACROS_H_
#define PLANPROOF_SDFG_STATUS_MACROS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define PLAN_RETURN_IF_ERROR(expression)                                                \
  do {                                                                                  \
    if (absl::Status plan_status = (expression); !plan_status.ok()) return plan_status; \
  } while (false)

#define PLAN_CONCAT_INNER(a, b) a##b
#define PLAN_CONCAT(a, b) PLAN_CONCAT_INNER(a, b)
#define PLAN_ASSIGN_OR_RETURN(target, expression) \
  PLAN_ASSIGN_OR_RETURN_IMPL(PLAN_CONCAT(plan_or_, __LINE__), target, expression)
#define PLAN_ASSIGN_OR_RETURN_IMPL(or_name, target, expression) \
  auto or_name = (expression);                                  \
  if (!or_name.ok()) return or_name.status();                   \
  target = *std::move(or_name)

#endif  // PLANPROOF_SDFG_STATUS_MACROS_H_
