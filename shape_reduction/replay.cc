#include "shape_reduction/replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "shape_reduction/domain_floating.h"
#include "shape_reduction/domain_interval.h"
#include "shape_reduction/domain_mpfi.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/input_premises.h"
#include "shape_reduction/problem_evaluation.h"

namespace planproof::shape_reduction {

using sdfg::TensorId;

namespace {

using Clock = WorkClock;
constexpr int kSamplePrecision = 256;
constexpr int kUniformAttempts = 2;
constexpr int64_t kMaxElements = int64_t{1} << 22;

Clock::time_point After(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

template <typename D>
bool AllFinite(const BlockTensorPtr<typename D::Value>& tensor) {
  if (tensor == nullptr) return false;
  for (const auto& x : tensor->values) {
    if (D::IsInvalid(x) || !std::isfinite(D::Lower(x)) || !std::isfinite(D::Upper(x))) return false;
  }
  return true;
}

// Evaluates both graphs' cones of the required outputs in one domain.
template <typename D>
absl::Status EvaluateRequired(const lineage::Problem& problem, ProgramCache* programs,
                              const std::vector<BlockTensorPtr<double>>& inputs,
                              Clock::time_point deadline, std::string* objection) {
  ProblemEvaluation<D> evaluation(problem, programs);
  ReducedOptions logical, parallel;
  for (ReducedOptions* options : {&logical, &parallel}) {
    options->max_elements = kMaxElements;
    options->free_intermediates = true;
    options->deadline = deadline;
  }
  for (const lineage::RequiredRelation& relation : problem.required) {
    logical.cone_of.push_back(relation.lineage.logical);
    parallel.cone_of.push_back(relation.parallel);
  }
  if (absl::Status s = evaluation.EvaluateLogical(inputs, logical); !s.ok()) return s;
  if (absl::Status s = evaluation.EvaluateParallel(parallel); !s.ok()) return s;
  *objection = evaluation.open_premise();
  for (const lineage::RequiredRelation& relation : problem.required) {
    if (!objection->empty()) break;
    const auto& l = evaluation.logical()[relation.lineage.logical];
    const auto& p = evaluation.parallel()[relation.parallel];
    if (!AllFinite<D>(l) || !AllFinite<D>(p)) *objection = relation.what + " is not finite";
  }
  return absl::OkStatus();
}

}  // namespace

struct Replay::State {
  explicit State(const lineage::Problem& p)
      : problem(p), chooser(p, &programs), evaluation(p, &programs), evaluator(&programs) {}
  const lineage::Problem& problem;
  ProgramCache programs;
  InputChooser chooser;
  ProblemEvaluation<DoubleDomain> evaluation;
  ReducedEvaluator<DoubleDomain> evaluator;
};

Replay::Replay(const lineage::Problem& problem) : state_(std::make_unique<State>(problem)) {}
Replay::~Replay() = default;

absl::Status Replay::Run(uint64_t seed, const std::vector<TensorId>& cone, double seconds) {
  ReducedOptions options;
  options.max_elements = kMaxElements;
  options.deadline = After(seconds);
  options.skip_too_fine = true;
  const auto inputs = state_->chooser.Choose(seed, OptionsOfSeed(seed));
  if (absl::Status s = state_->evaluation.EvaluateLogical(inputs, options); !s.ok()) return s;
  options.cone_of = cone;
  return state_->evaluation.EvaluateParallel(options);
}

const Replay::Ptr& Replay::Logical(TensorId id) const { return state_->evaluation.logical()[id]; }
const Replay::Ptr& Replay::Parallel(TensorId id) const { return state_->evaluation.parallel()[id]; }

Replay::Ptr Replay::Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage) {
  const Ptr& value = Logical(lineage.logical);
  const sdfg::Shape& logical = state_->problem.logical.tensors[lineage.logical].shape;
  Ptr result;
  if (value == nullptr || lineage.map.size() != logical.size()) return nullptr;
  const absl::Status status =
      state_->evaluator.Read(shape, logical, lineage.map, value, kMaxElements, &result);
  return status.ok() ? result : nullptr;
}

Replay::Ptr Replay::Apply(const sdfg::Operator& op, int output, const std::vector<Ptr>& inputs) {
  if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) return nullptr;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Ptr& usual = Parallel(op.inputs[k]);
    if (usual != nullptr && usual->int_valued != inputs[k]->int_valued) return nullptr;
  }
  const ScalarProgram& program = state_->programs.Get(state_->problem.parallel, op, output);
  PremiseCheck unused;
  Ptr result;
  const absl::Status status =
      state_->evaluator.Apply(program, inputs, kMaxElements, &result, &unused);
  return status.ok() ? result : nullptr;
}

Sample FindSample(const lineage::Problem& problem, int attempts, double seconds) {
  const Clock::time_point deadline = After(seconds);
  Sample sample;
  ProgramCache programs;
  const InputChooser chooser(problem, &programs);
  uint64_t coarse = 0;
  bool too_fine = false, meant = false;
  for (int k = 0; k < attempts && Clock::now() < deadline; ++k) {
    // Tensors of one value first, which is cheap; then tame values; coarser where the graphs are
    // too large.
    const uint64_t seed = (coarse << kCoarseSeedShift) + k;
    ChoiceOptions choice = OptionsOfSeed(seed);
    if (k < kUniformAttempts) choice = {.max_bounds = 0, .random_cuts = -1};
    const auto inputs = chooser.Choose(seed, choice);
    std::string objection = UnmetPremise(problem, inputs);
    if (!objection.empty()) {
      meant = true;
      sample.message = objection;
      continue;
    }
    absl::Status status =
        EvaluateRequired<IntervalDomain>(problem, &programs, inputs, deadline, &objection);
    if (status.ok() && objection.empty()) return {Sample::Outcome::kFound, ""};
    if (status.ok()) {
      // Wide intervals, or inputs outside the premises: doubles tell which is likely.
      std::string rough;
      status = EvaluateRequired<DoubleDomain>(problem, &programs, inputs, deadline, &rough);
      if (status.ok() && rough.empty()) {
        MpfiDomain::precision = kSamplePrecision;
        status = EvaluateRequired<MpfiDomain>(problem, &programs, inputs, deadline, &objection);
        if (status.ok() && objection.empty()) return {Sample::Outcome::kFound, ""};
      }
    }
    if (!status.ok()) {
      sample.message = std::string(status.message());
      too_fine = true;
      if (!absl::IsResourceExhausted(status) || ++coarse > 2) break;
      continue;
    }
    meant = true;
    sample.message = objection;
  }
  sample.outcome = too_fine && !meant ? Sample::Outcome::kExhausted : Sample::Outcome::kNone;
  return sample;
}

}  // namespace planproof::shape_reduction
