// Reads the JSON form of the plan format into its protobuf messages.
//
// This is syntax only: keys, kinds of values, abbreviations. Names and shapes are checked by the
// builders (specification.h, program.h). docs/plan-format.md is normative.
#ifndef PLANPROOF_FRONTEND_PLAN_JSON_FORM_H_
#define PLANPROOF_FRONTEND_PLAN_JSON_FORM_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"

namespace planproof::plan {

// Errors (InvalidArgument): "FILE:LINE: POINTER: what is wrong; what is expected".
absl::StatusOr<PlanFile> ReadJsonForm(std::string_view text, const std::string& file);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_JSON_FORM_H_
