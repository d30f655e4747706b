// The order of a plan's programs: phases and steps, collectives in flight, buffers.
#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/program_builder.h"
#include "frontend/plan/program_schedule.h"
#include "frontend/plan/remedies.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

using sdfg::TensorId;

absl::Status PlanBuilder::ReadOrder(ProgramState* state) {
  const Program& program = *state->program;
  const OperatorPosition where = [this, state](int index) { return WhereOperator(*state, index); };
  PLAN_ASSIGN_OR_RETURN(state->phases, PhasesOf(program, where));
  PLAN_ASSIGN_OR_RETURN(state->handles, HandlesOf(program, where));
  const Position at{plan_file_, program.line(), state->pointer};
  lineage::ProgramSchedule schedule;
  schedule.name = state->name;
  schedule.phases = state->phases.names;
  schedule.source = {plan_file_, program.line(), ""};
  if (program.schedule_size() > 0) schedule.source.line = program.schedule(0).line();
  PLAN_ASSIGN_OR_RETURN(
      schedule.steps,
      StepsOf(program, state->phases, problem_.parallel.axes.back().extent, at, &schedule_budget_));
  problem_.schedule.programs.push_back(std::move(schedule));
  return absl::OkStatus();
}

void PlanBuilder::AssumeOrderOfInputs() {
  // By receiver, channel and sender: messages, and those of them that are inputs.
  std::map<std::tuple<int32_t, std::string, int32_t>, std::pair<int, int>> messages;
  for (const sdfg::Operator& op : problem_.parallel.operators) {
    if (op.kind != sdfg::OperatorKind::kMove) continue;
    TensorId sent = op.inputs[0];
    const int32_t receiver = problem_.schedule.places[op.outputs[0]].program;
    for (sdfg::OperatorId producer = problem_.parallel.tensors[sent].producer;
         producer != sdfg::kNone &&
         problem_.parallel.operators[producer].kind == sdfg::OperatorKind::kSelectInstance;
         producer = problem_.parallel.tensors[sent].producer) {
      sent = problem_.parallel.operators[producer].inputs[0];
    }
    const auto channel = problem_.schedule.channels.find(op.outputs[0]);
    auto& [all, inputs] =
        messages[{receiver, channel == problem_.schedule.channels.end() ? "" : channel->second,
                  problem_.schedule.places[sent].program}];
    ++all;
    inputs += problem_.schedule.places[sent].phase == sdfg::kNone ? 1 : 0;
  }
  if (std::none_of(messages.begin(), messages.end(), [](const auto& entry) {
        return entry.second.first > 1 && entry.second.second > 0;
      })) {
    return;
  }
  problem_.assumptions.emplace_back(
      "inputs that a program sends to another one are sent in the order in which they are "
      "received");
}

void PlanBuilder::AssumeBufferedSends() {
  const auto& programs = problem_.schedule.programs;
  // A buffer may be reused as soon as what it held is sent.
  const auto& operators = problem_.parallel.operators;
  const bool stated = !problem_.schedule.storage.empty() ||
                      std::any_of(programs.begin(), programs.end(),
                                  [](const auto& program) { return !program.steps.empty(); }) ||
                      std::any_of(operators.begin(), operators.end(), [](const auto& op) {
                        return op.memory.overwrites != sdfg::kNone;
                      });
  const bool moves = std::any_of(operators.begin(), operators.end(), [](const sdfg::Operator& op) {
    return op.kind == sdfg::OperatorKind::kMove;
  });
  if (!stated || !moves) return;
  problem_.assumptions.emplace_back(
      "sends between programs copy what they send, and do not wait for their receivers");
}

void PlanBuilder::SetPlaces(TensorId first, const ProgramState& state, int32_t phase,
                            int32_t entry) {
  std::vector<lineage::Place>& places = problem_.schedule.places;
  places.resize(problem_.parallel.tensors.size());
  for (size_t id = first; id < places.size(); ++id) places[id] = {state.index, phase, entry};
}

