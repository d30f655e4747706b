// Puts published bugs into a plan's programs (docs/bugs.md): steps as the parallelizer with the bug
// in it would have written them. Where mutation/catalogue.h changes the operators of a graph, these
// change the file, so that they can add steps, inputs and exceptions of single ranks.
#ifndef PLANPROOF_MUTATION_PLAN_FAULTS_H_
#define PLANPROOF_MUTATION_PLAN_FAULTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/lineage.h"
#include "mutation/mutate.h"
#include "mutation/plan_editor.h"

namespace planproof::mutation {

// Puts one fault into the plan; the seed chooses the place. FailedPrecondition if there is none.
using PlanFault = absl::StatusOr<Mutation> (*)(PlanEditor& editor, const std::string& kind,
                                               uint64_t seed);
using PlanFaults = std::map<std::string, PlanFault>;

// The faults by theme, each in its file.
void AddCollectiveFaults(PlanFaults* faults);  // which ranks reduce, gather, scatter
void AddGradientFaults(PlanFaults* faults);    // the backward pass, sums of gradients
void AddScaleFaults(PlanFaults* faults);       // constants and factors
void AddOperandFaults(PlanFaults* faults);     // other rows, stale tensors, layers on wrong stages
void AddUpdateFaults(PlanFaults* faults);      // clipping, the optimizer's step

// Kinds of fault in programs, sorted: "BR10", "GG5", "TT7", ...
std::vector<std::string> PlanKinds();

// Changes the plan in `file`, which has both roles; `problem` is what it poses. InvalidArgument for
// an unknown kind.
absl::StatusOr<Mutation> MutatePlan(plan::PlanFile* file, const lineage::Problem& problem,
                                    const std::string& kind, uint64_t seed);

// The same for the files that pose `problem`; writes the changed plan, together with its
// specification, to `output`.
absl::StatusOr<Mutation> MutatePlanFiles(const std::vector<std::string>& files,
                                         const lineage::Problem& problem, const std::string& kind,
                                         uint64_t seed, const std::string& output);

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_PLAN_FAULTS_H_
