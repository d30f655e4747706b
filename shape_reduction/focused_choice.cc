#include "shape_reduction/focused_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shape_reduction/recorded_values.h"

namespace planproof::shape_reduction {

using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int64_t kPositions = 3;  // that are told apart in a dimension with comparisons
// Of positions that are not told apart, the last sees at most so many times as many as the first:
// the enclosures of means over what they see grow with that.
constexpr int64_t kMaxKeys = 16;
constexpr int64_t kShortSequence = 8;  // all positions are
constexpr int kNear = 5;               // operators from the place: parameters of their own values
constexpr size_t kOpenBranches = 3;    // of the first attempt
constexpr size_t kMaxParts = 64;
// What an open branch adds is scaled down: at positions that are not told apart its enclosure is
// wide, and must not reach the exponentials of later layers.
constexpr double kNarrow = 0x1p-8;
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

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
  return z ^ (z >> 32);
}

// Calls visit(input, extent of a logical dimension, its map) for every input of the parallel graph
// that is a part of a logical one, and every dimension of that.
template <typename Visit>
void ForEachMapOfInputs(const lineage::Problem& problem, const Visit& visit) {
  for (size_t t = 0; t < problem.parallel.tensors.size() && t < problem.lineage.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    const lineage::Lineage& lineage = problem.lineage[t];
    if (tensor.producer != sdfg::kNone || lineage.kind != lineage::LineageKind::kFull) continue;
    const sdfg::Shape& logical = problem.logical.tensors[lineage.logical].shape;
    for (size_t d = 0; d < lineage.map.size(); ++d) visit(tensor, logical[d], lineage.map[d]);
  }
}

// Whether the term is a multiple of an index of the tensor, undivided.
bool IsWhole(const lineage::IndexTerm& term, const sdfg::Tensor& tensor) {
  return term.dim < static_cast<int>(tensor.axes.size()) && term.div == 1 && term.mod == 0 &&
         !term.gated();
}

}  // namespace

FocusedChooser::FocusedChooser(const lineage::Problem& problem, const InputChooser& inputs,
                               ProgramCache* programs)
    : problem_(problem), inputs_(inputs) {
  const sdfg::Graph& graph = problem.logical;
  consumers_.resize(graph.tensors.size());
  backward_.assign(graph.tensors.size(), 0);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    backward_[t] = graph.tensors[t].role == sdfg::TensorRole::kOne;
  }
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    const sdfg::Operator& op = graph.operators[o];
    bool backward = false;
    for (TensorId id : op.inputs) {
      consumers_[id].push_back(static_cast<OperatorId>(o));
      backward |= backward_[id] != 0;
    }
    for (TensorId id : op.outputs) {
      if (id != sdfg::kNone && backward) backward_[id] = 1;
    }
  }
  FindCompared(programs);
  FindBranches();
  FindHead();
  FindEdges();
}

void FocusedChooser::FindEdges() {
  std::map<int64_t, std::set<int64_t>> starts;
  ForEachMapOfInputs(
      problem_, [&](const sdfg::Tensor& tensor, int64_t extent, const lineage::IndexMap& map) {
        std::set<int64_t>& own = starts[extent];
        if (own.size() < kMaxParts) own.insert(map.constant);
        for (const lineage::IndexTerm& term : map.terms) {
          if (!IsWhole(term, tensor)) continue;
          for (int64_t k = 0; k < tensor.shape[term.dim] && own.size() < kMaxParts; ++k) {
            own.insert(map.constant + k * term.scale);
          }
        }
      });
  for (const auto& [extent, own] : starts) {
    std::set<int64_t> edges = {0, extent - 1};
    for (int64_t start : own) {
      if (start > 0 && start < extent) edges.insert({start - 1, start});
    }
    edges_[extent].assign(edges.begin(), edges.end());
  }
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

void FocusedChooser::FindCompared(ProgramCache* programs) {
  std::set<const ScalarProgram*> seen;
  for (const sdfg::Operator& op : problem_.logical.operators) {
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (op.outputs[k] == sdfg::kNone) continue;
      const ScalarProgram& program = programs->Get(problem_.logical, op, static_cast<int>(k));
      if (!seen.insert(&program).second) continue;
      for (const sdfg::Node& node : program.nodes) {
        if (node.op != Op::kIntLess && node.op != Op::kIntLessEq) continue;
        const IndexForm difference =
            AddForms(program.forms[node.args[0]], program.forms[node.args[1]], -1, program.vars);
        if (!difference.atoms.empty() || difference.terms.size() < 2) continue;
        for (const DigitTerm& term : difference.terms) {
          if (term.var != difference.terms[0].var) {
            compared_.insert(
                {program.vars[term.var].extent, program.vars[difference.terms[0].var].extent});
          }
        }
      }
    }
  }
}

