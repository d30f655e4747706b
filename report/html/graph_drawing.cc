#include "report/html/graph_drawing.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "report/html/graph_layout.h"
#include "report/markup.h"
#include "report/ranks.h"
#include "report/text_layout.h"

namespace planproof::report {
namespace {

constexpr size_t kMostOperators = 24, kMostInputs = 24;
constexpr size_t kLongestLine = 28, kTensorColumns = 22, kMostLines = 3;  // of a box
constexpr double kCharacter = 7.3, kLine = 16, kMargin = 9;
constexpr double kSmallest = 0.7;  // of the size: a smaller window scrolls

struct Shape {
  std::string kind;                // a class of the style sheet
  std::vector<std::string> lines;  // the first in bold
  std::string title;               // all of it, shown under the pointer
};

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

// Characters, not bytes.
size_t Columns(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string ShapeText(const GraphTensor& tensor) {
  std::vector<std::string> extents;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    std::string extent = std::to_string(tensor.shape[d]);
    if (d < tensor.axes.size()) extent = tensor.axes[d] + " " + extent;
    extents.push_back(std::move(extent));
  }
  return absl::StrCat("[", absl::StrJoin(extents, ", "), "]");
}

Shape OperatorShape(const Graph& graph, const GraphOperator& op, bool suspected) {
  Shape shape;
  shape.kind = suspected ? "suspect" : op.communicates ? "communication" : "operator";
  shape.lines.push_back(OneLine(op.name, kLongestLine));
  if (!op.label.empty()) shape.lines.push_back(OneLine(op.label, kLongestLine));
  if (!op.ranks.empty()) shape.lines.push_back(OneLine(Named(op.ranks), kLongestLine));
  shape.title = op.name + (op.label.empty() ? "" : " (" + op.label + ")");
  if (!op.ranks.empty()) absl::StrAppend(&shape.title, "\n", Named(op.ranks));
  for (const int output : op.outputs) {
    const GraphTensor& tensor = graph.tensors[output];
    absl::StrAppend(&shape.title, "\nmakes ", tensor.name, " ", ShapeText(tensor));
    if (!tensor.relation.empty()) absl::StrAppend(&shape.title, "\n", tensor.relation);
  }
  if (op.place.line > 0) absl::StrAppend(&shape.title, "\n", op.place.ToString());
  return shape;
}

// On several lines where it is long.
void AddLines(const std::string& text, std::vector<std::string>* lines) {
  const std::string wrapped =
      Wrapped(OneLine(text, kTensorColumns * kMostLines), kTensorColumns, 0);
  for (const absl::string_view line : absl::StrSplit(wrapped, '\n')) lines->emplace_back(line);
}

Shape TensorShape(const GraphTensor& tensor, const char* kind) {
  Shape shape{kind, {OneLine(tensor.name, kLongestLine)}, tensor.name};
  AddLines(ShapeText(tensor), &shape.lines);
  const size_t equals = tensor.relation.find(" = ");
  if (equals != std::string::npos) AddLines(tensor.relation.substr(equals + 1), &shape.lines);
  absl::StrAppend(&shape.title, " ", ShapeText(tensor));
  if (!tensor.relation.empty()) absl::StrAppend(&shape.title, "\n", tensor.relation);
  return shape;
}

class StageDrawing {
 public:
  StageDrawing(const Graph& graph, const std::vector<int>& operators, int suspected)
      : graph_(graph) {
    const size_t count = std::min(operators.size(), kMostOperators);
    for (size_t i = 0; i < count; ++i) {
      for (const int output : graph_.operators[operators[i]].outputs)
        maker_[output] = static_cast<int>(i);
      Add(OperatorShape(graph_, graph_.operators[operators[i]],
                        i < static_cast<size_t>(suspected)));
    }
    for (size_t i = 0; i < count; ++i) {
      for (const int input : graph_.operators[operators[i]].inputs) {
        const auto made = maker_.find(input);
        Connect(made != maker_.end() ? made->second : Input(input), static_cast<int>(i));
      }
    }
  }

  void MarkTarget(const std::string& target) {
    for (const auto& [tensor, box] : maker_) {
      if (graph_.tensors[tensor].name != target) continue;
      const int at = Add(TensorShape(graph_.tensors[tensor], "target"));
      Connect(box, at);
      return;
    }
  }

  double Width() const { return layout_.width + 4; }

