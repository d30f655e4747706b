#include "shape_reduction/witness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>

#include "shape_reduction/comparison.h"
#include "shape_reduction/confirmation.h"
#include "shape_reduction/defined_inputs.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/first_deviation.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/input_premises.h"
#include "shape_reduction/input_text.h"
#include "shape_reduction/problem_evaluation.h"
#include "shape_reduction/search_scope.h"

namespace planproof::shape_reduction {

using lineage::RequiredRelation;
using sdfg::TensorId;

namespace {

using Clock = WorkClock;

constexpr double kTolerance = 1e-9;
constexpr size_t kSpotsTried = 12;  // elements compared in one evaluation of intervals
constexpr size_t kPatience = 6;     // inputs that doubles tell apart, before more bits are tried
constexpr size_t kUndefinedTried = 6;
constexpr int kEnoughUndefined = 12;  // inputs for which the plan has no value
// Inputs and intermediate values are about 1 in size; what differs by less is most likely rounding
// of something that cancels, and waits for more bits.
constexpr double kLikelyRounding = 1e-7;
constexpr int kPreferMs = 150;
constexpr uint64_t kPreferAttempts = 6;
constexpr double kQuickAttempt = 0.2;  // seconds; finer choices cost a multiple
constexpr int64_t kAlwaysFine = 8;
// Of the inputs on which the model was run: after some that are easier to read, and among the four
// that a quick search makes of a model with long rows (strategy/counterexample_search.cc).
constexpr int kRecordedAttempt = 3;
constexpr int kFirstPrecision = 128;  // bits
constexpr uint64_t kNumberAttempts = 4;
constexpr int kNumberPrecision = 256;  // bits
constexpr char kOutside[] = "the inputs tried violate a premise of the logical graph";

// The number of operators that the tensor depends on.
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
      : problem_(problem),
        options_(options),
        scope_(ScopeOfSuspects(problem, options.suspects)),
        chooser_(problem, &programs_),
        defined_(problem, &programs_) {
    const auto budget = std::chrono::duration<double>(options.time_budget_s);
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget);
  }

  Witness Run();
  Deviation Localise(const std::vector<lineage::Lineage>& lineage, uint64_t seed);
  bool OutOfTime() const { return Clock::now() > deadline_; }

 private:
  struct Candidate {
    int required;
    Difference difference;
    bool undefined = false;  // of the plan
    int64_t cone = 0;        // operators that it depends on
    std::pair<int64_t, int> Place() const { return {cone, required}; }
  };
  // Inputs on which doubles differ, not confirmed yet.
  struct Pending {
    uint64_t seed;
    std::vector<Candidate> candidates;
  };
  enum class Attempt { kEqual, kCandidates, kSkipped, kTooFine, kFailed };

  template <typename D>
  Attempt EvaluateIn(uint64_t seed, std::vector<Candidate>* candidates, bool* undefined);
  Attempt Evaluate(uint64_t seed, std::vector<Candidate>* candidates);
  void DropNoise(uint64_t seed, std::vector<Candidate>* candidates);
  std::vector<Candidate> Choose(std::vector<Candidate> candidates) const;
  bool ConfirmAt(const Pending& pending, int bits, Witness* witness);
  bool ConfirmUndefined(const std::vector<Pending>& pending, Witness* witness);
  bool ConfirmWithMoreBits(std::vector<Pending>* pending, Witness* witness);
  bool ConfirmNumbers(Witness* witness);
  void PreferSmallerCone(Witness* witness);
  // What reproduces the inputs, and tells people what they are.
  void Describe(uint64_t seed, const std::vector<BlockTensorPtr<double>>& inputs,
                Witness* witness) const;
  ReducedOptions EvaluationOptions(std::vector<TensorId> cone) const {
    ReducedOptions options;
    options.max_elements = options_.max_elements;
    options.cone_of = std::move(cone);
    options.free_intermediates = true;
    options.skip_too_fine = true;
    options.deadline = deadline_;
    return options;
  }

