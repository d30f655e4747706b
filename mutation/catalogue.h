// Puts published bugs into a plan, by name (docs/bugs.md).
#ifndef PLANPROOF_MUTATION_CATALOGUE_H_
#define PLANPROOF_MUTATION_CATALOGUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mutation/graph_editor.h"
#include "mutation/mutate.h"

namespace planproof::mutation {

// `kind` is one of "BR1".."BR14", "C1".."C3".
absl::StatusOr<Mutation> MutateByCatalogue(GraphEditor& editor, const std::string& kind,
                                           uint64_t seed);

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_CATALOGUE_H_
