// Positions that alone are unlike all others.
#include <algorithm>

#include "shape_reduction/focused_choice.h"

namespace planproof::shape_reduction {

using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int64_t kAtTheEnd = 2;  // positions of a row
// Before and after a lone position: where an exchange leads, and what lies beyond.
constexpr int64_t kBefore = 2, kAfter = 3;

}  // namespace

void FocusedChooser::FindLookups() {
  const sdfg::Graph& graph = problem_.logical;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = graph.tensors[t];
    masked_ |= tensor.role == sdfg::TensorRole::kInput && !sdfg::IsInteger(tensor.dtype) &&
               std::any_of(tensor.shape.begin(), tensor.shape.end(),
                           [&](int64_t extent) { return compared_.count(extent) != 0; });
    ranks_ |= InputChooser::IsSource(tensor) && IsRanked(static_cast<TensorId>(t));
    if (tensor.role != sdfg::TensorRole::kParameter || tensor.shape.empty()) continue;
    std::set<TensorId> integers;  // by which it is read
    for (OperatorId o : consumers_[t]) {
      for (TensorId id : graph.operators[o].inputs) {
        const sdfg::Tensor& input = graph.tensors[id];
        if (sdfg::IsInteger(input.dtype) && input.producer == sdfg::kNone) integers.insert(id);
      }
    }
    if (!integers.empty()) lookups_.insert(static_cast<TensorId>(t));
    for (TensorId integer : integers) {
      for (OperatorId o : consumers_[integer]) {
        for (TensorId id : graph.operators[o].outputs) {
          if (id != sdfg::kNone && backward_[id] && graph.tensors[id].shape == tensor.shape)
            table_gradients_.push_back(id);
        }
      }
    }
  }
  quiet_ = masked_ && !lookups_.empty();
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId id = static_cast<TensorId>(t);
    const bool ranked = InputChooser::IsSource(graph.tensors[t]) && IsRanked(id);
    quiet_ &= !ranked || IsRankingBias(id) || HasRankingBias(id);
  }
}

// Positions that are not told apart look up the last row, which is zero; the others do not.
void FocusedChooser::Quieten(TensorId id, const Attempt& attempt,
                             BlockTensor<double>* chosen) const {
  const int64_t last = inputs_.ranges().Usual(id).second - 1;
  for (const Position& position : PositionsOf(*chosen, attempt)) {
    int64_t& value = chosen->ints[position.block];
    if (!position.told) value = last;
    if (position.told && value == last && last > 0) --value;
  }
}

// The last two of a row of the focus's part, and of the part of the sequence where a loss mask
// leaves out what comes after it and sees them: where there are so many rows, of the row before the
// last one that an exchange of rows and positions reaches, so that there, too, few positions see
// them; and of the last row: in another microbatch, of another replica.
std::vector<std::vector<int64_t>> FocusedChooser::LonePositions(const sdfg::Shape& shape,
                                                                const Attempt& attempt) const {
  int64_t sequence = 0;
  for (const int64_t extent : shape) {
    if (compared_.count(extent) != 0) sequence = extent;
  }
  const auto held = [&](int64_t extent) {
    const auto part = attempt.held.find(extent);
    const bool whole = part == attempt.held.end() || (extent == sequence && !masked_);
    return whole ? std::pair{int64_t{0}, extent} : part->second;
  };
  const auto [begin, past] = held(sequence);
  const int64_t length = past - begin;
  std::vector<std::vector<int64_t>> positions;
  for (const bool last_row : {false, true}) {
    for (int64_t k = 1; k <= std::min(kAtTheEnd, length); ++k) {
      std::vector<int64_t> position;
      for (const int64_t extent : shape) {
        const auto [first, end] = held(extent);
        const int64_t row = last_row                ? extent - 1
                            : first + length <= end ? first + std::max<int64_t>(0, length - 2)
                                                    : first;
        position.push_back(extent == sequence ? past - k : row);
      }
      if (std::find(positions.begin(), positions.end(), position) == positions.end())
        positions.push_back(std::move(position));
    }
  }
  return positions;
}

