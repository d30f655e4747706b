#include "shape_reduction/replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/domain_interval.h"
#include "shape_reduction/domain_mpfi.h"
#include "shape_reduction/focused_evaluation.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/input_premises.h"
#include "shape_reduction/problem_evaluation.h"
#include "shape_reduction/recorded_values.h"

namespace planproof::shape_reduction {

using sdfg::TensorId;

namespace {

using Clock = WorkClock;
constexpr int kSamplePrecision = 256;
constexpr int kUniformAttempts = 2;
// Of parameters: a residual branch then adds next to nothing to what it is added to, however much a
// norm in it enlarges, so that enclosures are as narrow after many layers as after one.
constexpr double kFaintest = 0x1p-24;
constexpr double kShareOfRecorded = 0.5;  // of the time
constexpr int64_t kMaxReplayElements = int64_t{1} << 22;
constexpr double kNarrowEnclosure =
    1e-6;  // relative width of an enclosure that stands for one number

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
  return std::all_of(tensor->ints.begin(), tensor->ints.end(), IsKnownInt);
}

// Evaluates both graphs' cones of the required outputs in one domain.
template <typename D>
absl::Status EvaluateRequired(const lineage::Problem& problem, ProgramCache* programs,
                              const std::vector<BlockTensorPtr<double>>& inputs,
                              Clock::time_point deadline, std::string* objection) {
  ProblemEvaluation<D> evaluation(problem, programs);
  ReducedOptions logical, parallel;
  for (ReducedOptions* options : {&logical, &parallel}) {
    options->max_elements = kMaxReplayElements;
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

// Values in doubles.
struct Replay::State {
  explicit State(const lineage::Problem& p) : problem(p) {}
  virtual ~State() = default;
  virtual absl::Status Run(uint64_t seed, const std::vector<TensorId>& cone, double seconds) = 0;
  virtual Ptr Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage) = 0;
  virtual Ptr Apply(const sdfg::Operator& op, int output, const std::vector<Ptr>& inputs) = 0;
  virtual bool Holds(TensorId id, const lineage::Lineage& lineage,
                     const std::function<bool(const Ptr&, const Ptr&)>& agree) = 0;
  virtual bool Same(const Ptr& left, const Ptr& right,
                    const std::function<bool(const Ptr&, const Ptr&)>& agree) const = 0;
  // What is known of an element.
  virtual Interval At(const Ptr& tensor, const std::vector<int64_t>& index) const = 0;
  virtual const Ptr& Logical(TensorId id) const = 0;
  virtual const Ptr& Parallel(TensorId id) const = 0;
  const lineage::Problem& problem;
};

namespace {

class DoubleState : public Replay::State {
 public:
  using Ptr = Replay::Ptr;
  DoubleState(const lineage::Problem& p, std::vector<char> trusted)
      : State(p),
        trusted_(std::move(trusted)),
        chooser_(p, &programs_),
        evaluation_(p, &programs_),
        evaluator_(&programs_) {}

  absl::Status Run(uint64_t seed, const std::vector<TensorId>& cone, double seconds) override {
    ReducedOptions options;
    options.max_elements = kMaxReplayElements;
    options.deadline = After(seconds);
    options.skip_too_fine = true;
    const auto inputs = chooser_.Choose(seed, OptionsOfSeed(seed));
    if (absl::Status s = evaluation_.EvaluateLogical(inputs, options); !s.ok()) return s;
    options.cone_of = cone;
    return evaluation_.EvaluateParallel(options, trusted_.empty() ? nullptr : &trusted_);
  }
  const Ptr& Logical(TensorId id) const override { return evaluation_.logical()[id]; }
  const Ptr& Parallel(TensorId id) const override { return evaluation_.parallel()[id]; }
  Ptr Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage) override {
    const Ptr& value = Logical(lineage.logical);
    const sdfg::Shape& logical = problem.logical.tensors[lineage.logical].shape;
    Ptr result;
    if (value == nullptr || lineage.map.size() != logical.size()) return nullptr;
    const absl::Status status =
        evaluator_.Read(shape, logical, lineage.map, value, kMaxReplayElements, &result);
    return status.ok() ? result : nullptr;
  }
  Ptr Apply(const sdfg::Operator& op, int output, const std::vector<Ptr>& inputs) override {
    const ScalarProgram& program = programs_.Get(problem.parallel, op, output);
    PremiseCheck unused;
    Ptr result;
    const absl::Status status =
        evaluator_.Apply(program, inputs, kMaxReplayElements, &result, &unused);
    return status.ok() ? result : nullptr;
  }
  bool Holds(TensorId id, const lineage::Lineage& lineage,
             const std::function<bool(const Ptr&, const Ptr&)>& agree) override {
    const Ptr claimed = Claimed(problem.parallel.tensors[id].shape, lineage);
    return claimed == nullptr || agree(claimed, Parallel(id));
  }
  bool Same(const Ptr& left, const Ptr& right,
            const std::function<bool(const Ptr&, const Ptr&)>& agree) const override {
    return agree(left, right);
  }
  Interval At(const Ptr& tensor, const std::vector<int64_t>& index) const override {
    const int64_t offset = tensor->Offset(index);
    return tensor->int_valued ? IntervalDomain::FromInt(tensor->ints[offset])
                              : IntervalDomain::FromDouble(tensor->values[offset]);
  }

 private:
  const std::vector<char> trusted_;
  ProgramCache programs_;
  InputChooser chooser_;
  ProblemEvaluation<DoubleDomain> evaluation_;
  ReducedEvaluator<DoubleDomain> evaluator_;
};

class EnclosedState : public Replay::State {
 public:
  using Ptr = Replay::Ptr;
  using Enclosure = BlockTensorPtr<Interval>;
  EnclosedState(const lineage::Problem& p, std::shared_ptr<FocusedEvaluation> evaluation)
      : State(p), evaluation_(std::move(evaluation)) {}

  absl::Status Run(uint64_t, const std::vector<TensorId>&, double) override {
    return absl::OkStatus();
  }
  const Ptr& Logical(TensorId id) const override { return Middle(evaluation_->logical()[id]); }
  const Ptr& Parallel(TensorId id) const override { return Middle(evaluation_->parallel()[id]); }
  Ptr Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage) override {
    return Middle(evaluation_->Claimed(shape, lineage));
  }
  Ptr Apply(const sdfg::Operator& op, int output, const std::vector<Ptr>& inputs) override {
    std::vector<Enclosure> enclosures;
    for (const Ptr& input : inputs) enclosures.push_back(Around(input));
    return Middle(evaluation_->Apply(op, output, enclosures));
  }
  bool Holds(TensorId id, const lineage::Lineage& lineage,
             const std::function<bool(const Ptr&, const Ptr&)>&) override {
    const Enclosure claimed = evaluation_->Claimed(problem.parallel.tensors[id].shape, lineage);
    return claimed == nullptr || !Differ(*claimed, *evaluation_->parallel()[id]);
  }
  bool Same(const Ptr& left, const Ptr& right,
            const std::function<bool(const Ptr&, const Ptr&)>&) const override {
    return !Differ(*Around(left), *Around(right));
  }
  Interval At(const Ptr& tensor, const std::vector<int64_t>& index) const override {
    const Enclosure enclosure = Around(tensor);
    const int64_t offset = enclosure->Offset(index);
    return enclosure->int_valued ? IntervalDomain::FromInt(enclosure->ints[offset])
                                 : enclosure->values[offset];
  }

 private:
  const Ptr& Middle(const Enclosure& enclosure) const;
  Enclosure Around(const Ptr& values) const;

  std::shared_ptr<FocusedEvaluation> evaluation_;
  // Both ways, by address; what they point to is kept.
  mutable std::unordered_map<const void*, std::pair<Enclosure, Ptr>> middle_;
  mutable std::unordered_map<const void*, Enclosure> around_;
};

const Replay::Ptr& EnclosedState::Middle(const Enclosure& enclosure) const {
  auto& [kept, middle] = middle_[enclosure.get()];
  if (middle != nullptr || enclosure == nullptr) return middle;
  kept = enclosure;
  auto made = std::make_shared<BlockTensor<double>>();
  made->dims = enclosure->dims;
  made->int_valued = enclosure->int_valued;
  for (int64_t x : enclosure->ints) made->ints.push_back(IsKnownInt(x) ? x : kInvalidInt);
  double scale = 0;
  for (const Interval& x : enclosure->values) {
    const double least = std::fmin(std::fabs(x.lo), std::fabs(x.hi));
    if (std::isfinite(least) && (x.lo >= 0) == (x.hi >= 0)) scale = std::fmax(scale, least);
  }
  for (const Interval& x : enclosure->values) {
    const double width = x.hi - x.lo;
    const double size = std::fmax(std::fabs(x.lo), std::fabs(x.hi));
    const bool narrow = x.lo == x.hi || width <= kNarrowEnclosure * size ||
                        width <= kNarrowEnclosure * kNarrowEnclosure * scale;
    made->values.push_back(x.lo == x.hi ? x.lo
                           : narrow     ? x.lo + width / 2
                                        : std::numeric_limits<double>::quiet_NaN());
  }
  middle = made;
  around_[made.get()] = enclosure;
  return middle;
}

EnclosedState::Enclosure EnclosedState::Around(const Ptr& values) const {
  if (const auto at = around_.find(values.get()); at != around_.end()) return at->second;
  auto made = std::make_shared<BlockTensor<Interval>>();
  made->dims = values->dims;
  made->int_valued = values->int_valued;
  made->ints = values->ints;
  for (double x : values->values) made->values.push_back(IntervalDomain::FromDouble(x));
  return made;
}

}  // namespace

