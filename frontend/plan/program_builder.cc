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

PlanBuilder::PlanBuilder(LogicalModel logical, const Specification& specification, const Plan& plan,
                         std::string specification_file, std::string plan_file,
                         const sdfg::OperatorLibrary& library)
    : logical_(std::move(logical)),
      specification_(specification),
      plan_(plan),
      specification_file_(std::move(specification_file)),
      plan_file_(std::move(plan_file)),
      calls_(library, logical_.literals, &problem_.parallel),
      functions_(&problem_.parallel) {}

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
  for (auto& state : programs_) PLAN_RETURN_IF_ERROR(AddLineage(state.get()));
  PLAN_RETURN_IF_ERROR(AddRequired());
  PLAN_RETURN_IF_ERROR(AddUpdates());
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
  return problem_.Build([this](const lineage::ProblemBuilder::Subject& subject,
                               const absl::Status& status) { return Locate(subject, status); });
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
  return PositionOf(state.program->operators(index), plan_file_, state.pointer, index);
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
    sdfg::FunctionPointer function, bool lifted, const AxisList& output_axes,
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
  for (size_t o = 0; o < function->outputs.size(); ++o) {
    if (o >= names.size() || names[o].empty()) {
      op.outputs.push_back(sdfg::kNone);
      continue;
    }
    sdfg::Tensor tensor;
    tensor.name = FullName(state, names[o]);
    tensor.axes = output_axes;
    const sdfg::Shape shape = function->outputs[o].shape(function->vars);
    if (lifted) {
      for (AxisId axis : output_axes) {
        tensor.shape.push_back(problem_.parallel.axes[axis].extent);
      }
    }
    tensor.shape.insert(tensor.shape.end(), shape.begin(), shape.end());
    tensor.dtype = function->outputs[o].dtype;
    tensor.device = state.device;
    tensor.source = source;
    op.outputs.push_back(problem_.parallel.AddTensor(std::move(tensor)));
  }
  op.function = std::move(function);
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
