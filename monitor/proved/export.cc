#include "monitor/proved/export.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/proved/export_collectives.h"
#include "monitor/proved/export_contributions.h"
#include "monitor/proved/export_definitions.h"
#include "monitor/proved/export_layout.h"
#include "monitor/proved/export_sameness.h"
#include "monitor/proved/export_squares.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::monitor {
namespace {

using sdfg::TensorId;

std::string PlaceText(const sdfg::SourceLocation& source) {
  return source.line > 0 ? absl::StrCat(source.file, ":", source.line) : source.file;
}

absl::Status CheckMayBeExported(const stages::Result& result, bool force) {
  if (result.verdict != stages::Verdict::kProved) {
    return absl::FailedPreconditionError(
        "no monitors are written: the verdict is not PROVED, and monitors say what is proved");
  }
  if (!result.assumed.empty()) {
    return absl::FailedPreconditionError(
        "no monitors are written: the verdict rests on relations that --assume takes for granted");
  }
  const std::vector<bool>& shown = result.required_shown;
  if (shown.empty() || std::find(shown.begin(), shown.end(), false) != shown.end()) {
    return absl::FailedPreconditionError(
        "no monitors are written: some required result was not shown");
  }
  const stages::AnchorOutcome outcome = result.anchor.outcome;
  const bool anchored =
      outcome == stages::AnchorOutcome::kAnchored || outcome == stages::AnchorOutcome::kNotRecorded;
  if (anchored || (force && outcome == stages::AnchorOutcome::kNotAnchored)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "no monitors are written: the verdict is not anchored in recorded numbers; record values "
      "beside the traces, or add --force");
}

class MonitorExport {
 public:
  MonitorExport(const lineage::Problem& problem, const stages::Result& result,
                const ExportRequest& request)
      : problem_(problem),
        result_(result),
        request_(request),
        alike_(problem),
        contributions_(problem.parallel, request.in_place) {}

  ProvedMonitors Make() {
    monitors_.anchored = result_.anchor.outcome == stages::AnchorOutcome::kAnchored;
    monitors_.world = request_.world;
    monitors_.axes = AxesOf(problem_, request_.world);
    monitors_.assumptions = result_.assumptions;
    FindClipping();
    std::map<std::string, std::vector<const ExportedSet*>> by_name;
    for (const ExportedSet& set : request_.sets) by_name[set.name].push_back(&set);
    for (const auto& [name, sets] : by_name) AddTensor(name, sets);
    AddCollectives();
    return std::move(monitors_);
  }

 private:
  // Ranks' parts were required to be the model's, which all that is required was shown to be.
  bool IsShown(const ExportedSet& set) const {
    const auto required = static_cast<int32_t>(problem_.required.size());
    return !set.parts.empty() &&
           std::all_of(set.parts.begin(), set.parts.end(), [&](const ExportedPart& part) {
             return part.required >= 0 && part.required < required;
           });
  }

  void AddTensor(const std::string& name, const std::vector<const ExportedSet*>& sets) {
    TensorMonitor monitor;
    monitor.name = name;
    const ExportedSet* layout = nullptr;
    for (const ExportedSet* set : sets) {
      if (!IsShown(*set)) continue;
      if (set->kind == SetKind::kNumberState) continue;
      if (layout == nullptr || set->kind == SetKind::kParameter) layout = set;
    }
    if (layout == nullptr) {
      monitors_.without.emplace_back(name, "no relation of it was required");
      return;
    }
    monitor.of = layout->of;
    if (layout->kind == SetKind::kParameter) {
      monitor.dtype = problem_.parallel.tensors[layout->parts.front().after].dtype;
    }
    SetLayout(problem_, monitors_.axes, *layout, &monitor);
    for (const ExportedSet* set : sets) {
      if (IsShown(*set)) AddSet(*set, *layout, sets, &monitor);
    }
    if (!monitor.sets.empty()) monitors_.tensors.push_back(std::move(monitor));
  }

  // Whether each rank has the part that the tensor's layout says.
  bool LiesAs(const ExportedSet& set, const ExportedSet& layout) const {
    if (set.kind == SetKind::kNumberState) return true;
    for (const ExportedPart& part : set.parts) {
      const auto own =
          std::find_if(layout.parts.begin(), layout.parts.end(),
                       [&part](const ExportedPart& other) { return other.rank == part.rank; });
      if (own == layout.parts.end()) return false;
      const bool alike = PlaceOf(problem_, part) == PlaceOf(problem_, *own) &&
                         ElementsOfPart(problem_, part) == ElementsOfPart(problem_, *own);
      if (!alike) return false;
    }
    return true;
  }