Replay::Replay(const lineage::Problem& problem, std::vector<char> trusted)
    : state_(std::make_unique<DoubleState>(problem, std::move(trusted))) {}
Replay::Replay(const lineage::Problem& problem, std::shared_ptr<FocusedEvaluation> evaluation)
    : state_(std::make_unique<EnclosedState>(problem, std::move(evaluation))), enclosed_(true) {}
Replay::~Replay() = default;

absl::Status Replay::Run(uint64_t seed, const std::vector<TensorId>& cone, double seconds) {
  return state_->Run(seed, cone, seconds);
}
const Replay::Ptr& Replay::Logical(TensorId id) const { return state_->Logical(id); }
const Replay::Ptr& Replay::Parallel(TensorId id) const { return state_->Parallel(id); }
Replay::Ptr Replay::Claimed(const sdfg::Shape& shape, const lineage::Lineage& lineage) {
  return state_->Claimed(shape, lineage);
}
bool Replay::Holds(TensorId id, const lineage::Lineage& lineage,
                   const std::function<bool(const Ptr&, const Ptr&)>& agree) {
  return state_->Holds(id, lineage, agree);
}
bool Replay::Same(const Ptr& left, const Ptr& right,
                  const std::function<bool(const Ptr&, const Ptr&)>& agree) const {
  return left != nullptr && right != nullptr && state_->Same(left, right, agree);
}
bool Replay::Apart(const Ptr& left, const Ptr& right, const std::vector<int64_t>& index) const {
  return IntervalDomain::Eq(state_->At(left, index), state_->At(right, index)) == Truth::kFalse;
}
std::string Replay::Text(const Ptr& tensor, const std::vector<int64_t>& index, int digits) const {
  const Interval x = state_->At(tensor, index);
  const std::string low = absl::StrFormat("%.*g", digits, x.lo);
  const std::string high = absl::StrFormat("%.*g", digits, x.hi);
  return low == high ? low : absl::StrCat("in [", low, ", ", high, "]");
}

