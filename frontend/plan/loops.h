// Writes out loops over operators before anything else reads a plan.
#ifndef PLANPROOF_FRONTEND_PLAN_LOOPS_H_
#define PLANPROOF_FRONTEND_PLAN_LOOPS_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/plan/plan.pb.h"

namespace planproof::plan {

bool HasLoops(const PlanFile& file);

// Puts the operators of each round in the place of a loop: names with their expressions evaluated
// ("h[t + 1]" is "h[4]" where t = 3), attributes with the variables replaced. `path` stands in
// errors: InvalidArgument for a name or bound that no variable explains, ResourceExhausted beyond
// the limits.
absl::Status UnrollLoops(const std::string& path, PlanFile* file);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_LOOPS_H_
