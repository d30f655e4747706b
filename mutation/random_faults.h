// Makes random single faults: what a wrong rewrite or a slip of the hand could do to one operator.
#ifndef PLANPROOF_MUTATION_RANDOM_FAULTS_H_
#define PLANPROOF_MUTATION_RANDOM_FAULTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "mutation/graph_editor.h"
#include "mutation/mutate.h"

namespace planproof::mutation {

// FailedPrecondition if no fault fits anywhere (a graph without operators).
absl::StatusOr<Mutation> MutateAtRandom(GraphEditor& editor, uint64_t seed);

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_RANDOM_FAULTS_H_
