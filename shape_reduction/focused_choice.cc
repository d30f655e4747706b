#include "shape_reduction/focused_choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "shape_reduction/loss_dependence.h"
#include "shape_reduction/recorded_values.h"

namespace planproof::shape_reduction {

using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int kNear = 5;             // operators from the place: parameters of their own values
constexpr size_t kOpenBranches = 3;  // of the first attempt
constexpr double kCalm = 0x1p-6;     // of parameters of scores: attention is nearly uniform
// What an open branch adds is scaled down: at positions that are not told apart its enclosure is
// wide, and must not reach the exponentials of later layers.
constexpr double kNarrow = 0x1p-8;
// A fault that makes values larger by the length of a sequence, or by its square, is seen in the
// last digits only.
constexpr double kNarrowest = 0x1p-32;
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
// what it is multiplied with are mostly those of its last column.
constexpr double kLastFactor = 0x1p10;

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
  return z ^ (z >> 32);
}

}  // namespace

FocusedChooser::FocusedChooser(const lineage::Problem& problem, const InputChooser& inputs,
                               ProgramCache* programs)
    : problem_(problem),
      inputs_(inputs),
      programs_(*programs),
      backward_(DependOnLoss(problem.logical)) {
  const sdfg::Graph& graph = problem.logical;
  consumers_.resize(graph.tensors.size());
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    for (TensorId id : graph.operators[o].inputs) {
      consumers_[id].push_back(static_cast<OperatorId>(o));
    }
  }
  FindCompared();
  FindBranches();
  FindScores();
  FindHead();
  FindEdges();
}

void FocusedChooser::FindHead() {
  const sdfg::Graph& graph = problem_.logical;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    const sdfg::Operator& op = graph.operators[o];
    if (op.outputs[0] == sdfg::kNone || backward_[op.outputs[0]]) continue;
    for (TensorId id : op.inputs) {
      if (graph.tensors[id].role == sdfg::TensorRole::kParameter && inputs_.ScaleOf(id) < 1) {
        head_ = id;
      }
    }
  }
}

bool FocusedChooser::IsSumOfGradients(TensorId place) const {
  const sdfg::Shape& shape = problem_.logical.tensors[place].shape;
  return backward_[place] &&
         std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent == 1; });
}

bool FocusedChooser::OnlyAfterLoss(TensorId source) const {
  return std::all_of(consumers_[source].begin(), consumers_[source].end(), [&](OperatorId o) {
    const auto& outputs = problem_.logical.operators[o].outputs;
    return std::all_of(outputs.begin(), outputs.end(),
                       [&](TensorId id) { return id == sdfg::kNone || backward_[id] != 0; });
  });
}

FocusedChooser::AttemptKind FocusedChooser::KindOf(uint64_t attempt) const {
  // Pairs; the second of each with large tables.
  const uint64_t pairs = ends_of_parts_.empty() ? 2 : 3, pair = attempt / 2 % pairs;
  AttemptKind kind;
  kind.large = attempt % 2 == 1;
  kind.spread = !ends_of_parts_.empty() && pair == 1;
  kind.fresh = pair + 1 < pairs;
  kind.sparse = kind.fresh || !kind.large;
  kind.compare = !kind.sparse;
  kind.faint = attempt % 8 == 6;
  kind.flat = attempt % 8 == 4 ? 1 : attempt % 8 == 5 ? 2 : 0;
  kind.last = attempt / 2 % 2 == 1;
  const uint64_t spread_before = attempt / 2 / pairs + (pair > 1 ? 1 : 0);
  kind.more_branches = kind.spread              ? attempt / 2 / pairs
                       : ends_of_parts_.empty() ? attempt / 2
                                                : attempt / 2 - spread_before;
  return kind;
}

bool FocusedChooser::IsFactor(const sdfg::Tensor& tensor) {
  return tensor.role == sdfg::TensorRole::kParameter && tensor.shape.size() == 1;
}

