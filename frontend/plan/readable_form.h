// Writes a plan file as JSON that a person can read: the counterpart of json_form.h.
#ifndef PLANPROOF_FRONTEND_PLAN_READABLE_FORM_H_
#define PLANPROOF_FRONTEND_PLAN_READABLE_FORM_H_

#include <string>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"

namespace planproof::plan {

// The text of a file with specification, plan or both, one operator per line. Reading it gives back
// the message, but for lines and what InJsonOrder changes; this is checked. InvalidArgument for a
// raw problem, and for a message that says what the JSON form has no words for.
absl::StatusOr<std::string> WriteReadableForm(const PlanFile& file);

// The message as it is after a way through the JSON form: tensors by role, premises by tensor,
// defaults written out, no lines.
PlanFile InJsonOrder(const PlanFile& file);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_READABLE_FORM_H_
