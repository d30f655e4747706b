// Repairs about collectives: of another kind, over other axes, one too many, one missing.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"
#include "sdfg/collectives.h"

namespace planproof::diagnosis {

using sdfg::AxisId;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int64_t kMaxKeepingCoordinates = 8;  // of an axis at which ranks keep what they hold
constexpr size_t kMaxCombinations = 16;
constexpr double kMaxSeconds = 1;  // of one run

// "adds", and of several operators "add".
std::string Does(CollectiveKind kind, bool several) {
  const std::string s = several ? "" : "s";
  switch (kind) {
    case CollectiveKind::kSum:
    case CollectiveKind::kScatter:
      return "add" + s;
    case CollectiveKind::kAverage:
    case CollectiveKind::kScatterAverage:
      return "average" + s;
    case CollectiveKind::kMaximum:
      return "take" + s + " the maximum";
    case CollectiveKind::kMinimum:
      return "take" + s + " the minimum";
    default:
      return "";
  }
}

// The shift by `place` of `ranks`, the shorter way round.
int64_t ShiftOf(int64_t place, int64_t ranks) { return 2 * place > ranks ? place - ranks : place; }

// What is wrong with operators of one kind for which another would be right.
std::string Mismatch(const sdfg::Graph& graph, const CollectiveForm& is,
                     const CollectiveForm& other, bool several) {
  using Kind = CollectiveKind;
  const std::string axis = is.axis == kNone ? "" : graph.axes[is.axis].name;
  switch (other.kind) {
    case Kind::kPart:
      if (is.kind == Kind::kPart) break;
      return absl::StrCat(Does(is.kind, several), " over ", axis,
                          " what every rank has whole: a chunk would be right");
    case Kind::kScatter:
    case Kind::kScatterAverage:
      if (is.kind == Kind::kPart) {
        return absl::StrCat(
            several ? "keep their own parts" : "keeps its own part", ": a reduce_scatter over ",
            axis, other.kind == Kind::kScatter ? "" : " that averages", " would be right");
      }
      if (is.kind == other.kind) break;
      return absl::StrCat(Does(is.kind, several), " where ",
                          other.kind == Kind::kScatter ? "a sum" : "an average", " is needed");
    case Kind::kOne:
      if (is.kind == Kind::kOne) {
        return absl::StrCat(several ? "give what " : "gives what ", axis, " ", is.place,
                            " holds where that of ", axis, " ", other.place, " is needed");
      }
      return absl::StrCat(Does(is.kind, several), " where only what ", axis, " ", other.place,
                          " holds is needed");
    case Kind::kGather:
      return absl::StrCat(several ? "gather" : "gathers",
                          " along another dimension than the one that would be right");
    case Kind::kShift: {
      const int64_t ranks = graph.axes[is.axis].extent;
      if (is.kind != Kind::kShift) return "";
      return absl::StrCat(several ? "shift by " : "shifts by ", ShiftOf(is.place, ranks),
                          " where a shift by ", ShiftOf(other.place, ranks), " over ", axis,
                          " is needed");
    }
    default:
      if (is.kind == Kind::kOne) {
        return absl::StrCat(several ? "keep what " : "keeps what ", axis, " ", is.place,
                            " holds where ", ReductionInWords(other.kind), " over ", axis,
                            " is needed");
      }
      if (is.kind == Kind::kShift) return "";
      return absl::StrCat(Does(is.kind, several), " where ", ReductionInWords(other.kind),
                          " is needed");
  }
  return several ? "cut another dimension than the one that would be right"
                 : "cuts another dimension than the one that would be right";
}

}  // namespace

std::vector<std::vector<AxisId>> AxisSubsets(const std::vector<AxisId>& axes) {
  std::vector<std::vector<AxisId>> subsets;
  for (size_t mask = 1; mask < (size_t{1} << std::min<size_t>(axes.size(), 4)); ++mask) {
    subsets.emplace_back();
    for (size_t a = 0; a < std::min<size_t>(axes.size(), 4); ++a) {
      if ((mask >> a & 1) != 0) subsets.back().push_back(axes[a]);
    }
  }
  std::stable_sort(subsets.begin(), subsets.end(),
                   [](const auto& x, const auto& y) { return x.size() < y.size(); });
  return subsets;
}

const char* ReductionName(CollectiveKind kind) {
  return kind == CollectiveKind::kAverage ? "average" : "sum";
}

