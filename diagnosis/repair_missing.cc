// Repairs about collectives that are missing, or run over too few axes.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"

namespace planproof::diagnosis {

using sdfg::AxisId;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::OperatorKind;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxMissingPlaces = 24;   // tensors after which a collective may be missing
constexpr size_t kMaxPairCandidates = 10;  // of which pairs are tried

}  // namespace

bool RepairSearch::AddReduction(TensorId id, const std::vector<AxisId>& axes, CollectiveKind kind,
                                Changes* changes) {
  const sdfg::Tensor& tensor = graph_.tensors[id];
  std::vector<sdfg::Operator> reductions;
  for (const AxisId axis : axes) {
    const size_t dim =
        std::find(tensor.axes.begin(), tensor.axes.end(), axis) - tensor.axes.begin();
    if (dim == tensor.axes.size()) return false;
    sdfg::Operator op;
    op.function = Reduction(tensor, dim, kind);
    op.lifted = false;
    op.inputs = {id};
    op.outputs = {id};
    if (op.function == nullptr) return false;
    reductions.push_back(std::move(op));
  }
  changes->tensors[id] = [this, reductions](Values value) {
    for (const sdfg::Operator& op : reductions) {
      if (value != nullptr) value = replay_.Apply(op, 0, {value});
    }
    return value;
  };
  return true;
}

bool RepairSearch::RightReduced(const std::vector<TensorId>& tensors,
                                const std::vector<AxisId>& axes, CollectiveKind kind) {
  Changes changes;
  for (const TensorId id : tensors) {
    if (!AddReduction(id, axes, kind, &changes)) return false;
  }
  return Agree(RunStage(changes), claimed_);
}

// The same collectives over further axes.
bool RepairSearch::TryWiderGroups(const std::vector<CollectiveUnit>& units) {
  std::vector<TensorId> tensors;
  for (const CollectiveUnit& unit : units) {
    tensors.push_back(graph_.operators[unit.members.back().op].outputs[0]);
  }
  const sdfg::Tensor& first = graph_.tensors[tensors[0]];
  const CollectiveKind kind = units[0].members[0].form.kind;
  if (!IsReduction(kind) || units[0].members[0].form.axis == kNone) return false;
  for (const std::vector<AxisId>& axes : AxisSubsets(first.axes)) {
    if (!RightReduced(tensors, axes, kind)) continue;
    std::vector<std::string> names;
    for (const AxisId axis : axes) names.push_back(graph_.axes[axis].name);
    const std::string is = AxesOf(units[0]);
    Found(absl::StrCat(Names(units), units.size() > 1 ? " run over " : " runs over ", is, ": over ",
                       is, ", ", absl::StrJoin(names, ", "), " would be right"),
          units[0].members[0].op, static_cast<int>(units.size()));
    return true;
  }
  return false;
}

// The reduction is missing after the subject; if that is made by one over other axes, that is too
// narrow.
void RepairSearch::FoundMissing(CollectiveKind reduction, const std::vector<std::string>& axes) {
  const std::string missing = absl::StrJoin(axes, ", ");
  for (const CollectiveUnit& unit : CollectiveUnits()) {
    const Collective& last = unit.members.back();
    if (last.op != graph_.tensors[subject_.tensor].producer || last.form.kind != reduction ||
        last.form.axis == kNone) {
      continue;
    }
    const std::string is = AxesOf(unit);
    Found(absl::StrCat(Name(last.op), " runs over ", is, ": over ", is, ", ", missing,
                       " would be right"),
          last.op);
    return;
  }
  Found(absl::StrCat(ReductionName(reduction), " over ", missing, " missing"));
}