  void AddSet(const ExportedSet& set, const ExportedSet& layout,
              const std::vector<const ExportedSet*>& sets, TensorMonitor* monitor) {
    if (!LiesAs(set, layout)) return;
    SetMonitor own;
    own.set = set.set;
    own.kind = set.kind;
    const auto clip = clipped_.find(&set);
    const bool clipped = clip != clipped_.end();
    if (clipped) monitor->clipped = true;
    own.same = SamenessOf(set, clipped);
    const TensorId computed =
        BeforeMoves(problem_.logical, clipped ? clip->second : set.model_after);
    own.order = problem_.logical.tensors[computed].producer;
    own.place = PlaceText(problem_.logical.tensors[computed].source);
    own.late = IsCommunicated(set);
    if (set.parts.size() < layout.parts.size()) {
      for (const ExportedPart& part : set.parts) own.ranks.push_back(part.rank);
    }
    own.definition = DefinitionOf(set, sets);
    if (set.kind == SetKind::kGradient) {
      monitor->contributions = ContributionsOf(set, clipped, *monitor);
    }
    monitor->sets.push_back(std::move(own));
  }

  // The last that is done to it is a collective, as ZeRO gathers what ranks have updated.
  bool IsCommunicated(const ExportedSet& set) const {
    const sdfg::Graph& graph = problem_.parallel;
    return std::any_of(set.parts.begin(), set.parts.end(), [&](const ExportedPart& part) {
      TensorId tensor = part.after;
      while (graph.tensors[tensor].producer != sdfg::kNone) {
        const sdfg::Operator& op = graph.operators[graph.tensors[tensor].producer];
        if (sdfg::IsCommunication(op.kind)) return true;
        const TensorId moved = BeforeMoves(graph, tensor);
        const bool only_cut = moved == tensor && op.inputs.size() == 1 && IsView(op);
        if (moved == tensor && !only_cut) return false;
        tensor = only_cut ? op.inputs[0] : moved;
      }
      return false;
    });
  }

  // Its elements are elements of its one input.
  static bool IsView(const sdfg::Operator& op) {
    if (op.function == nullptr || op.function->outputs.size() != 1) return false;
    const sdfg::ExprId body = op.function->outputs[0].body;
    return op.function->nodes[body].op == sdfg::Op::kElement;
  }

  // Of all ranks that hold the same part, the least.
  Sameness SamenessOf(const ExportedSet& set, bool clipped) const {
    std::map<std::vector<int64_t>, std::vector<TensorId>> by_part;
    for (const ExportedPart& part : set.parts) {
      std::vector<int64_t> key = {ElementsOfPart(problem_, part)};
      for (const PlaceKey& place : PlaceOf(problem_, part)) {
        key.insert(key.end(), place.begin(), place.end());
        key.push_back(-1);
      }
      by_part[key].push_back(part.after);
      if (!clipped) continue;
      const auto scaled = ScaledTensorOf(problem_.parallel, part.after);
      if (!scaled) continue;
      key.push_back(-2);  // before clipping
      by_part[key].push_back(scaled->whole);
    }
    Sameness least = Sameness::kBits;
    for (const auto& [key, tensors] : by_part) least = std::max(least, alike_.Of(tensors));
    return least;
  }

  std::optional<LinearDefinition> DefinitionOf(const ExportedSet& set,
                                               const std::vector<const ExportedSet*>& sets) const {
    if (set.model_after == sdfg::kNone || set.kind == SetKind::kGradient) return std::nullopt;
    std::set<TensorId> leaves;
    std::map<TensorId, std::string> names;
    for (const ExportedSet* other : sets) {
      const TensorId held =
          other->kind == SetKind::kGradient ? other->model_after : other->model_before;
      if (held == sdfg::kNone || !IsShown(*other)) continue;
      leaves.insert(held);
      names[held] = other->set;
    }
    const auto form = LinearFormOf(problem_.logical, set.model_after, leaves);
    if (!form || (!form->constant.IsZero() && set.kind != SetKind::kNumberState)) {
      return std::nullopt;
    }
    LinearDefinition definition;
    definition.constant = form->constant.ToDouble();
    for (const auto& [tensor, factor] : form->factors) {
      definition.terms.push_back({factor.ToDouble(), names.at(tensor)});
    }
    return definition;
  }