  const lineage::Problem& problem_;
  const WitnessOptions& options_;
  const SearchScope scope_;
  ProgramCache programs_;
  InputChooser chooser_;
  DefinedInputs defined_;
  Clock::time_point deadline_;
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
  if (const std::string unmet = UnmetPremise(problem_, inputs); !unmet.empty()) {
    message_ = unmet;
    return Attempt::kSkipped;
  }
  ProblemEvaluation<D> evaluation(problem_, &programs_);
  bool undefined = false;
  ReducedOptions options = EvaluationOptions(scope_.logical_cone);
  options.on_produced = [&](TensorId id) {
    const auto& values = evaluation.logical()[id]->values;
    undefined |= std::any_of(values.begin(), values.end(), [](auto x) { return std::isnan(x); });
    return !undefined;
  };
  absl::Status status = evaluation.EvaluateLogical(inputs, options);
  if (status.ok() && undefined) {
    *undefined_result = true;
    message_ = kOutside;
    return Attempt::kSkipped;
  }
  if (status.ok()) {
    status = evaluation.EvaluateParallel(EvaluationOptions(scope_.parallel_cone), &scope_.trusted);
  }
  size_t compared = 0;
  for (size_t k = 0; status.ok() && k < scope_.required.size(); ++k) {
    const int r = scope_.required[k];
    const RequiredRelation& relation = problem_.required[r];
    if (evaluation.logical()[relation.lineage.logical] == nullptr ||
        evaluation.parallel()[relation.parallel] == nullptr) {
      continue;  // too many blocks
    }
    ++compared;
    BlockTensorPtr<typename D::Value> claimed;
    status =
        evaluation.Claimed(relation.parallel, relation.lineage, options_.max_elements, &claimed);
    const BlockTensorPtr<typename D::Value>& actual = evaluation.parallel()[relation.parallel];
    if (absl::IsResourceExhausted(status)) {
      status = absl::OkStatus();
      --compared;
      continue;
    }
    if (!status.ok()) break;
    Difference difference = CompareTensors(*InDoubles(claimed), *InDoubles(actual), kTolerance);
    if (difference.undefined) {
      message_ = relation.what + ": undefined on one side for the inputs tried";
    }
    if (!difference.undefined_right.empty()) {
      Difference nothing;
      nothing.index = difference.undefined_right;
      candidates->push_back({r, std::move(nothing), /*undefined=*/true});
    }
    if (difference.found) candidates->push_back({r, std::move(difference)});
  }
  if (!status.ok()) {
    message_ = std::string(status.message());
    return absl::IsResourceExhausted(status) ? Attempt::kTooFine : Attempt::kFailed;
  }
  if (compared == 0) {
    message_ = "every required output is cut into too many blocks on the inputs tried";
    return Attempt::kTooFine;
  }
  if (!evaluation.open_premise().empty()) {
    message_ = "premise not met by the inputs tried: " + evaluation.open_premise();
    candidates->clear();
    return Attempt::kSkipped;
  }
  if (candidates->empty()) return Attempt::kEqual;
  if (!defined_.Contain(inputs, options_.max_elements, deadline_)) {
    message_ = kOutside;
    candidates->clear();
    return Attempt::kSkipped;
  }
  return Attempt::kCandidates;
}

void Search::Describe(uint64_t seed, const std::vector<BlockTensorPtr<double>>& inputs,
                      Witness* witness) const {
  witness->seed = seed;
  witness->example.clear();
  for (size_t id = 0; id < inputs.size(); ++id) {
    if (inputs[id] == nullptr) continue;
    witness->example.push_back(WriteOut(problem_.logical.tensors[id].name, *inputs[id]));
  }
}

// Evaluates the candidates in extended precision and drops those that shrink: rounding errors do.
void Search::DropNoise(uint64_t seed, std::vector<Candidate>* candidates) {
  ProblemEvaluation<LongDoubleDomain> evaluation(problem_, &programs_);
  const auto inputs = chooser_.Choose(seed, OptionsOfSeed(seed));
  if (!evaluation.EvaluateLogical(inputs, EvaluationOptions(scope_.logical_cone)).ok()) return;
  const ReducedOptions options = EvaluationOptions(scope_.parallel_cone);
  if (!evaluation.EvaluateParallel(options, &scope_.trusted).ok()) return;
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

// The largest difference of each logical tensor; few of them, those that depend on least first.
std::vector<Search::Candidate> Search::Choose(std::vector<Candidate> candidates) const {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::fabs(a.difference.left - a.difference.right) >
                            std::fabs(b.difference.left - b.difference.right);
                   });
  std::vector<Candidate> chosen;
  std::set<TensorId> seen;
  for (Candidate& candidate : candidates) {
    if (chosen.size() == kSpotsTried) break;
    const RequiredRelation& relation = problem_.required[candidate.required];
    if (!seen.insert(relation.lineage.logical).second) continue;
    candidate.cone = ConeSize(problem_.parallel, relation.parallel);
    chosen.push_back(std::move(candidate));
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Candidate& a, const Candidate& b) { return a.Place() < b.Place(); });
  return chosen;
}