absl::StatusOr<Definitions> PlanBuilder::Start(ProgramState* state, const Operator& op,
                                               const Position& position,
                                               const Definitions& definitions) {
  if (op.op() == "chunk" || op.op() == "accumulate") {
    return At(position, absl::StrCat("\"async\": ", op.op(), " communicates nothing"));
  }
  const auto& [name, id] = definitions[0];
  problem_.parallel.tensors[id].name = FullName(*state, name + "@started");
  lineage::AsyncOperation async{op.async(), id, {}};
  for (const Operand& operand : op.inputs()) {
    const auto [owner, local] = OwnerOf(state, operand.tensor());
    if (owner == state) async.sources.push_back(state->scope.at(local));
  }
  problem_.schedule.async_operations.push_back(std::move(async));
  state->started[op.async()] = {name, id};
  return Definitions{};
}

absl::StatusOr<Definitions> PlanBuilder::BuildWait(ProgramState* state, const Operator& op,
                                                   const Position& position) {
  Definitions definitions;
  for (const Operand& operand : op.inputs()) {
    // HandlesOf has seen that it is started before and ended here only.
    const StartedCollective started = state->started.at(operand.tensor());
    state->started.erase(operand.tensor());
    const sdfg::Tensor tensor = problem_.parallel.tensors[started.result];
    const sdfg::Shape local = Local(started.result);
    absl::StatusOr<sdfg::FunctionPointer> copy = functions_.Get(
        sdfg::FunctionKey("copy").List(local).Number(static_cast<int64_t>(tensor.dtype)).Take(),
        [&] { return sdfg::Copy(local, tensor.dtype); });
    if (!copy.ok()) return At(position, copy.status());
    const TensorId id =
        AddOperator(*state, kWait, operand.tensor(), *std::move(copy), true, tensor.axes,
                    {started.result}, {started.output}, SourceOf(op, position), {}, {})[0];
    problem_.parallel.operators.back().kind = sdfg::OperatorKind::kWait;
    problem_.parallel.operators.back().memory.view = true;
    definitions.emplace_back(started.output, id);
  }
  return definitions;
}

std::string PlanBuilder::InFlight(const ProgramState& state, const std::string& name) const {
  for (const auto& [handle, started] : state.started) {
    if (started.output != name) continue;
    const HandleUse& use = state.handles.at(handle);
    return absl::StrCat("the wait for its handle \"", handle,
                        "\": ", WhereOperator(state, use.start).Text(), " starts it, ",
                        WhereOperator(state, use.wait).Text(), " waits for it");
  }
  return "";
}

const Operator& PlanBuilder::Replaced(const ProgramState& state, const Operator& op,
                                      const std::string& name) {
  if (op.op() != kWait) return op;
  for (const auto& [handle, use] : state.handles) {
    const Operator& start = state.program->operators(use.start);
    if (start.outputs_size() > 0 && start.outputs(0) == name) return start;
  }
  return op;
}

