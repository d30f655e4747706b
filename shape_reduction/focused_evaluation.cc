#include "shape_reduction/focused_evaluation.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "shape_reduction/input_premises.h"

namespace planproof::shape_reduction {

using sdfg::TensorId;
using Tensor = BlockTensor<Interval>;

namespace {
constexpr int64_t kMaxFocusedElements = int64_t{1} << 20;
constexpr double kLargestGap = 2;  // of two numbers, relative to the larger: x and -x

// Calls f(index, left's value, right's value) for an element of each pair of blocks that meet,
// until it returns false. None where the values are integers.
template <typename F>
void ForEachPair(const Tensor& left, const Tensor& right, F f) {
  const size_t rank = left.dims.size();
  if (&left == &right || left.int_valued || right.int_valued) return;
  std::vector<std::vector<int64_t>> points(rank), left_at(rank), right_at(rank);
  int64_t left_stride = 1, right_stride = 1;
  for (size_t d = rank; d-- > 0;) {
    points[d] = left.dims[d]->Refine(*right.dims[d]).Representatives();
    if (points[d].empty()) return;
    for (int64_t index : points[d]) {
      left_at[d].push_back(left.dims[d]->BlockOf(index) * left_stride);
      right_at[d].push_back(right.dims[d]->BlockOf(index) * right_stride);
    }
    left_stride *= left.dims[d]->blocks();
    right_stride *= right.dims[d]->blocks();
  }
  std::vector<size_t> at(rank, 0);
  const auto index = [&] {
    std::vector<int64_t> result;
    for (size_t d = 0; d < rank; ++d) result.push_back(points[d][at[d]]);
    return result;
  };
  while (true) {
    int64_t a_offset = 0, b_offset = 0;
    for (size_t d = 0; d < rank; ++d) {
      a_offset += left_at[d][at[d]];
      b_offset += right_at[d][at[d]];
    }
    if (!f(index, left.values[a_offset], right.values[b_offset])) return;
    size_t d = rank;
    while (d > 0 && ++at[d - 1] == points[d - 1].size()) at[--d] = 0;
    if (d == 0) return;
  }
}

bool OnlyLeftHasValue(const Interval& left, const Interval& right) {
  return IntervalDomain::CertainlyUndefined(right) != UndefinedBy::kNothing &&
         std::isfinite(left.lo) && std::isfinite(left.hi);
}

}  // namespace

Gap FindGap(const Tensor& left, const Tensor& right) {
  Gap gap;
  ForEachPair(left, right, [&](const auto& index, const Interval& a, const Interval& b) {
    if (IntervalDomain::Less(a, b) == Truth::kTrue || IntervalDomain::Less(b, a) == Truth::kTrue) {
      const double distance = std::fmax(a.lo - b.hi, b.lo - a.hi);
      const double scale = std::fmax(std::fmax(std::fabs(a.lo), std::fabs(a.hi)),
                                     std::fmax(std::fabs(b.lo), std::fabs(b.hi)));
      const double size = std::isfinite(distance) ? distance / scale : kLargestGap;
      if (size > gap.size) gap = {size, index(), a, b};
    }
    return true;
  });
  return gap;
}

bool Differ(const Tensor& left, const Tensor& right) {
  bool missing = false;
  ForEachPair(left, right, [&](const auto&, const Interval& a, const Interval& b) {
    missing = OnlyLeftHasValue(a, b);
    return !missing;
  });
  return missing || FindGap(left, right).size > 0;
}

FocusedEvaluation::FocusedEvaluation(const lineage::Problem& problem)
    : problem_(problem), chooser_(problem, &programs_), focused_(problem, chooser_, &programs_) {}

bool FocusedEvaluation::Run(const Focus& focus, uint64_t attempt, int64_t max_elements,
                            WorkClock::time_point deadline, std::string* message) {
  PartitionsByExtent cuts;
  values_ = focused_.Choose(focus, attempt, &cuts);
  *message = UnmetPremise(problem_, values_);
  if (!message->empty()) return false;
  required_ = focused_.NearestRequired(focus, FocusedChooser::kMaxRequired);
  for (const int lone : focused_.LoneRequired(focus, attempt)) {
    if (std::find(required_.begin(), required_.end(), lone) == required_.end())
      required_.push_back(lone);
  }
  auto first = required_.begin();  // of those that wait
  if (!required_.empty() && focused_.BeforeGradients(required_[0])) {
    ++first;
  } else {
    first = std::stable_partition(required_.begin(), required_.end(),
                                  [&](int r) { return !focused_.AddsUpGradients(r); });
    if (first == required_.begin()) first = required_.end();
  }
  further_.assign(first, required_.end());
  required_.erase(first, required_.end());
  evaluation_ = std::make_unique<ProblemEvaluation<IntervalDomain>>(
      problem_, &programs_, /*enclose=*/true, std::move(cuts));
  return Evaluate(max_elements, deadline, message);
}

bool FocusedEvaluation::Extend(int64_t max_elements, WorkClock::time_point deadline,
                               std::string* message) {
  if (further_.empty()) return false;
  required_.insert(required_.end(), further_.begin(), further_.end());
  further_.clear();
  // What is alive is not evaluated again.
  const std::vector<BlockTensorPtr<Interval>> logical = evaluation_->logical();
  const std::vector<BlockTensorPtr<Interval>> parallel = evaluation_->parallel();
  return Evaluate(max_elements, deadline, message);
}

// The relations of `required_`.
bool FocusedEvaluation::Evaluate(int64_t max_elements, WorkClock::time_point deadline,
                                 std::string* message) {
  ReducedOptions logical, parallel;
  for (ReducedOptions* options : {&logical, &parallel}) {
    options->max_elements = max_elements;
    options->deadline = deadline;
  }
  for (int r : required_) {
    logical.cone_of.push_back(problem_.required[r].lineage.logical);
    parallel.cone_of.push_back(problem_.required[r].parallel);
  }
  // On the logical side no element of the cone may be undefined: the inputs lie in the domain of
  // the specification.
  bool invalid = false;
  std::unordered_set<const Tensor*> checked;
  logical.on_produced = [&](TensorId id) {
    const Tensor& tensor = *evaluation_->logical()[id];
    if (!checked.insert(&tensor).second) return true;
    invalid |= std::any_of(tensor.values.begin(), tensor.values.end(),
                           [](const Interval& x) { return IntervalDomain::IsInvalid(x); });
    invalid |= std::find(tensor.ints.begin(), tensor.ints.end(), kInvalidInt) != tensor.ints.end();
    if (invalid) {
      *message = problem_.logical.tensors[id].name + " is not known to be defined";
    }
    return !invalid;
  };
  absl::Status status = evaluation_->EvaluateLogical(values_, logical);
  if (invalid) return false;
  if (status.ok()) status = evaluation_->EvaluateParallel(parallel);
  if (!status.ok()) {
    *message = std::string(status.message());
    return false;
  }
  if (!evaluation_->open_premise().empty()) {
    *message = "premise not decided: " + evaluation_->open_premise();
    return false;
  }
  return true;
}

BlockTensorPtr<Interval> FocusedEvaluation::Claimed(const sdfg::Shape& shape,
                                                    const lineage::Lineage& lineage) {
  const BlockTensorPtr<Interval>& value = logical()[lineage.logical];
  const sdfg::Shape& whole = problem_.logical.tensors[lineage.logical].shape;
  BlockTensorPtr<Interval> result;
  if (value == nullptr || lineage.map.size() != whole.size()) return nullptr;
  const absl::Status status =
      evaluation_->evaluator().Read(shape, whole, lineage.map, value, kMaxFocusedElements, &result);
  return status.ok() ? result : nullptr;
}

std::pair<BlockTensorPtr<Interval>, BlockTensorPtr<Interval>> FocusedEvaluation::Sides(
    int required) {
  const lineage::RequiredRelation& relation = problem_.required[required];
  const sdfg::Shape& shape = problem_.parallel.tensors[relation.parallel].shape;
  return {Claimed(shape, relation.lineage), parallel()[relation.parallel]};
}

Gap FocusedEvaluation::WidestGap(int* required) {
  Gap widest;
  for (int r : required_) {
    const auto [claimed, actual] = Sides(r);
    if (claimed == nullptr || actual == nullptr) continue;
    Gap gap = FindGap(*claimed, *actual);
    if (gap.size <= widest.size) continue;
    widest = std::move(gap);
    *required = r;
  }
  return widest;
}

MissingValue FocusedEvaluation::FindMissingValue(const std::vector<TensorId>& proved) {
  MissingValue missing;
  for (int r : required_) {
    const auto [claimed, actual] = Sides(r);
    if (claimed == nullptr || actual == nullptr) continue;
    ForEachPair(*claimed, *actual, [&](const auto& index, const Interval& a, const Interval& b) {
      if (!OnlyLeftHasValue(a, b)) return true;
      missing = {r, index(), a, {}};
      return false;
    });
    if (missing.required < 0) continue;
    missing.origin = FindUndefinedOrigin(
        problem_.parallel, problem_.required[r].parallel, proved, [&](TensorId id) {
          const auto& value = parallel()[id];
          return value == nullptr ? UndefinedBy::kNothing : AnyUndefined(*value);
        });
    if (missing.origin.tensor != sdfg::kNone) return missing;
    missing = {};
  }
  return missing;
}

BlockTensorPtr<Interval> FocusedEvaluation::Apply(
    const sdfg::Operator& op, int output, const std::vector<BlockTensorPtr<Interval>>& inputs) {
  const ScalarProgram& program = programs_.Get(problem_.parallel, op, output);
  PremiseCheck unused;
  BlockTensorPtr<Interval> result;
  const absl::Status status =
      evaluation_->evaluator().Apply(program, inputs, kMaxFocusedElements, &result, &unused);
  return status.ok() ? result : nullptr;
}

}  // namespace planproof::shape_reduction
