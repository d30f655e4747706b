// Makes wrong plans from right ones: one fault at a time, to see whether the verifier finds it.
//
// A fault is put into the parallel side of a problem only; the specification stays as it is. The
// catalogue re-creates published bugs (BR1..BR14, C1..C3 of docs/bugs.md); S1 and S2 exchange steps
// of a schedule; the kind "random" draws
// a fault and a place by the seed. Equal problems, kinds and seeds give equal faults, and the
// choice depends on the structure of the graphs and not on extents, so that a twin of a plan with
// smaller extents can be mutated alike.
#ifndef PLANPROOF_MUTATION_MUTATE_H_
#define PLANPROOF_MUTATION_MUTATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"

namespace planproof::mutation {

struct Mutation {
  std::string kind;                    // "BR1", or the name of the random fault: "swap operands"
  std::string what;                    // for people, one line: operators, devices, what was changed
  std::vector<std::string> operators;  // the operators that were changed, as reports name them
  std::vector<int> devices;            // on which they run, at coordinate 0
};

// Changes `problem`. InvalidArgument for an unknown kind (the message lists all),
// FailedPrecondition if the plan has no place for it. The result may be malformed on purpose: it
// need not pass Graph::Check.
absl::StatusOr<Mutation> Mutate(lineage::Problem& problem, const std::string& kind, uint64_t seed);

// "BR1", ..., "C3", "S1", "S2", "random".
std::vector<std::string> Kinds();

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_MUTATE_H_