// Cuts of every extent. `place`: of some extents, the part that belongs to the focus.
PartitionsByExtent FocusedChooser::Cut(
    const Focus& focus, uint64_t attempt,
    std::map<int64_t, std::pair<int64_t, int64_t>>* place) const {
  const sdfg::Tensor& suspect = problem_.parallel.tensors[focus.parallel];
  std::map<sdfg::AxisId, std::pair<int64_t, int64_t>> coordinates;
  for (size_t a = 0; a < suspect.axes.size() && a < focus.box.size(); ++a) {
    if (focus.box[a].second - focus.box[a].first < suspect.shape[a]) {
      coordinates[suspect.axes[a]] = focus.box[a];
    }
  }
  std::map<int64_t, DimPartition> cuts;
  const auto refine = [&](int64_t extent, const DimPartition& partition) {
    const auto [at, added] = cuts.emplace(extent, partition);
    if (!added) at->second = at->second.Refine(partition);
  };
  // The slices of inputs that these coordinates hold.
  std::set<std::vector<int64_t>> seen;
  ForEachMapOfInputs(problem_, [&](const sdfg::Tensor& tensor, int64_t extent,
                                   const lineage::IndexMap& map) {
    for (const lineage::IndexTerm& term : map.terms) {
      if (!IsWhole(term, tensor) || term.scale <= 0) continue;
      const auto at = coordinates.find(tensor.axes[term.dim]);
      if (at == coordinates.end()) continue;
      const auto [low, high] = at->second;
      const int64_t axis_extent = tensor.shape[term.dim];
      // Which positions are told apart, inputs say; a weight may by chance be as long.
      const bool place_of = compared_.count(extent) == 0 || tensor.role == sdfg::TensorRole::kInput;
      if (!seen.insert({extent, term.scale, axis_extent, low, high, place_of}).second) continue;
      refine(extent, DimPartition::WithDigitCuts(extent, term.scale, axis_extent, {low, high}));
      if (place_of && term.scale * axis_extent == extent) {
        (*place)[extent] = {low * term.scale, high * term.scale};
      }
    }
  });
  // The part of the logical tensor that the suspect is at the box.
  for (size_t d = 0; d < focus.lineage.map.size() && !focus.box.empty(); ++d) {
    const lineage::IndexMap& map = focus.lineage.map[d];
    int64_t low = map.constant, high = map.constant;
    for (const lineage::IndexTerm& term : map.terms) {
      const auto [first, end] = focus.box[term.dim];
      if (term.div != 1 || term.mod != 0 || term.scale <= 0 || term.gated()) {
        low = -1;
        break;
      }
      low += first * term.scale;
      high += (end - 1) * term.scale;
    }
    const int64_t extent = problem_.logical.tensors[focus.lineage.logical].shape[d];
    if (low > 0 && high < extent && low <= high && compared_.count(extent) == 0) {
      place->emplace(extent, std::pair{low, high + 1});
    }
  }
  std::mt19937_64 random(attempt * 0x9e3779b97f4a7c15u + 7);
  std::set<int64_t> extents;
  for (const sdfg::Tensor& tensor : problem_.logical.tensors) {
    if (tensor.producer == sdfg::kNone) {
      extents.insert(tensor.shape.begin(), tensor.shape.end());
    }
  }
  PartitionsByExtent result;
  for (int64_t extent : extents) {
    if (compared_.count(extent) != 0) {
      const auto at = place->find(extent);
      const int64_t first = at == place->end() ? 0 : at->second.first;
      std::vector<int64_t> positions = {1};
      for (int64_t k = 0; k <= kPositions; ++k) positions.push_back(first + k);
      for (int64_t k = first + kPositions; k < extent; k *= kMaxKeys) positions.push_back(k);
      refine(extent, extent <= kShortSequence ? DimPartition::Full(extent)
                                              : DimPartition::WithCuts(extent, positions));
      (*place)[extent] = {first, std::min(first + kPositions, extent)};
    }
    const auto known = cuts.find(extent);
    if (known != cuts.end() && known->second.blocks() > 1) {
      result[extent] = std::make_shared<const DimPartition>(known->second);
      continue;
    }
    int64_t cut = extent / 2;
    if (attempt > 0 && extent > 4) {
      int64_t unit = 1;
      while (extent % (unit * 2) == 0 && unit * 8 <= extent) unit *= 2;
      cut = (1 + static_cast<int64_t>(random() % static_cast<uint64_t>(extent / unit - 1))) * unit;
    }
    result[extent] = std::make_shared<const DimPartition>(DimPartition::WithCuts(extent, {cut}));
  }
  return result;
}

