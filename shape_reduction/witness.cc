#include "shape_reduction/witness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "shape_reduction/comparison.h"
#include "shape_reduction/confirmation.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/problem_evaluation.h"

namespace planproof::shape_reduction {

using lineage::LineageKind;
using lineage::RequiredRelation;
using sdfg::TensorId;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTolerance = 1e-9;
constexpr int kCandidatesTried = 3;
constexpr double kClearDifference = 0.01;
constexpr size_t kConesMeasured = 64;
int64_t ConeSize(const sdfg::Graph& graph, TensorId root) {
  std::vector<char> needed(graph.tensors.size(), 0);
  needed[root] = 1;
  int64_t count = 0;
  for (size_t o = graph.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph.operators[o];
    const bool used = std::any_of(op.outputs.begin(), op.outputs.end(),
                                  [&](TensorId id) { return id != sdfg::kNone && needed[id]; });
    if (!used) continue;
    ++count;
    for (TensorId id : op.inputs) needed[id] = 1;
  }
  return count;
}

class Search {
 public:
  Search(const lineage::Problem& problem, const WitnessOptions& options)
      : problem_(problem), options_(options), chooser_(problem, &programs_) {
    const auto budget = std::chrono::duration<double>(options.time_budget_s);
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget);
    for (const RequiredRelation& relation : problem.required) {
      logical_cone_.push_back(relation.lineage.logical);
      parallel_cone_.push_back(relation.parallel);
    }
  }

  Witness Run();
  Deviation Localise(const std::vector<lineage::Lineage>& lineage, uint64_t seed);
  bool OutOfTime() const { return Clock::now() > deadline_; }

 private:
  struct Candidate {
    int required;
    Difference difference;
    int64_t cone = 0;
  };
  enum class Attempt { kEqual, kCandidates, kSkipped, kTooFine, kFailed };

  template <typename D>
  Attempt EvaluateIn(uint64_t seed, std::vector<Candidate>* candidates, bool* undefined);
  Attempt Evaluate(uint64_t seed, std::vector<Candidate>* candidates);
  void DropNoise(uint64_t seed, std::vector<Candidate>* candidates);
  bool Confirm(uint64_t seed, std::vector<Candidate> candidates, Witness* witness);
  void Fill(const Candidate& candidate, uint64_t seed, Witness* witness);
  ReducedOptions EvaluationOptions(std::vector<TensorId> cone) const {
    ReducedOptions options;
    options.max_elements = options_.max_elements;
    options.cone_of = std::move(cone);
    options.free_intermediates = true;
    options.deadline = deadline_;
    return options;
  }

  const lineage::Problem& problem_;
  const WitnessOptions& options_;
  ProgramCache programs_;
  InputChooser chooser_;
  Clock::time_point deadline_;
  std::vector<TensorId> logical_cone_, parallel_cone_;
  std::string message_;
};

// The tensor in doubles.
template <typename V>
BlockTensorPtr<double> InDoubles(const BlockTensorPtr<V>& tensor) {
  if constexpr (std::is_same_v<V, double>) {
    return tensor;
  } else {
    auto result = std::make_shared<BlockTensor<double>>();
    result->dims = tensor->dims;
    result->int_valued = tensor->int_valued;
    result->ints = tensor->ints;
    for (const V& value : tensor->values) result->values.push_back(static_cast<double>(value));
    return result;
  }
}

// Values near a large literal leave the range of doubles under exp; more bits of exponent help.
Search::Attempt Search::Evaluate(uint64_t seed, std::vector<Candidate>* candidates) {
  bool undefined = false;
  const Attempt result = EvaluateIn<DoubleDomain>(seed, candidates, &undefined);
  if (!undefined || !OptionsOfSeed(seed).literals) return result;
  return EvaluateIn<LongDoubleDomain>(seed, candidates, &undefined);
}