std::string ReductionInWords(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kSum:
      return "a sum";
    case CollectiveKind::kAverage:
      return "an average";
    case CollectiveKind::kMaximum:
      return "a maximum";
    case CollectiveKind::kMinimum:
      return "a minimum";
    default:
      return "";
  }
}

bool RepairSearch::Late() const {
  const std::chrono::duration<double> spent = shape_reduction::WorkClock::now() - start_;
  return spent.count() > kMaxSeconds;
}

// Operators along several axes that stand for one line, and those of single axes.
std::vector<RepairSearch::CollectiveUnit> RepairSearch::CollectiveUnits() const {
  std::vector<CollectiveUnit> units;
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    std::optional<CollectiveForm> form = FormOf(graph_, op);
    if (!form || sdfg::IsInteger(graph_.tensors[op.outputs[0]].dtype)) continue;
    OperatorId before = graph_.tensors[op.inputs[0]].producer;
    // What is the same at all ranks is written out per rank in between.
    if (before != kNone && graph_.operators[before].memory.view &&
        graph_.operators[before].inputs.size() == 1) {
      const TensorId from = graph_.operators[before].inputs[0];
      const bool spread =
          graph_.tensors[from].axes.size() < graph_.tensors[op.inputs[0]].axes.size();
      if (spread) before = graph_.tensors[from].producer;
    }
    const auto joined = std::find_if(units.begin(), units.end(), [&](const CollectiveUnit& unit) {
      const Collective& last = unit.members.back();
      const sdfg::Operator& previous = graph_.operators[last.op];
      return last.op == before && last.form.kind == form->kind && !op.label.empty() &&
             previous.label == op.label && previous.name == op.name;
    });
    if (joined != units.end()) {
      joined->members.push_back({id, *std::move(form)});
    } else {
      units.push_back({{{id, *std::move(form)}}});
    }
  }
  return units;
}

std::string RepairSearch::Names(const std::vector<CollectiveUnit>& units) const {
  std::vector<std::string> names;
  for (const CollectiveUnit& unit : units) names.push_back(Name(unit.members[0].op));
  return absl::StrJoin(names, ", ");
}

std::string RepairSearch::AxesOf(const CollectiveUnit& unit) const {
  std::vector<std::string> names;
  for (const Collective& member : unit.members) {
    if (member.form.axis != kNone) {
      names.push_back(graph_.axes[member.form.axis].name);
      continue;
    }
    std::vector<int> devices;
    for (const TensorId input : graph_.operators[member.op].inputs) {
      devices.push_back(graph_.tensors[input].device);
    }
    names.push_back(absl::StrCat("ranks ", absl::StrJoin(devices, ", ")));
  }
  return absl::StrJoin(names, ", ");
}

