// Values of the tensors of one attempt.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "shape_reduction/focused_choice.h"

namespace planproof::shape_reduction {

using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr double kCalm = 0x1p-6;  // of parameters of scores: attention is nearly uniform
// What an open branch adds is scaled down: at positions that are not told apart its enclosure is
// wide, and must not reach the exponentials of later layers.
constexpr double kNarrow = 0x1p-8;
// A fault that makes values larger by the length of a sequence, or by its square, is seen in the
// last digits only.
constexpr double kNarrowest = 0x1p-32;
// Where what it is added to hardly counts, and is ranked.
constexpr double kNarrower = 0x1p-16;
// Or else what it is added to is large (tables that are only looked up: embeddings), and the branch
// nearly as it is, so that its gradients count beside all others.
constexpr double kNearlyAll = 0x1p-2;
constexpr double kLargeBase = 0x1p10;
// Where the place adds up all gradients, one term must count beside the others, the largest of
// which is that of the last parameter (a head): a larger head makes all gradients but its own
// larger, a larger branch those of its own parameters.
constexpr double kModerate = 0x1p-4;
constexpr double kLargeHead = 0x1p3;  // much larger, and the loss is flat wherever a label is met
// Between any two values of a bias by which choices are ranked: more than the scores that it is
// added to differ by, so that a choice is known also where the scores' enclosures are wide.
constexpr double kRankStep = 8;
// Where what is ranked has no bias: of the last score, times the others.
constexpr double kFarScore = 8;
// Where gradients are added up: of the last element of a norm's weight, so that the gradients of
// what it is multiplied with are mostly those of its last column. At most: what is multiplied with
// it is not to outgrow what all others make.
constexpr double kLastFactor = 0x1p10;

// Of rows that count for nothing where zeros would be ties: far below the epsilon of any norm.
constexpr double kHardly = 0x1p-48;
// There, of weights by which a model ranks: scores must differ in what doubles hold of
// exponentials.
constexpr double kTelling = 0x1p4;

template <typename T>
void Shuffle(InputChooser::Random* random, std::vector<T>* values) {  // the same order everywhere
  for (size_t k = values->size(); k > 1; --k) {
    std::swap((*values)[k - 1], (*values)[(*random)() % k]);
  }
}

// Any order, the same wherever the random numbers are, but that `first` come first.
void Rank(const std::vector<int64_t>& first, InputChooser::Random* random,
          std::vector<double>* values) {
  std::iota(values->begin(), values->end(), 0);
  Shuffle(random, values);
  double rank = static_cast<double>(values->size());
  for (const int64_t index : first) {
    std::swap((*values)[index], *std::find(values->begin(), values->end(), --rank));
  }
  for (double& value : *values) value *= kRankStep;
}

}  // namespace

bool FocusedChooser::IsFactor(const sdfg::Tensor& tensor) {
  return tensor.role == sdfg::TensorRole::kParameter && tensor.shape.size() == 1;
}

bool FocusedChooser::IsRanked(TensorId id) const {
  const size_t rank = problem_.logical.tensors[id].shape.size();
  for (size_t d = 0; d < rank; ++d) {
    if (inputs_.Untied(id, d)) return true;
  }
  return false;
}

bool FocusedChooser::IsRankingBias(TensorId id) const {
  const sdfg::Tensor& tensor = problem_.logical.tensors[id];
  return tensor.role != sdfg::TensorRole::kInput && tensor.shape.size() == 1 &&
         tensor.dtype != sdfg::DType::kBool && inputs_.Untied(id, 0);
}

// Where it is zero, choices are known all the same.
bool FocusedChooser::HasRankingBias(TensorId ranked) const {
  const auto has_bias = [&](OperatorId o) {
    const std::vector<TensorId>& inputs = problem_.logical.operators[o].inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](TensorId id) { return IsRankingBias(id); });
  };
  return std::any_of(consumers_[ranked].begin(), consumers_[ranked].end(), has_bias);
}

// Of weights whose products are ranked: the last score is far from the others, half of the time
// above them. A sum over experts that leaves out the last one shows only where it is chosen.
void FocusedChooser::RankLast(TensorId id, BlockTensor<double>* chosen) const {
  int64_t stride = chosen->Blocks();
  if (stride == 0) return;
  for (size_t d = 0; d < chosen->dims.size(); ++d) {
    const int64_t blocks = chosen->dims[d]->blocks();
    stride /= blocks;
    if (!inputs_.Untied(id, d)) continue;
    for (size_t k = 0; k < chosen->values.size(); ++k) {
      if (static_cast<int64_t>(k) / stride % blocks == blocks - 1) chosen->values[k] *= kFarScore;
    }
    return;
  }
}