// A collective is missing somewhere in the stage, or runs over too few axes.
void RepairSearch::TryInsertions() {
  const std::vector<CollectiveUnit> units = CollectiveUnits();
  bool wider = false;
  for (const CollectiveUnit& unit : units) wider |= !Late() && TryWiderGroups({unit});
  for (const std::vector<CollectiveUnit>& group : Alike(units)) {
    wider |= !Late() && TryWiderGroups(group);
  }
  if (wider) return;
  std::vector<TensorId> candidates;
  for (size_t o = subject_.operators.size(); o-- > 0;) {
    for (const TensorId output : graph_.operators[subject_.operators[o]].outputs) {
      if (output == kNone || output == subject_.tensor || candidates.size() >= kMaxMissingPlaces) {
        continue;
      }
      const sdfg::Tensor& tensor = graph_.tensors[output];
      if (tensor.axes.empty() || sdfg::IsInteger(tensor.dtype)) continue;
      candidates.push_back(output);
    }
  }
  for (const TensorId tensor : candidates) TryMissingAfter({tensor});
  if (candidates.size() > kMaxPairCandidates) return;
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (size_t j = i + 1; j < candidates.size(); ++j) {
      TryMissingAfter({candidates[i], candidates[j]});
    }
  }
}

// What one rank keeps although others reduce it: their reduction, in place of the rank's operator.
void RepairSearch::TryReductionsOfOthers() {
  std::set<std::pair<OperatorId, std::vector<TensorId>>> tried;
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    if (!op.lifted || op.inputs.size() != 1 || op.outputs.size() != 1) continue;
    const sdfg::Tensor &kept = graph_.tensors[op.inputs[0]], &out = graph_.tensors[op.outputs[0]];
    if (kept.shape != out.shape || sdfg::IsInteger(kept.dtype)) continue;
    for (const OperatorId other : ReadersOf(op.inputs[0])) {
      const sdfg::Operator& reduction = graph_.operators[other];
      const std::optional<CollectiveForm> form = FormOf(graph_, reduction);
      if (!form || form->axis != kNone || !IsReduction(form->kind)) continue;
      if (Late() || !tried.insert({id, reduction.inputs}).second) continue;
      sdfg::Operator changed = op;
      changed.inputs = reduction.inputs;
      changed.function = reduction.function;
      if (!Agree(With(id, changed), claimed_)) continue;
      const std::string ranks = AxesOf({{{other, *form}}});
      Found(absl::StrCat(Name(id), " keeps what rank ", kept.device, " holds where ",
                         ReductionInWords(form->kind), " over ", ranks, " is needed"),
            id);
      return;
    }
  }
}

std::vector<OperatorId> RepairSearch::ReadersOf(TensorId tensor) const {
  std::vector<OperatorId> readers;
  for (size_t o = 0; o < graph_.operators.size(); ++o) {
    const std::vector<TensorId>& inputs = graph_.operators[o].inputs;
    if (std::find(inputs.begin(), inputs.end(), tensor) != inputs.end()) {
      readers.push_back(static_cast<OperatorId>(o));
    }
  }
  return readers;
}

// A reduction that reads the tensor and does not do what is missing.
OperatorId RepairSearch::ReductionOf(TensorId tensor) const {
  for (const OperatorId id : ReadersOf(tensor)) {
    const OperatorKind kind = graph_.operators[id].kind;
    if (kind == OperatorKind::kAllReduce || kind == OperatorKind::kReduceScatter) return id;
  }
  return kNone;
}

// The same reduction is missing after all of these.
void RepairSearch::TryMissingAfter(const std::vector<TensorId>& tensors) {
  for (const std::vector<AxisId>& axes : AxisSubsets(graph_.tensors[tensors[0]].axes)) {
    for (const CollectiveKind kind : {CollectiveKind::kSum, CollectiveKind::kAverage}) {
      if (Late() || !RightReduced(tensors, axes, kind)) continue;
      std::vector<std::string> names, after;
      for (const AxisId axis : axes) names.push_back(graph_.axes[axis].name);
      for (const TensorId tensor : tensors) {
        const OperatorId there = ReductionOf(tensor);
        const std::string although =
            there == kNone ? "" : absl::StrCat(", although ", Name(there), " reads it");
        after.insert(after.begin(), absl::StrCat(Name(graph_.tensors[tensor].producer), although));
      }
      Found(absl::StrCat(ReductionName(kind), " over ", absl::StrJoin(names, ", "),
                         " missing after ", absl::StrJoin(after, ", ")),
            graph_.tensors[tensors[0]].producer, static_cast<int>(tensors.size()));
      return;
    }
  }
}

}  // namespace planproof::diagnosis
