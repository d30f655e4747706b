#include "diagnosis/repair_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/operands.h"

namespace planproof::diagnosis {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr double kTolerance = 1e-8;
constexpr size_t kMaxPoints = 20000;
constexpr size_t kMaxCandidates = 64;

double At(const shape_reduction::BlockTensor<double>& tensor, int64_t offset) {
  return tensor.int_valued ? static_cast<double>(tensor.ints[offset]) : tensor.values[offset];
}

}  // namespace

double ValueAt(const Values& tensor, const std::vector<int64_t>& index) {
  return At(*tensor, tensor->Offset(index));
}

OffsetTable::OffsetTable(const Values& tensor, const std::vector<std::vector<int64_t>>& grid)
    : offsets_(grid.size()) {
  int64_t stride = 1;
  for (size_t d = grid.size(); d-- > 0;) {
    const shape_reduction::DimPartition& dim = *tensor->dims[d];
    for (const int64_t index : grid[d]) offsets_[d].push_back(dim.BlockOf(index) * stride);
    stride *= dim.blocks();
  }
}

void ForEachPair(const Values& left, const Values& right,
                 const std::function<bool(const std::vector<int64_t>&, double, double)>& visit) {
  const size_t rank = left->dims.size();
  if (right->dims.size() != rank) return;
  std::vector<std::vector<int64_t>> points(rank);
  std::vector<int64_t> index(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (left->dims[d]->extent() != right->dims[d]->extent()) return;
    points[d] = left->dims[d]->Refine(*right->dims[d]).Representatives();
    if (points[d].empty()) return;
    index[d] = points[d][0];
  }
  std::vector<size_t> at(rank, 0);
  const OffsetTable of_left(left, points), of_right(right, points);
  while (true) {
    if (!visit(index, At(*left, of_left.At(at.data())), At(*right, of_right.At(at.data())))) return;
    size_t d = rank;
    while (d > 0 && ++at[d - 1] == points[d - 1].size()) {
      --d;
      at[d] = 0;
      index[d] = points[d][0];
    }
    if (d == 0) return;
    index[d - 1] = points[d - 1][at[d - 1]];
  }
}

double Largest(const Values& tensor) {
  double largest = 0;
  const int64_t blocks = tensor == nullptr ? 0 : tensor->Blocks();
  for (int64_t i = 0; i < blocks; ++i) {
    const double size = std::fabs(At(*tensor, i));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest;
}

bool AgreeNumbers(const std::vector<double>& left, const std::vector<double>& right) {
  if (left.size() != right.size()) return false;
  double largest = 0;
  for (const std::vector<double>* side : {&left, &right}) {
    for (double x : *side) {
      if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    }
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i]) continue;  // infinite masks, too
    if (std::isnan(left[i]) && std::isnan(right[i])) continue;
    // A comparison with NaN is false.
    if (!(std::fabs(left[i] - right[i]) <= kTolerance * largest)) return false;
  }
  return true;
}

bool Agree(const Values& left, const Values& right) {
  if (left == nullptr || right == nullptr) return false;
  if (left == right) return true;
  std::vector<double> a, b;
  ForEachPair(left, right, [&](const std::vector<int64_t>&, double x, double y) {
    a.push_back(x);
    b.push_back(y);
    return a.size() < kMaxPoints;
  });
  return !a.empty() && AgreeNumbers(a, b);
}

RepairSearch::RepairSearch(const lineage::Problem& problem, shape_reduction::Replay& replay,
                           Subject subject)
    : problem_(problem), graph_(problem.parallel), replay_(replay), subject_(std::move(subject)) {
  actual_ = replay.Parallel(subject_.tensor);
  claimed_ = replay.Claimed(graph_.tensors[subject_.tensor].shape, subject_.lineage);
  if (!usable()) return;
  ForEachPair(claimed_, actual_, [&](const std::vector<int64_t>& index, double l, double p) {
    if (replay.enclosed() && (std::isnan(l) || std::isnan(p))) return true;
    points_.push_back(index);
    claimed_at_.push_back(l);
    actual_at_.push_back(p);
    return points_.size() < kMaxPoints;
  });
  LayOut();
}