std::vector<BlockTensorPtr<double>> FocusedChooser::Choose(const Focus& focus, uint64_t attempt,
                                                           PartitionsByExtent* cuts) const {
  const sdfg::Graph& graph = problem_.logical;
  std::map<int64_t, std::pair<int64_t, int64_t>> place;
  const PartitionsByExtent partitions = Cut(focus, attempt, &place);
  if (cuts != nullptr) *cuts = partitions;
  const std::vector<int> distance = Distances(focus.lineage.logical);
  const std::vector<size_t> nearest = Nearest(focus, distance);
  const bool total = IsSumOfGradients(focus.lineage.logical);
  std::set<TensorId> closed, narrow;
  for (size_t k = 0; k < nearest.size(); ++k) {
    const Branch& branch = branches_[nearest[k]];
    const bool open = k < kOpenBranches + attempt / 2;
    (open ? narrow : closed).insert(branch.parameters.begin(), branch.parameters.end());
    // Where gradients are added up, those of closed branches are zero.
    if (!open && total) closed.insert(branch.inner.begin(), branch.inner.end());
  }
  const bool large = attempt % 2 == 1;    // what branches are added to
  const bool fresh = attempt % 4 < 2;     // the optimizer's state is zero: gradients show undamped
  const bool sparse = attempt % 4 != 3;   // real inputs are zero at most positions
  const bool compare = attempt % 4 == 3;  // integers with which operators compare
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
        if (compare && !compared.empty() && random() % 4 == 0) {
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
    if (narrow.count(id) != 0) scale *= total ? kModerate : large ? kNearlyAll : kNarrow;
    const bool table = tensor.role == sdfg::TensorRole::kParameter && tensor.shape.size() > 1;
    if (table && scale == 1) scale = large && !total ? kLargeBase : 1;
    if (total && id == head_) scale *= kLargeHead;
    const bool zero = closed.count(id) != 0 || (fresh && OnlyAfterLoss(id));
    for (int64_t k = 0; k < count; ++k) {
      const double size = static_cast<double>(4 + random() % 9) / 16;
      chosen->values.push_back(zero ? 0 : random() % 2 == 0 ? size * scale : -size * scale);
    }
    if (sparse && tensor.role == sdfg::TensorRole::kInput) {
      int64_t stride = count;
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        const int64_t blocks = chosen->dims[d]->blocks();
        stride /= blocks;
        if (compared_.count(tensor.shape[d]) == 0) continue;
        const auto [first, end] = place.at(tensor.shape[d]);
        const std::vector<int64_t> starts = chosen->dims[d]->Representatives();
        for (int64_t k = 0; k < count; ++k) {
          const int64_t start = starts[k / stride % blocks];
          if (start < first || start >= end) chosen->values[k] = 0;
        }
      }
    }
    inputs_.MeetPremises(id, scale, &random, chosen.get());
    if (tensor.role != sdfg::TensorRole::kInput && tensor.shape.size() == 1 &&
        tensor.dtype != sdfg::DType::kBool && inputs_.Untied(id, 0)) {
      std::iota(chosen->values.begin(), chosen->values.end(), 0);
      for (size_t k = chosen->values.size(); k > 1; --k) {  // the same order everywhere
        std::swap(chosen->values[k - 1], chosen->values[random() % k]);
      }
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
  for (const auto& [d, r] : reached) {
    if (result.size() >= most) break;
    if (r != earliest) result.push_back(r);
  }
  return result;
}

}  // namespace planproof::shape_reduction
