#include "lineage/folding/fold.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "lineage/folding/fold_plan.h"
#include "lineage/folding/groups.h"
#include "lineage/folding/ranked_lineage.h"

namespace planproof::lineage::folding {

using sdfg::AxisId;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::Tensor;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxLabels = 4;

class Folder {
 public:
  Folder(const Problem& problem, const Groups& groups, FoldPlan plan)
      : in_(problem), graph_(problem.parallel), groups_(groups), plan_(std::move(plan)) {}

  std::optional<Folding> Run() {
    Start();
    const int classes = static_cast<int>(plan_.classes().size());
    for (int node : plan_.Order()) {
      if (!(node < classes ? EmitClass(node) : EmitExplicit(node - classes))) return std::nullopt;
    }
    if (!EmitRequired() || !Sort()) return std::nullopt;
    return std::move(out_);
  }

 private:
  void Start() {
    Problem& p = out_.problem;
    p.parallel = graph_;
    p.parallel.tensors.clear();
    p.parallel.operators.clear();
    out_.places.resize(graph_.tensors.size());
    std::map<std::pair<int32_t, int32_t>, AxisId> axes;  // groups of one form share an axis
    for (const Group& group : groups_.groups) {
      const auto [found, fresh] =
          axes.try_emplace({group.size, group.stride}, p.parallel.axes.size());
      axis_of_.push_back(found->second);
      if (!fresh) continue;
      p.parallel.axes.push_back({AxisName(group), group.size});
      p.parallel.axis_device_stride.resize(p.parallel.axes.size(), 0);
      p.parallel.axis_device_stride.back() = group.stride;
    }
    std::vector<bool> folded(graph_.tensors.size(), false);
    for (const Aligned& source : plan_.sources()) {
      const Group& group = groups_.groups[source.group];
      std::optional<Lineage> lineage = plan_.AlikeTensors(group, source.members);
      if (!lineage.has_value()) continue;
      FoldTensor(source.group, source.members, *std::move(lineage));
      for (TensorId member : source.members) folded[member] = true;
    }
    for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors.size()); ++t) {
      if (graph_.tensors[t].producer == kNone && !folded[t]) KeepTensor(t);
    }
  }

  std::string AxisName(const Group& group) const {
    const auto taken = [&](const std::string& name) {
      const auto& axes = out_.problem.parallel.axes;
      return std::any_of(axes.begin(), axes.end(), [&](const auto& a) { return a.name == name; });
    };
    for (const MeshAxis& axis : in_.mesh) {
      const bool same = axis.extent == group.size && axis.stride == group.stride;
      if (same && !taken(axis.name)) return axis.name;
    }
    if (!taken("rank")) return "rank";
    std::string name = absl::StrCat("rank of ", group.size);
    for (int i = 2; taken(name); ++i) name = absl::StrCat("rank of ", group.size, ", ", i);
    return name;
  }

  TensorId Add(Tensor tensor, Lineage lineage, AxisId rank_axis) {
    tensor.producer = kNone;
    tensor.producer_output = 0;
    out_.problem.lineage.push_back(std::move(lineage));
    out_.rank_axis.push_back(rank_axis);
    return out_.problem.parallel.AddTensor(std::move(tensor));
  }

  TensorId KeepTensor(TensorId original) {
    const TensorId id = Add(graph_.tensors[original], in_.lineage[original], kNone);
    out_.places[original] = {id, kNone};
    return id;
  }

  TensorId FoldTensor(int group, const std::vector<TensorId>& members, Lineage lineage) {
    Tensor tensor = graph_.tensors[members[0]];
    tensor.shape.insert(tensor.shape.begin() + static_cast<std::ptrdiff_t>(tensor.axes.size()),
                        groups_.groups[group].size);
    tensor.axes.push_back(axis_of_[group]);
    const TensorId id = Add(std::move(tensor), std::move(lineage), axis_of_[group]);
    for (size_t r = 0; r < members.size(); ++r) {
      out_.places[members[r]] = {id, static_cast<int32_t>(r)};
    }
    return id;
  }

  void AddOperator(Operator op, Origin origin) {
    out_.problem.parallel.AddOperator(std::move(op));
    out_.origins.push_back(std::move(origin));
  }

  // The tensor of which each instance is the given one: folded already, or put together.
  TensorId Operand(const std::vector<Instance>& instances, AxisId axis, sdfg::Device device) {
    const bool whole = axis != kNone && out_.rank_axis[instances[0].tensor] == axis;
    bool same = whole;
    for (size_t r = 0; r < instances.size(); ++r) {
      same = same && instances[r] == Instance{instances[0].tensor, static_cast<int32_t>(r)};
    }
    if (same) return instances[0].tensor;
    if (axis == kNone && instances[0].rank == kNone) return instances[0].tensor;
    std::vector<int64_t> key = {axis, device};
    for (const Instance& i : instances) key.insert(key.end(), {i.tensor, i.rank});
    const auto [found, fresh] = connections_.try_emplace(std::move(key), kNone);
    if (!fresh) return found->second;
    std::vector<AxisId> rank_axes, axes;
    for (const Instance& i : instances) rank_axes.push_back(out_.rank_axis[i.tensor]);
    absl::StatusOr<InstanceFunction> made =
        MakeInstances(out_.problem.parallel, instances, rank_axes, axis, &axes);
    if (!made.ok()) return kNone;
    return found->second = Connect(*std::move(made), instances[0].tensor, axis, axes, device, {});
  }

  TensorId Connect(InstanceFunction made, TensorId like, AxisId axis, std::vector<AxisId> axes,
                   sdfg::Device device, Lineage lineage) {
    sdfg::Graph& g = out_.problem.parallel;
    Tensor tensor = g.tensors[like];
    tensor.shape = made.function.outputs[0].shape(made.function.vars);
    tensor.axes = std::move(axes);
    tensor.role = sdfg::TensorRole::kIntermediate;
    tensor.device = device;
    Operator op;
    op.name = made.function.operator_name;
    op.kind = sdfg::OperatorKind::kSelectInstance;
    op.function = g.Intern(made.function);
    op.lifted = false;
    for (const InstanceSource& source : made.sources) op.inputs.push_back(source.tensor);
    op.devices = {device};
    const TensorId id = Add(std::move(tensor), std::move(lineage), axis);
    op.outputs = {id};
    AddOperator(std::move(op), Connection{std::move(made), axis});
    return id;
  }

  bool EmitExplicit(OperatorId original) {
    Operator op = graph_.operators[original];
    const sdfg::Device device = DeviceOf(graph_, op);
    for (TensorId& input : op.inputs) {
      input = Operand({out_.places[input]}, kNone, std::max(device, 0));
      if (input == kNone) return false;
    }
    for (TensorId& output : op.outputs) {
      if (output != kNone) output = KeepTensor(output);
    }
    AddOperator(std::move(op), Explicit{original});
    return true;
  }

  bool EmitClass(int c) {
    const Aligned& aligned = plan_.classes()[c];
    const Group& group = groups_.groups[aligned.group];
    const Operator& first = graph_.operators[aligned.members[0]];
    Operator op = first;
    Describe(aligned, &op);
    op.inputs.clear();
    const bool collective = plan_.Of(c).kind == ClassPlan::Kind::kCollective &&
                            plan_.Of(c).collective.kind != CollectiveKind::kChunk;
    for (size_t i = 0; i < (collective ? 1 : first.inputs.size()); ++i) {
      std::vector<Instance> instances;
      for (int32_t r = 0; r < group.size; ++r) {
        const TensorId operand =
            collective ? first.inputs[r] : graph_.operators[aligned.members[r]].inputs[i];
        instances.push_back(out_.places[operand]);
      }
      if (collective && IsReduction(plan_.Of(c).collective.kind)) {  // in any order: by rank
        std::sort(instances.begin(), instances.end(), [](const Instance& a, const Instance& b) {
          return std::pair(a.tensor, a.rank) < std::pair(b.tensor, b.rank);
        });
      }
      op.inputs.push_back(Operand(instances, axis_of_[aligned.group], group.first));
      if (op.inputs.back() == kNone) return false;
    }
    if (collective) return EmitCollective(aligned, plan_.Of(c), std::move(op));
    Origin origin = Lifted{aligned.members};
    if (plan_.Of(c).kind == ClassPlan::Kind::kCollective) {
      origin = CollectiveForm{aligned.members, plan_.Of(c).collective};
      if (!UseAxisForm(plan_.Of(c).collective, aligned.group, &op)) return false;
    } else if (plan_.Of(c).kind == ClassPlan::Kind::kRanked || !first.lifted ||
               first.inputs.empty()) {
      RankedForm form{aligned.members, LayoutOf(aligned, first, op)};
      std::optional<IndexFunction> function = FoldRanks(plan_.FunctionsOf(aligned), form.layout);
      if (!function.has_value()) return KeepExplicit(c);
      op.function = out_.problem.parallel.Intern(*std::move(function));
      op.lifted = false;
      op.adjustable = nullptr;
      origin = std::move(form);
    }
    EmitOutputs(aligned, &op);
    AddOperator(std::move(op), std::move(origin));
    return true;
  }

  // What turned out not to fit stays as it was read.
  bool KeepExplicit(int c) {
    for (OperatorId member : plan_.classes()[c].members) {
      if (!EmitExplicit(member)) return false;
    }
    return true;
  }

  void EmitOutputs(const Aligned& aligned, Operator* op) {
    for (size_t o = 0; o < op->outputs.size(); ++o) {
      if (op->outputs[o] == kNone) continue;
      std::vector<TensorId> members;
      for (OperatorId member : aligned.members) {
        members.push_back(graph_.operators[member].outputs[o]);
      }
      std::optional<Lineage> lineage = plan_.AlikeTensors(groups_.groups[aligned.group], members);
      op->outputs[o] = FoldTensor(aligned.group, members, *std::move(lineage));
    }
  }

  bool UseAxisForm(const GroupCollective& collective, int group, Operator* op) {
    const Tensor& operand = out_.problem.parallel.tensors[op->inputs[0]];
    const int axis_dim = static_cast<int>(operand.axes.size()) - 1;
    absl::StatusOr<IndexFunction> function =
        AxisForm(collective, operand.shape, operand.dtype, axis_dim);
    if (!function.ok()) return false;
    op->function = out_.problem.parallel.Intern(*std::move(function));
    op->lifted = false;
    op->adjustable = nullptr;
    if (collective.kind != CollectiveKind::kChunk) {
      op->devices.clear();
      for (int32_t r = 0; r < groups_.groups[group].size; ++r) {
        op->devices.push_back(groups_.groups[group].device(r));
      }
    }
    return true;
  }

  bool EmitCollective(const Aligned& aligned, const ClassPlan& plan, Operator op) {
    if (!UseAxisForm(plan.collective, aligned.group, &op)) return false;
    std::vector<OperatorId> by_position(aligned.members.size());
    bool in_order = true;
    for (size_t r = 0; r < aligned.members.size(); ++r) {
      by_position[plan.positions[r]] = aligned.members[r];
      in_order = in_order && plan.positions[r] == static_cast<int>(r);
    }
    CollectiveForm origin{by_position, plan.collective};
    if (in_order) {
      EmitOutputs(aligned, &op);
      AddOperator(std::move(op), std::move(origin));
      return true;
    }
    // The result at rank r is that of r's position.
    std::vector<TensorId> results;
    for (OperatorId member : aligned.members) {
      results.push_back(graph_.operators[member].outputs[0]);
    }
    std::optional<Lineage> lineage = plan_.AlikeTensors(groups_.groups[aligned.group], results);
    const AxisId axis = axis_of_[aligned.group];
    const TensorId by = FoldTensor(aligned.group, results, Lineage{});
    op.outputs = {by};
    const sdfg::Device device = groups_.groups[aligned.group].first;
    AddOperator(std::move(op), std::move(origin));
    std::vector<Instance> instances;
    for (int position : plan.positions) instances.push_back({by, position});
    std::vector<AxisId> axes;
    absl::StatusOr<InstanceFunction> made = MakeInstances(
        out_.problem.parallel, instances, std::vector<AxisId>(instances.size(), axis), axis, &axes);
    if (!made.ok()) return false;
    const TensorId id =
        Connect(*std::move(made), by, axis, std::move(axes), device, *std::move(lineage));
    for (size_t r = 0; r < results.size(); ++r) {
      out_.places[results[r]] = {id, static_cast<int32_t>(r)};
    }
    return true;
  }

  // Coordinates of a function of the rank: all axes of a lifted operator, otherwise only the rank.
  CoordinateLayout LayoutOf(const Aligned& aligned, const Operator& first, const Operator& op) {
    CoordinateLayout layout;
    const sdfg::Graph& g = out_.problem.parallel;
    std::vector<AxisId> axes;
    for (TensorId output : first.outputs) {
      if (output != kNone) axes = graph_.tensors[output].axes;
    }
    layout.inputs.resize(op.inputs.size());
    if (!first.lifted) {
      layout.extents = {groups_.groups[aligned.group].size};
      layout.output = {static_cast<int>(axes.size())};
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const auto rank_dim = static_cast<int>(g.tensors[op.inputs[i]].axes.size()) - 1;
        layout.inputs[i] = {{rank_dim, 0}};
      }
      return layout;
    }
    axes.push_back(axis_of_[aligned.group]);
    for (size_t a = 0; a < axes.size(); ++a) {
      layout.extents.push_back(g.axes[axes[a]].extent);
      layout.output.push_back(static_cast<int>(a));
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      for (AxisId axis : g.tensors[op.inputs[i]].axes) {
        const auto at = std::find(axes.begin(), axes.end(), axis) - axes.begin();
        layout.inputs[i].push_back(
            {static_cast<int>(layout.inputs[i].size()), static_cast<int>(at)});
      }
    }
    return layout;
  }

  // What is said of all instances: what is the same, and the labels of the first few.
  void Describe(const Aligned& aligned, Operator* op) const {
    std::vector<std::string> labels;
    for (OperatorId member : aligned.members) {
      const Operator& other = graph_.operators[member];
      if (std::find(labels.begin(), labels.end(), other.label) == labels.end()) {
        labels.push_back(other.label);
      }
      std::erase_if(op->attributes, [&](const auto& attribute) {
        return std::find(other.attributes.begin(), other.attributes.end(), attribute) ==
               other.attributes.end();
      });
      if (other.group != op->group) op->group.clear();
      const Operator::Memory &a = op->memory, &b = other.memory;
      if (a.overwrites != b.overwrites || a.view != b.view || a.one_pass != b.one_pass) {
        op->memory = {};
      }
    }
    op->label.clear();
    for (size_t i = 0; i < labels.size() && i < kMaxLabels; ++i) {
      absl::StrAppend(&op->label, i == 0 ? "" : "; ", labels[i]);
    }
    if (labels.size() > kMaxLabels) {
      absl::StrAppend(&op->label, " and ", labels.size() - kMaxLabels, " more");
    }
  }

  bool EmitRequired() {
    std::map<std::pair<TensorId, int>, std::vector<int>> by_instance;  // tensor, how many before
    std::map<TensorId, int> times;                                     // by original tensor
    const int count = static_cast<int>(in_.required.size());
    std::vector<std::pair<TensorId, int>> key(count);
    for (int q = 0; q < count; ++q) {
      const TensorId original = in_.required[q].parallel;
      key[q] = {out_.places[original].tensor, times[original]++};
      by_instance[key[q]].push_back(q);
    }
    out_.required.assign(count, kNone);
    for (int q = 0; q < count; ++q) {
      if (out_.required[q] != kNone) continue;
      const std::vector<int>& all = by_instance[key[q]];
      if (FoldRequired(all)) continue;
      for (int one : all) {
        RequiredRelation relation = in_.required[one];
        const Instance place = out_.places[relation.parallel];
        relation.parallel =
            Operand({place}, kNone, std::max(graph_.tensors[relation.parallel].device, 0));
        if (relation.parallel == kNone) return false;
        out_.required[one] = static_cast<int>(out_.problem.required.size());
        out_.problem.required.push_back(std::move(relation));
      }
    }
    return true;
  }

  bool FoldRequired(const std::vector<int>& all) {
    const RequiredRelation& first = in_.required[all[0]];
    const Instance place = out_.places[first.parallel];
    if (place.rank == kNone) return false;
    const Tensor& tensor = out_.problem.parallel.tensors[place.tensor];
    const auto at = std::find(tensor.axes.begin(), tensor.axes.end(), out_.rank_axis[place.tensor]);
    const int rank_dim = static_cast<int>(at - tensor.axes.begin());
    std::vector<const Lineage*> lineages(tensor.shape[rank_dim], nullptr);
    for (int q : all) {
      if (in_.required[q].what != first.what) return false;
      lineages[out_.places[in_.required[q].parallel].rank] = &in_.required[q].lineage;
    }
    if (std::count(lineages.begin(), lineages.end(), nullptr) > 0) return false;
    std::optional<Lineage> lineage = FoldLineage(lineages, rank_dim);
    if (!lineage.has_value()) return false;
    for (int q : all) out_.required[q] = static_cast<int>(out_.problem.required.size());
    out_.problem.required.push_back({place.tensor, *std::move(lineage), first.what});
    return true;
  }

  // Checks the graph. Its order of operators is that of the origins as long as each comes after
  // what it reads, which is how they were added.
  bool Sort() {
    sdfg::Graph& g = out_.problem.parallel;
    std::vector<TensorId> first_output;
    for (const Operator& op : g.operators)
      first_output.push_back(op.outputs.empty() ? kNone : op.outputs[0]);
    if (!g.Check().ok()) return false;
    for (size_t i = 0; i < g.operators.size(); ++i) {
      const Operator& op = g.operators[i];
      if ((op.outputs.empty() ? kNone : op.outputs[0]) != first_output[i]) return false;
    }
    return true;
  }

  const Problem& in_;
  const sdfg::Graph& graph_;
  const Groups& groups_;
  const FoldPlan plan_;
  std::vector<AxisId> axis_of_;  // by group
  std::map<std::vector<int64_t>, TensorId> connections_;
  Folding out_;
};

}  // namespace

std::optional<Folding> Fold(const Problem& problem) {
  if (!problem.schedule.programs.empty() || !problem.schedule.storage.empty() ||
      !problem.schedule.async_operations.empty()) {
    return std::nullopt;
  }
  const Groups groups = FindGroups(problem.parallel);
  if (groups.groups.empty()) return std::nullopt;
  FoldPlan plan(problem, groups);
  if (!plan.Any()) return std::nullopt;
  return Folder(problem, groups, std::move(plan)).Run();
}

}  // namespace planproof::lineage::folding
