// Makes faults of a plan's schedule: two steps exchanged.
#ifndef PLANPROOF_MUTATION_SCHEDULE_FAULTS_H_
#define PLANPROOF_MUTATION_SCHEDULE_FAULTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "mutation/mutate.h"

namespace planproof::mutation {

// "S1": a step changes places with one that reads what it computes. "S2": two steps of one phase,
// whose messages another program receives, change places. FailedPrecondition if the plan has no
// such steps.
absl::StatusOr<Mutation> MutateSchedule(lineage::Problem& problem, const std::string& kind,
                                        uint64_t seed);

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_SCHEDULE_FAULTS_H_
