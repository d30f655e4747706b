#include "report/html/layer_rows.h"

#include <gtest/gtest.h>

#include <string>

namespace planproof::report {
namespace {

LayerMap Layers(int count) {
  LayerMap map;
  map.kinds = {"linear", "all_reduce"};
  map.rank_sets = {{{0, 7}}, {{8, 15}}};
  for (int layer = 0; layer < count; ++layer) {
    map.layers.push_back("layers." + std::to_string(layer));
    map.cells.push_back({layer, 0, State::kProved, 0, {}, 7});
    map.cells.push_back({layer, 1, State::kProved, 0, {}, 2});
  }
  return map;
}

TEST(FoldLayers, AlikeOnesShareARow) {
  const auto rows = FoldLayers(Layers(126));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "layers.0-125");
  EXPECT_EQ(rows[0].layers.size(), 126u);
  EXPECT_EQ(rows[0].ranks, (RankSet{{0, 7}}));
}

TEST(FoldLayers, WhatIsRefutedStandsAlone) {
  LayerMap map = Layers(10);
  map.cells[8].state = map.cells[10].state = State::kRefuted;  // layers 4 and 5
  const auto rows = FoldLayers(map);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "layers.0-3");
  EXPECT_EQ(rows[1].name, "layers.4");
  EXPECT_EQ(rows[2].name, "layers.5");
  EXPECT_EQ(rows[3].name, "layers.6-9");
}

TEST(FoldLayers, OtherRanksOrCountsAreOtherRows) {
  LayerMap map = Layers(4);
  map.cells[4].ranks = 1;
  map.cells[6].count = 3;
  EXPECT_EQ(FoldLayers(map).size(), 3u);
}

TEST(FoldLayers, WhatIsOutsideOfLayersSaysSo) {
  LayerMap map = Layers(1);
  map.layers.emplace_back("");
  map.cells.push_back({1, 0, State::kProved, 0, {}, 1});
  EXPECT_EQ(FoldLayers(map)[1].name, "outside of layers");
  LayerMap none;
  none.layers = {""};
  none.kinds = {"linear"};
  none.rank_sets = {{{0, 0}}};
  none.cells = {{0, 0, State::kProved, 0, {}, 1}};
  EXPECT_EQ(FoldLayers(none)[0].name, "the plan");
}

}  // namespace
}  // namespace planproof::report