void FocusedChooser::ChooseIntegers(TensorId id, const Attempt& attempt, Random* random,
                                    BlockTensor<double>* chosen) const {
  const int64_t count = chosen->Blocks();
  const auto [low, high] = inputs_.ranges().Usual(id);
  const std::vector<int64_t>& compared = inputs_.ranges().ComparedIntegers(id);
  const auto own = attempt.place.find(high);
  for (int64_t k = 0; k < count; ++k) {
    int64_t value = low + static_cast<int64_t>((*random)() % static_cast<uint64_t>(high - low));
    if (own != attempt.place.end() && (*random)() % 2 == 0) {
      const auto [first, end] = own->second;
      value = first + static_cast<int64_t>((*random)() % static_cast<uint64_t>(end - first));
    }
    const auto edges = edges_.find(high);
    if (edges != edges_.end() && (*random)() % 2 == 0) {
      value = edges->second[(*random)() % edges->second.size()];
    }
    value = std::clamp(value, low, high - 1);
    if (attempt.kind.compare && !compared.empty() && (*random)() % 4 == 0) {
      value = compared[(*random)() % compared.size()];
    }
    chosen->ints.push_back(value);
  }
  TellNeighboursApart(id, attempt, random, chosen);
  if (attempt.kind.quiet) Quieten(id, attempt, chosen);
  if (attempt.kind.lone) SingleOut(id, attempt, chosen);
  if (!inputs_.ranges().Domain(id).IsEmpty()) {
    inputs_.MeetRowPremises(id, random, chosen->dims, &chosen->ints);
  }
}

std::vector<FocusedChooser::Position> FocusedChooser::PositionsOf(const BlockTensor<double>& chosen,
                                                                  const Attempt& attempt) const {
  std::vector<Position> positions;
  const int64_t count = chosen.Blocks();
  if (count == 0) return positions;
  int64_t stride = count;
  for (const PartitionPtr& dim : chosen.dims) {
    stride /= dim->blocks();
    if (compared_.count(dim->extent()) == 0) continue;
    const std::set<int64_t>& apart = attempt.apart.at(dim->extent());
    std::vector<char> told;
    for (const int64_t start : dim->Representatives()) told.push_back(apart.count(start) != 0);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = k / stride % dim->blocks();
      const bool both = at > 0 && told[at] != 0 && told[at - 1] != 0;
      positions.push_back({k, told[at] != 0, both ? k - stride : -1});
    }
  }
  return positions;
}

// What a position looks up is unlike what the one before it does, where both are told apart:
// attention to equal values has no gradient.
void FocusedChooser::TellNeighboursApart(TensorId id, const Attempt& attempt, Random* random,
                                         BlockTensor<double>* chosen) const {
  const auto rows = attempt.partitions.find(inputs_.ranges().Usual(id).second);
  if (rows == attempt.partitions.end() || rows->second->blocks() < 2) return;
  const DimPartition& looked_up = *rows->second;
  const std::vector<int64_t> first = looked_up.Representatives();
  for (const Position& position : PositionsOf(*chosen, attempt)) {
    if (position.before < 0) continue;
    int64_t& value = chosen->ints[position.block];
    const int64_t own = looked_up.BlockOf(value);
    if (own != looked_up.BlockOf(chosen->ints[position.before])) continue;
    const uint64_t others = static_cast<uint64_t>(looked_up.blocks() - 1);
    const int64_t other = static_cast<int64_t>((*random)() % others);
    value = first[other < own ? other : other + 1];
  }
}

