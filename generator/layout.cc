#include "generator/layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::generator {

Layout::Layout(const Strategy& strategy, Ranks own)
    : stages_(strategy.pipeline_parallel),
      tensor_shares_(strategy.tensor_shares),
      zigzag_(strategy.zigzag),
      own_(std::move(own)) {
  const auto add = [this](const char* axis, int64_t extent) -> Axes {
    if (extent == 1) return {};
    extents_[axis] = extent;
    return {axis};
  };
  // Outermost first, as ranks of a node are numbered: tensor parallelism stays within nodes.
  const std::vector<std::pair<std::string, int64_t>> axes = {{"pp", strategy.pipeline_parallel},
                                                             {"dp", strategy.data_parallel},
                                                             {"ep", strategy.expert_parallel},
                                                             {"cp", strategy.context_parallel},
                                                             {"tp", strategy.tensor_parallel}};
  for (const auto& [axis, extent] : axes) {
    if (extent > 1) mesh_.emplace_back(axis, extent);
  }
  const Axes data = add("dp", strategy.data_parallel);
  experts_ = add("ep", strategy.expert_parallel);
  // Ranks that exchange tokens hold neighbouring sequences of one microbatch.
  batch_ = Union(Union(data, add("microbatch", strategy.microbatches)), experts_);
  context_ = add("cp", strategy.context_parallel);
  tensor_ = add("tp", strategy.tensor_parallel);
  sequence_outside_ = context_;
  if (strategy.sequence_parallel) sequence_outside_ = Union(context_, tensor_);
  if (!tensor_shares_.empty()) apart_ = tensor_;
  dispatch_ = strategy.dispatch;
  ring_ = strategy.ring && strategy.context_parallel > 1;
  zero_ = strategy.zero;
  if (zero_ > 0) state_ = data;
}

Dim Layout::Tensor(int64_t extent) const {
  Dim dim{extent, tensor_};
  const int64_t parts = std::accumulate(tensor_shares_.begin(), tensor_shares_.end(), int64_t{0});
  for (int64_t share : tensor_shares_) dim.sizes.push_back(extent / parts * share);
  return dim;
}

int Layout::StateDim(const Dims& parameter) const {
  if (state_.empty()) return -1;
  for (size_t d = 0; d < parameter.size(); ++d) {
    if (!parameter[d].sizes.empty()) continue;
    if (Local(parameter[d]) % Extent(state_[0]) == 0) return static_cast<int>(d);
  }
  return -1;
}

Dims Layout::StateDims(const Dims& parameter) const {
  Dims dims = parameter;
  const int dim = StateDim(parameter);
  if (dim >= 0) dims[dim].over = Union(dims[dim].over, state_);
  return dims;
}

int64_t Layout::Extent(const std::string& axis) const {
  const auto found = extents_.find(axis);
  return found == extents_.end() ? 1 : found->second;
}

int64_t Layout::Local(const Dim& dim) const {
  if (!dim.sizes.empty()) return dim.sizes[OwnRank(dim.over[0])];
  int64_t parts = 1;
  for (const std::string& axis : dim.over) parts *= Extent(axis);
  return dim.which == Dim::Which::kBoth ? dim.extent / parts
                                        : dim.block * Extent(dim.over[0]) / parts;
}

std::string Layout::IndexOf(const Dim& dim, const std::string& local) const {
  if (!dim.digits.empty()) {
    std::string index;
    int64_t below = Local(dim);
    for (size_t d = 0; d < dim.digits.size(); ++d) {
      const Dim& digit = dim.digits[d];
      const int64_t extent = Local(digit);
      below /= extent;
      std::string own = below == 1 ? local : absl::StrCat(local, " / ", below);
      if (d > 0) own = absl::StrCat("(", own, ") % ", extent);
      own = IndexOf(digit, own);
      index = index.empty() ? own : absl::StrCat("(", index, ") * ", digit.extent, " + ", own);
    }
    return index;
  }
  if (dim.over.empty()) return local;
  if (!dim.sizes.empty()) return absl::StrCat(StartOf(dim), " + ", local);
  if (dim.block > 0) return IndexInBlocks(dim, local);
  std::string rank = RankOf(dim);
  for (size_t a = 1; a < dim.over.size(); ++a) {
    rank = absl::StrCat("(", rank, ") * ", Extent(dim.over[a]), " + ", dim.over[a]);
  }
  return absl::StrCat("(", rank, ") * ", Local(dim), " + ", local);
}

