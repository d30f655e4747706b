// Places the boxes of a small directed graph in layers from top to bottom (Sugiyama, Tagawa and
// Toda, 1981): what an edge leads to lies below what it comes from; edges cross little and are
// mostly straight. docs/decisions/0039-own-layout.md says why this is ours.
#ifndef PLANPROOF_REPORT_HTML_GRAPH_LAYOUT_H_
#define PLANPROOF_REPORT_HTML_GRAPH_LAYOUT_H_

#include <utility>
#include <vector>

namespace planproof::report {

struct Box {
  double width = 0, height = 0;
  double x = 0, y = 0;  // of the middle; filled
};

struct LayoutEdge {
  int from = 0, to = 0;                           // boxes
  std::vector<std::pair<double, double>> points;  // filled: from box to box, through all layers
};

struct GraphLayout {
  std::vector<Box> boxes;
  std::vector<LayoutEdge> edges;
  double width = 0, height = 0;  // filled
};

// Edges from a box to itself are taken out; those that close a cycle may lead upwards.
void LayOut(GraphLayout* layout);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_HTML_GRAPH_LAYOUT_H_