bool RepairSearch::RightWithout(const std::vector<Collective>& left_out, AxisId instead) {
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  Changes changes;
  for (const Collective& member : left_out) {
    if (instead == kNone) break;
    const TensorId output = graph_.operators[member.op].outputs[0];
    if (!AddReduction(output, {instead}, member.form.kind, &changes)) return false;
  }
  std::vector<std::pair<const Collective*, size_t>> dropping;  // and the dimension of its axis
  std::vector<AxisId> axes;
  for (const Collective& member : left_out) {
    sdfg::Operator& op = changes.operators[member.op] = graph_.operators[member.op];
    const sdfg::Tensor& out = graph_.tensors[op.outputs[0]];
    if (member.form.axis == kNone) {
      // Between programs: the operand of its own device.
      const auto own = std::find_if(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
        return graph_.tensors[input].device == out.device;
      });
      absl::StatusOr<sdfg::IndexFunction> copy =
          sdfg::Copy(op.function->inputs[0].shape, out.dtype);
      if (own == op.inputs.end() || !copy.ok()) return false;
      op.inputs = {*own};
      op.function = std::make_shared<const sdfg::IndexFunction>(*std::move(copy));
      continue;
    }
    const sdfg::Tensor& in = graph_.tensors[op.inputs[0]];
    if (in.shape == out.shape) {
      absl::StatusOr<sdfg::IndexFunction> copy = sdfg::Copy(in.shape, out.dtype);
      if (!copy.ok()) return false;
      op.function = std::make_shared<const sdfg::IndexFunction>(*std::move(copy));
      continue;
    }
    if (out.axes.size() + 1 != in.axes.size()) return false;
    const size_t dim =
        std::find(in.axes.begin(), in.axes.end(), member.form.axis) - in.axes.begin();
    dropping.emplace_back(&member, dim);
    if (std::find(axes.begin(), axes.end(), member.form.axis) == axes.end()) {
      axes.push_back(member.form.axis);
    }
  }
  // At each coordinate all of them give what is held there.
  std::vector<std::vector<int64_t>> combinations = {{}};
  for (const AxisId axis : axes) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& start : combinations) {
      for (int64_t c = 0; c < std::min(graph_.axes[axis].extent, kMaxKeepingCoordinates); ++c) {
        longer.push_back(start);
        longer.back().push_back(c);
      }
    }
    combinations = std::move(longer);
  }
  if (combinations.size() > kMaxCombinations) return false;
  size_t compared = 0;
  for (const std::vector<int64_t>& at : combinations) {
    const auto coordinate = [&](AxisId axis) {
      return at[std::find(axes.begin(), axes.end(), axis) - axes.begin()];
    };
    for (const auto& [member, dim] : dropping) {
      sdfg::Operator& op = changes.operators[member->op];
      op.function = Selection(graph_.tensors[op.inputs[0]], dim, coordinate(member->form.axis));
      if (op.function == nullptr) return false;
    }
    const Values value = RunStage(changes);
    if (value == nullptr) return false;
    std::vector<double> here, there;
    const std::vector<double> values = AtPoints(value);
    for (size_t i = 0; i < points_.size(); ++i) {
      bool fits = true;
      for (size_t a = 0; a < self.axes.size(); ++a) {
        const bool known = std::find(axes.begin(), axes.end(), self.axes[a]) != axes.end();
        fits = fits && (!known || coordinate(self.axes[a]) == points_[i][a]);
      }
      if (!fits) continue;
      here.push_back(values[i]);
      there.push_back(claimed_at_[i]);
    }
    if (!AgreeNumbers(here, there)) return false;
    compared += here.size();
  }
  return compared > 0;
}

// Left out, or of another kind, all of them at once.
void RepairSearch::TryOtherKinds(const std::vector<CollectiveUnit>& units,
                                 std::vector<CollectiveCause>* found) {
  std::vector<Collective> members;
  for (const CollectiveUnit& unit : units) {
    members.insert(members.end(), unit.members.begin(), unit.members.end());
  }
  const CollectiveForm& is = members[0].form;
  const bool several = units.size() > 1;
  CollectiveCause cause{"", members[0].op, {}, several ? 1 : 0};
  for (const Collective& member : units[0].members) cause.axes.push_back(member.form.axis);
  if ((IsReduction(is.kind) || is.kind == CollectiveKind::kShift) && RightWithout(members)) {
    cause.text = absl::StrCat(Names(units), " over ", AxesOf(units[0]),
                              several ? " are too many" : " is one too many");
    found->push_back(std::move(cause));
    return;
  }
  for (const CollectiveForm& other : OtherForms(graph_, graph_.operators[members[0].op], is)) {
    Changes changes;
    for (const Collective& member : members) {
      sdfg::Operator op = graph_.operators[member.op];
      std::vector<CollectiveForm> forms = OtherForms(graph_, op, member.form);
      const auto same = std::find_if(forms.begin(), forms.end(), [&](const CollectiveForm& form) {
        return form.kind == other.kind && form.place == other.place;
      });
      if (same == forms.end()) break;
      op.function = same->function;
      changes.operators[member.op] = std::move(op);
    }
    if (changes.operators.size() < members.size()) continue;
    const std::string text = Mismatch(graph_, is, other, several);
    if (text.empty() || !Agree(RunStage(changes), claimed_)) continue;
    cause.text = absl::StrCat(Names(units), " ", text);
    found->push_back(std::move(cause));
    return;
  }
}

// Over some of their axes only, all of them at once.
void RepairSearch::TryFewerAxes(const std::vector<CollectiveUnit>& units,
                                std::vector<CollectiveCause>* found) {
  const std::vector<Collective>& first = units[0].members;
  if (first.size() < 2 || !IsReduction(first[0].form.kind)) return;
  std::vector<AxisId> axes;
  for (const Collective& member : first) axes.push_back(member.form.axis);
  for (const std::vector<AxisId>& without : AxisSubsets(axes)) {
    if (without.size() == axes.size()) continue;
    std::vector<Collective> left_out;
    std::vector<std::string> kept;
    for (const CollectiveUnit& unit : units) {
      for (const Collective& member : unit.members) {
        if (std::count(without.begin(), without.end(), member.form.axis) > 0) {
          left_out.push_back(member);
        } else if (&unit == &units[0]) {
          kept.push_back(graph_.axes[member.form.axis].name);
        }
      }
    }
    if (!RightWithout(left_out)) continue;
    found->push_back(
        {absl::StrCat(Names(units), units.size() > 1 ? " run over " : " runs over ",
                      AxesOf(units[0]), ": over ", absl::StrJoin(kept, ", "), " would be right"),
         first[0].op, without, units.size() > 1 ? 1 : 0});
    return;
  }
}