bool Search::ConfirmAt(const Pending& pending, int bits, Witness* witness) {
  const auto inputs = chooser_.Choose(pending.seed, OptionsOfSeed(pending.seed));
  std::vector<Spot> spots;
  for (const Candidate& candidate : pending.candidates) {
    spots.push_back({&problem_.required[candidate.required], candidate.difference.index});
  }
  size_t which = 0;
  Enclosures result = ConfirmDifference(problem_, spots, inputs, bits, options_.proved,
                                        options_.max_elements, deadline_, &programs_, &which);
  const Candidate& candidate = pending.candidates[which];
  result.undefined = result.undefined && candidate.undefined;  // else values were asked for
  if (Confirm(problem_, candidate.required, candidate.difference.index, result, inputs, options_,
              witness)) {
    Describe(pending.seed, inputs, witness);
    return true;
  }
  if (candidate.undefined) return false;
  message_ = result.message;
  if (witness->outcome == Witness::Outcome::kUnconfirmed) return false;
  witness->outcome = Witness::Outcome::kUnconfirmed;
  witness->required = candidate.required;
  witness->parallel_index = candidate.difference.index;
  witness->logical_index =
      problem_.required[candidate.required].lineage.LogicalIndex(candidate.difference.index);
  witness->logical_low = witness->logical_high = candidate.difference.left;
  witness->parallel_low = witness->parallel_high = candidate.difference.right;
  witness->inputs = DescribeInputs(problem_, inputs, options_.max_printed_values);
  Describe(pending.seed, inputs, witness);
  return false;
}

// Doubles told these inputs apart, intervals of doubles did not: most are rounding, which extended
// precision shows; the others are tried with more and more bits.
bool Search::ConfirmWithMoreBits(std::vector<Pending>* pending, Witness* witness) {
  for (Pending& p : *pending) {
    if (!OutOfTime()) DropNoise(p.seed, &p.candidates);
  }
  std::erase_if(*pending, [](const Pending& p) { return p.candidates.empty(); });
  for (int bits = kFirstPrecision; bits <= options_.max_precision; bits *= 2) {
    for (const Pending& p : *pending) {
      if (OutOfTime()) return false;
      if (ConfirmAt(p, bits, witness)) return true;
    }
  }
  return false;
}

// Inputs on which the plan has no value, a few of them.
bool Search::ConfirmUndefined(const std::vector<Pending>& pending, Witness* witness) {
  if (!options_.undefined_counts) return false;
  const auto end =
      pending.begin() + static_cast<int64_t>(std::min(pending.size(), kUndefinedTried));
  return std::any_of(pending.begin(), end, [&](const Pending& p) {
    return !OutOfTime() && ConfirmAt(p, kDoubleBits, witness);
  });
}

// A term of a number (a loss, a norm) can be less than doubles tell beside the others.
bool Search::ConfirmNumbers(Witness* witness) {
  Pending numbers{options_.seed, {}};
  for (const int r : scope_.required) {
    const sdfg::Shape& shape = problem_.parallel.tensors[problem_.required[r].parallel].shape;
    if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; })) {
      continue;
    }
    Difference difference;
    difference.index.assign(shape.size(), 0);
    numbers.candidates.push_back({r, std::move(difference)});
  }
  if (numbers.candidates.empty()) return false;
  for (uint64_t k = 0; k < kNumberAttempts && !OutOfTime(); ++k) {
    Witness confirmed = *witness;
    numbers.seed = options_.seed + k;
    const auto inputs = chooser_.Choose(numbers.seed, OptionsOfSeed(numbers.seed));
    if (!defined_.Contain(inputs, options_.max_elements, deadline_)) continue;
    if (!ConfirmAt(numbers, kNumberPrecision, &confirmed)) continue;
    *witness = std::move(confirmed);
    return true;
  }
  return false;
}