namespace {

bool HasShape(const BlockTensor<double>& value, const sdfg::Shape& shape) {
  return value.dims.size() == shape.size() &&
         std::equal(
             shape.begin(), shape.end(), value.dims.begin(),
             [](int64_t extent, const PartitionPtr& dim) { return dim->extent() == extent; });
}

// Whether the operator reads its operands, and makes its result, as the tensors that they are:
// equal shapes may be coordinates and extents of one and extents alone of the other.
bool FitsTensors(const sdfg::Graph& graph, const sdfg::Operator& op, int output) {
  const sdfg::IndexFunction& function = *op.function;
  if (op.inputs.size() != function.inputs.size() ||
      static_cast<size_t>(output) >= function.outputs.size()) {
    return false;
  }
  const sdfg::Tensor& made = graph.tensors[op.outputs[output]];
  const std::vector<sdfg::AxisId>& axes = made.axes;
  sdfg::Shape result;
  if (op.lifted) {
    result.assign(made.shape.begin(), made.shape.begin() + static_cast<int64_t>(axes.size()));
  }
  const sdfg::Shape whole = function.outputs[output].shape(function.vars);
  result.insert(result.end(), whole.begin(), whole.end());
  if (made.shape != result) return false;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const sdfg::Tensor& input = graph.tensors[op.inputs[k]];
    sdfg::Shape expected;
    if (op.lifted) {
      if (!std::includes(axes.begin(), axes.end(), input.axes.begin(), input.axes.end())) {
        return false;
      }
      expected.assign(input.shape.begin(),
                      input.shape.begin() + static_cast<int64_t>(input.axes.size()));
    }
    const sdfg::Shape& local = function.inputs[k].shape;
    expected.insert(expected.end(), local.begin(), local.end());
    if (input.shape != expected) return false;
  }
  return true;
}

}  // namespace

Replay::Ptr Replay::Apply(const sdfg::Operator& op, int output, const std::vector<Ptr>& inputs) {
  if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) return nullptr;
  const sdfg::Graph& graph = state_->problem.parallel;
  if (inputs.size() != op.inputs.size() || !FitsTensors(graph, op, output)) return nullptr;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!HasShape(*inputs[k], graph.tensors[op.inputs[k]].shape)) return nullptr;
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Ptr& usual = Parallel(op.inputs[k]);
    if (usual != nullptr && usual->int_valued != inputs[k]->int_valued) return nullptr;
  }
  return state_->Apply(op, output, inputs);
}

