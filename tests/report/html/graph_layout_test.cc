#include "report/html/graph_layout.h"

#include <gtest/gtest.h>

#include <cmath>

namespace planproof::report {
namespace {

GraphLayout Boxes(int count) {
  GraphLayout layout;
  for (int i = 0; i < count; ++i) layout.boxes.push_back({60.0 + 7 * (i % 5), 30});
  return layout;
}

void ExpectSound(const GraphLayout& layout) {
  for (size_t a = 0; a < layout.boxes.size(); ++a) {
    const Box& box = layout.boxes[a];
    EXPECT_GE(box.x - box.width / 2, -1e-6);
    EXPECT_LE(box.x + box.width / 2, layout.width + 1e-6);
    EXPECT_GE(box.y - box.height / 2, -1e-6);
    EXPECT_LE(box.y + box.height / 2, layout.height + 1e-6);
    for (size_t b = a + 1; b < layout.boxes.size(); ++b) {
      const Box& other = layout.boxes[b];
      const bool apart = std::abs(box.x - other.x) >= (box.width + other.width) / 2 - 1e-6 ||
                         std::abs(box.y - other.y) >= (box.height + other.height) / 2 - 1e-6;
      EXPECT_TRUE(apart) << a << " lies over " << b;
    }
  }
}

TEST(GraphLayout, LeadsDown) {
  GraphLayout layout = Boxes(5);
  layout.edges = {{0, 2, {}}, {1, 2, {}}, {2, 3, {}}, {3, 4, {}}, {0, 4, {}}};
  LayOut(&layout);
  ExpectSound(layout);
  for (const LayoutEdge& edge : layout.edges) {
    EXPECT_LT(layout.boxes[edge.from].y, layout.boxes[edge.to].y);
    ASSERT_GE(edge.points.size(), 2u);
    for (size_t i = 1; i < edge.points.size(); ++i)
      EXPECT_LT(edge.points[i - 1].second, edge.points[i].second);
  }
  EXPECT_GT(layout.edges[4].points.size(), 2u);  // around what lies between
}

TEST(GraphLayout, BoxesDoNotOverlapInLargerGraphs) {
  GraphLayout layout = Boxes(60);
  for (int i = 1; i < 60; ++i) {
    layout.edges.push_back({i * i % i, i, {}});
    layout.edges.push_back({(i * 7919) % i, i, {}});
  }
  LayOut(&layout);
  ExpectSound(layout);
}

TEST(GraphLayout, TakesAnything) {
  GraphLayout empty;
  LayOut(&empty);
  EXPECT_EQ(empty.height, 0);
  GraphLayout cycle = Boxes(3);
  cycle.edges = {{0, 1, {}}, {1, 2, {}}, {2, 0, {}}, {1, 1, {}}};
  LayOut(&cycle);
  EXPECT_EQ(cycle.edges.size(), 3u);
  ExpectSound(cycle);
}

}  // namespace
}  // namespace planproof::report
