// Draws one side of a failing stage (SVG).
#ifndef PLANPROOF_REPORT_HTML_GRAPH_DRAWING_H_
#define PLANPROOF_REPORT_HTML_GRAPH_DRAWING_H_

#include <string>
#include <vector>

#include "report/report.h"

namespace planproof::report {

struct Drawing {
  std::string svg;   // empty: there is nothing to draw
  double width = 0;  // in pixels of the page
  int left_out = 0;  // operators that are not drawn
};

// The operators at these positions of `graph`, and the tensors that they take from elsewhere with
// what is known of them; the first `suspected` are marked, and the box of the tensor `target`
// stands at the end. `title` names the drawing for those who cannot see it. Of many operators those
// that come first are drawn.
Drawing DrawStage(const Graph& graph, const std::vector<int>& operators, int suspected,
                  const std::string& target, const std::string& title);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_HTML_GRAPH_DRAWING_H_
