#include "runtime_check/dump_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime_check/dumped_values.h"
#include "runtime_check/merged_tensor.h"
#include "runtime_check/rounding.h"
#include "sdfg/status_macros.h"

namespace planproof::runtime_check {
namespace {

absl::StatusOr<Values> ReadTensor(const dumps::DumpedRank& rank, const std::string& name) {
  PLAN_ASSIGN_OR_RETURN(const std::string bytes, rank.file->Read(name));
  return DecodedValues(rank.file->tensors().at(name), bytes);
}

double LargestMagnitude(const Values& values) {
  double largest = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double magnitude = std::fabs(values.At(i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

class ComparingDumps {
 public:
  ComparingDumps(const dumps::ReferenceDump& reference, const dumps::Dump& candidate,
                 const dumps::Annotations& annotations, const DumpLimits& limits)
      : reference_(reference),
        run_(reference.run.ranks[0]),
        candidate_(candidate),
        annotations_(annotations),
        limits_(limits) {}

  absl::StatusOr<DumpReport> Run() {
    if (EpsilonOf(candidate_.dtype()) > EpsilonOf(reference_.run.dtype())) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s runs in %s, and inputs of the reference were perturbed by an epsilon of %s: dump the "
          "reference in the same type",
          candidate_.directory, sdfg::DTypeName(candidate_.dtype()),
          sdfg::DTypeName(reference_.run.dtype())));
    }
    PLAN_ASSIGN_OR_RETURN(Matching matching, MatchDumps(reference_.run, candidate_, annotations_));
    report_.mesh = matching.mesh;
    report_.skipped = matching.skipped;
    report_.unmatched = std::move(matching.unmatched);
    report_.unused = std::move(matching.unused);
    report_.dtype = reference_.run.dtype();
    report_.samples = static_cast<int>(reference_.perturbed.size());
    perturbed_.assign(reference_.perturbed.size(), false);
    for (const MatchedTensor& tensor : matching.tensors) PLAN_RETURN_IF_ERROR(Check(tensor));
    for (size_t t = 0; t < report_.tensors.size(); ++t) {
      if (report_.tensors[t].finding == DumpFinding::kNone) continue;
      if (report_.alarms++ == 0) report_.first = static_cast<int>(t);
    }
    PLAN_RETURN_IF_ERROR(CheckThatSomethingWasSeen());
    return std::move(report_);
  }

 private:
  absl::Status CheckThatSomethingWasSeen() const {
    for (size_t sample = 0; sample < perturbed_.size(); ++sample) {
      if (report_.compared == 0 || perturbed_[sample]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(reference_.perturbed[sample].directory,
                       ": all tensors are those of the reference: its inputs were not perturbed; "
                       "dump it again with planproof.torch.dump_reference"));
    }
    if (report_.compared > 0 || report_.first >= 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "nothing was compared: of %d tensors %d have no value in the reference, %d may be changed "
        "by rounding as much as they are, and %d are skipped",
        report_.tensors.size() + static_cast<size_t>(report_.skipped), report_.undefined,
        report_.blind, report_.skipped));
  }