// Where the points lie in the grid of all indices that they have.
void RepairSearch::LayOut() {
  if (points_.empty()) return;
  const size_t rank = points_[0].size();
  grid_.resize(rank);
  for (size_t d = 0; d < rank; ++d) {
    for (const auto& point : points_) grid_[d].push_back(point[d]);
    std::sort(grid_[d].begin(), grid_[d].end());
    grid_[d].erase(std::unique(grid_[d].begin(), grid_[d].end()), grid_[d].end());
  }
  for (const auto& point : points_) {
    for (size_t d = 0; d < rank; ++d) {
      at_.push_back(std::lower_bound(grid_[d].begin(), grid_[d].end(), point[d]) -
                    grid_[d].begin());
    }
  }
}

std::vector<double> RepairSearch::AtPoints(const Values& tensor, const Coordinates& instead) const {
  std::vector<std::vector<int64_t>> grid = grid_;
  for (const auto& [axis, coordinate] : instead)
    std::fill(grid[axis].begin(), grid[axis].end(), coordinate);
  std::vector<double> values;
  values.reserve(points_.size());
  const OffsetTable offsets(tensor, grid);
  for (size_t i = 0; i < points_.size(); ++i)
    values.push_back(At(*tensor, offsets.At(&at_[i * grid.size()])));
  return values;
}

std::string RepairSearch::Place(TensorId tensor) const {
  const sdfg::Tensor& t = graph_.tensors[tensor];
  return t.device >= 0 ? absl::StrCat(t.name, " on device ", t.device) : t.name;
}

std::string RepairSearch::Name(OperatorId id) const {
  const sdfg::Operator& op = graph_.operators[id];
  return op.label.empty() ? op.name : absl::StrCat(op.name, " (", op.label, ")");
}

Values RepairSearch::RunStage(const Changes& changes) {
  std::map<TensorId, Values> made;
  for (const auto& [tensor, change] : changes.tensors) {
    const OperatorId producer = graph_.tensors[tensor].producer;
    if (std::binary_search(subject_.operators.begin(), subject_.operators.end(), producer)) {
      continue;
    }
    const Values& usual = replay_.Parallel(tensor);
    if (usual == nullptr || (made[tensor] = change(usual)) == nullptr) return nullptr;
  }
  for (OperatorId id : subject_.operators) {
    const auto other = changes.operators.find(id);
    const sdfg::Operator& run =
        other != changes.operators.end() ? other->second : graph_.operators[id];
    bool touched = other != changes.operators.end();
    std::vector<Values> inputs;
    for (size_t k = 0; k < run.inputs.size(); ++k) {
      const auto given = changes.operands.find({id, static_cast<int>(k)});
      const auto found = made.find(run.inputs[k]);
      touched |= given != changes.operands.end() || found != made.end();
      inputs.push_back(given != changes.operands.end() ? given->second
                       : found != made.end()           ? found->second
                                                       : replay_.Parallel(run.inputs[k]));
    }
    for (size_t k = 0; k < run.outputs.size(); ++k) {
      const TensorId output = run.outputs[k];
      if (output == kNone || replay_.Parallel(output) == nullptr) continue;
      const auto change = changes.tensors.find(output);
      if (!touched && change == changes.tensors.end()) continue;
      Values value =
          touched ? replay_.Apply(run, static_cast<int>(k), inputs) : replay_.Parallel(output);
      if (value != nullptr && change != changes.tensors.end()) value = change->second(value);
      if (value == nullptr) return nullptr;
      made[output] = std::move(value);
    }
  }
  const auto found = made.find(subject_.tensor);
  return found == made.end() ? nullptr : found->second;
}

Values RepairSearch::With(OperatorId changed, const sdfg::Operator& op) {
  return RunStage({.operators = {{changed, op}}});
}

Values RepairSearch::WithOperand(OperatorId changed, int operand, const Values& value) {
  return RunStage({.operands = {{{changed, operand}, value}}});
}

