#include "shape_reduction/focused_choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "shape_reduction/loss_dependence.h"
#include "shape_reduction/recorded_values.h"
#include "shape_reduction/updated_parameters.h"

namespace planproof::shape_reduction {

using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int kNear = 5;             // operators from the place: parameters of their own values
constexpr size_t kOpenBranches = 3;  // of the first attempt
// Of norms' weights where gradients are added up: these count more than others; or else less.
constexpr double kSmallFactor = 0x1p-10;
constexpr double kCalmTable = 0x1p-7;  // of the tables of a branch whose scores are small

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
  return z ^ (z >> 32);
}

}  // namespace

FocusedChooser::FocusedChooser(const lineage::Problem& problem, const InputChooser& inputs,
                               ProgramCache* programs)
    : named_(WithUpdatedParameters(problem)),
      problem_(named_.has_value() ? *named_ : problem),
      inputs_(inputs),
      programs_(*programs),
      backward_(DependOnLoss(problem_.logical)) {
  const sdfg::Graph& graph = problem_.logical;
  consumers_.resize(graph.tensors.size());
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    for (TensorId id : graph.operators[o].inputs) {
      consumers_[id].push_back(static_cast<OperatorId>(o));
    }
  }
  FindCompared();
  FindBranches();
  FindNorms();
  FindScores();
  FindHead();
  FindLookups();
  FindEdges();
  FindDeviating();
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

bool FocusedChooser::ReadsScores(TensorId place) const {
  const sdfg::Graph& graph = problem_.logical;
  const OperatorId producer = graph.tensors[place].producer;
  if (producer == sdfg::kNone) return false;
  const auto is_matrix_of_positions = [&](TensorId id) {
    const sdfg::Shape& shape = graph.tensors[id].shape;
    return std::any_of(shape.begin(), shape.end(), [&](int64_t extent) {
      return compared_.count(extent) != 0 && std::count(shape.begin(), shape.end(), extent) > 1;
    });
  };
  const std::vector<TensorId>& inputs = graph.operators[producer].inputs;
  return std::any_of(inputs.begin(), inputs.end(), is_matrix_of_positions);
}

bool FocusedChooser::OnlyAfterLoss(TensorId source) const {
  return std::all_of(consumers_[source].begin(), consumers_[source].end(), [&](OperatorId o) {
    const auto& outputs = problem_.logical.operators[o].outputs;
    return std::all_of(outputs.begin(), outputs.end(),
                       [&](TensorId id) { return id == sdfg::kNone || backward_[id] != 0; });
  });
}

uint64_t FocusedChooser::AttemptAt(uint64_t turn) const {
  if (!ends_of_parts_.empty()) {
    // Those that tell the ends of parts apart have several times as many blocks.
    constexpr uint64_t kFirst[] = {0, 1, 4, 5, 6, 7, 2, 3};
    return turn < std::size(kFirst) ? kFirst[turn] : turn;
  }
  constexpr uint64_t kEarly = 2, kLate = 7;  // of eight
  if (masked_ || lookups_.empty()) return turn;
  return turn % 8 == kEarly  ? turn - kEarly + kLate
         : turn % 8 == kLate ? turn - kLate + kEarly
                             : turn;
}

FocusedChooser::AttemptKind FocusedChooser::KindOf(const Focus& focus, uint64_t attempt) const {
  // Pairs; the second of each with large tables.
  const uint64_t pairs = ends_of_parts_.empty() ? 2 : 3, pair = attempt / 2 % pairs;
  AttemptKind kind;
  kind.large = attempt % 2 == 1;
  kind.spread = !ends_of_parts_.empty() && pair == 1;
  kind.fresh = pair + 1 < pairs;
  kind.sparse = kind.fresh || !kind.large;
  kind.faint = attempt % 8 == 6;
  kind.flat = attempt % 8 == 4 ? 1 : attempt % 8 == 5 ? 2 : 0;
  kind.calm = attempt % 16 == 9;
  kind.quiet = quiet_ && attempt % 8 >= 6;
  kind.sparse |= kind.quiet;
  kind.compare = !kind.sparse;
  kind.last = (IsSumOfGradients(focus.lineage.logical) ? attempt : attempt + 1) / 2 % 2 == 1;
  const uint64_t spread_before = attempt / 2 / pairs + (pair > 1 ? 1 : 0);
  kind.more_branches = kind.spread              ? attempt / 2 / pairs
                       : ends_of_parts_.empty() ? attempt / 2
                                                : attempt / 2 - spread_before;
  const uint64_t turn = attempt % 8;
  const bool even_round = attempt / 8 % 2 == 0;
  const bool exchanged = !CutsOfExchanges(focus).empty();
  const bool transposed = even_round && turn == 3 && ReadsScores(focus.lineage.logical);
  kind.lone = !lookups_.empty() &&
              ((turn == 7 && !masked_) || transposed || (exchanged && turn >= 3 && turn <= 5));
  if (kind.lone) {
    kind.blank = turn == (exchanged || transposed ? 3 : 7) && even_round;
    kind.large &= exchanged && !kind.blank;
    kind.spread = false;
    kind.more_branches = attempt / 8;
  }
  return kind;
}