namespace {

// Choices on which intervals of doubles mostly do, however deep the model is; they take a moment.
constexpr ChoiceOptions kNarrowChoices[] = {
    {.max_bounds = 0, .random_cuts = -1, .interior = true},
    {.max_bounds = 0, .random_cuts = -1, .faint = true, .faintness = kFaintest, .interior = true},
    {.max_bounds = 1, .random_cuts = 0, .faint = true, .faintness = kFaintest, .interior = true},
};

// Whether one of them is a sample.
bool HasNarrowSample(const lineage::Problem& problem, const InputChooser& chooser,
                     ProgramCache* programs, Clock::time_point deadline) {
  uint64_t seed = 0;
  return std::any_of(
      std::begin(kNarrowChoices), std::end(kNarrowChoices), [&](const ChoiceOptions& choice) {
        const auto inputs = chooser.Choose(seed++, choice);
        std::string objection = UnmetPremise(problem, inputs);
        return objection.empty() &&
               EvaluateRequired<IntervalDomain>(problem, programs, inputs, deadline, &objection)
                   .ok() &&
               objection.empty();
      });
}

// Why the premises are not known to hold at these inputs, or something is not known to be finite
// there; empty if they do and all is. Enclosures decide, narrow ones where wide ones do not.
// `rough`: doubles say first whether narrow ones are worth their time.
absl::Status TryInputs(const lineage::Problem& problem, ProgramCache* programs,
                       const std::vector<BlockTensorPtr<double>>& inputs, bool rough,
                       Clock::time_point deadline, std::string* objection) {
  *objection = UnmetPremise(problem, inputs);
  if (!objection->empty()) return absl::OkStatus();
  absl::Status status =
      EvaluateRequired<IntervalDomain>(problem, programs, inputs, deadline, objection);
  if (!status.ok() || objection->empty()) return status;
  // Wide intervals, or inputs outside the premises: doubles tell which is likely. They do not where
  // exp of a mask is 0 in them; one value per tensor is cheap in any domain.
  std::string in_doubles;
  status = EvaluateRequired<DoubleDomain>(problem, programs, inputs, deadline, &in_doubles);
  if (!status.ok() || (rough && !in_doubles.empty())) return status;
  MpfiDomain::precision = kSamplePrecision;
  return EvaluateRequired<MpfiDomain>(problem, programs, inputs, deadline, objection);
}

}  // namespace

Sample FindSample(const lineage::Problem& problem, int attempts, double seconds) {
  const Clock::time_point deadline = After(seconds);
  Sample sample;
  ProgramCache programs;
  const InputChooser chooser(problem, &programs);
  if (attempts > 0 && HasNarrowSample(problem, chooser, &programs, deadline))
    return {Sample::Outcome::kFound, ""};
  uint64_t coarse = 0;
  bool too_fine = false, meant = false;
  for (int k = 0; k < attempts && Clock::now() < deadline; ++k) {
    if (k == kUniformAttempts) {
      // Everything had a value there when it was recorded.
      const auto inputs = SampledInputsOf(problem);
      std::string objection;
      if (inputs &&
          TryInputs(problem, &programs, *inputs, false, After(kShareOfRecorded * seconds),
                    &objection)
              .ok() &&
          objection.empty()) {
        return {Sample::Outcome::kFound, ""};
      }
    }
    // Tensors of one value first, which is cheap; then tame values; coarser where the graphs are
    // too large.
    const uint64_t seed = (coarse << kCoarseSeedShift) + k;
    ChoiceOptions choice = OptionsOfSeed(seed);
    if (k < kUniformAttempts) choice = {.max_bounds = 0, .random_cuts = -1};
    // The enclosure of zero plus a small square has negative numbers, which have no root.
    choice.interior = true;
    std::string objection;
    const absl::Status status = TryInputs(problem, &programs, chooser.Choose(seed, choice),
                                          k >= kUniformAttempts, deadline, &objection);
    if (!status.ok()) {
      sample.message = std::string(status.message());
      too_fine = true;
      if (!absl::IsResourceExhausted(status) || ++coarse > 2) break;
      continue;
    }
    if (objection.empty()) return {Sample::Outcome::kFound, ""};
    meant = true;
    sample.message = objection;
  }
  sample.outcome = too_fine && !meant ? Sample::Outcome::kExhausted : Sample::Outcome::kNone;
  return sample;
}

}  // namespace planproof::shape_reduction