// An output that depends on less, or comes first, says more about the cause. A few other inputs may
// tell the two graphs apart there; tried only while that is quick.
void Search::PreferSmallerCone(Witness* witness) {
  const auto until = std::min(deadline_, Clock::now() + std::chrono::milliseconds(kPreferMs));
  Candidate best{witness->required, {}, false};
  best.cone = ConeSize(problem_.parallel, problem_.required[best.required].parallel);
  for (uint64_t k = 1; k <= kPreferAttempts && Clock::now() < until; ++k) {
    Pending other{witness->seed + k, {}};
    if (Evaluate(other.seed, &other.candidates) != Attempt::kCandidates) continue;
    std::erase_if(other.candidates, [](const Candidate& c) { return c.undefined; });
    other.candidates = Choose(std::move(other.candidates));
    std::erase_if(other.candidates, [&](const Candidate& c) { return c.Place() >= best.Place(); });
    Witness better = *witness;
    if (other.candidates.empty() || !ConfirmAt(other, kDoubleBits, &better)) continue;
    *witness = std::move(better);
    best.required = witness->required;
    best.cone = ConeSize(problem_.parallel, problem_.required[best.required].parallel);
  }
}

Witness Search::Run() {
  Witness witness;
  uint64_t coarse = 0;
  bool too_fine = false, confirmed = false;
  int without = 0;
  std::vector<Pending> pending, undefined;
  const Clock::time_point begin = Clock::now();
  const int tries = 2 * options_.attempts + 4;  // some inputs violate premises
  for (int k = 0; k < tries && witness.attempts < options_.attempts && !OutOfTime(); ++k) {
    // Labels that count, a batch that is not all padding: a program's own numbers meet premises
    // that chosen ones hardly do.
    const bool recorded = k == kRecordedAttempt && problem_.sample != nullptr;
    const uint64_t seed =
        recorded ? kRecordedSeed : (coarse << kCoarseSeedShift) + (options_.seed + k) % (1u << 31);
    const bool fine = recorded || OptionsOfSeed(seed).fine > 0;
    const std::chrono::duration<double> spent = Clock::now() - begin;
    if (OptionsOfSeed(seed).fine > kAlwaysFine && spent.count() > (k + 1) * kQuickAttempt) continue;
    std::vector<Candidate> candidates;
    const Attempt result = Evaluate(seed, &candidates);
    if (result == Attempt::kFailed) break;
    if (result == Attempt::kTooFine) {
      if (fine) continue;  // too fine only for this one
      too_fine = true;
      if (++coarse > 2) break;
      continue;
    }
    if (result == Attempt::kSkipped) continue;
    ++witness.attempts;
    if (result != Attempt::kCandidates) continue;
    Pending without_value{seed, {}};
    const auto defined = std::stable_partition(candidates.begin(), candidates.end(),
                                               [](const Candidate& c) { return c.undefined; });
    without_value.candidates.assign(candidates.begin(), defined);
    candidates.erase(candidates.begin(), defined);
    if (!without_value.candidates.empty() && undefined.size() < kPatience) {
      without_value.candidates = Choose(std::move(without_value.candidates));
      undefined.push_back(std::move(without_value));
      witness.undefined_seen = true;
      if (undefined.size() == kPatience && ConfirmUndefined(undefined, &witness)) return witness;
    }
    // Where the plan hardly ever has a value, there are no values that differ.
    if (candidates.empty() && pending.empty() && ++without == kEnoughUndefined) break;
    if (candidates.empty()) continue;
    const bool large = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) {
      return !(std::fabs(c.difference.left - c.difference.right) < kLikelyRounding);
    });
    pending.push_back({seed, Choose(std::move(candidates))});
    confirmed = large && ConfirmAt(pending.back(), kDoubleBits, &witness);
    if (confirmed) break;
    if (pending.size() < kPatience) continue;
    confirmed = ConfirmWithMoreBits(&pending, &witness);
    if (confirmed) break;
    pending.clear();
  }
  if (confirmed || ConfirmWithMoreBits(&pending, &witness)) {
    PreferSmallerCone(&witness);
    if (options_.localise) witness.first = Localise(problem_.lineage, witness.seed);
    return witness;
  }
  if (undefined.size() < kPatience && !OutOfTime() && ConfirmUndefined(undefined, &witness))
    return witness;
  if (pending.empty() && witness.attempts > 0 && ConfirmNumbers(&witness)) {
    if (options_.localise) witness.first = Localise(problem_.lineage, witness.seed);
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
  ReducedOptions limits;
  limits.max_elements = options_.max_elements;
  limits.deadline = std::max(deadline_, Clock::now() + std::chrono::seconds(5));
  limits.cone_of = scope_.parallel_cone;
  return FirstDeviation(problem_, lineage, chooser_.Choose(seed, OptionsOfSeed(seed)),
                        std::move(limits), 10 * kTolerance, &programs_);
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
