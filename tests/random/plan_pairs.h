// Plans to put faults into: a published pair or a plan file, each with a twin of small extents.
#ifndef PLANPROOF_TESTS_RANDOM_PLAN_PAIRS_H_
#define PLANPROOF_TESTS_RANDOM_PLAN_PAIRS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"

namespace planproof::random_tests {

struct PlanPair {
  std::string name;
  lineage::Problem problem;
  // The same plan with smaller extents, from the same file: its reader saw smaller numbers. The two
  // have the same tensors and operators in the same order.
  lineage::Problem twin;
  std::string factors;   // "1024 -> 24, 16 -> 8": how extents were divided
  int64_t id_range = 0;  // integer inputs of the twin are in [0, id_range)
};

// "MLP", "LLAMA" (dp2 pp2 tp2 nm2), "MOE", "GPT" from the published plans. NotFound if they are not
// there (PLANPROOF_SHARED or ../shared).
absl::StatusOr<PlanPair> LoadPublished(const std::string& name);
std::vector<std::string> PublishedNames();

// A plan file in JSON. Every number of `table` that stands in it outside strings is replaced in the
// twin; an empty table leaves it as it is.
absl::StatusOr<PlanPair> LoadPlanFile(const std::string& path,
                                      const std::vector<std::pair<int64_t, int64_t>>& table = {});

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_PLAN_PAIRS_H_