template <typename D>
Search::Attempt Search::EvaluateIn(uint64_t seed, std::vector<Candidate>* candidates,
                                   bool* undefined_result) {
  const auto inputs = chooser_.Choose(seed, OptionsOfSeed(seed));
  ProblemEvaluation<D> evaluation(problem_, &programs_);
  bool undefined = false;
  ReducedOptions options = EvaluationOptions(logical_cone_);
  options.on_produced = [&](TensorId id) {
    const auto& values = evaluation.logical()[id]->values;
    undefined |= std::any_of(values.begin(), values.end(), [](auto x) { return std::isnan(x); });
    return !undefined;
  };
  absl::Status status = evaluation.EvaluateLogical(inputs, options);
  if (status.ok() && undefined) {
    *undefined_result = true;
    message_ = "the inputs tried violate a premise of the logical graph";
    return Attempt::kSkipped;
  }
  if (status.ok()) status = evaluation.EvaluateParallel(EvaluationOptions(parallel_cone_));
  for (size_t r = 0; status.ok() && r < problem_.required.size(); ++r) {
    const RequiredRelation& relation = problem_.required[r];
    BlockTensorPtr<typename D::Value> claimed;
    status =
        evaluation.Claimed(relation.parallel, relation.lineage, options_.max_elements, &claimed);
    const BlockTensorPtr<typename D::Value>& actual = evaluation.parallel()[relation.parallel];
    if (!status.ok()) break;
    if (actual == nullptr) {
      message_ = "no value for " + relation.what;
      return Attempt::kFailed;
    }
    Difference difference = CompareTensors(*InDoubles(claimed), *InDoubles(actual), kTolerance);
    if (difference.undefined) {
      message_ = relation.what + ": undefined on one side for the inputs tried";
    }
    if (difference.found) candidates->push_back({static_cast<int>(r), std::move(difference)});
  }
  if (!status.ok()) {
    message_ = std::string(status.message());
    return absl::IsResourceExhausted(status) ? Attempt::kTooFine : Attempt::kFailed;
  }
  if (!evaluation.open_premise().empty()) {
    message_ = "premise not met by the inputs tried: " + evaluation.open_premise();
    candidates->clear();
    return Attempt::kSkipped;
  }
  return candidates->empty() ? Attempt::kEqual : Attempt::kCandidates;
}

void Search::Fill(const Candidate& candidate, uint64_t seed, Witness* witness) {
  const RequiredRelation& relation = problem_.required[candidate.required];
  witness->required = candidate.required;
  witness->seed = seed;
  witness->parallel_index = candidate.difference.index;
  witness->logical_index.clear();
  for (const lineage::IndexMap& dim : relation.lineage.map) {
    int64_t index = dim.constant;
    for (const lineage::IndexTerm& term : dim.terms) {
      int64_t part = candidate.difference.index[term.dim] / term.div;
      if (term.mod > 0) part %= term.mod;
      index += term.scale * part;
    }
    witness->logical_index.push_back(index);
  }
  witness->inputs.clear();
  const auto inputs = chooser_.Choose(seed, OptionsOfSeed(seed));
  for (size_t id = 0; id < inputs.size(); ++id) {
    if (inputs[id] == nullptr) continue;
    witness->inputs.push_back(
        DescribeInput(problem_.logical.tensors[id].name, *inputs[id], options_.max_printed_values));
  }
}