// Operands exchanged, or another tensor in place of one.
void RepairSearch::TryOperands() {
  const std::vector<TensorId> unread =
      subject_.unread.empty() ? UnreadTensors(problem_) : subject_.unread;
  for (OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    // Folded ranks only join what is no operator of the program.
    const bool joins = op.kind == sdfg::OperatorKind::kSelectInstance && op.label.empty();
    for (size_t i = 0; i < op.inputs.size() && i < 8 && !joins; ++i) {
      for (size_t j = i + 1; j < op.inputs.size() && j < 8; ++j) {
        if (op.inputs[i] == op.inputs[j]) continue;
        const sdfg::Tensor &x = graph_.tensors[op.inputs[i]], &y = graph_.tensors[op.inputs[j]];
        if (x.shape != y.shape || x.axes != y.axes || sdfg::IsInteger(x.dtype) ||
            sdfg::IsInteger(y.dtype)) {
          continue;
        }
        sdfg::Operator changed = op;
        std::swap(changed.inputs[i], changed.inputs[j]);
        if (!Agree(With(id, changed), claimed_)) continue;
        Found(absl::StrCat("operands ", graph_.tensors[op.inputs[i]].name, " and ",
                           graph_.tensors[op.inputs[j]].name, " of ", Name(id), " are exchanged"),
              id);
        return;
      }
    }
    // A tensor that nothing reads is one that was forgotten.
    size_t tried = 0;
    for (const TensorId candidate : unread) {
      if (tried >= kMaxCandidates) break;
      const sdfg::Tensor& tensor = graph_.tensors[candidate];
      for (size_t k = 0; k < op.inputs.size() && k < 8; ++k) {
        const sdfg::Tensor& old = graph_.tensors[op.inputs[k]];
        if (old.shape != tensor.shape || old.axes != tensor.axes || old.device != tensor.device ||
            sdfg::IsInteger(old.dtype) || sdfg::IsInteger(tensor.dtype)) {
          continue;
        }
        ++tried;
        const Values& value = replay_.Parallel(candidate);
        if (value == nullptr || !Agree(WithOperand(id, static_cast<int>(k), value), claimed_)) {
          continue;
        }
        Found(absl::StrCat(Name(id), " reads ", old.name, " in place of ", tensor.name,
                           ", which nothing reads"),
              id);
        return;
      }
    }
  }
}

namespace {

// Without the program in front: "stage1:y" is "y".
std::string LocalName(const std::string& name) { return name.substr(name.rfind(':') + 1); }

}  // namespace

// Whether the claim is this sum of `count` terms or their average.
std::optional<CollectiveKind> RepairSearch::MissingReduction(const std::vector<double>& sum,
                                                             int64_t count) const {
  if (AgreeNumbers(sum, claimed_at_)) return CollectiveKind::kSum;
  const std::vector<double> none(sum.size(), 0);
  const bool average =
      AgreeNumbers(Combine(none, 1 / static_cast<double>(count), sum), claimed_at_);
  return average ? std::optional(CollectiveKind::kAverage) : std::nullopt;
}

void RepairSearch::TryReplicaSums() {
  if (!TrySumOf(NamedAlike())) TrySumOf(RequiredAlike());
}

// Tensors that are said to be the same part of the same logical tensor, and have the same name on
// other ranks.
std::vector<TensorId> RepairSearch::NamedAlike() const {
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  std::vector<TensorId> alike;
  for (size_t t = 0; t < problem_.lineage.size() && alike.size() < kMaxCandidates; ++t) {
    const sdfg::Tensor& tensor = graph_.tensors[t];
    if (LocalName(tensor.name) == LocalName(self.name) && IsAlike(tensor, problem_.lineage[t]))
      alike.push_back(static_cast<TensorId>(t));
  }
  return alike;
}

// The same of what is required of ranks, whatever the program of each makes it by: the gradient of
// a parameter that two stages of a pipeline hold.
std::vector<TensorId> RepairSearch::RequiredAlike() const {
  std::vector<TensorId> alike;
  std::set<sdfg::Device> devices;
  for (const lineage::RequiredRelation& required : problem_.required) {
    const sdfg::Tensor& tensor = graph_.tensors[required.parallel];
    if (!IsAlike(tensor, required.lineage) || alike.size() == kMaxCandidates) continue;
    if (devices.insert(tensor.device).second) alike.push_back(required.parallel);
  }
  return alike;
}

bool RepairSearch::IsAlike(const sdfg::Tensor& tensor, const lineage::Lineage& l) const {
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  return l.logical == subject_.lineage.logical && tensor.shape == self.shape &&
         tensor.axes == self.axes && Agree(replay_.Claimed(self.shape, l), claimed_);
}