// Over another axis, all of them at once.
void RepairSearch::TryOtherAxis(const std::vector<CollectiveUnit>& units,
                                std::vector<CollectiveCause>* found) {
  std::vector<Collective> members;
  for (const CollectiveUnit& unit : units) {
    if (unit.members.size() > 1) return;
    members.push_back(unit.members[0]);
  }
  const CollectiveForm& is = members[0].form;
  if (!IsReduction(is.kind) || is.axis == kNone) return;
  for (const AxisId axis : graph_.tensors[graph_.operators[members[0].op].outputs[0]].axes) {
    if (axis == is.axis || Late() || !RightWithout(members, axis)) continue;
    found->push_back(
        {absl::StrCat(Names(units), units.size() > 1 ? " run over " : " runs over ",
                      AxesOf(units[0]), " where ", graph_.axes[axis].name, " would be right"),
         members[0].op,
         {},
         units.size() > 1 ? 1 : 0});
    return;
  }
}

// Along the same axes, of which the other one is the outer one.
void RepairSearch::TryAxisOrder(const CollectiveUnit& unit, std::vector<CollectiveCause>* found) {
  if (unit.members.size() != 2) return;
  const Collective &first = unit.members[0], &second = unit.members[1];
  sdfg::Operator op = graph_.operators[second.op];
  op.inputs = graph_.operators[first.op].inputs;
  op.function = InOtherOrder(graph_.tensors[op.inputs[0]], graph_.tensors[op.outputs[0]],
                             first.form, second.form);
  if (op.function == nullptr || !Agree(With(second.op, op), claimed_)) return;
  // As a plan lists them, the outer one first: what gathers begins with the inner one.
  std::string outer = graph_.axes[first.form.axis].name, inner = graph_.axes[second.form.axis].name;
  if (first.form.kind == CollectiveKind::kGather) std::swap(outer, inner);
  found->push_back({absl::StrCat(Name(first.op), " runs over ", outer, ", ", inner, ": over ",
                                 inner, ", ", outer, " would be right"),
                    first.op,
                    {first.form.axis, second.form.axis}});
}

// Units of one kind over the same axes, where there are several.
std::vector<std::vector<RepairSearch::CollectiveUnit>> RepairSearch::Alike(
    const std::vector<CollectiveUnit>& units) {
  using Unit = CollectiveUnit;
  std::vector<std::vector<Unit>> groups;
  for (const Unit& unit : units) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const std::vector<Unit>& g) {
      return std::equal(g[0].members.begin(), g[0].members.end(), unit.members.begin(),
                        unit.members.end(), [](const auto& a, const auto& b) {
                          return a.form.kind == b.form.kind && a.form.axis == b.form.axis &&
                                 a.form.place == b.form.place;
                        });
    });
    if (same != groups.end()) {
      same->push_back(unit);
    } else {
      groups.push_back({unit});
    }
  }
  std::erase_if(groups, [](const std::vector<Unit>& group) { return group.size() < 2; });
  return groups;
}

std::vector<RepairSearch::CollectiveCause> RepairSearch::CollectiveCauses() {
  const std::vector<CollectiveUnit> units = CollectiveUnits();
  std::vector<CollectiveCause> found;
  std::vector<std::vector<CollectiveUnit>> sets;
  for (size_t u = units.size(); u-- > 0;) sets.push_back({units[u]});
  for (std::vector<CollectiveUnit>& group : Alike(units)) sets.push_back(std::move(group));
  for (const std::vector<CollectiveUnit>& set : sets) {
    if (Late()) break;
    const size_t before = found.size();
    TryOtherKinds(set, &found);
    if (found.size() == before) TryFewerAxes(set, &found);
    if (found.size() == before) TryOtherAxis(set, &found);
    if (found.size() == before && set.size() == 1) TryAxisOrder(set[0], &found);
  }
  return found;
}

}  // namespace planproof::diagnosis
