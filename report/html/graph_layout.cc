#include "report/html/graph_layout.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace planproof::report {
namespace {

constexpr double kBetweenBoxes = 18, kBetweenLayers = 34, kBendWidth = 6;
constexpr int kOrderSweeps = 8, kPlaceSweeps = 12;

// Boxes, and bends where an edge passes a layer.
struct Node {
  double width = 0, height = 0, x = 0;
  int layer = 0;
  std::vector<int> above, below;
};

class Layering {
 public:
  explicit Layering(GraphLayout* layout) : layout_(*layout) {}

  void Run() {
    auto& edges = layout_.edges;
    edges.erase(std::remove_if(edges.begin(), edges.end(),
                               [](const LayoutEdge& edge) { return edge.from == edge.to; }),
                edges.end());
    for (const Box& box : layout_.boxes) nodes_.push_back({box.width, box.height});
    ChooseLayers();
    AddBends();
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (layers_.size() <= static_cast<size_t>(nodes_[n].layer))
        layers_.resize(nodes_[n].layer + 1);
      layers_[nodes_[n].layer].push_back(static_cast<int>(n));
    }
    OrderLayers();
    PlaceAcross();
    Fill();
  }

 private:
  // As far down as the longest way from a source; then sources move down to what they lead to.
  void ChooseLayers() {
    const size_t count = nodes_.size();
    std::vector<int> incoming(count);
    std::vector<std::vector<int>> to(count);
    for (const LayoutEdge& edge : layout_.edges) {
      to[edge.from].push_back(edge.to);
      ++incoming[edge.to];
    }
    std::vector<int> ready;
    std::vector<bool> source(count);
    for (size_t n = 0; n < count; ++n) {
      source[n] = incoming[n] == 0;
      if (source[n]) ready.push_back(static_cast<int>(n));
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      for (const int next : to[ready[i]]) {
        nodes_[next].layer = std::max(nodes_[next].layer, nodes_[ready[i]].layer + 1);
        if (--incoming[next] == 0) ready.push_back(next);
      }
    }
    for (size_t n = 0; n < count; ++n) {
      if (!source[n] || to[n].empty()) continue;
      int nearest = nodes_[to[n][0]].layer;
      for (const int next : to[n]) nearest = std::min(nearest, nodes_[next].layer);
      nodes_[n].layer = std::max(0, nearest - 1);
    }
  }

  void AddBends() {
    for (const LayoutEdge& edge : layout_.edges) {
      std::vector<int>& chain = chains_.emplace_back();
      chain.push_back(edge.from);
      for (int layer = nodes_[edge.from].layer + 1; layer < nodes_[edge.to].layer; ++layer) {
        chain.push_back(static_cast<int>(nodes_.size()));
        nodes_.push_back({kBendWidth, 0});
        nodes_.back().layer = layer;
      }
      chain.push_back(edge.to);
      for (size_t i = 0; i + 1 < chain.size(); ++i) {
        nodes_[chain[i]].below.push_back(chain[i + 1]);
        nodes_[chain[i + 1]].above.push_back(chain[i]);
      }
    }
  }

  // Each layer by the mean place of its neighbours in the one before, down and up in turn.
  void OrderLayers() {
    std::vector<double> place(nodes_.size());
    const auto number = [&](const std::vector<int>& layer) {
      for (size_t i = 0; i < layer.size(); ++i) place[layer[i]] = static_cast<double>(i);
    };
    for (const auto& layer : layers_) number(layer);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < layers_.size(); ++i) {
        std::vector<int>& layer = layers_[down ? i : layers_.size() - 1 - i];
        std::vector<double> mean(nodes_.size());
        for (const int n : layer) {
          const std::vector<int>& others = down ? nodes_[n].above : nodes_[n].below;
          double sum = 0;
          for (const int other : others) sum += place[other];
          mean[n] = others.empty() ? place[n] : sum / static_cast<double>(others.size());
        }
        std::stable_sort(layer.begin(), layer.end(),
                         [&](int a, int b) { return mean[a] < mean[b]; });
        number(layer);
      }
    }
  }

  static double Distance(const Node& a, const Node& b) {
    return (a.width + b.width) / 2 + kBetweenBoxes;
  }

  // Each wants to lie at the mean of its neighbours; the order and the distances stay.
  void PlaceAcross() {
    for (const auto& layer : layers_) {
      for (size_t i = 1; i < layer.size(); ++i) {
        nodes_[layer[i]].x =
            nodes_[layer[i - 1]].x + Distance(nodes_[layer[i - 1]], nodes_[layer[i]]);
      }
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 0; i < layers_.size(); ++i)
        PlaceLayer(layers_[down ? i : layers_.size() - 1 - i]);
    }
  }

  void PlaceLayer(const std::vector<int>& layer) {
    if (layer.empty()) return;
    std::vector<double> wanted;
    for (const int n : layer) {
      double sum = 0;
      for (const int other : nodes_[n].above) sum += nodes_[other].x;
      for (const int other : nodes_[n].below) sum += nodes_[other].x;
      const size_t count = nodes_[n].above.size() + nodes_[n].below.size();
      wanted.push_back(count == 0 ? nodes_[n].x : sum / static_cast<double>(count));
    }
    // From the left and from the right as near to it as possible; the mean of both keeps distances.
    std::vector<double> left = wanted, right = wanted;
    for (size_t i = 1; i < layer.size(); ++i) {
      const double least = left[i - 1] + Distance(nodes_[layer[i - 1]], nodes_[layer[i]]);
      left[i] = std::max(left[i], least);
    }
    for (size_t i = layer.size() - 1; i-- > 0;) {
      const double most = right[i + 1] - Distance(nodes_[layer[i]], nodes_[layer[i + 1]]);
      right[i] = std::min(right[i], most);
    }
    for (size_t i = 0; i < layer.size(); ++i) nodes_[layer[i]].x = (left[i] + right[i]) / 2;
  }

  void Fill() {
    double left = 0, right = 0;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const double from = nodes_[n].x - nodes_[n].width / 2, to = from + nodes_[n].width;
      left = n == 0 ? from : std::min(left, from);
      right = n == 0 ? to : std::max(right, to);
    }
    std::vector<double> middle;
    double y = 0;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const int n : layer) height = std::max(height, nodes_[n].height);
      middle.push_back(y + height / 2);
      y += height + kBetweenLayers;
    }
    layout_.width = right - left;
    layout_.height = std::max(0.0, y - kBetweenLayers);
    for (size_t n = 0; n < layout_.boxes.size(); ++n) {
      layout_.boxes[n].x = nodes_[n].x - left;
      layout_.boxes[n].y = middle[nodes_[n].layer];
    }
    for (size_t e = 0; e < chains_.size(); ++e) {
      const std::vector<int>& chain = chains_[e];
      LayoutEdge& edge = layout_.edges[e];
      for (size_t i = 0; i < chain.size(); ++i) {
        const Node& node = nodes_[chain[i]];
        const double at = middle[node.layer];
        double down = 0;  // from the lower side of a box to the upper side of another
        if (i == 0) down = node.height / 2;
        if (i + 1 == chain.size()) down = -node.height / 2;
        edge.points.emplace_back(node.x - left, at + down);
      }
    }
  }

  GraphLayout& layout_;
  std::vector<Node> nodes_;
  std::vector<std::vector<int>> layers_, chains_;  // chains: by edge
};

}  // namespace

void LayOut(GraphLayout* layout) { Layering(layout).Run(); }

}  // namespace planproof::report