// Of weights whose products are ranked: the last score is far from the others, half of the time
// above them. A sum over experts that leaves out the last one shows only where it is chosen.
void FocusedChooser::RankLast(TensorId id, BlockTensor<double>* chosen) const {
  int64_t stride = chosen->Blocks();
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

std::vector<BlockTensorPtr<double>> FocusedChooser::Choose(const Focus& focus, uint64_t attempt,
                                                           PartitionsByExtent* cuts) const {
  const sdfg::Graph& graph = problem_.logical;
  const AttemptKind kind = KindOf(attempt);
  std::map<int64_t, std::pair<int64_t, int64_t>> place;
  std::map<int64_t, std::set<int64_t>> apart;
  const PartitionsByExtent partitions = Cut(focus, attempt, kind.spread, &place, &apart);
  if (cuts != nullptr) *cuts = partitions;
  const std::vector<int> distance = Distances(focus.lineage.logical);
  const std::vector<size_t> nearest = Nearest(focus, distance);
  const bool total = IsSumOfGradients(focus.lineage.logical);
  std::set<TensorId> closed, narrow;
  for (size_t k = 0; k < nearest.size(); ++k) {
    const Branch& branch = branches_[nearest[k]];
    const bool open = k < (total || kind.spread ? 1 : kOpenBranches) + kind.more_branches;
    (open ? narrow : closed).insert(branch.parameters.begin(), branch.parameters.end());
    // Where gradients are added up, those of closed branches are zero.
    if (!open && total) closed.insert(branch.inner.begin(), branch.inner.end());
  }
  std::vector<BlockTensorPtr<double>> result(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId id = static_cast<TensorId>(t);
    const sdfg::Tensor& tensor = graph.tensors[t];
    if (!InputChooser::IsSource(tensor)) continue;
    result[t] = RecordedTensor(problem_, id);
    if (result[t] != nullptr) continue;
    uint64_t seed = Mix(attempt, static_cast<uint64_t>(tensor.role));
    for (int64_t extent : tensor.shape) seed = Mix(seed, static_cast<uint64_t>(extent));
    if (distance[t] >= 0 && distance[t] <= kNear) seed = Mix(seed, t + 1);
    std::mt19937_64 random(seed);
    auto chosen = std::make_shared<BlockTensor<double>>();
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      chosen->dims.push_back(inputs_.Untied(id, d) ? std::make_shared<const DimPartition>(
                                                         DimPartition::Full(tensor.shape[d]))
                                                   : partitions.at(tensor.shape[d]));
    }
    chosen->int_valued = sdfg::IsInteger(tensor.dtype);
    const int64_t count = chosen->Blocks();
    if (chosen->int_valued) {
      const auto [low, high] = inputs_.ranges().Usual(id);
      const std::vector<int64_t>& compared = inputs_.ranges().ComparedIntegers(id);
      const auto own = place.find(high);
      for (int64_t k = 0; k < count; ++k) {
        int64_t value = low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low));
        if (own != place.end() && random() % 2 == 0) {
          const auto [first, end] = own->second;
          value = first + static_cast<int64_t>(random() % static_cast<uint64_t>(end - first));
        }
        const auto edges = edges_.find(high);
        if (edges != edges_.end() && random() % 2 == 0) {
          value = edges->second[random() % edges->second.size()];
        }
        value = std::clamp(value, low, high - 1);
        if (kind.compare && !compared.empty() && random() % 4 == 0) {
          value = compared[random() % compared.size()];
        }
        chosen->ints.push_back(value);
      }
      if (!inputs_.ranges().Domain(id).IsEmpty()) {
        inputs_.MeetRowPremises(id, &random, chosen->dims, &chosen->ints);
      }
      result[t] = std::move(chosen);
      continue;
    }
    double scale = inputs_.ScaleOf(id);
    if (narrow.count(id) != 0)
      scale *= total ? kModerate : kind.large ? kNearlyAll : kind.faint ? kNarrowest : kNarrow;
    if (kind.spread && scores_.count(id) != 0) scale *= kCalm;
    const bool table = tensor.role == sdfg::TensorRole::kParameter && tensor.shape.size() > 1;
    if (table && scale == 1) scale = kind.large && !total ? kLargeBase : 1;
    if (total && id == head_) scale *= kLargeHead;
    const bool flat = kind.flat != 0 && scores_.count(id) != 0 &&
                      std::distance(scores_.begin(), scores_.find(id)) % 2 == kind.flat - 1;
    const bool zero = flat || closed.count(id) != 0 || (kind.fresh && OnlyAfterLoss(id));
    for (int64_t k = 0; k < count; ++k) {
      const double size = static_cast<double>(4 + random() % 9) / 16;
      chosen->values.push_back(zero ? 0 : random() % 2 == 0 ? size * scale : -size * scale);
    }
    if (kind.sparse && tensor.role == sdfg::TensorRole::kInput) {
      int64_t stride = count;
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        const int64_t blocks = chosen->dims[d]->blocks();
        stride /= blocks;
        if (compared_.count(tensor.shape[d]) == 0) continue;
        const std::set<int64_t>& told = apart.at(tensor.shape[d]);
        const std::vector<int64_t> starts = chosen->dims[d]->Representatives();
        for (int64_t k = 0; k < count; ++k) {
          const int64_t start = starts[k / stride % blocks];
          if (told.count(start) == 0) chosen->values[k] = 0;
        }
      }
    }
    inputs_.MeetPremises(id, scale, &random, chosen.get());
    if (kind.last && table && !total) RankLast(id, chosen.get());
    if (kind.last && total && IsFactor(tensor)) chosen->values.back() *= kLastFactor;
    if (tensor.role != sdfg::TensorRole::kInput && tensor.shape.size() == 1 &&
        tensor.dtype != sdfg::DType::kBool && inputs_.Untied(id, 0)) {
      std::iota(chosen->values.begin(), chosen->values.end(), 0);
      for (size_t k = chosen->values.size(); k > 1; --k) {  // the same order everywhere
        std::swap(chosen->values[k - 1], chosen->values[random() % k]);
      }
      if (kind.last)
        std::swap(chosen->values.back(),
                  *std::max_element(chosen->values.begin(), chosen->values.end()));
      for (double& value : chosen->values) value *= kRankStep;
    }
    result[t] = std::move(chosen);
  }
  return result;
}