void FocusedChooser::CutAroundLone(std::map<int64_t, std::vector<int64_t>>* cuts,
                                   Attempt* attempt) const {
  for (size_t t = 0; t < problem_.logical.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem_.logical.tensors[t];
    if (tensor.role != sdfg::TensorRole::kInput || !sdfg::IsInteger(tensor.dtype)) continue;
    for (const std::vector<int64_t>& position : LonePositions(tensor.shape, *attempt)) {
      for (size_t d = 0; d < position.size(); ++d) {
        if (compared_.count(tensor.shape[d]) != 0)
          attempt->apart[tensor.shape[d]].insert(position[d]);
        for (int64_t k = -kBefore; k < kAfter; ++k)
          (*cuts)[tensor.shape[d]].push_back(position[d] + k);
      }
    }
    // The rows that they look up.
    const auto [low, high] = inputs_.ranges().Usual(static_cast<TensorId>(t));
    for (int64_t k = 1; k <= kLonePositions && k < high - low; ++k)
      (*cuts)[high].push_back(low + k);
  }
}

// The lone positions have the least values, all others the largest one chosen.
void FocusedChooser::SingleOut(TensorId id, const Attempt& attempt,
                               BlockTensor<double>* chosen) const {
  const sdfg::Tensor& tensor = problem_.logical.tensors[id];
  if (chosen->ints.empty()) return;  // no elements
  const int64_t common = *std::max_element(chosen->ints.begin(), chosen->ints.end());
  std::fill(chosen->ints.begin(), chosen->ints.end(), common);
  int64_t value = inputs_.ranges().Usual(id).first;
  for (const std::vector<int64_t>& position : LonePositions(tensor.shape, attempt)) {
    if (value < common) chosen->ints[chosen->Offset(position)] = value++;
  }
}

// What is computed of its operands after the loss, in its shape.
std::vector<TensorId> FocusedChooser::GradientsOf(TensorId parameter) const {
  const sdfg::Graph& graph = problem_.logical;
  std::vector<TensorId> gradients;
  for (const OperatorId use : consumers_[parameter]) {
    for (const TensorId operand : graph.operators[use].inputs) {
      if (operand == parameter || backward_[operand]) continue;
      for (const OperatorId o : consumers_[operand]) {
        for (const TensorId id : graph.operators[o].outputs) {
          if (id != sdfg::kNone && backward_[id] &&
              graph.tensors[id].shape == graph.tensors[parameter].shape)
            gradients.push_back(id);
        }
      }
    }
  }
  return gradients;
}

std::vector<int> FocusedChooser::LoneRequired(const Focus& focus, uint64_t attempt) const {
  std::vector<int> result;
  if (!KindOf(focus, attempt).lone) return result;
  // What a difference is made of may be of the branch before.
  constexpr size_t kBranches = 2;
  std::vector<std::vector<TensorId>> gradients_of = {table_gradients_};
  const std::vector<size_t> nearest = Nearest(focus, Distances(focus.lineage.logical));
  for (size_t k = 0; k < std::min(kBranches, nearest.size()); ++k) {
    gradients_of.emplace_back();
    for (const TensorId parameter : branches_[nearest[k]].zeroing.outer) {
      for (const TensorId gradient : GradientsOf(parameter))
        gradients_of.back().push_back(gradient);
    }
  }
  const std::vector<int> reached = Downstream(problem_.parallel, focus.parallel);
  for (const std::vector<TensorId>& gradients : gradients_of) {
    int first = -1, least = 0;
    for (const TensorId gradient : gradients) {
      const std::vector<int> distance = Downstream(problem_.logical, gradient);
      for (size_t r = 0; r < problem_.required.size(); ++r) {
        const lineage::RequiredRelation& relation = problem_.required[r];
        const int d = distance[relation.lineage.logical];
        if (d < 0 || reached[relation.parallel] < 0 || (first >= 0 && d >= least)) continue;
        first = static_cast<int>(r);
        least = d;
      }
    }
    if (first >= 0) result.push_back(first);
  }
  return result;
}

}  // namespace planproof::shape_reduction
