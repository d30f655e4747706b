#include "frontend/plan/program_builder.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/program.h"
#include "frontend/plan/remedies.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

using sdfg::AxisId;
using sdfg::TensorId;

namespace {
constexpr int kMaxAxes = 16;
constexpr int kMaxPrograms = 4096;
constexpr int64_t kMaxDevices = 1 << 24;
constexpr char kMicrobatch[] = "microbatch";
}  // namespace

PlanBuilder::PlanBuilder(LogicalModel logical, const Specification& specification, const Plan& plan,
                         std::string specification_file, std::string plan_file,
                         const sdfg::OperatorLibrary& library)
    : logical_(std::move(logical)),
      specification_(specification),
      plan_(plan),
      specification_file_(std::move(specification_file)),
      plan_file_(std::move(plan_file)),
      library_(library),
      adjustable_(library, logical_.literals) {}

absl::StatusOr<lineage::Problem> PlanBuilder::Run() {
  problem_.logical = std::move(logical_.graph);
  problem_.premises = logical_.premises;
  problem_.assumptions = logical_.assumptions;
  PLAN_RETURN_IF_ERROR(AddAxes());
  PLAN_RETURN_IF_ERROR(AddPrograms());
  PLAN_RETURN_IF_ERROR(Schedule());
  PLAN_RETURN_IF_ERROR(CheckGroupCollectives());
  for (auto& state : programs_) PLAN_RETURN_IF_ERROR(AddBuffers(state.get()));
  AssumeBufferedSends();
  AssumeOrderOfInputs();
  problem_.lineage.resize(problem_.parallel.tensors.size());
  for (auto& state : programs_) PLAN_RETURN_IF_ERROR(AddLineage(state.get()));
  PLAN_RETURN_IF_ERROR(AddRequired());
  problem_.lineage.resize(problem_.parallel.tensors.size());
  PLAN_RETURN_IF_ERROR(AddUpdates());
  problem_.lineage.resize(problem_.parallel.tensors.size());
  for (const auto& [tensor, boxes] : input_boxes_) {
    PLAN_RETURN_IF_ERROR(CheckInputCover(tensor, boxes));
  }
  if (!plan_declared_.empty()) {
    if (plan_declared_.size() > 6) {
      const size_t more = plan_declared_.size() - 5;
      plan_declared_.resize(5);
      plan_declared_.push_back(absl::StrCat("... (", more, " more)"));
    }
    problem_.assumptions.push_back(
        absl::StrCat("devices hold the slices of inputs that the plan declares: ",
                     absl::StrJoin(plan_declared_, ", ")));
  }
  WarnOfUnread();
  if (absl::Status status = problem_.logical.Check(); !status.ok()) {
    return At({specification_file_, 0, "/specification"}, status);
  }
  if (absl::Status status = problem_.parallel.Check(); !status.ok()) {
    return At({plan_file_, 0, "/plan"}, status);
  }
  return std::move(problem_);
}

absl::Status PlanBuilder::AddAxes() {
  sdfg::Graph& graph = problem_.parallel;
  const Position at{plan_file_, 0, "/plan/mesh"};
  int64_t devices = 1;
  std::set<std::string> names{kMicrobatch};
  if (plan_.mesh_size() > kMaxAxes) return At(at, absl::StrCat("more than ", kMaxAxes, " axes"));
  for (const MeshAxis& axis : plan_.mesh()) {
    if (axis.name().empty() || NamesIn(axis.name()) != std::vector<std::string>{axis.name()}) {
      return At(at, absl::StrCat("\"", axis.name(),
                                 "\" is no name of an axis; letters, digits and "
                                 "_ are, e.g. \"tp\""));
    }
    if (axis.name().size() > 1 && axis.name()[0] == 'i' &&
        axis.name().find_first_not_of("0123456789", 1) == std::string::npos) {
      return At(at, absl::StrCat("axis \"", axis.name(), "\" is named like a local index"));
    }
    if (!names.insert(axis.name()).second) {
      return At(at, axis.name() == kMicrobatch
                        ? std::string("\"microbatch\" is no mesh axis; use \"microbatches\"")
                        : absl::StrCat("axis \"", axis.name(), "\" stands twice"));
    }
    if (axis.extent() < 1 || axis.extent() > kMaxDevices ||
        (devices *= axis.extent()) > kMaxDevices) {
      return At(at, absl::StrCat("axis ", axis.name(), " of extent ", axis.extent(),
                                 ": a mesh has 1 to 2^24 devices"));
    }
    graph.axes.push_back({axis.name(), axis.extent()});
  }
  graph.axis_device_stride.assign(graph.axes.size(), 1);
  int64_t stride = 1;
  for (size_t i = graph.axes.size(); i-- > 0;) {
    graph.axis_device_stride[i] = stride;
    stride *= graph.axes[i].extent;
  }
  if (plan_.microbatches() < 0 || plan_.microbatches() > kMaxDevices) {
    return At({plan_file_, 0, "/plan/microbatches"}, "1 to 2^24 microbatches are expected");
  }
  graph.axes.push_back({kMicrobatch, std::max<int64_t>(1, plan_.microbatches())});
  graph.axis_device_stride.push_back(0);
  return absl::OkStatus();
}