  // Which gradients are clipped together, and by which norm. Either all that are or none.
  void FindClipping() {
    std::map<TensorId, std::vector<std::pair<const ExportedSet*, TensorId>>> by_scalar;
    for (const ExportedSet& set : request_.sets) {
      if (set.kind != SetKind::kGradient || !IsShown(set)) continue;
      const TensorId computed = BeforeMoves(problem_.logical, set.model_after);
      const auto scaled = ScaledTensorOf(problem_.logical, computed);
      if (scaled) by_scalar[scaled->scalar].emplace_back(&set, scaled->whole);
    }
    for (const auto& [scalar, gradients] : by_scalar) {
      std::set<TensorId> wholes;
      for (const auto& [set, whole] : gradients)
        wholes.insert(BeforeMoves(problem_.logical, whole));
      const auto clip = ClipCoefficientOf(problem_.logical, scalar, wholes);
      if (!clip || clip->of != wholes || !RanksClipSo(gradients, *clip)) continue;
      const sdfg::Tensor& norm = problem_.logical.tensors[clip->norm];
      monitors_.clip = ClipMonitor{clip->bound, clip->epsilon, norm.producer,
                                   PlaceText(norm.source), clip->unlimited};
      for (const auto& [set, whole] : gradients) clipped_[set] = whole;
      return;
    }
  }

  // Then what ranks multiply, and add up, is the model's gradient before clipping: where norms are
  // below the bound both coefficients are 1, and functions of this kind that agree there agree.
  bool RanksClipSo(const std::vector<std::pair<const ExportedSet*, TensorId>>& gradients,
                   const ClipCoefficient& clip) const {
    std::map<TensorId, bool> known;
    for (const auto& [set, whole] : gradients) {
      for (const ExportedPart& part : set->parts) {
        if (sdfg::ElementCount(problem_.parallel.tensors[part.after].shape) == 0) continue;
        const auto scalars = MultipliersOf(problem_.parallel, part.after);
        if (!scalars) return false;
        for (const TensorId scalar : *scalars) {
          const auto [at, is_new] = known.emplace(scalar, false);
          if (is_new) at->second = IsClipCoefficient(problem_.parallel, scalar, clip);
          if (!at->second) return false;
        }
      }
    }
    return true;
  }

  void AddCollectives() {
    std::vector<TensorId> results;
    for (const ExportedSet& set : request_.sets) {
      if (!IsShown(set)) continue;
      for (const ExportedPart& part : set.parts) results.push_back(part.after);
    }
    monitors_.collectives = CollectivesOf(problem_, monitors_.axes, request_.world, results);
  }

  // The same combination of ranks' contributions on every rank, along axes along which all ranks
  // hold the same part.
  std::optional<ContributionMonitor> ContributionsOf(const ExportedSet& set, bool clipped,
                                                     const TensorMonitor& tensor) {
    if (!problem_.parallel.axes.empty()) return std::nullopt;
    std::optional<ContributionMonitor> common;
    for (const ExportedPart& part : set.parts) {
      TensorId gradient = part.after;
      if (clipped) {
        const auto scaled = ScaledTensorOf(problem_.parallel, part.after);
        if (!scaled) return std::nullopt;
        gradient = scaled->whole;
      }
      const auto form = contributions_.FormOf(gradient);
      if (!form || form->ranks.count(part.rank) == 0) return std::nullopt;
      const auto axes = AxesOfGroup(monitors_.axes, {form->ranks.begin(), form->ranks.end()});
      if (!axes) return std::nullopt;
      const ContributionMonitor own{form->factor, *axes};
      if (!common) common = own;
      if (own.factor != common->factor || own.axes != common->axes) return std::nullopt;
    }
    if (!common || tensor.flat || !tensor.by_axes()) return std::nullopt;
    for (const std::vector<int32_t>& dim : tensor.cut) {
      for (const int32_t axis : dim) {
        const auto& along = common->axes;
        if (std::find(along.begin(), along.end(), axis) != along.end()) return std::nullopt;
      }
    }
    return common;
  }

  const lineage::Problem& problem_;
  const stages::Result& result_;
  const ExportRequest& request_;
  const ComputedAlike alike_;
  ContributionReader contributions_;
  // Gradients that are clipped: the model's before it.
  std::map<const ExportedSet*, TensorId> clipped_;
  ProvedMonitors monitors_;
};

}  // namespace

absl::StatusOr<ProvedMonitors> ExportMonitors(const lineage::Problem& problem,
                                              const stages::Result& result,
                                              const ExportRequest& request) {
  if (absl::Status s = CheckMayBeExported(result, request.force); !s.ok()) return s;
  return MonitorExport(problem, result, request).Make();
}

}  // namespace planproof::monitor