// Evaluates the candidates in extended precision and drops those that shrink: rounding errors do.
void Search::DropNoise(uint64_t seed, std::vector<Candidate>* candidates) {
  ProblemEvaluation<LongDoubleDomain> evaluation(problem_, &programs_);
  std::vector<TensorId> logical, parallel;
  for (const Candidate& candidate : *candidates) {
    logical.push_back(problem_.required[candidate.required].lineage.logical);
    parallel.push_back(problem_.required[candidate.required].parallel);
  }
  const auto inputs = chooser_.Choose(seed, OptionsOfSeed(seed));
  if (!evaluation.EvaluateLogical(inputs, EvaluationOptions(logical)).ok()) return;
  if (!evaluation.EvaluateParallel(EvaluationOptions(parallel)).ok()) return;
  std::erase_if(*candidates, [&](const Candidate& candidate) {
    const RequiredRelation& relation = problem_.required[candidate.required];
    BlockTensorPtr<long double> claimed;
    const absl::Status status =
        evaluation.Claimed(relation.parallel, relation.lineage, options_.max_elements, &claimed);
    const auto& actual = evaluation.parallel()[relation.parallel];
    if (!status.ok() || actual == nullptr || claimed->int_valued) return false;
    const Difference& difference = candidate.difference;
    const long double extended = claimed->values[claimed->Offset(difference.index)] -
                                 actual->values[actual->Offset(difference.index)];
    return std::fabs(extended) < std::fabs(difference.left - difference.right) / 8;
  });
}

// Tries the candidates that depend on fewest operators first.
bool Search::Confirm(uint64_t seed, std::vector<Candidate> candidates, Witness* witness) {
  const auto inputs = chooser_.Choose(seed, OptionsOfSeed(seed));
  for (size_t k = 0; k < candidates.size(); ++k) {
    const RequiredRelation& relation = problem_.required[candidates[k].required];
    candidates[k].cone = k < kConesMeasured ? ConeSize(problem_.logical, relation.lineage.logical) +
                                                  ConeSize(problem_.parallel, relation.parallel)
                                            : INT64_MAX;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cone < b.cone; });
  if (candidates.size() > kCandidatesTried) candidates.resize(kCandidatesTried);
  for (const Candidate& candidate : candidates) {
    const Enclosures result = ConfirmDifference(
        problem_, problem_.required[candidate.required], inputs, candidate.difference.index,
        options_.max_precision, options_.max_elements, deadline_, &programs_);
    if (!result.disjoint) {
      message_ = result.message;
      if (witness->outcome == Witness::Outcome::kUnconfirmed) continue;
      Fill(candidate, seed, witness);
      witness->outcome = Witness::Outcome::kUnconfirmed;
      witness->logical_low = witness->logical_high = candidate.difference.left;
      witness->parallel_low = witness->parallel_high = candidate.difference.right;
      continue;
    }
    Fill(candidate, seed, witness);
    witness->outcome = Witness::Outcome::kConfirmed;
    witness->logical_low = result.logical_low;
    witness->logical_high = result.logical_high;
    witness->parallel_low = result.parallel_low;
    witness->parallel_high = result.parallel_high;
    witness->logical_value = result.logical_text;
    witness->parallel_value = result.parallel_text;
    witness->precision = result.precision;
    return true;
  }
  return false;
}

Witness Search::Run() {
  Witness witness;
  uint64_t coarse = 0;
  bool too_fine = false;
  const int tries = 2 * options_.attempts + 4;  // some inputs violate premises
  for (int k = 0; k < tries && witness.attempts < options_.attempts && !OutOfTime(); ++k) {
    const uint64_t seed = (coarse << kCoarseSeedShift) + (options_.seed + k) % (1u << 31);
    std::vector<Candidate> candidates;
    const Attempt result = Evaluate(seed, &candidates);
    if (result == Attempt::kFailed) break;
    if (result == Attempt::kTooFine) {
      too_fine = true;
      if (++coarse > 2) break;
      continue;
    }
    if (result == Attempt::kSkipped) continue;
    ++witness.attempts;
    if (result != Attempt::kCandidates) continue;
    // A difference this large is no rounding; extended precision is for the others.
    const auto clear = [](const Candidate& c) { return c.difference.size > kClearDifference; };
    if (std::any_of(candidates.begin(), candidates.end(), clear)) {
      std::erase_if(candidates, [&](const Candidate& c) { return !clear(c); });
    } else {
      DropNoise(seed, &candidates);
    }
    if (candidates.empty()) continue;
    if (!Confirm(seed, std::move(candidates), &witness)) continue;
    if (options_.localise) witness.first = Localise(problem_.lineage, seed);
    return witness;
  }
  if (witness.outcome != Witness::Outcome::kNone || witness.attempts == 0) {
    witness.message = message_;
  }
  if (witness.outcome == Witness::Outcome::kNone && witness.attempts == 0 && too_fine) {
    witness.outcome = Witness::Outcome::kExhausted;
  }
  return witness;
}

