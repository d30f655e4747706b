// The mesh, the programs that run on its devices, and what they hold at first.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/plan/index_expression.h"
#include "frontend/plan/program_builder.h"
#include "sdfg/limit.h"
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

absl::Status PlanBuilder::AddAxes() {
  sdfg::Graph& graph = problem_.parallel;
  const Position at{plan_file_, 0, "/plan/mesh"};
  int64_t devices = 1;
  std::set<std::string> names{kMicrobatch};
  if (plan_.mesh_size() > kMaxAxes)
    return At(at, sdfg::BeyondLimit("axes of the mesh", plan_.mesh_size(), kMaxAxes));
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
    if (axis.extent() < 1) {
      return At(at, absl::StrCat("axis ", axis.name(), " has extent ", axis.extent()));
    }
    if (axis.extent() > kMaxDevices || (devices *= axis.extent()) > kMaxDevices) {
      return At(
          at, sdfg::BeyondLimit("devices of the mesh",
                                absl::StrCat(axis.extent() > kMaxDevices ? axis.extent() : devices,
                                             " up to axis ", axis.name()),
                                "2^24"));
    }
    graph.axes.push_back({axis.name(), axis.extent()});
  }
  graph.axis_device_stride.assign(graph.axes.size(), 1);
  int64_t stride = 1;
  for (size_t i = graph.axes.size(); i-- > 0;) {
    graph.axis_device_stride[i] = stride;
    stride *= graph.axes[i].extent;
  }
  const Position microbatches{plan_file_, 0, "/plan/microbatches"};
  if (plan_.microbatches() < 0) return At(microbatches, "a positive number is expected");
  if (plan_.microbatches() > kMaxDevices) {
    return At(microbatches, sdfg::BeyondLimit("microbatches", plan_.microbatches(), "2^24"));
  }
  graph.axes.push_back(
      {kMicrobatch, std::max<int64_t>(1, plan_.microbatches()), sdfg::AxisKind::kMicrobatch});
  graph.axis_device_stride.push_back(0);
  return absl::OkStatus();
}

absl::Status PlanBuilder::AddPrograms() {
  if (plan_.programs_size() > kMaxPrograms) {
    return At({plan_file_, 0, "/plan/programs"},
              sdfg::BeyondLimit("programs", plan_.programs_size(), kMaxPrograms));
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
      return At(at, absl::StrCat(input.name(), ": "), resolved.status());
    }
    const sdfg::Tensor& model = problem_.logical.tensors[resolved->logical];
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
    if (absl::Status status = CheckExtents(tensor.shape); !status.ok()) return At(at, status);
    tensor.dtype = model.dtype;
    tensor.role = model.role;
    tensor.device = state->device;
    tensor.source = {plan_file_, input.relation().line(), ""};
    const TensorId id = problem_.parallel.AddTensor(std::move(tensor));
    std::vector<ReadAs>& reads = read_as_[{state, resolved->logical}];
    if (std::none_of(reads.begin(), reads.end(), [&](const ReadAs& read) {
          return problem_.parallel.tensors[read.tensor].axes == resolved->axes &&
                 problem_.LineageOf(read.tensor).map == resolved->lineage.map;
        })) {
      reads.push_back({id, resolved->overlap});
    }
    if (absl::Status status =
            problem_.RelateInput(id, std::move(resolved->lineage),
                                 {absl::StrCat("program ", state->name), resolved->overlap});
        !status.ok()) {
      return At(at, status);
    }
    SetPlaces(id, *state, sdfg::kNone);
    state->scope.emplace(input.name(), id);
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
