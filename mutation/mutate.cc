#include "mutation/mutate.h"

#include <algorithm>

#include "mutation/catalogue.h"
#include "mutation/graph_editor.h"
#include "mutation/plan_faults.h"
#include "mutation/random_faults.h"
#include "mutation/schedule_faults.h"

namespace planproof::mutation {

std::vector<std::string> Kinds() {
  std::vector<std::string> kinds;
  for (int i = 1; i <= 14; ++i) kinds.push_back("BR" + std::to_string(i));
  for (int i = 1; i <= 3; ++i) kinds.push_back("C" + std::to_string(i));
  for (int i = 1; i <= 2; ++i) kinds.push_back("S" + std::to_string(i));
  kinds.push_back("random");
  return kinds;
}

absl::StatusOr<Mutation> Mutate(lineage::Problem& problem, const std::string& kind, uint64_t seed) {
  const std::vector<std::string> kinds = Kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    std::string list;
    for (const std::string& known : kinds) list += (list.empty() ? "" : ", ") + known;
    for (const std::string& known : PlanKinds()) {
      if (std::find(kinds.begin(), kinds.end(), known) == kinds.end()) list += ", " + known;
    }
    return absl::InvalidArgumentError("unknown kind '" + kind + "'; known are " + list);
  }
  if (kind[0] == 'S') return MutateSchedule(problem, kind, seed);
  GraphEditor editor(problem);
  if (kind == "random") return MutateAtRandom(editor, seed);
  return MutateByCatalogue(editor, kind, seed);
}

}  // namespace planproof::mutation