  std::string Svg(const std::string& title) {
    LayOut(&layout_);
    const double width = Width(), height = layout_.height + 4;
    std::string svg =
        absl::StrCat("<svg role=\"img\" aria-label=\"", MarkupText(title), "\" viewBox=\"-2 -2 ",
                     Number(width), " ", Number(height), "\" width=\"", Number(width),
                     "\" style=\"min-width:", Number(width * kSmallest), "px\">\n");
    for (const LayoutEdge& edge : layout_.edges) absl::StrAppend(&svg, Line(edge));
    for (size_t i = 0; i < shapes_.size(); ++i)
      absl::StrAppend(&svg, BoxOf(shapes_[i], layout_.boxes[i]));
    return svg + "</svg>\n";
  }

 private:
  int Add(Shape shape) {
    size_t columns = 0;
    for (const std::string& line : shape.lines) columns = std::max(columns, Columns(line));
    Box box;
    box.width = static_cast<double>(columns) * kCharacter + 2 * kMargin;
    box.height = static_cast<double>(shape.lines.size()) * kLine + kMargin;
    layout_.boxes.push_back(box);
    shapes_.push_back(std::move(shape));
    return static_cast<int>(shapes_.size()) - 1;
  }

  // The box of a tensor from elsewhere; -1 if there are too many.
  int Input(int tensor) {
    const auto known = inputs_.find(tensor);
    if (known != inputs_.end()) return known->second;
    if (inputs_.size() >= kMostInputs) return -1;
    return inputs_[tensor] = Add(TensorShape(graph_.tensors[tensor], "input"));
  }

  void Connect(int from, int to) {
    if (from < 0) return;
    for (const LayoutEdge& edge : layout_.edges) {
      if (edge.from == from && edge.to == to) return;
    }
    layout_.edges.push_back({from, to, {}});
  }

  static std::string Line(const LayoutEdge& edge) {
    std::string path;
    for (size_t i = 0; i < edge.points.size(); ++i) {
      const auto [x, y] = edge.points[i];
      if (i == 0) {
        absl::StrAppend(&path, "M", Number(x), " ", Number(y));
        continue;
      }
      const auto [before_x, before_y] = edge.points[i - 1];
      const std::string middle = Number((y + before_y) / 2);
      absl::StrAppend(&path, "C", Number(before_x), " ", middle, " ", Number(x), " ", middle, " ",
                      Number(x), " ", Number(y));
    }
    if (edge.points.size() < 2) return "";
    const auto [x, y] = edge.points.back();
    return absl::StrCat("<path class=\"edge\" d=\"", path, "\"/><path class=\"arrow\" d=\"M",
                        Number(x), " ", Number(y), "l-4 -7h8z\"/>\n");
  }

  static std::string BoxOf(const Shape& shape, const Box& box) {
    std::string svg = absl::StrCat("<g class=\"", shape.kind, "\"><title>", MarkupText(shape.title),
                                   "</title><rect x=\"", Number(box.x - box.width / 2), "\" y=\"",
                                   Number(box.y - box.height / 2), "\" width=\"", Number(box.width),
                                   "\" height=\"", Number(box.height), "\" rx=\"4\"/>");
    for (size_t i = 0; i < shape.lines.size(); ++i) {
      const double y = box.y - box.height / 2 + kLine * static_cast<double>(i + 1);
      absl::StrAppend(&svg, "<text x=\"", Number(box.x), "\" y=\"", Number(y), "\"",
                      i == 0 ? " class=\"name\">" : ">", MarkupText(shape.lines[i]), "</text>");
    }
    return svg + "</g>\n";
  }

  const Graph& graph_;
  GraphLayout layout_;
  std::vector<Shape> shapes_;
  std::map<int, int> maker_, inputs_;  // box by tensor
};

}  // namespace

Drawing DrawStage(const Graph& graph, const std::vector<int>& operators, int suspected,
                  const std::string& target, const std::string& title) {
  Drawing drawing;
  if (operators.empty()) return drawing;
  StageDrawing stage(graph, operators, suspected);
  stage.MarkTarget(target);
  drawing.svg = stage.Svg(title);
  drawing.width = stage.Width();
  if (operators.size() > kMostOperators)
    drawing.left_out = static_cast<int>(operators.size() - kMostOperators);
  return drawing;
}

}  // namespace planproof::report
