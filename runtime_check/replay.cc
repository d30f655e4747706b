#include "runtime_check/replay.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime_check/executor.h"
#include "runtime_check/single_replay.h"
#include "runtime_check/values.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;

// What is wrong with a plan differs by 10^12 times what float64 rounds, in the catalogue of bugs: a
// bound beside a narrow type need not be close to be sharp.
constexpr double kExactRoom = 1024;

absl::Status Beyond(const char* what, double amount, double limit, const char* option) {
  return absl::ResourceExhaustedError(absl::StrFormat(
      "model and plan have %.3g %s, more than the limit of %.3g: replay a smaller plan (fewer "
      "layers, shorter sequences, narrower tensors), or raise %s",
      amount, what, limit, option));
}

absl::Status TooManyElements(double elements, const ReplayOptions& options) {
  return Beyond("elements in their tensors", elements, options.element_limit,
                "--element-limit (up to 32 bytes for each)");
}

bool RunsExact(const ReplayOptions& options) {
  return options.exact && options.arithmetic != DType::kFloat64;
}

absl::StatusOr<Cost> CostWithinLimits(const lineage::Problem& problem, const ReplayOptions& options,
                                      Programs* programs) {
  // Before anything is compiled.
  const double elements = ElementsOf(problem.logical) + ElementsOf(problem.parallel);
  if (elements > options.element_limit) return TooManyElements(elements, options);
  const absl::StatusOr<Cost> logical = CostOf(problem.logical, programs);
  if (!logical.ok()) return logical.status();
  const absl::StatusOr<Cost> parallel = CostOf(problem.parallel, programs);
  if (!parallel.ok()) return parallel.status();
  Cost cost;
  cost.elements = logical->elements + parallel->elements;
  cost.work = logical->work * (1 + options.samples) + parallel->work;
  if (RunsExact(options)) cost.work *= 2;
  if (cost.elements > options.element_limit) {
    return TooManyElements(cost.elements, options);
  }
  if (cost.work > options.work_limit) {
    return Beyond("operations on elements to run", cost.work, options.work_limit,
                  "--work-limit (about 1e9 each second)");
  }
  return cost;
}

bool IsOfAll(const TensorReport& tensor) {
  return tensor.finding == Finding::kNone || tensor.finding == Finding::kDiffers;
}

// Puts what was found in the type and in float64 side by side. Both have the tensors in the same
// order; findings about disagreements are between them, of either or of both.
class Merging {
 public:
  Merging(ReplayReport in_type, ReplayReport exact)
      : type_(std::move(in_type)), exact_(std::move(exact)) {}

  ReplayReport Merged() {
    size_t t = 0, e = 0;
    while (t < type_.tensors.size() || e < exact_.tensors.size()) {
      const TensorReport* in_type = t < type_.tensors.size() ? &type_.tensors[t] : nullptr;
      const TensorReport* exact = e < exact_.tensors.size() ? &exact_.tensors[e] : nullptr;
      const bool same = in_type != nullptr && exact != nullptr && AreOfTheSame(*in_type, *exact);
      // What one of them has alone is never of all tensors.
      if (!same && in_type != nullptr && !IsOfAll(*in_type)) exact = nullptr;
      if (!same && exact != nullptr) in_type = nullptr;
      t += in_type != nullptr;
      e += exact != nullptr;
      Add(in_type, exact);
    }
    ReplayReport report = std::move(type_);
    report.time_s.exact =
        exact_.time_s.model + exact_.time_s.perturbed + exact_.time_s.plan + exact_.time_s.exact;
    report.tensors = std::move(tensors_);
    return report;
  }

 private:
  static bool AreOfTheSame(const TensorReport& a, const TensorReport& b) {
    return a.parallel == b.parallel && a.logical == b.logical && a.required == b.required &&
           (a.finding == b.finding || (IsOfAll(a) && IsOfAll(b)));
  }

  // One of them may be null.
  void Add(const TensorReport* in_type, const TensorReport* exact) {
    TensorReport merged = in_type != nullptr ? *in_type : *exact;
    merged.exact.emplace();
    if (exact != nullptr) {
      merged.exact->measure = last_exact_ = exact->measure;
      merged.exact->ratio = exact->ratio;
      merged.exact->alarms = exact->finding != Finding::kNone;
    } else {
      merged.exact->measure = last_exact_;
    }
    if (in_type == nullptr) {
      merged.alarms_in_type = false;
      merged.measure = last_type_;
      merged.ratio = 0;
    } else if (in_type->finding == Finding::kNone && exact != nullptr) {
      merged.finding = exact->finding;
      merged.at = exact->at;
      merged.devices = exact->devices;
    }
    last_type_ = merged.measure;
    tensors_.push_back(std::move(merged));
  }

  ReplayReport type_, exact_;
  Measure last_type_, last_exact_;  // of the tensor that a finding alone is about
  std::vector<TensorReport> tensors_;
};

// What follows from the findings.
void CountAlarms(const sdfg::Graph& model, ReplayReport* report) {
  report->first = -1;
  report->alarms = report->alarms_in_type = report->alarms_exact = 0;
  for (size_t t = 0; t < report->tensors.size(); ++t) {
    const TensorReport& tensor = report->tensors[t];
    report->alarms_in_type += tensor.alarms_in_type;
    report->alarms_exact += tensor.exact && tensor.exact->alarms;
    if (tensor.finding == Finding::kNone) continue;
    ++report->alarms;
    const auto producer = [&](const TensorReport& of) {
      return model.tensors[of.logical].producer;
    };
    if (report->first < 0 || producer(tensor) < producer(report->tensors[report->first]))
      report->first = static_cast<int>(t);
  }
}

}  // namespace

absl::StatusOr<ReplayReport> Replay(const lineage::Problem& problem, const Inputs& inputs,
                                    const ReplayOptions& options, Programs* programs) {
  const absl::StatusOr<Cost> cost = CostWithinLimits(problem, options, programs);
  if (!cost.ok()) return cost.status();
  ExactModel model;
  ReplayReport exact;
  if (RunsExact(options)) {
    ReplayOptions in_float64 = options;
    in_float64.arithmetic = DType::kFloat64;
    absl::StatusOr<ReplayReport> run =
        SingleReplay(problem, InFloat64(inputs), in_float64, programs, &model, kExactRoom);
    if (!run.ok()) return run.status();
    exact = *std::move(run);
  }
  absl::StatusOr<ReplayReport> report = SingleReplay(problem, inputs, options, programs, &model);
  if (!report.ok()) return report.status();
  if (RunsExact(options)) report = Merging(*std::move(report), std::move(exact)).Merged();
  CountAlarms(problem.logical, &*report);
  report->cost = {cost->elements, cost->work};
  return report;
}

absl::Status CheckLimits(const lineage::Problem& problem, const ReplayOptions& options,
                         Programs* programs) {
  return CostWithinLimits(problem, options, programs).status();
}

}  // namespace planproof::runtime_check
