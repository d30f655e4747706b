#include "runtime_check/single_replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime_check/cancellation.h"
#include "runtime_check/comparison.h"
#include "runtime_check/merged_tensor.h"
#include "runtime_check/parallel_for.h"
#include "runtime_check/positions.h"
#include "runtime_check/rounding.h"

namespace planproof::runtime_check {
namespace {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;
using sdfg::TensorId;
using Clock = std::chrono::steady_clock;

constexpr int64_t kMostWaiting = int64_t{1} << 23;  // elements that wait to be compared

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t SeedOf(int sample, TensorId id) {
  return (static_cast<uint64_t>(sample) << 32 | static_cast<uint32_t>(id)) * 0x9e3779b97f4a7c15u;
}

// A relation of a parallel tensor to compare it by.
struct Related {
  const Lineage* lineage = nullptr;
  const std::string* required = nullptr;
};

class Replaying {
 public:
  Replaying(const lineage::Problem& problem, const Inputs& inputs, const ReplayOptions& options,
            Programs* programs, ExactModel* exact, double bound_factor)
      : problem_(problem),
        inputs_(inputs),
        options_(options),
        programs_(programs),
        exact_(*exact),
        bound_factor_(bound_factor) {}

  absl::StatusOr<ReplayReport> Run() {
    FindRelations();
    Clock::time_point start = Clock::now();
    logical_ = inputs_;
    absl::Status status =
        RunGraph(problem_.logical, {.arithmetic = options_.arithmetic, .backend = options_.backend},
                 programs_, &logical_);
    if (!status.ok()) return status;
    if (options_.arithmetic == sdfg::DType::kFloat64) {
      absl::StatusOr<Cancellations> found =
          CancellationsOf(problem_.logical, logical_, programs_, options_.backend);
      if (!found.ok()) return found.status();
      exact_.cancellations = *std::move(found);
    }
    report_.time_s.model = SecondsSince(start);
    start = Clock::now();
    if (status = RunPerturbed(); !status.ok()) return status;
    if (options_.arithmetic != sdfg::DType::kFloat64 && !options_.by_stage) ExpectModelErrors();
    report_.time_s.perturbed = SecondsSince(start);
    start = Clock::now();
    FindMagnitudes();
    if (status = RunPlan(); !status.ok()) return status;
    FindOmissions();
    report_.time_s.plan = SecondsSince(start);
    if (options_.arithmetic == sdfg::DType::kFloat64) KeepModel();
    for (TensorReport& tensor : report_.tensors)
      tensor.alarms_in_type = tensor.finding != Finding::kNone;
    return std::move(report_);
  }

 private:
  void FindRelations() {
    related_.resize(problem_.parallel.tensors.size());
    target_.assign(problem_.logical.tensors.size(), false);
    const auto add = [&](TensorId id, const Lineage& lineage, const std::string* required) {
      if (lineage.kind != LineageKind::kFull) return;
      related_[id].push_back({&lineage, required});
      target_[lineage.logical] = true;
    };
    for (size_t t = 0; t < related_.size(); ++t)
      add(static_cast<TensorId>(t), problem_.lineage[t], nullptr);
    for (const lineage::RequiredRelation& required : problem_.required) {
      // What the plan says of a required output is what is required, if it is right.
      std::erase_if(related_[required.parallel], [&](const Related& related) {
        return related.lineage->logical == required.lineage.logical &&
               related.lineage->map == required.lineage.map;
      });
      add(required.parallel, required.lineage, &required.what);
    }
  }