absl::Status PlanBuilder::AddPrograms() {
  if (plan_.programs_size() > kMaxPrograms) {
    return At({plan_file_, 0, "/plan/programs"}, absl::StrCat("more than ", kMaxPrograms));
  }
  for (int i = 0; i < plan_.programs_size(); ++i) {
    const Program& program = plan_.programs(i);
    auto state = std::make_unique<ProgramState>();
    state->program = &program;
    state->index = i;
    state->pointer = absl::StrCat("/plan/programs/", i);
    state->name = program.name().empty() ? absl::StrCat("program", i) : program.name();
    const Position at{plan_file_, program.line(), state->pointer};
    if (state->name.find(':') != std::string::npos) {
      return At(at, "the name of a program holds no colon");
    }
    if (!by_name_.emplace(state->name, state.get()).second) {
      return At(at, absl::StrCat("two programs are named \"", state->name, "\""));
    }
    state->coordinates.axes = &problem_.parallel.axes;
    state->coordinates.fixed.resize(problem_.parallel.axes.size());
    for (const Coordinate& coordinate : program.devices()) {
      const AxisId axis = state->coordinates.Find(coordinate.axis());
      if (axis == sdfg::kNone || coordinate.axis() == kMicrobatch) {
        return At(at, state->coordinates.NotInTheMesh(coordinate.axis()));
      }
      const int64_t extent = problem_.parallel.axes[axis].extent;
      if (coordinate.values_size() != 1 || coordinate.values(0) < 0 ||
          coordinate.values(0) >= extent || state->coordinates.fixed[axis].has_value()) {
        return At(at, absl::StrCat("\"devices\" fixes one coordinate of ", coordinate.axis(),
                                   ", from 0 to ", extent - 1));
      }
      state->coordinates.fixed[axis] = coordinate.values(0);
      state->device += static_cast<sdfg::Device>(coordinate.values(0) *
                                                 problem_.parallel.axis_device_stride[axis]);
    }
    programs_.push_back(std::move(state));
  }
  PLAN_RETURN_IF_ERROR(CheckGroups());
  for (auto& state : programs_) {
    PLAN_RETURN_IF_ERROR(CollectNames(state.get()));
    PLAN_RETURN_IF_ERROR(ReadOrder(state.get()));
    PLAN_RETURN_IF_ERROR(AddInputs(state.get()));
  }
  return absl::OkStatus();
}