  absl::Status Check(const MatchedTensor& tensor) {
    DumpTensorReport report;
    report.name = tensor.name;
    if (tensor.holders.empty()) {
      report.finding = DumpFinding::kMissing;
      report_.tensors.push_back(std::move(report));
      return absl::OkStatus();
    }
    report.candidate = tensor.holders[0].name;
    const dumps::TensorType& type = run_.file->tensors().at(tensor.name);
    PLAN_ASSIGN_OR_RETURN(const Division division,
                          DivisionOf(tensor, report_.mesh, type.shape.size(), annotations_));
    std::vector<Held> held;
    double elements = static_cast<double>(CountOf(type.shape));
    for (const MatchedTensor::Holder& holder : tensor.holders) {
      const dumps::DumpedRank& rank = candidate_.ranks[holder.rank];
      held.push_back({holder.rank, rank.file->tensors().at(holder.name).shape});
      elements += static_cast<double>(CountOf(held.back().shape));
    }
    Parts parts = PartsOf(division, report_.mesh, held, type.shape);
    if (parts.finding != DumpFinding::kNone) {
      report.finding = parts.finding;
      report.what = std::move(parts.what);
      report.ranks = std::move(parts.ranks);
      report_.tensors.push_back(std::move(report));
      return absl::OkStatus();
    }
    if (elements > limits_.elements) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "%s has %.3g elements on all ranks and in the reference, more than the limit of %.3g: "
          "dump a smaller model, skip the tensor, or raise --element-limit (up to 40 bytes for "
          "each)",
          tensor.name, elements, limits_.elements));
    }
    return CompareValues(tensor, division.factor, parts.parts, std::move(report));
  }

  absl::Status CompareValues(const MatchedTensor& tensor, double factor,
                             const std::vector<HeldPart>& held, DumpTensorReport report) {
    PLAN_ASSIGN_OR_RETURN(const Values whole, ReadTensor(run_, tensor.name));
    std::vector<double> changes(whole.size(), 0);
    for (size_t sample = 0; sample < reference_.perturbed.size(); ++sample) {
      PLAN_ASSIGN_OR_RETURN(const Values perturbed,
                            ReadTensor(reference_.perturbed[sample].ranks[0], tensor.name));
      AddChanges(whole, perturbed, report_.samples, &changes);
      for (int64_t i = 0; i < whole.size() && !perturbed_[sample]; ++i)
        perturbed_[sample] = !whole.Same(i, perturbed, i);
    }
    std::vector<Values> values;
    for (const HeldPart& part : held) {
      PLAN_ASSIGN_OR_RETURN(Values own, ReadPart(tensor, part, factor));
      values.push_back(std::move(own));
    }
    std::vector<Part> parts;
    for (size_t p = 0; p < held.size(); ++p) parts.push_back({&values[p], held[p].map});
    PLAN_ASSIGN_OR_RETURN(const Reference reference, ReferenceOf(tensor.name, whole, changes));
    report.measure = CompareParts(parts, reference);
    report_.undefined += !report.measure.defined;
    report_.blind += report.measure.defined && report.measure.blind && !report.measure.alarm;
    report_.compared += report.measure.defined && !report.measure.blind && whole.size() > 0;
    if (report.measure.alarm) {
      report.finding = DumpFinding::kDiffers;
      if (report.measure.part < static_cast<int64_t>(held.size()))
        report.rank = held[report.measure.part].ranks[0];
      FindPlaces(held, &report);
    }
    report_.tensors.push_back(report);
    CheckReplicas(parts, whole.shape, std::move(report));
    return absl::OkStatus();
  }

  absl::StatusOr<Reference> ReferenceOf(const std::string& name, const Values& whole,
                                        const std::vector<double>& changes) {
    Reference reference{&whole, &changes};
    const sdfg::DType stored = run_.file->tensors().at(name).dtype;
    // Integers and truth values are not rounded.
    const bool rounded = sdfg::IsFloating(stored);
    reference.epsilon = EpsilonOf(rounded ? report_.dtype : sdfg::DType::kFloat64);
    if (rounded) reference.spacing = LeastSpacing(report_.dtype, whole);
    if (dumps::KindOf(name) == dumps::TensorKind::kUpdate) {
      PLAN_ASSIGN_OR_RETURN(reference.step, StepOf(name));
    }
    // Few elements may change by far the most: an optimizer that divides by a gradient's size.
    reference.most_values = EffectiveValues(reference);
    if (LargestMagnitude(whole) == 0) {
      PLAN_ASSIGN_OR_RETURN(reference.operand_magnitude, MagnitudeOf(dumps::KindOf(name)));
    }
    return reference;
  }

  // What an optimizer adds to a parameter is a multiple of the distance of the parameter's numbers.
  absl::StatusOr<double> StepOf(const std::string& update) const {
    const std::string parameter = absl::StrCat("initial", update.substr(update.find('/')));
    const auto found = run_.file->tensors().find(parameter);
    if (found == run_.file->tensors().end() || !sdfg::IsFloating(found->second.dtype)) return 0.0;
    PLAN_ASSIGN_OR_RETURN(const Values values, ReadTensor(run_, parameter));
    return LargestMagnitude(values) * EpsilonOf(found->second.dtype);
  }

  // The largest among all tensors of the kind: of what a tensor of zeros is computed from nothing
  // else is known.
  absl::StatusOr<double> MagnitudeOf(dumps::TensorKind kind) {
    const auto [known, fresh] = magnitudes_.try_emplace(kind, 0);
    if (!fresh) return known->second;
    double largest = 0;
    for (const std::string& name : run_.manifest.tensors) {
      if (dumps::KindOf(name) != kind || !sdfg::IsFloating(run_.file->tensors().at(name).dtype))
        continue;
      PLAN_ASSIGN_OR_RETURN(const Values values, ReadTensor(run_, name));
      largest = std::max(largest, LargestMagnitude(values));
    }
    magnitudes_[kind] = largest;
    return largest;
  }

  // The sum of the ranks' values, divided by the factor.
  absl::StatusOr<Values> ReadPart(const MatchedTensor& tensor, const HeldPart& part,
                                  double factor) const {
    std::optional<Values> sum;
    for (const int rank : part.ranks) {
      const auto holder = std::find_if(
          tensor.holders.begin(), tensor.holders.end(),
          [rank](const MatchedTensor::Holder& candidate) { return candidate.rank == rank; });
      PLAN_ASSIGN_OR_RETURN(Values own, ReadTensor(candidate_.ranks[rank], holder->name));
      if (part.ranks.size() == 1 && factor == 1) return own;
      if (!sum) sum = Values::Zeros(own.shape, sdfg::DType::kFloat64, sdfg::DType::kFloat64);
      for (int64_t i = 0; i < own.size(); ++i) sum->doubles[i] += own.At(i) / factor;
    }
    return *std::move(sum);
  }

  void CheckReplicas(const std::vector<Part>& parts, const sdfg::Shape& whole,
                     DumpTensorReport report) {
    MergedTensor merged(whole);
    for (const Part& part : parts) merged.Add(*part.values, 0, part.map);
    const double ratio = RatioOf(merged.disagreements().replicas, report.measure);
    if (ratio <= report.measure.bound) return;
    report.finding = DumpFinding::kReplicasDiffer;
    report.elements = merged.disagreements().replicas.elements;
    report.index = merged.disagreements().replicas.index;
    report.ratio = ratio;
    report_.tensors.push_back(std::move(report));
  }

  void FindPlaces(const std::vector<HeldPart>& held, DumpTensorReport* report) const {
    const Mesh& mesh = report_.mesh;
    std::set<int> ranks;
    for (const int64_t part : report->measure.instances)
      ranks.insert(held[part].ranks.begin(), held[part].ranks.end());
    report->ranks.assign(ranks.begin(), ranks.end());
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      std::set<int64_t> seen;
      for (const int rank : ranks) seen.insert(mesh.coordinates[rank][axis]);
      if (seen.empty() || static_cast<int64_t>(seen.size()) == mesh.axes[axis].size) continue;
      report->at.push_back({static_cast<int>(axis), {seen.begin(), seen.end()}});
    }
  }

  const dumps::ReferenceDump& reference_;
  const dumps::DumpedRank& run_;
  const dumps::Dump& candidate_;
  const dumps::Annotations& annotations_;
  const DumpLimits& limits_;
  std::vector<bool> perturbed_;  // by sample: some tensor is another than the reference's
  std::map<dumps::TensorKind, double> magnitudes_;
  DumpReport report_;
};

}  // namespace

absl::StatusOr<DumpReport> CompareDumps(const dumps::ReferenceDump& reference,
                                        const dumps::Dump& candidate,
                                        const dumps::Annotations& annotations,
                                        const DumpLimits& limits) {
  return ComparingDumps(reference, candidate, annotations, limits).Run();
}

}  // namespace planproof::runtime_check