// Where scores are small, so is what is multiplied with them: keys that are values, too.
void FocusedChooser::CalmBranch(const Branch& branch, Attempt* attempt) const {
  const auto is_score = [&](TensorId id) { return scores_.count(id) != 0; };
  if (std::none_of(branch.parameters.begin(), branch.parameters.end(), is_score)) return;
  for (const TensorId id : branch.parameters) {
    if (branch.zeroing.outer.count(id) == 0 && !IsFactor(problem_.logical.tensors[id]))
      attempt->scales.try_emplace(id, kCalmTable);
  }
}

FocusedChooser::Attempt FocusedChooser::Prepare(const Focus& focus, uint64_t number,
                                                const std::vector<int>& distance) const {
  Attempt attempt;
  attempt.kind = KindOf(focus, number);
  attempt.total = IsSumOfGradients(focus.lineage.logical);
  Cut(focus, number, &attempt);
  std::vector<size_t> nearest = Nearest(focus, distance);
  size_t more_branches = attempt.kind.more_branches;
  if (attempt.total) {
    const bool of_branches = TakeTurns(focus, number, &nearest);
    if (of_branches) more_branches /= 4;  // a second one reads what the first one makes wide
    RescaleHead(!of_branches, &attempt);
  }
  const size_t open_branches =
      (attempt.total || attempt.kind.spread || (attempt.kind.lone && !attempt.kind.blank)
           ? 1
           : kOpenBranches) +
      more_branches;
  size_t opened = 0;
  for (const size_t b : nearest) {
    const Branch& branch = branches_[b];
    const std::set<TensorId>& outer = branch.zeroing.outer;
    // One that ends with the parameters of an open one is open as that one is.
    const auto is_narrow = [&](TensorId id) { return attempt.narrow.count(id) != 0; };
    if (!outer.empty() && std::all_of(outer.begin(), outer.end(), is_narrow)) continue;
    const bool open = opened < open_branches;
    if (open) ++opened;
    if (open && attempt.total) {
      RescaleBranch(branch, attempt.kind.large ? kSmallFactor : 1 / kSmallFactor, &attempt);
    }
    (open ? attempt.narrow : attempt.closed)
        .insert(branch.zeroing.outer.begin(), branch.zeroing.outer.end());
    if (open && attempt.kind.calm) CalmBranch(branch, &attempt);
    if (open) continue;
    // Scores that count for nothing must not be wide.
    for (const TensorId id : branch.parameters) {
      if (scores_.count(id) != 0 && (!IsRanked(id) || HasRankingBias(id)))
        attempt.closed.insert(id);
    }
    // Where gradients are added up, those of closed branches are zero.
    if (attempt.total)
      attempt.closed.insert(branch.zeroing.inner.begin(), branch.zeroing.inner.end());
  }
  return attempt;
}

std::vector<BlockTensorPtr<double>> FocusedChooser::Choose(const Focus& focus, uint64_t number,
                                                           PartitionsByExtent* cuts) const {
  const sdfg::Graph& graph = problem_.logical;
  const std::vector<int> distance = Distances(focus.lineage.logical);
  const Attempt attempt = Prepare(focus, number, distance);
  if (cuts != nullptr) *cuts = attempt.partitions;
  std::vector<BlockTensorPtr<double>> result(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId id = static_cast<TensorId>(t);
    const sdfg::Tensor& tensor = graph.tensors[t];
    if (!InputChooser::IsSource(tensor)) continue;
    result[t] = RecordedTensor(problem_, id);
    if (result[t] != nullptr) continue;
    uint64_t seed = Mix(number, static_cast<uint64_t>(tensor.role));
    for (int64_t extent : tensor.shape) seed = Mix(seed, static_cast<uint64_t>(extent));
    if (distance[t] >= 0 && distance[t] <= kNear) seed = Mix(seed, t + 1);
    // Queries and keys: products of equal ones do not tell which is which.
    if (attempt.kind.lone && ScoreTurn(id) == 1) seed = Mix(seed, 1);
    Random random(seed);
    auto chosen = std::make_shared<BlockTensor<double>>();
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      chosen->dims.push_back(inputs_.Untied(id, d) ? std::make_shared<const DimPartition>(
                                                         DimPartition::Full(tensor.shape[d]))
                                                   : attempt.partitions.at(tensor.shape[d]));
    }
    chosen->int_valued = sdfg::IsInteger(tensor.dtype);
    if (chosen->int_valued) {
      ChooseIntegers(id, attempt, &random, chosen.get());
    } else {
      ChooseReals(id, attempt, &random, chosen.get());
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
