// How a tensor lies on the devices: every dimension with the mesh axes that cut it.
#ifndef PLANPROOF_FRONTEND_MODELS_LAYOUT_H_
#define PLANPROOF_FRONTEND_MODELS_LAYOUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frontend/models/strategy.h"

namespace planproof::models {

// Names of mesh axes, outermost first. Axes of extent 1 are never named: they cut nothing.
using Axes = std::vector<std::string>;

// One dimension of the logical tensor, cut in equal parts over `over`.
struct Dim {
  int64_t extent = 1;
  Axes over;
};
using Dims = std::vector<Dim>;

// The mesh of a strategy, and which kinds of dimension it cuts. A default layout cuts nothing: that
// of the logical graph.
class Layout {
 public:
  Layout() = default;
  explicit Layout(const Strategy& strategy);

  Dim Batch(int64_t extent) const { return {extent, batch_}; }
  // The sequence within and between tensor-parallel regions.
  Dim Sequence(int64_t extent) const { return {extent, {}}; }
  Dim SequenceOutside(int64_t extent) const { return {extent, sequence_outside_}; }
  // Heads, feed-forward widths, the vocabulary.
  Dim Tensor(int64_t extent) const { return {extent, tensor_}; }
  static Dim Whole(int64_t extent) { return {extent, {}}; }

  const Axes& batch_axes() const { return batch_; }
  const Axes& tensor_axes() const { return tensor_; }
  // Axes of the mesh with extents above 1, outermost first, without the microbatch.
  const std::vector<std::pair<std::string, int64_t>>& mesh() const { return mesh_; }
  int64_t stages() const { return stages_; }

  // 1 for axes that are not in the mesh.
  int64_t Extent(const std::string& axis) const;
  // Of the dimension on one device.
  int64_t Local(const Dim& dim) const;

 private:
  std::vector<std::pair<std::string, int64_t>> mesh_;
  std::map<std::string, int64_t> extents_;
  int64_t stages_ = 1;
  Axes batch_;
  Axes tensor_;
  Axes sequence_outside_;
};

// All axes of `a` and `b`, each once.
Axes Union(const Axes& a, const Axes& b);
Axes AxesOf(const Dims& dims);
// `axes` without those in `without`.
Axes Minus(const Axes& axes, const Axes& without);

}  // namespace planproof::models

#endif  // PLANPROOF_FRONTEND_MODELS_LAYOUT_H_
