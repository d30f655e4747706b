// Describes how a tensor lies on the devices: every dimension with the mesh axes that cut it.
#ifndef PLANPROOF_GENERATOR_LAYOUT_H_
#define PLANPROOF_GENERATOR_LAYOUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/strategy.h"

namespace planproof::generator {

// Names of mesh axes, outermost first. Axes of extent 1 are never named: they cut nothing.
using Axes = std::vector<std::string>;

// One dimension of the logical tensor, cut over `over`: in equal parts unless `sizes` are given.
struct Dim {
  int64_t extent = 1;
  Axes over;
  // Several dimensions merged in row-major order, outermost first, of which an inner one is cut:
  // a rank holds the merge of its parts. Empty for a dimension that is cut as a whole.
  std::vector<Dim> digits;
  // Rank r of the one axis holds what rank r - shift holds of the dimension as it was, modulo the
  // number of ranks.
  int64_t shift = 0;
  // Extents of the parts on the ranks of the one axis, which then differ.
  std::vector<int64_t> sizes;
  // In zigzag order, if it is not 0, the extent of a block: rank r of the n ranks of the first axis
  // holds blocks r and 2 n - 1 - r, one after the other, or `which` of them (kEither: the
  // early one on the ranks from `early_from` on, the late one on those before). Further axes cut
  // what it holds.
  int64_t block = 0;
  enum class Which : uint8_t { kBoth, kEarly, kLate, kEither } which = Which::kBoth;
  int64_t early_from = 0;
};
using Dims = std::vector<Dim>;

// One number that every rank holds.
Dims Scalar();

// Whether part r lies on rank r.
bool IsPlainCut(const Dim& dim);

// The merge of dimensions in row-major order.
Dim Merged(const std::vector<Dim>& digits);

// The mesh of a strategy, and which kinds of dimension it cuts. A default layout cuts nothing: that
// of the logical graph.
class Layout {
 public:
  Layout() = default;
  // `own`: of the axes in Apart(), the rank on which tensors lie; 0 if not given.
  using Ranks = std::map<std::string, int64_t>;
  explicit Layout(const Strategy& strategy, Ranks own = {});

  Dim Batch(int64_t extent) const { return {extent, batch_}; }
  // The sequence within and between tensor-parallel regions.
  Dim Sequence(int64_t extent) const { return Placed({extent, context_}); }
  Dim SequenceOutside(int64_t extent) const { return Placed({extent, sequence_outside_}); }
  // Heads, feed-forward widths, the vocabulary.
  Dim Tensor(int64_t extent) const;
  static Dim Whole(int64_t extent) { return {extent, {}}; }

  // Routed experts, and the width of each: experts are cut over tp and computed for all tokens, or
  // cut over ep and sent the tokens that chose them.
  Dim Experts(int64_t extent) const { return dispatch_ ? Dim{extent, experts_} : Tensor(extent); }
  Dim ExpertWidth(int64_t extent) const { return dispatch_ ? Tensor(extent) : Whole(extent); }

  const Axes& batch_axes() const { return batch_; }
  const Axes& tensor_axes() const { return tensor_; }
  const Axes& context_axes() const { return context_; }
  // Whether keys and values travel around the ring of ranks, and are not gathered.
  bool RingAttention() const { return ring_; }
  const Axes& expert_axes() const { return experts_; }
  // Ranks over which optimizer states are cut; gradients; parameters (ZeRO stages 1, 2, 3).
  const Axes& state_axes() const { return state_; }
  bool ScattersGradients() const { return zero_ >= 2; }
  bool ShardsParameters() const { return zero_ >= 3; }
  // The dimension along which the states of a parameter are cut: the first that divides. -1: none,
  // every rank holds them whole.
  int StateDim(const Dims& parameter) const;
  Dims StateDims(const Dims& parameter) const;

  // Axes of the mesh with extents above 1, outermost first, without the microbatch.
  const std::vector<std::pair<std::string, int64_t>>& mesh() const { return mesh_; }
  int64_t stages() const { return stages_; }
  // Axes whose ranks hold different extents. Each rank then has a program of its own, and
  // collectives over the axis are between programs.
  const Axes& Apart() const { return apart_; }
  bool IsApart(const std::string& axis) const;
  int64_t OwnRank(const std::string& axis) const;
  // All combinations of ranks of these axes, outermost first; one that is empty if there are none.
  std::vector<Ranks> AllApart() const;

  // Whether sequences lie in zigzag order; of a sequence, the extent of a block.
  bool Zigzag() const { return zigzag_; }
  int64_t SequenceBlock(int64_t sequence) const { return sequence / (2 * Extent(context_[0])); }
  // Of a dimension in zigzag order, one block; and what the rank before holds.
  static Dim Block(const Dim& dim, Dim::Which which);
  static Dim PassedOn(Dim dim);

  // 1 for axes that are not in the mesh.
  int64_t Extent(const std::string& axis) const;
  // Of the dimension on one device.
  int64_t Local(const Dim& dim) const;
  // The logical index of the local index named `local`, as an expression over coordinates.
  std::string IndexOf(const Dim& dim, const std::string& local) const;
  // Where the part of a rank begins, which is one range.
  std::string StartOf(const Dim& dim) const;

 private:
  // With the blocks of zigzag order, if that is how sequences lie.
  Dim Placed(Dim sequence) const;
  std::string IndexInBlocks(const Dim& dim, const std::string& local) const;
  // Whether a rank's coordinate is at least `rank`, as 1 or 0, in a map.
  std::string IsFrom(const std::string& axis, int64_t rank) const;
  // The rank of the first axis whose part it is.
  std::string RankOf(const Dim& dim) const;

  std::vector<std::pair<std::string, int64_t>> mesh_;
  std::map<std::string, int64_t> extents_;
  int64_t stages_ = 1;
  Axes batch_;
  Axes tensor_;
  std::vector<int64_t> tensor_shares_;
  bool zigzag_ = false;
  Axes apart_;
  Ranks own_;
  Axes context_;
  Axes experts_;
  bool dispatch_ = false;
  bool ring_ = false;
  Axes state_;
  int zero_ = 0;
  Axes sequence_outside_;
};

// All axes of `a` and `b`, each once.
Axes Union(const Axes& a, const Axes& b);
Axes AxesOf(const Dims& dims);
// `axes` without those in `without`.
Axes Minus(const Axes& axes, const Axes& without);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_LAYOUT_H_
