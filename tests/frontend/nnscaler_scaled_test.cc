// The published plans with all extents made small, evaluated on full shapes: the reader's graph of
// each must compute what its required relations say, and every proposed full lineage must hold.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/nnscaler/reader.h"
#include "tests/frontend/nnscaler_testing.h"

namespace planproof::frontend::nnscaler {
namespace {

// Replaces every extent, offset and extent-like attribute by the value of the table.
class Shrink {
 public:
  explicit Shrink(std::map<int64_t, int64_t> table) : table_(std::move(table)) {
    table_[0] = 0;
    table_[1] = 1;
    table_[-1] = -1;
  }

  void operator()(Plan* plan) {
    for (FullTensor& full : plan->fulls) {
      for (int64_t& extent : full.shape) Map(&extent);
    }
    for (SubTensor& sub : plan->subs) {
      for (auto& [start, stop] : sub.index) {
        Map(&start);
        Map(&stop);
      }
    }
    static const std::set<std::string> kExtents = {"size",
                                                   "normalized_shape",
                                                   "start",
                                                   "stop",
                                                   "n_routed_experts",
                                                   "local_expert_start",
                                                   "local_expert_end"};
    for (Node& node : plan->nodes) {
      for (auto& [name, value] : node.attributes) {
        if (name == "n_groups" || name == "topk_groups")
          value = int64_t{1};  // few experts are left
        int64_t* heads = name == "h" ? std::get_if<int64_t>(&value) : nullptr;
        if (heads != nullptr) *heads /= 8;  // stands in no extent
        if (kExtents.count(name) == 0) continue;
        if (int64_t* number = std::get_if<int64_t>(&value)) Map(number);
        if (auto* list = std::get_if<std::vector<int64_t>>(&value)) {
          for (int64_t& number : *list) Map(&number);
        }
      }
    }
  }
  const std::set<int64_t>& missing() const { return missing_; }

 private:
  void Map(int64_t* value) {
    const auto found = table_.find(*value);
    if (found == table_.end()) {
      missing_.insert(*value);
    } else {
      *value = found->second;
    }
  }
  std::map<int64_t, int64_t> table_;
  std::set<int64_t> missing_;
};

struct Scaled {
  const char* logical;
  const char* parallel;
  std::map<int64_t, int64_t> table;
};

class ScaledPlanTest : public testing::TestWithParam<Scaled> {};

TEST_P(ScaledPlanTest, ComputesTheRequiredValues) {
  const std::string paths[] = {PublishedPlan(GetParam().logical),
                               PublishedPlan(GetParam().parallel)};
  if (paths[0].empty() || paths[1].empty()) {
    GTEST_SKIP() << "the published plans are not there (set PLANPROOF_SHARED)";
  }
  Shrink shrink(GetParam().table);
  std::vector<Plan> plans;
  for (const std::string& path : paths) {
    absl::StatusOr<Pickle> pickle = Pickle::ReadFile(path);
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    absl::StatusOr<Plan> plan = ReadPlan(*pickle);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plans.push_back(*std::move(plan));
    shrink(&plans.back());
  }
  ASSERT_EQ(shrink.missing(), std::set<int64_t>());
  absl::StatusOr<lineage::Problem> problem = BuildProblem(plans[0], plans[1]);
  ASSERT_TRUE(problem.ok()) << problem.status();
  absl::StatusOr<Judgement> judgement = Judge(*problem);
  ASSERT_TRUE(judgement.ok()) << judgement.status();
  EXPECT_LT(judgement->required, 1e-6) << judgement->worst;
  EXPECT_LT(judgement->proposed, 1e-6) << judgement->worst_proposed;
}

const std::map<int64_t, int64_t> kMlp = {{16, 8}, {4, 2}, {2, 1}, {1024, 4}, {512, 2}};
const std::map<int64_t, int64_t> kGpt = {{16, 8},   {8, 4},    {4, 2},     {2, 1},
                                         {1024, 4}, {512, 2},  {3072, 12}, {1536, 6},
                                         {4096, 2}, {2048, 1}, {51200, 4}, {25600, 2}};
const std::map<int64_t, int64_t> kLlama = {{512, 8},   {128, 2},  {64, 1},    {4096, 4}, {2048, 2},
                                           {11008, 4}, {5504, 2}, {51200, 6}, {32, 2}};
const std::map<int64_t, int64_t> kExperts = {{1024, 16}, {512, 8},     {256, 4},   {128, 2},
                                             {64, 1},    {32, 4},      {16, 2},    {8, 1},
                                             {2, 2},     {131072, 32}, {32768, 8}, {16384, 4},
                                             {2048, 32}, {4096, 4},    {51200, 4}, {25600, 2}};

INSTANTIATE_TEST_SUITE_P(
    All, ScaledPlanTest,
    testing::Values(Scaled{"mlp_mgener_dp1", "mlp_mgener_dp2", kMlp},
                    Scaled{"gpt_mgener_dp1_pp1_tp1", "gpt_mgener_dp1_pp1_tp2", kGpt},
                    Scaled{"gpt_mgener_dp1_pp1_tp1", "gpt_mgener_dp2", kGpt},
                    Scaled{"llama3_default_dp1_", "llama3_default_dp2_", kLlama},
                    Scaled{"moe_default_dp1_", "moe_default_dp2_", kExperts}));

}  // namespace
}  // namespace planproof::frontend::nnscaler