// What these tensors hold adds up to the logical value: they are terms of it.
bool RepairSearch::TrySumOf(const std::vector<TensorId>& tensors) {
  std::vector<int> devices;
  std::vector<double> sum(points_.size(), 0);
  for (const TensorId tensor : tensors) {
    const Values& value = replay_.Parallel(tensor);
    if (value == nullptr) return false;
    devices.push_back(graph_.tensors[tensor].device);
    sum = Combine(sum, 1, AtPoints(value));
  }
  if (devices.size() < 2) return false;
  const auto missing = MissingReduction(sum, static_cast<int64_t>(devices.size()));
  if (!missing) return false;
  std::sort(devices.begin(), devices.end());
  Found(absl::StrCat(ReductionName(*missing), " over ranks ", absl::StrJoin(devices, ", "),
                     " missing"));
  return true;
}

// What the ranks of an axis hold, or of several, adds up to the logical value, or on average is it.
void RepairSearch::TryAxisSums() {
  constexpr int64_t kMaxTerms = 1024;  // of different values
  constexpr int64_t kMaxRanks = int64_t{1} << 20;
  constexpr size_t kMaxAxes = 4;
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  const size_t subsets = size_t{1} << std::min(self.axes.size(), kMaxAxes);
  for (size_t most = 1; most <= kMaxAxes; ++most) {
    bool found = false;
    for (size_t mask = 1; mask < subsets; ++mask) {
      std::vector<size_t> along;
      std::vector<std::string> names;
      int64_t count = 1, terms = 1;
      for (size_t a = 0; a < self.axes.size() && a < kMaxAxes; ++a) {
        if ((mask >> a & 1) == 0) continue;
        along.push_back(a);
        names.push_back(graph_.axes[self.axes[a]].name);
        count = std::min(count * self.shape[a], kMaxRanks + 1);
        terms = std::min(terms * actual_->dims[a]->blocks(), kMaxTerms + 1);
      }
      if (along.size() != most || count < 2 || count > kMaxRanks || terms > kMaxTerms) continue;
      std::vector<std::vector<int64_t>> coordinates, lengths;  // of blocks, by axis
      for (const size_t a : along) {
        coordinates.push_back(actual_->dims[a]->Representatives());
        lengths.push_back(actual_->dims[a]->Weights());
      }
      std::vector<double> total(points_.size(), 0);
      for (int64_t n = 0; n < terms; ++n) {
        int64_t rest = n, alike = 1;
        Coordinates at;
        for (size_t k = 0; k < along.size(); ++k) {
          const int64_t blocks = static_cast<int64_t>(lengths[k].size());
          at.push_back({along[k], coordinates[k][rest % blocks]});
          alike *= lengths[k][rest % blocks];
          rest /= blocks;
        }
        total = Combine(total, static_cast<double>(alike), AtPoints(actual_, at));
      }
      const auto missing = MissingReduction(total, count);
      if (!missing) continue;
      FoundMissing(*missing, names);
      found = true;
    }
    if (found) return;
  }
}

bool RepairSearch::TermsAlong(TensorId tensor, size_t axis,
                              std::vector<std::vector<double>>* terms) {
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  const sdfg::Tensor& t = graph_.tensors[tensor];
  const Values& value = replay_.Parallel(tensor);
  std::vector<int64_t> from(t.axes.size(), -1);  // coordinate of the subject, or -1
  int64_t combinations = 1;
  for (size_t a = 0; a < t.axes.size(); ++a) {
    const auto at = std::find(self.axes.begin(), self.axes.end(), t.axes[a]);
    if (at != self.axes.end())
      from[a] = at - self.axes.begin();
    else if (a != axis)
      combinations *= t.shape[a];
  }
  const int64_t extent = t.shape[axis];
  if (combinations * extent * static_cast<int64_t>(points_.size()) > 2000000) return false;
  terms->assign(extent, std::vector<double>(points_.size(), 0));
  std::vector<int64_t> index(t.shape.size(), 0);
  for (size_t i = 0; i < points_.size(); ++i) {
    for (size_t a = 0; a < t.axes.size(); ++a) index[a] = from[a] >= 0 ? points_[i][from[a]] : 0;
    std::copy(points_[i].begin() + self.axes.size(), points_[i].end(),
              index.begin() + t.axes.size());
    for (int64_t n = 0; n < combinations; ++n) {
      int64_t rest = n;
      for (size_t a = 0; a < t.axes.size(); ++a) {
        if (from[a] >= 0 || a == axis) continue;
        index[a] = rest % t.shape[a];
        rest /= t.shape[a];
      }
      for (index[axis] = 0; index[axis] < extent; ++index[axis]) {
        (*terms)[index[axis]][i] += ValueAt(value, index);
      }
    }
  }
  return true;
}

}  // namespace planproof::diagnosis