// A device runs one program.
absl::Status PlanBuilder::CheckGroups() const {
  int64_t covered = 0;
  int64_t all = 1;
  for (size_t i = 0; i < programs_.size(); ++i) {
    int64_t devices = 1;
    all = 1;
    for (size_t axis = 0; axis + 1 < problem_.parallel.axes.size(); ++axis) {
      const int64_t extent = problem_.parallel.axes[axis].extent;
      all *= extent;
      if (!programs_[i]->coordinates.fixed[axis].has_value()) devices *= extent;
    }
    covered += devices;
    for (size_t j = 0; j < i; ++j) {
      bool disjoint = false;
      for (size_t axis = 0; axis < problem_.parallel.axes.size(); ++axis) {
        const auto& a = programs_[i]->coordinates.fixed[axis];
        const auto& b = programs_[j]->coordinates.fixed[axis];
        disjoint = disjoint || (a.has_value() && b.has_value() && *a != *b);
      }
      if (!disjoint) {
        return At({plan_file_, programs_[i]->program->line(), programs_[i]->pointer},
                  absl::StrCat("programs \"", programs_[j]->name, "\" and \"", programs_[i]->name,
                               "\" run on the same devices; fix a coordinate under \"devices\""));
      }
    }
  }
  if (!programs_.empty() && covered != all) {
    return At({plan_file_, 0, "/plan/programs"},
              absl::StrCat("the mesh has ", all, " devices, the programs run on ", covered,
                           "; give the others a program too (it may be empty)"));
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::CollectNames(ProgramState* state) {
  const Program& program = *state->program;
  const auto define = [&](const std::string& name, const Position& at) -> absl::Status {
    if (name.empty()) return At(at, "a tensor has no name");
    if (state->all_names.insert(name).second) return absl::OkStatus();
    return At(at, absl::StrCat("\"", name, "\" is defined twice in program \"", state->name,
                               "\": single assignment; give the new value its own name"));
  };
  for (const NamedRelation& input : program.inputs()) {
    PLAN_RETURN_IF_ERROR(
        define(input.name(), {plan_file_, input.relation().line(), state->pointer + "/inputs"}));
  }
  for (int i = 0; i < program.operators_size(); ++i) {
    const Operator& op = program.operators(i);
    const Position at = WhereOperator(*state, i);
    for (const std::string& name : op.outputs()) PLAN_RETURN_IF_ERROR(define(name, at));
    std::set<std::string> produced;  // one gradient may be asked for by several operands
    for (const Binding& binding : op.produces()) {
      if (produced.insert(binding.value()).second) {
        PLAN_RETURN_IF_ERROR(define(binding.value(), at));
      }
    }
  }
  for (int i = 0; i < program.exceptions_size(); ++i) {
    state->exceptions[program.exceptions(i).replace()].push_back(i);
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::AddInputs(ProgramState* state) {
  for (const NamedRelation& input : state->program->inputs()) {
    const Position at{plan_file_, input.relation().line(),
                      absl::StrCat(state->pointer, "/inputs/", input.name())};
    const std::string of = input.relation().of().empty() ? input.name() : input.relation().of();
    const Relation* prescribed = nullptr;
    for (const NamedRelation& relation : specification_.relations()) {
      if (relation.name() == of) prescribed = &relation.relation();
    }
    Relation relation = input.relation();
    if (!input.has_relation() && prescribed != nullptr) {
      relation = *prescribed;
      relation.set_of(of);
    }
    absl::StatusOr<ResolvedRelation> resolved =
        ResolveRelation(relation, input.name(), Logical(), state->coordinates, nullptr, nullptr);
    if (!resolved.ok()) {
      return At(at, absl::StrCat(input.name(), ": ", std::string(resolved.status().message())));
    }
    const sdfg::Tensor& model = problem_.logical.tensors[resolved->logical];
    if (model.producer != sdfg::kNone) {
      return At(at, absl::StrCat("\"", model.name,
                                 "\" is computed by the model; a program reads "
                                 "inputs, parameters and buffers only"));
    }
    if (resolved->lineage.kind != lineage::LineageKind::kFull) {
      return At(at, absl::StrCat(input.name(), ": an input cannot be partial"));
    }
    if (!relation.factor().empty()) {
      return At(at,
                absl::StrCat(input.name(), ": an input has no factor; multiply in the program"));
    }
    if (prescribed != nullptr && input.has_relation()) {
      absl::StatusOr<ResolvedRelation> wanted = ResolveRelation(
          *prescribed, of, Logical(), state->coordinates, &resolved->axes, &resolved->local);
      if (!wanted.ok() || wanted->axes != resolved->axes ||
          wanted->lineage.map != resolved->lineage.map) {
        return At(at, absl::StrCat(
                          "program \"", state->name, "\" reads ", of,
                          " in another relation than the specification prescribes; list the name ",
                          "alone to take that"));
      }
    }
    if (prescribed == nullptr && (relation.dims_size() > 0 || relation.has_map())) {
      if (std::find(plan_declared_.begin(), plan_declared_.end(), of) == plan_declared_.end()) {
        plan_declared_.push_back(of);
      }
    }
    sdfg::Tensor tensor;
    tensor.name = FullName(*state, input.name());
    tensor.axes = resolved->axes;
    for (AxisId axis : resolved->axes) {
      tensor.shape.push_back(problem_.parallel.axes[axis].extent);
    }
    tensor.shape.insert(tensor.shape.end(), resolved->local.begin(), resolved->local.end());
    if (absl::Status status = CheckVolume(tensor.shape); !status.ok()) return At(at, status);
    tensor.dtype = model.dtype;
    tensor.role = model.role;
    tensor.device = state->device;
    tensor.source = {plan_file_, input.relation().line(), ""};
    input_boxes_[resolved->logical].push_back(
        {absl::StrCat("program ", state->name), resolved->lineage.map, tensor.shape,
         static_cast<int>(tensor.axes.size()), resolved->overlap});
    std::vector<ReadAs>& reads = read_as_[{state, resolved->logical}];
    if (std::none_of(reads.begin(), reads.end(), [&](const ReadAs& read) {
          return read.axes == resolved->axes && read.map == resolved->lineage.map;
        })) {
      reads.push_back({relation, resolved->axes, resolved->lineage.map});
    }
    const TensorId id = problem_.parallel.AddTensor(std::move(tensor));
    problem_.lineage.resize(id + 1);
    problem_.lineage[id] = std::move(resolved->lineage);
    SetPlaces(id, *state, sdfg::kNone);
    state->scope.emplace(input.name(), id);
  }
  return absl::OkStatus();
}

std::string PlanBuilder::WaitsFor(const ProgramState& state) const {
  const Operator& op = state.program->operators(state.next);
  const auto missing = [&](const Operator& candidate) -> std::string {
    if (candidate.op() == kWait) return "";  // reads handles
    for (const Operand& operand : candidate.inputs()) {
      if (operand.kind_case() != Operand::kTensor) continue;
      const size_t colon = operand.tensor().find(':');
      if (colon == std::string::npos) continue;
      const auto owner = by_name_.find(operand.tensor().substr(0, colon));
      if (owner == by_name_.end()) continue;  // Lookup reports it
      const std::string name = operand.tensor().substr(colon + 1);
      if (owner->second->scope.count(name) > 0) continue;
      if (owner->second->all_names.count(name) == 0) continue;  // Lookup reports it
      return operand.tensor();
    }
    return "";
  };
  std::string name = missing(op);
  for (const std::string& output : op.outputs()) {
    const auto exceptions = state.exceptions.find(output);
    if (!name.empty() || exceptions == state.exceptions.end()) continue;
    for (int e : exceptions->second) {
      for (const Operator& other : state.program->exceptions(e).operators()) {
        if (name.empty()) name = missing(other);
      }
    }
  }
  return name;
}

absl::Status PlanBuilder::Schedule() {
  bool progress = true;
  bool done = false;
  while (progress && !done) {
    progress = false;
    done = true;
    for (auto& state : programs_) {
      while (state->next < state->program->operators_size() && WaitsFor(*state).empty()) {
        PLAN_RETURN_IF_ERROR(RunOperator(state.get(), state->next));
        ++state->next;
        progress = true;
      }
      done = done && state->next == state->program->operators_size();
    }
  }
  if (!done) return Stuck();
  for (const auto& state : programs_) {
    for (const auto& [name, list] : state->exceptions) {
      const Exception& exception = state->program->exceptions(list.front());
      const Position at{plan_file_, exception.line(),
                        absl::StrCat(state->pointer, "/exceptions/", list.front())};
      const bool operator_output =
          std::any_of(state->program->operators().begin(), state->program->operators().end(),
                      [&name = name](const Operator& op) {
                        return std::find(op.outputs().begin(), op.outputs().end(), name) !=
                                   op.outputs().end() ||
                               std::any_of(op.produces().begin(), op.produces().end(),
                                           [&](const Binding& b) { return b.value() == name; });
                      });
      if (!operator_output) {
        return At(
            at, absl::StrCat("\"replace\": no operator of program \"", state->name,
                             "\" names an output \"", name, "\"",
                             DidYouMean(name, {state->all_names.begin(), state->all_names.end()})));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::Stuck() const {
  std::vector<std::string> waits;
  Position at;
  for (const auto& state : programs_) {
    if (state->next >= state->program->operators_size()) continue;
    if (waits.empty()) at = WhereOperator(*state, state->next);
    waits.push_back(absl::StrCat("program \"", state->name, "\" waits at operator ", state->next,
                                 " for ", WaitsFor(*state)));
    if (waits.size() == 8) break;
  }
  return At(at, absl::StrCat("wait cycle: ", absl::StrJoin(waits, ", ")));
}

// Every participant of a group collective issues it, and lists those with the same operands in the
// same order, so that the first of one program is the first of the others. The order in which they
// run is checked with the schedule (stages/schedule/schedule_check.h).
absl::Status PlanBuilder::CheckGroupCollectives() const {
  std::map<GroupCollective, std::map<int32_t, int>> issued;
  using Listed = std::map<int32_t, std::vector<std::string>>;
  std::map<decltype(GroupCollective::operands), Listed> listed;
  for (const auto& state : programs_) {
    for (const GroupCollective& collective : state->group_collectives) {
      ++issued[collective][state->index];
      listed[collective.operands][state->index].push_back(collective.exchange);
    }
  }
  for (const auto& state : programs_) {
    for (const GroupCollective& collective : state->group_collectives) {
      std::map<int32_t, int>& count = issued[collective];
      for (const auto& [other, tensor] : collective.operands) {
        if (count[other] == count[state->index]) continue;
        const ProgramState& missing = *programs_[other];
        return At({plan_file_, missing.program->line(), missing.pointer},
                  absl::StrCat("program \"", state->name, "\" issues ", collective.exchange,
                               " with \"", missing.name, "\", which issues it ", count[other],
                               " times, not ", count[state->index], ": it would hang"));
      }
    }
  }
  for (const auto& [operands, orders] : listed) {
    const auto& [first, order] = *orders.begin();
    for (const auto& [program, other] : orders) {
      const auto [a, b] = std::mismatch(order.begin(), order.end(), other.begin(), other.end());
      if (a == order.end()) continue;
      const ProgramState& state = *programs_[program];
      return At(
          {plan_file_, state.program->line(), state.pointer},
          absl::StrCat("programs \"", programs_[first]->name, "\" and \"", state.name, "\" issue ",
                       *a, " and ", *b, " of the same tensors in different order; what they ",
                       "send each other would be mixed up"));
    }
  }
  return absl::OkStatus();
}

Position PlanBuilder::WhereOperator(const ProgramState& state, int index) const {
  return {plan_file_, state.program->operators(index).line(),
          absl::StrCat(state.pointer, "/operators/", index)};
}

sdfg::Shape PlanBuilder::Local(TensorId id) const {
  const sdfg::Tensor& tensor = problem_.parallel.tensors[id];
  return sdfg::Shape(tensor.shape.begin() + tensor.axes.size(), tensor.shape.end());
}

AxisList PlanBuilder::UnionOfAxes(const std::vector<TensorId>& tensors) const {
  std::set<AxisId> axes;
  for (TensorId id : tensors) {
    const sdfg::Tensor& tensor = problem_.parallel.tensors[id];
    axes.insert(tensor.axes.begin(), tensor.axes.end());
  }
  return AxisList(axes.begin(), axes.end());
}

std::string PlanBuilder::FullName(const ProgramState& state, const std::string& name) const {
  return programs_.size() <= 1 && plan_.programs_size() <= 1 ? name
                                                             : absl::StrCat(state.name, ":", name);
}

std::vector<TensorId> PlanBuilder::AddOperator(
    const ProgramState& state, const std::string& op_name, const std::string& label,
    sdfg::IndexFunction function, bool lifted, const AxisList& output_axes,
    std::vector<TensorId> inputs, const std::vector<std::string>& names,
    const sdfg::SourceLocation& source, std::vector<std::pair<std::string, std::string>> attributes,
    std::vector<sdfg::Device> devices) {
  sdfg::Operator op;
  op.name = op_name;
  op.label = label;
  op.lifted = lifted;
  op.inputs = std::move(inputs);
  op.devices = devices.empty() ? std::vector<sdfg::Device>{state.device} : std::move(devices);
  op.attributes = std::move(attributes);
  op.source = source;
  for (size_t o = 0; o < function.outputs.size(); ++o) {
    if (o >= names.size() || names[o].empty()) {
      op.outputs.push_back(sdfg::kNone);
      continue;
    }
    sdfg::Tensor tensor;
    tensor.name = FullName(state, names[o]);
    tensor.axes = output_axes;
    const sdfg::Shape shape = function.outputs[o].shape(function.vars);
    if (lifted) {
      for (AxisId axis : output_axes) {
        tensor.shape.push_back(problem_.parallel.axes[axis].extent);
      }
    }
    tensor.shape.insert(tensor.shape.end(), shape.begin(), shape.end());
    tensor.dtype = function.outputs[o].dtype;
    tensor.device = state.device;
    tensor.source = source;
    op.outputs.push_back(problem_.parallel.AddTensor(std::move(tensor)));
  }
  op.function = problem_.parallel.Intern(std::move(function));
  std::vector<TensorId> outputs = op.outputs;
  problem_.parallel.AddOperator(std::move(op));
  return outputs;
}

absl::StatusOr<lineage::Problem> BuildProblem(LogicalModel logical,
                                              const Specification& specification,
                                              const std::string& specification_file,
                                              const Plan& plan, const std::string& plan_file,
                                              const sdfg::OperatorLibrary& library) {
  return PlanBuilder(std::move(logical), specification, plan, specification_file, plan_file,
                     library)
      .Run();
}

}  // namespace planproof::plan