std::string Layout::StartOf(const Dim& dim) const {
  if (dim.over.empty()) return "0";
  if (!dim.sizes.empty()) {
    const auto first = dim.sizes.begin();
    return absl::StrCat(std::accumulate(first, first + OwnRank(dim.over[0]), int64_t{0}));
  }
  return IndexOf(dim, "0");
}

std::string Layout::RankOf(const Dim& dim) const {
  const std::string& axis = dim.over[0];
  if (dim.shift == 0) return axis;
  const int64_t ranks = Extent(axis);
  return absl::StrCat("(", axis, " + ", ranks - dim.shift, ") % ", ranks);
}

std::string Layout::IndexInBlocks(const Dim& dim, const std::string& local) const {
  const std::string rank = absl::StrCat("(", RankOf(dim), ")");
  const int64_t last = 2 * Extent(dim.over[0]) - 1, block = dim.block;
  if (dim.which == Dim::Which::kEarly) return absl::StrCat(rank, " * ", block, " + ", local);
  if (dim.which == Dim::Which::kLate) {
    return absl::StrCat("(", last, " - ", rank, ") * ", block, " + ", local);
  }
  if (dim.which == Dim::Which::kEither) {
    return absl::StrCat("(", last, " - ", rank, ") * ", block, " + (2 * ", rank, " - ", last,
                        ") * ", block, " * ", IsFrom(dim.over[0], dim.early_from), " + ", local);
  }
  // From the early block to the late one.
  const std::string gap = absl::StrCat("(", last, " - 2 * ", rank, ") * ", block);
  const int64_t length = Local(dim);
  if (length == 2 * block) {
    return absl::StrCat(rank, " * ", block, " + (", local, ") % ", block, " + (", local, ") / ",
                        block, " * ", gap);
  }
  const int64_t parts = block / length;  // on ranks of the inner axis
  return absl::StrCat(rank, " * ", block, " + (", dim.over[1], " % ", parts, ") * ", length, " + ",
                      local, " + (", dim.over[1], " / ", parts, ") * ", gap);
}

std::string Layout::IsFrom(const std::string& axis, int64_t rank) const {
  const int64_t ranks = Extent(axis);
  return absl::StrCat("((", axis, " + ", ranks - rank, ") % ", 2 * ranks, " / ", ranks, ")");
}

Dim Layout::Placed(Dim sequence) const {
  if (zigzag_) sequence.block = SequenceBlock(sequence.extent);
  return sequence;
}

Dim Layout::Block(const Dim& dim, Dim::Which which) {
  Dim block = dim;
  block.which = which;
  return block;
}

Dim Layout::PassedOn(Dim dim) {
  ++dim.shift;
  return dim;
}

bool Layout::IsApart(const std::string& axis) const {
  return std::find(apart_.begin(), apart_.end(), axis) != apart_.end();
}

int64_t Layout::OwnRank(const std::string& axis) const {
  const auto found = own_.find(axis);
  return found == own_.end() ? 0 : found->second;
}

std::vector<Layout::Ranks> Layout::AllApart() const {
  std::vector<Ranks> all = {{}};
  for (const std::string& axis : apart_) {
    std::vector<Ranks> next;
    for (const Ranks& ranks : all) {
      for (int64_t rank = 0; rank < Extent(axis); ++rank) {
        next.push_back(ranks);
        next.back()[axis] = rank;
      }
    }
    all = std::move(next);
  }
  return all;
}

Dims Scalar() { return {Layout::Whole(1)}; }

bool IsPlainCut(const Dim& dim) { return dim.digits.empty() && dim.shift == 0 && dim.block == 0; }

Dim Merged(const std::vector<Dim>& digits) {
  Dim merged;
  bool inner_cut = false;
  for (size_t d = 0; d < digits.size(); ++d) {
    merged.extent *= digits[d].extent;
    merged.over = Union(merged.over, digits[d].over);
    inner_cut = inner_cut || (d > 0 && !digits[d].over.empty());
  }
  if (inner_cut) merged.digits = digits;
  return merged;
}

Axes Union(const Axes& a, const Axes& b) {
  Axes all = a;
  for (const std::string& axis : b) {
    if (std::find(all.begin(), all.end(), axis) == all.end()) all.push_back(axis);
  }
  return all;
}

Axes AxesOf(const Dims& dims) {
  Axes all;
  for (const Dim& dim : dims) all = Union(all, dim.over);
  return all;
}

Axes Minus(const Axes& axes, const Axes& without) {
  Axes rest;
  for (const std::string& axis : axes) {
    if (std::find(without.begin(), without.end(), axis) == without.end()) rest.push_back(axis);
  }
  return rest;
}

}  // namespace planproof::generator
