#include "report/layer_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/stage_operators.h"
#include "tests/report/results.h"

namespace planproof::report {
namespace {

TEST(LayerMap, LayersAreReadFromNames) {
  EXPECT_EQ(LayerOf("layers.12.q"), "layers.12");
  EXPECT_EQ(LayerOf("stage1:layers.12.q.part"), "layers.12");
  EXPECT_EQ(LayerOf("new value of model.layers.0.mlp.weight"), "model.layers.0");
  EXPECT_EQ(LayerOf("layers.3.experts.5.w1"), "layers.3");
  EXPECT_EQ(LayerOf("model.layers.0: aten.mm.default"), "model.layers.0");
  for (const char* none : {"", "y", "head.1", "a.1x.b", ".0.a", "1.2", "layers.", "layers.12"})
    EXPECT_EQ(LayerOf(none), "") << none;
}

State StateIn(const LayerMap& map, const std::string& kind, State worst = State::kNoEffect) {
  for (const MapCell& cell : map.cells) {
    if (map.kinds[cell.kind] == kind) worst = std::max(worst, cell.state);
  }
  return worst;
}

TEST(LayerMap, OfAProvedPlanIsProved) {
  const Report report = Describe(ResultOfFile("examples/mlp_tp2.json"), {});
  ASSERT_FALSE(report.map.cells.empty());
  int64_t count = 0;
  for (const MapCell& cell : report.map.cells) {
    EXPECT_EQ(cell.state, State::kProved) << report.map.kinds[cell.kind];
    EXPECT_TRUE(cell.operators.empty());
    EXPECT_EQ(report.map.rank_sets[cell.ranks], (RankSet{{0, 1}}));
    count += cell.count;
  }
  EXPECT_EQ(count, 9);  // 18 instances on two ranks
}

TEST(LayerMap, ShowsTheFaultAndWhatComesAfterIt) {
  const Report report = Describe(ResultOfFile("examples/mlp_tp2_broken.json"), {});
  EXPECT_EQ(StateIn(report.map, "identity"), State::kRefuted);
  EXPECT_EQ(StateIn(report.map, "gelu"), State::kProved);
  EXPECT_EQ(StateIn(report.map, "mse_loss"), State::kAfterFault);
}

TEST(LayerMap, IsRefutedOnTheRanksThatAreWrong) {
  const Report report = Describe(ResultOfFile("examples/llama_dp2_pp2_tp2_mb2_broken.json"), {});
  for (const MapCell& cell : report.map.cells) {
    if (cell.state != State::kRefuted) continue;
    EXPECT_EQ(report.map.rank_sets[cell.ranks], (RankSet{{2, 3}, {6, 7}}));
  }
  EXPECT_EQ(StateIn(report.map, "identity"), State::kRefuted);
}

TEST(LayerMap, OfAPlanThatIsNoneIsEmpty) {
  EXPECT_TRUE(Describe(ResultOfFile("examples/first_plan/wrong_name.json"), {}).map.cells.empty());
}

TEST(StageOperators, ReachBackToWhatHasAClaim) {
  const stages::Result result = ResultOfFile("examples/first_plan/missing_sum.json");
  const StageOperators operators(*result.account);
  const sdfg::Graph& plan = result.account->problem.parallel;
  const auto y = plan.FindTensor("y");
  ASSERT_TRUE(y.ok());
  const std::vector<sdfg::OperatorId> stage = operators.Of(*y);
  ASSERT_EQ(stage.size(), 2u);
  EXPECT_EQ(plan.operators[stage[0]].name, "identity");
  EXPECT_EQ(plan.operators[stage[1]].name, "linear");
  EXPECT_EQ(operators.InputsOf(stage).size(), 2u);  // x, w
}

}  // namespace
}  // namespace planproof::report