namespace {

bool SameGroup(const Operator& a, const Operator& b) {
  const auto &x = a.collective().over(), &y = b.collective().over();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

// The key by which the two are not one exchange, or empty: all ranks of a group read the same
// tensor of theirs and do the same with what they get.
std::string DifferentKey(const Operator& a, const Operator& b) {
  const bool same_operands = std::equal(a.inputs().begin(), a.inputs().end(), b.inputs().begin(),
                                        b.inputs().end(), [](const Operand& x, const Operand& y) {
                                          return x.SerializeAsString() == y.SerializeAsString();
                                        });
  if (!same_operands) return "in";
  const Collective &x = a.collective(), &y = b.collective();
  const auto reduce = [](const Collective& c) { return c.reduce().empty() ? "sum" : c.reduce(); };
  if (reduce(x) != reduce(y)) return "reduce";
  if (x.dim() != y.dim()) return "dim";
  if (x.split_dim() != y.split_dim()) return "split_dim";
  if (x.concat_dim() != y.concat_dim()) return "concat_dim";
  if (x.root() != y.root()) return "root";
  if (x.has_shift() != y.has_shift() || x.shift() != y.shift()) return "shift";
  const bool same_pairs = std::equal(
      x.pairs().begin(), x.pairs().end(), y.pairs().begin(), y.pairs().end(),
      [](const Pair& p, const Pair& q) { return p.from() == q.from() && p.to() == q.to(); });
  return same_pairs ? "" : "pairs";
}

}  // namespace

absl::Status PlanBuilder::CheckTakePart(const ProgramState& state, const Operator& replaced,
                                        const Exception& exception,
                                        const Position& position) const {
  // Axes over which some ranks run the exception and others do not.
  std::set<std::string> split;
  for (const Coordinate& coordinate : exception.at()) {
    const sdfg::AxisId axis = state.coordinates.Find(coordinate.axis());
    if (axis == sdfg::kNone || problem_.parallel.axes[axis].kind == sdfg::AxisKind::kMicrobatch)
      continue;
    const std::set<int64_t> values(coordinate.values().begin(), coordinate.values().end());
    if (static_cast<int64_t>(values.size()) < problem_.parallel.axes[axis].extent) {
      split.insert(coordinate.axis());
    }
  }
  // Between programs the ranks of one coordinate meet; the other programs' have no exception.
  const auto communicates = [&split](const Operator& op) {
    if (!IsCollective(op) || op.op() == "chunk" || op.op() == "accumulate") return false;
    if (op.collective().over_size() == 0) return op.op() != "move";
    return std::any_of(op.collective().over().begin(), op.collective().over().end(),
                       [&split](const std::string& axis) { return split.count(axis) > 0; });
  };
  const auto text = [](const Operator& op) {
    return absl::StrCat(op.op(), op.collective().over_size() == 0 ? " between programs" : " over ",
                        absl::StrJoin(op.collective().over(), ", "));
  };
  int taking_part = 0;
  for (const Operator& op : exception.operators()) {
    if (!communicates(op)) continue;
    if (++taking_part == 1 && communicates(replaced) && op.op() == replaced.op() &&
        SameGroup(op, replaced)) {
      const std::string key = DifferentKey(op, replaced);
      if (key.empty()) continue;
      return At(position,
                absl::StrCat("the ranks that \"at\" names call ", text(op), " (",
                             exception.replace(), ") with another \"", key, "\" than the others ",
                             "of their group: it would hang or mix up what they send; replace ",
                             "what makes its operand, or what reads its result, instead"));
    }
    return At(position, absl::StrCat("in place of \"", exception.replace(),
                                     "\", only the ranks that \"at\" names issue ", text(op),
                                     "; the others would leave them waiting"));
  }
  if (communicates(replaced) && taking_part == 0) {
    return At(position, absl::StrCat("the ranks that \"at\" names take no part in ", text(replaced),
                                     ", whose result \"", exception.replace(),
                                     "\" they replace; the others would wait for them"));
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::AddBuffers(ProgramState* state) {
  std::map<std::string, int32_t> slots;
  for (const Buffer& buffer : state->program->buffers()) {
    const Position at{plan_file_, buffer.line(),
                      absl::StrCat(state->pointer, "/buffers/", buffer.tensor())};
    const auto found = state->scope.find(buffer.tensor());
    if (found == state->scope.end()) {
      return At(at, absl::StrCat("program \"", state->name, "\" defines no \"", buffer.tensor(),
                                 "\"", DidYouMean(buffer.tensor(), NamesOf(state->scope))));
    }
    const lineage::Storage storage{buffer.name(), std::max<int32_t>(1, buffer.slots())};
    if (slots.emplace(storage.buffer, storage.slots).first->second != storage.slots) {
      return At(at, absl::StrCat("buffer \"", storage.buffer, "\" has ", storage.slots,
                                 " slots here and ", slots[storage.buffer], " elsewhere"));
    }
    if (!problem_.schedule.storage.emplace(found->second, storage).second) {
      return At(at, absl::StrCat("\"", buffer.tensor(), "\" lies in two buffers"));
    }
    // What a wait gives is what was in flight.
    const sdfg::OperatorId producer = problem_.parallel.tensors[found->second].producer;
    if (producer == sdfg::kNone || problem_.parallel.operators[producer].name != kWait) continue;
    problem_.schedule.storage.emplace(problem_.parallel.operators[producer].inputs[0], storage);
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