// What is to be chosen by all, of so many: what a deviating rank holds, the last one, and the edges
// of the focus's part or, where it holds none, of all parts. A part that begins or ends elsewhere
// lacks one, or has it too.
std::vector<int64_t> FocusedChooser::ChosenFirst(int64_t extent, const Attempt& attempt,
                                                 Random* random) const {
  std::vector<int64_t> edges;
  const auto part = attempt.place.find(extent);
  const auto all = edges_.find(extent);
  if (part == attempt.place.end() && all != edges_.end()) {
    edges = all->second;
    edges.pop_back();  // the last one
    // Few are chosen: where gradients of all parts are added up, of each part one edge.
    if (attempt.total && edges.size() % 2 == 1) {
      for (size_t k = 0; k + 1 < edges.size(); k += 2) edges[k / 2] = edges[k + (*random)() % 2];
      edges.resize(edges.size() / 2);
    }
  } else if (part != attempt.place.end()) {
    const auto [first, end] = part->second;
    for (const int64_t edge : {first - 1, first, end - 1, end}) {
      if (edge >= 0 && edge + 1 < extent) edges.push_back(edge);
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }
  Shuffle(random, &edges);
  edges.insert(edges.begin(), extent - 1);
  const auto deviating = deviating_.find(extent);
  if (deviating != deviating_.end()) {
    for (const int64_t start : deviating->second) {
      edges.erase(std::remove(edges.begin(), edges.end(), start), edges.end());
      edges.insert(edges.begin(), start);
    }
  }
  return edges;
}

// At positions that are not told apart the tensor is zero.
void FocusedChooser::ClearUntold(const Attempt& attempt, BlockTensor<double>* chosen) const {
  for (const Position& position : PositionsOf(*chosen, attempt)) {
    if (!position.told) chosen->values[position.block] = 0;
  }
}

void FocusedChooser::ChooseReals(TensorId id, const Attempt& attempt, Random* random,
                                 BlockTensor<double>* chosen) const {
  const sdfg::Tensor& tensor = problem_.logical.tensors[id];
  const int64_t count = chosen->Blocks();
  double scale = inputs_.ScaleOf(id);
  if (attempt.narrow.count(id) != 0)
    scale *= attempt.total        ? (attempt.kind.quiet ? kNarrow : kModerate)
             : attempt.kind.blank ? (ranks_ ? kNarrower : kNearlyAll)
             : attempt.kind.large ? kNearlyAll
             : attempt.kind.faint ? kNarrowest
                                  : kNarrow;
  if (attempt.kind.blank && IsRanked(id)) {
    scale *= kTelling;
  } else if ((attempt.kind.spread || attempt.kind.lone || (attempt.kind.last && attempt.total)) &&
             scores_.count(id) != 0) {
    scale *= kCalm;
  }
  const bool table = tensor.role == sdfg::TensorRole::kParameter && tensor.shape.size() > 1;
  if (table && scale == 1) scale = attempt.kind.large && !attempt.total ? kLargeBase : 1;
  if (attempt.total && id == head_) scale *= kLargeHead;
  const auto own_scale = attempt.scales.find(id);
  if (own_scale != attempt.scales.end()) scale *= own_scale->second;
  const bool flat = attempt.kind.flat != 0 && ScoreTurn(id) == attempt.kind.flat - 1;
  const bool zero =
      flat || attempt.closed.count(id) != 0 || (attempt.kind.fresh && OnlyAfterLoss(id));
  for (int64_t k = 0; k < count; ++k) {
    const double size = static_cast<double>(4 + (*random)() % 9) / 16;
    chosen->values.push_back(zero ? 0 : (*random)() % 2 == 0 ? size * scale : -size * scale);
  }
  if (attempt.kind.sparse && tensor.role == sdfg::TensorRole::kInput) ClearUntold(attempt, chosen);
  if (attempt.kind.blank && lookups_.count(id) != 0 && count > 0) {
    const int64_t row = count / chosen->dims[0]->blocks();
    const int64_t kept = row * std::min(kLonePositions, chosen->dims[0]->blocks());
    for (int64_t k = kept; k < count; ++k) chosen->values[k] *= ranks_ ? kHardly : 0;
  }
  if (attempt.kind.quiet && lookups_.count(id) != 0 && count > 0) {
    const int64_t row = count / chosen->dims[0]->blocks();
    std::fill(chosen->values.end() - row, chosen->values.end(), 0);
  }
  inputs_.MeetPremises(id, zero && HasRankingBias(id) ? 0 : scale, random, chosen);
  if (attempt.kind.last && table && !attempt.total) RankLast(id, chosen);
  if (attempt.last_raised.count(id) != 0 && !chosen->values.empty()) {
    const double all = std::exp2(std::floor(std::log2(static_cast<double>(tensor.shape[0]))));
    chosen->values.back() *= std::min(kLastFactor, all);
  }
  if (IsRankingBias(id)) {
    const bool edges = attempt.kind.last || attempt.total;
    Rank(edges ? ChosenFirst(tensor.shape[0], attempt, random) : std::vector<int64_t>(), random,
         &chosen->values);
  }
}

}  // namespace planproof::shape_reduction