Deviation Search::Localise(const std::vector<lineage::Lineage>& lineage, uint64_t seed) {
  Deviation deviation;
  ProblemEvaluation<DoubleDomain> evaluation(problem_, &programs_);
  ReducedOptions options;
  options.max_elements = options_.max_elements;
  options.deadline = std::max(deadline_, Clock::now() + std::chrono::seconds(5));
  absl::Status status =
      evaluation.EvaluateLogical(chooser_.Choose(seed, OptionsOfSeed(seed)), options);
  if (!status.ok()) return deviation;
  options.cone_of = parallel_cone_;
  options.free_intermediates = true;
  options.on_produced = [&](TensorId id) {
    if (id >= static_cast<TensorId>(lineage.size()) || lineage[id].kind != LineageKind::kFull) {
      return true;
    }
    BlockTensorPtr<double> claimed;
    if (!evaluation.Claimed(id, lineage[id], options_.max_elements, &claimed).ok()) return true;
    const Difference difference =
        CompareTensors(*claimed, *evaluation.parallel()[id], 10 * kTolerance);
    if (!difference.found) return true;
    deviation.found = true;
    deviation.tensor = id;
    deviation.index = difference.index;
    deviation.logical_value = difference.left;
    deviation.parallel_value = difference.right;
    return false;
  };
  status = evaluation.EvaluateParallel(options);
  if (!deviation.found) return deviation;
  const sdfg::Graph& graph = problem_.parallel;
  const sdfg::Tensor& tensor = graph.tensors[deviation.tensor];
  deviation.op = tensor.producer;
  int64_t shift = 0;
  for (size_t k = 0; k < tensor.axes.size(); ++k) {
    const sdfg::AxisId axis = tensor.axes[k];
    deviation.coordinates +=
        (k == 0 ? "" : ", ") + graph.axes[axis].name + " " + std::to_string(deviation.index[k]);
    if (axis < static_cast<sdfg::AxisId>(graph.axis_device_stride.size())) {
      shift += graph.axis_device_stride[axis] * deviation.index[k];
    }
  }
  if (tensor.device >= 0) {
    deviation.devices.push_back(static_cast<sdfg::Device>(tensor.device + shift));
  } else if (deviation.op != sdfg::kNone) {
    for (sdfg::Device device : graph.operators[deviation.op].devices) {
      deviation.devices.push_back(static_cast<sdfg::Device>(device + shift));
    }
  }
  return deviation;
}

}  // namespace

Witness SearchWitness(const lineage::Problem& problem, const WitnessOptions& options) {
  return Search(problem, options).Run();
}

Deviation FindFirstDeviation(const lineage::Problem& problem,
                             const std::vector<lineage::Lineage>& lineage, uint64_t seed,
                             const WitnessOptions& options) {
  return Search(problem, options).Localise(lineage, seed);
}

NumericVerdict NumericEqual(const lineage::Problem& problem, int attempts, uint64_t seed) {
  WitnessOptions options;
  options.attempts = attempts;
  options.time_budget_s = 60;
  options.seed = seed;
  options.localise = false;
  const Witness witness = SearchWitness(problem, options);
  if (witness.outcome == Witness::Outcome::kConfirmed) return NumericVerdict::kDifferent;
  if (witness.outcome != Witness::Outcome::kNone) return NumericVerdict::kUnknown;
  return witness.attempts >= attempts ? NumericVerdict::kEqual : NumericVerdict::kUnknown;
}

}  // namespace planproof::shape_reduction