std::vector<int> FocusedChooser::NearestRequired(const Focus& focus, size_t most) const {
  const sdfg::Graph& graph = problem_.parallel;
  const std::vector<int> distance = Downstream(graph, focus.parallel);
  std::vector<std::pair<int, int>> reached;  // distance, position
  for (size_t r = 0; r < problem_.required.size(); ++r) {
    const int d = distance[problem_.required[r].parallel];
    if (d >= 0) reached.push_back({d, static_cast<int>(r)});
  }
  std::sort(reached.begin(), reached.end());
  std::vector<int> result;
  // What comes first in the graph depends on least: the loss.
  int earliest = -1;
  for (const auto& [d, r] : reached) {
    if (earliest < 0 || graph.tensors[problem_.required[r].parallel].producer <
                            graph.tensors[problem_.required[earliest].parallel].producer) {
      earliest = r;
    }
  }
  if (earliest >= 0) result.push_back(earliest);
  // Of equally near ones the last, too: gradients of closed branches show nothing, a head's do.
  if (reached.size() > most) {
    auto same = reached.end();
    while (same != reached.begin() && std::prev(same)->first > reached[0].first) --same;
    const auto last = std::prev(same);
    if (last->second != earliest) {
      result.push_back(last->second);
      reached.erase(last);
    }
  }
  for (const auto& [d, r] : reached) {
    if (result.size() >= most) break;
    if (r != earliest) result.push_back(r);
  }
  return result;
}

}  // namespace planproof::shape_reduction