  absl::Status RunPerturbed() {
    const sdfg::Graph& graph = problem_.logical;
    changes_.resize(graph.tensors.size());
    for (size_t t = 0; t < changes_.size(); ++t) {
      if (target_[t]) changes_[t].assign(logical_[t].size(), 0);
    }
    const std::vector<bool> keep(graph.tensors.size(), false);
    std::vector<bool> watched = target_;
    for (size_t t = 0; t < watched.size(); ++t)
      watched[t] = watched[t] || !SpreadOf(static_cast<TensorId>(t)).empty();
    for (int sample = 0; sample < options_.samples; ++sample) {
      std::vector<Values> tensors = Perturbed(inputs_, problem_, options_.arithmetic,
                                              options_.perturbation, static_cast<uint64_t>(sample));
      RunOptions run{.arithmetic = options_.arithmetic, .keep = &keep, .watched = &watched};
      run.backend = options_.backend;
      run.rewrites = options_.by_stage || !exact_.cancellations.spreads.empty();
      run.produced = [&](TensorId id) {
        Scatter(id, SeedOf(~sample, id), &tensors[id]);
        if (!target_[id]) return absl::OkStatus();
        AddChanges(logical_[id], tensors[id], options_.samples, &changes_[id]);
        if (options_.by_stage) {
          tensors[id] = PerturbedTensor(logical_[id], graph.tensors[id].dtype, options_.arithmetic,
                                        options_.perturbation, SeedOf(sample, id));
        }
        return absl::OkStatus();
      };
      if (absl::Status status = RunGraph(graph, run, programs_, &tensors); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  // In whole replays; by stage operands are changed, and with them what cancels.
  std::span<const float> SpreadOf(TensorId id) const {
    if (options_.by_stage || exact_.cancellations.spreads.empty()) return {};
    return exact_.cancellations.spreads[id];
  }

  // Changes elements in which much cancels by one epsilon of what does.
  void Scatter(TensorId id, uint64_t seed, Values* values) const {
    const std::span<const float> spread = SpreadOf(id);
    if (spread.empty()) return;
    std::mt19937_64 random(seed);
    const double epsilon = EpsilonOf(options_.arithmetic);
    for (int64_t i = 0; i < values->size(); ++i) {
      const double change = epsilon * static_cast<double>(spread[i]);
      values->Set(i, values->At(i) + (random() % 2 == 0 ? change : -change));
    }
  }

  void KeepModel() {
    exact_.values.resize(logical_.size());
    for (size_t t = 0; t < logical_.size(); ++t) {
      if (target_[t]) exact_.values[t] = std::move(logical_[t]);
    }
  }

  // What the type makes of the model is no less than what it may make of a plan: where the model
  // itself is lost (what it divides by is rounded to 0), small changes of inputs need not show it.
  void ExpectModelErrors() {
    for (size_t t = 0; t < exact_.values.size(); ++t) {
      if (exact_.values[t].storage != Values::Storage::kDouble) continue;
      std::vector<double> errors(changes_[t].size(), 0);
      AddChanges(exact_.values[t], logical_[t], 1, &errors);
      if (std::accumulate(errors.begin(), errors.end(), 0.0) >
          std::accumulate(changes_[t].begin(), changes_[t].end(), 0.0)) {
        changes_[t] = std::move(errors);
      }
    }
  }

  // What devices hold of inputs is what the specification says.
  void ReadInput(TensorId id, Values* values) const {
    const sdfg::Tensor& tensor = problem_.parallel.tensors[id];
    const Lineage& lineage = problem_.lineage[id];
    if (lineage.kind != LineageKind::kFull) return;
    *values = Values::Zeros(tensor.shape, tensor.dtype, options_.arithmetic);
    CopyFromModel(lineage, values);
  }

  // The elements that the lineage says are the model's.
  void CopyFromModel(const Lineage& lineage, Values* values) const {
    const Values& model = logical_[lineage.logical];
    ForEachPosition(lineage.map, model.shape, values->shape, [&](int64_t i, int64_t at) {
      if (at >= 0) values->Copy(i, model, at);
    });
  }

  absl::Status RunPlan() {
    const sdfg::Graph& graph = problem_.parallel;
    std::vector<Values> tensors(graph.tensors.size());
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (graph.tensors[t].producer != kNone) continue;
      ReadInput(static_cast<TensorId>(t), &tensors[t]);
      if (tensors[t].storage == Values::Storage::kNone) continue;
      if (absl::Status status = Check(static_cast<TensorId>(t), tensors[t]); !status.ok())
        return status;
    }
    const std::vector<bool> keep(graph.tensors.size(), false);
    std::vector<bool> watched;
    for (const std::vector<Related>& related : related_) watched.push_back(!related.empty());
    RunOptions run{.arithmetic = options_.arithmetic, .keep = &keep, .watched = &watched};
    run.backend = options_.backend;
    run.rewrites = options_.by_stage;
    run.produced = [&](TensorId id) {
      absl::Status status = Check(id, tensors[id]);
      if (!status.ok() || !options_.by_stage) return status;
      for (const Related& related : related_[id]) CopyFromModel(*related.lineage, &tensors[id]);
      return status;
    };
    const absl::Status status = RunGraph(graph, run, programs_, &tensors);
    return status.ok() ? CheckWaiting() : status;
  }

  // The largest magnitude among what a tensor is computed from; 0 for an input.
  double OperandMagnitude(TensorId logical) const {
    const sdfg::OperatorId producer = problem_.logical.tensors[logical].producer;
    double largest = 0;
    if (producer == kNone) return 0;
    for (const TensorId input : problem_.logical.operators[producer].inputs) {
      for (int64_t i = 0; i < logical_[input].size(); ++i) {
        const double magnitude = std::fabs(logical_[input].At(i));
        if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
      }
    }
    return largest;
  }

  void FindMagnitudes() {
    magnitudes_.assign(logical_.size(), 0);
    ParallelFor(logical_.size(), [this](size_t t) {
      if (target_[t]) magnitudes_[t] = OperandMagnitude(static_cast<TensorId>(t));
    });
  }

  // A tensor of the plan that is to be compared by one of its relations.
  struct Pending {
    TensorId id = kNone;
    const Values* values = nullptr;
    const Related* related = nullptr;
  };

  // What that says.
  struct Comparison {
    TensorReport report;
    std::vector<TensorReport> disagreements;
    std::optional<MergedTensor> merged;  // of a required one
  };

  // Remembers a tensor that is to be compared; those that are remembered are compared together.
  absl::Status Check(TensorId id, const Values& values) {
    waiting_.emplace_back(id, values);
    waiting_elements_ += values.size();
    return options_.by_stage || waiting_elements_ > kMostWaiting ? CheckWaiting()
                                                                 : absl::OkStatus();
  }

  absl::Status CheckWaiting() {
    std::vector<Pending> pending;
    for (const auto& [id, values] : waiting_) {
      for (const Related& related : related_[id]) {
        // An input is what the specification says by construction.
        if (problem_.parallel.tensors[id].producer == kNone && related.required == nullptr)
          continue;
        pending.push_back({id, &values, &related});
      }
    }
    std::vector<Comparison> comparisons(pending.size());
    ParallelFor(pending.size(), [&](size_t p) { CompareOne(pending[p], &comparisons[p]); });
    for (const Comparison& comparison : comparisons) {
      if (absl::Status status = Record(comparison); !status.ok()) return status;
    }
    waiting_.clear();
    waiting_elements_ = 0;
    return absl::OkStatus();
  }

  void CompareOne(const Pending& pending, Comparison* comparison) const {
    const sdfg::Tensor& tensor = problem_.parallel.tensors[pending.id];
    const Lineage& lineage = *pending.related->lineage;
    const int axes = static_cast<int>(tensor.axes.size());
    TensorReport& report = comparison->report;
    report.parallel = pending.id;
    report.logical = lineage.logical;
    if (pending.related->required != nullptr) report.required = *pending.related->required;
    Reference reference{&logical_[lineage.logical], &changes_[lineage.logical]};
    reference.bound_factor = bound_factor_;
    reference.operand_magnitude = magnitudes_[lineage.logical];
    if (const auto& magnitudes = exact_.cancellations.magnitudes; !magnitudes.empty())
      reference.cancelled_magnitude = magnitudes[lineage.logical];
    // Integers and truth values are not rounded.
    const bool rounded = sdfg::IsFloating(problem_.logical.tensors[lineage.logical].dtype);
    reference.epsilon = EpsilonOf(rounded ? options_.arithmetic : sdfg::DType::kFloat64);
    if (options_.by_stage && rounded && IsNarrowFloat(options_.arithmetic))
      reference.roundings = Roundings::kFew;
    if (rounded) reference.spacing = LeastSpacing(options_.arithmetic, *reference.values);
    report.measure = Compare(*pending.values, axes, lineage.map, reference);
    if (report.measure.alarm) {
      report.finding = Finding::kDiffers;
      FindPlaces(tensor, &report);
    }
    MergedTensor merged(problem_.logical.tensors[lineage.logical].shape);
    merged.Add(*pending.values, axes, lineage.map);
    comparison->disagreements = AgreementOf(merged.disagreements(), report);
    if (!report.required.empty()) comparison->merged.emplace(std::move(merged));
  }

  // In the order of the plan.
  absl::Status Record(const Comparison& comparison) {
    const TensorReport& report = comparison.report;
    if (!report.measure.defined) {
      ++report_.undefined;
      if (!report.required.empty()) return NoValue(report.logical);
    }
    report_.blind += report.measure.blind && !report.measure.alarm;
    report_.tensors.push_back(report);
    Record(comparison.disagreements);
    if (comparison.merged.has_value()) MergeRequired(*comparison.merged, report);
    return absl::OkStatus();
  }

  void Record(const std::vector<TensorReport>& reports) {
    report_.tensors.insert(report_.tensors.end(), reports.begin(), reports.end());
  }

  absl::Status NoValue(TensorId logical) const {
    return absl::FailedPreconditionError(
        absl::StrCat("in ", sdfg::DTypeName(options_.arithmetic), " the model's ",
                     problem_.logical.tensors[logical].name,
                     " has no value (NaN, or nothing finite) on these inputs: try another --seed, "
                     "or a type with a larger range"));
  }

  static std::vector<TensorReport> AgreementOf(const Disagreements& found, const TensorReport& of) {
    std::vector<TensorReport> reports;
    const auto add = [&](const Disagreement& disagreement, Finding finding) {
      const double ratio = RatioOf(disagreement, of.measure);
      if (ratio <= of.measure.bound) return;
      TensorReport report = of;
      report.finding = finding;
      report.elements = disagreement.elements;
      report.index = disagreement.index;
      report.ratio = ratio;
      reports.push_back(std::move(report));
    };
    add(found.replicas, Finding::kReplicasDiffer);
    add(found.overlaps, Finding::kOverlapsDiffer);
    return reports;
  }

  // Parts of a required output, and copies of it, may be several tensors.
  void MergeRequired(const MergedTensor& merged, const TensorReport& report) {
    const auto [at, fresh] = required_.try_emplace(report.logical, merged.shape(), report);
    Record(AgreementOf(at->second.merged.Add(merged), report));
  }

  void FindOmissions() {
    for (const auto& [logical, part] : required_) {
      if (part.merged.omitted() == 0) continue;
      TensorReport report = part.report;
      report.finding = Finding::kOmitted;
      report.at.clear();  // of the part
      report.devices.clear();
      report.elements = part.merged.omitted();
      report.index = part.merged.FirstOmitted();
      report_.tensors.push_back(std::move(report));
    }
  }

  void FindPlaces(const sdfg::Tensor& tensor, TensorReport* report) const {
    const sdfg::Graph& graph = problem_.parallel;
    sdfg::Shape extents(tensor.shape.begin(),
                        tensor.shape.begin() + static_cast<std::ptrdiff_t>(tensor.axes.size()));
    std::vector<std::vector<int64_t>> seen(extents.size());
    for (int64_t instance : report->measure.instances) {
      int64_t device = tensor.device;
      for (size_t d = extents.size(); d-- > 0; instance /= extents[d]) {
        const int64_t coordinate = instance % extents[d];
        seen[d].push_back(coordinate);
        device += coordinate * graph.axis_device_stride[tensor.axes[d]];
      }
      if (tensor.device >= 0) report->devices.push_back(static_cast<int>(device));
    }
    for (size_t d = 0; d < extents.size(); ++d) {
      std::sort(seen[d].begin(), seen[d].end());
      seen[d].erase(std::unique(seen[d].begin(), seen[d].end()), seen[d].end());
      if (static_cast<int64_t>(seen[d].size()) < extents[d])
        report->at.push_back({tensor.axes[d], std::move(seen[d])});
    }
  }

  // The parts of a required tensor of the model that were seen, and the first of them.
  struct RequiredParts {
    RequiredParts(const sdfg::Shape& shape, const TensorReport& first)
        : merged(shape), report(first) {}
    MergedTensor merged;
    TensorReport report;
  };

  const lineage::Problem& problem_;
  const Inputs& inputs_;
  const ReplayOptions& options_;
  Programs* const programs_;
  ExactModel& exact_;
  const double bound_factor_;
  std::vector<std::vector<Related>> related_;  // by parallel tensor
  std::vector<bool> target_;                   // by logical tensor: something is related to it
  std::vector<Values> logical_;
  std::vector<std::vector<double>> changes_;
  std::map<TensorId, RequiredParts> required_;
  std::vector<double> magnitudes_;                    // OperandMagnitude
  std::vector<std::pair<TensorId, Values>> waiting_;  // to be compared
  int64_t waiting_elements_ = 0;
  ReplayReport report_;
};

}  // namespace

absl::StatusOr<ReplayReport> SingleReplay(const lineage::Problem& problem, const Inputs& inputs,
                                          const ReplayOptions& options, Programs* programs,
                                          ExactModel* exact, double bound_factor) {
  return Replaying(problem, inputs, options, programs, exact, bound_factor).Run();
}

}  // namespace planproof::runtime_check
