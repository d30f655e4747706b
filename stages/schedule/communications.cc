#include "stages/schedule/communications.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace planproof::stages {

using lineage::Place;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::OperatorKind;
using sdfg::TensorId;

namespace {

// What the function computes from the elements that it reads, whichever they are: the participants
// of one collective agree in it, although each has a result of its own.
std::vector<std::pair<sdfg::Op, solver::Rational>> Arithmetic(const sdfg::IndexFunction& function) {
  std::vector<std::pair<sdfg::Op, solver::Rational>> found;
  for (const sdfg::Node& node : function.nodes) {
    switch (node.op) {
      case sdfg::Op::kElement:
      case sdfg::Op::kSelect:
      case sdfg::Op::kIndex:
      case sdfg::Op::kIntConst:
      case sdfg::Op::kIntAdd:
      case sdfg::Op::kIntScale:
      case sdfg::Op::kIntDiv:
      case sdfg::Op::kIntMod:
      case sdfg::Op::kIntElement:
      case sdfg::Op::kIntLess:
      case sdfg::Op::kIntLessEq:
      case sdfg::Op::kIntEq:
      case sdfg::Op::kAnd:
      case sdfg::Op::kOr:
      case sdfg::Op::kNot:
        break;  // where elements go
      default:
        found.emplace_back(node.op, node.real);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
  return found;
}

}  // namespace

TensorId SentTensor(const StepOrder& order, TensorId tensor, int program) {
  const sdfg::Graph& graph = order.problem().parallel;
  TensorId sent = tensor;
  while (graph.tensors[sent].producer != kNone && order.PlaceOf(sent).program == program) {
    const sdfg::Operator& op = graph.operators[graph.tensors[sent].producer];
    if (op.kind != OperatorKind::kSelectInstance || op.inputs.size() != 1)
      return tensor;  // it is the program's own
    sent = op.inputs[0];
  }
  return order.PlaceOf(sent).program == program ? tensor : sent;
}

size_t ProgramCollective::Participant(int program) const {
  return std::lower_bound(programs.begin(), programs.end(), program) - programs.begin();
}

Communications::Communications(const StepOrder& order) {
  const lineage::Problem& problem = order.problem();
  for (const lineage::ProgramSchedule& program : problem.schedule.programs) {
    of_phase.emplace_back(program.phases.size());
  }
  for (const lineage::AsyncOperation& async : problem.schedule.async_operations)
    async_operations_[async.result] = &async;
  const size_t count = problem.parallel.operators.size();
  for (size_t id = 0; id < count && !violation; ++id) {
    Add(order, static_cast<sdfg::OperatorId>(id));
  }
  if (!violation) LinkWaits(order);
  if (!violation) CheckIssued(order);
}

void Communications::Add(const StepOrder& order, sdfg::OperatorId id) {
  const sdfg::Operator& op = order.problem().parallel.operators[id];
  const Place place = order.PlaceOf(op);
  if (place.program == kNone || op.kind == OperatorKind::kSelectInstance) return;
  Communication c;
  c.op = id;
  c.varies = order.VariesOperator(op);
  std::vector<TensorId> operands;
  std::vector<int> programs;
  const std::vector<bool> same = order.ReadsSameMicrobatch(op);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool pending = async_operations_.count(op.inputs[i]) > 0;
    if (pending && op.kind != OperatorKind::kWait) {
      const lineage::AsyncOperation& async = *async_operations_.at(op.inputs[i]);
      violation = OrderViolation(
          "read before its wait",
          absl::StrCat("\"", async.handle, "\" is read before it is waited for"),
          absl::StrCat(
              order.OperatorText(op), " reads what ",
              order.OperatorText(
                  order.problem()
                      .parallel.operators[order.problem().parallel.tensors[async.result].producer]),
              " only started"));
      return;
    }
    if (pending) c.kind = Communication::Kind::kWait;
    const TensorId sent = SentTensor(order, op.inputs[i], place.program);
    operands.push_back(sent);
    programs.push_back(order.PlaceOf(sent).program);
    if (programs.back() != place.program) {
      c.remote.push_back({sent, same[i]});
    }
  }
  for (TensorId output : op.outputs) c.started = c.started || async_operations_.count(output) > 0;
  if (c.kind == Communication::Kind::kWait) {
    of_phase[place.program][place.phase].push_back(std::move(c));
    return;
  }
  if (c.remote.empty()) return;
  if (op.kind == OperatorKind::kMove) {
    const auto channel = order.problem().schedule.channels.find(op.outputs[0]);
    if (channel != order.problem().schedule.channels.end()) c.channel = channel->second;
    of_phase[place.program][place.phase].push_back(std::move(c));
    return;
  }
  if (std::find(programs.begin(), programs.end(), place.program) == programs.end()) {
    violation = OrderViolation(
        "tensor used where it is not held",
        absl::StrCat("program \"", order.ProgramName(place.program),
                     "\" takes no part in its own collective"),
        absl::StrCat(order.OperatorText(op), " reads tensors of other programs only"));
    return;
  }
  c.kind = Communication::Kind::kCollective;
  c.remote.clear();
  const Key key{op.name, std::move(operands)};
  const int ordinal = issued_[{key, place.program}]++;
  const auto [at, fresh] =
      numbers_.try_emplace({key, ordinal}, static_cast<int>(collectives.size()));
  if (fresh) {
    std::sort(programs.begin(), programs.end());
    programs.erase(std::unique(programs.begin(), programs.end()), programs.end());
    collectives.push_back({std::move(programs), id});
  } else {
    const OperatorId example = collectives[at->second].example;
    const sdfg::Operator& other = order.problem().parallel.operators[example];
    if (Arithmetic(*op.function) != Arithmetic(*other.function)) {
      violation = OrderViolation(
          "participants disagree",
          absl::StrCat("programs \"", order.ProgramName(place.program), "\" and \"",
                       order.ProgramName(order.PlaceOf(other).program), "\" take part in one ",
                       order.OperatorText(op), " and compute another function of its operands"),
          absl::StrCat(order.OperatorText(op), " and ", order.OperatorText(other),
                       " are one collective with different reductions"));
      return;
    }
  }
  c.collective = at->second;
  of_phase[place.program][place.phase].push_back(std::move(c));
}

void Communications::LinkWaits(const StepOrder& order) {
  const sdfg::Graph& graph = order.problem().parallel;
  const auto started_by = [&graph](const Communication& wait) {
    return graph.tensors[graph.operators[wait.op].inputs[0]].producer;
  };
  std::map<sdfg::OperatorId, const Communication*> started;
  std::map<TensorId, int> waited;
  const auto for_all = [this](const auto& visit) {
    for (auto& program : of_phase) {
      for (auto& phase : program) visit(phase);
    }
  };
  for_all([&](std::vector<Communication>& phase) {
    for (const Communication& c : phase) {
      if (c.started) started[c.op] = nullptr;
      if (c.kind == Communication::Kind::kWait) ++waited[graph.operators[c.op].inputs[0]];
    }
  });
  for (const auto& [result, async] : async_operations_) {
    if (waited[result] == 1) continue;
    const std::string what = waited[result] == 0 ? "never waited for" : "waited for twice";
    violation = OrderViolation(
        "handle", absl::StrCat("handle \"", async->handle, "\" is ", what),
        absl::StrCat(order.OperatorText(graph.operators[graph.tensors[result].producer]), " is ",
                     what));
    return;
  }
  // A collective within one program keeps no other program waiting.
  for_all([&](std::vector<Communication>& phase) {
    const auto local = [&](const Communication& c) {
      return c.kind == Communication::Kind::kWait && started.count(started_by(c)) == 0;
    };
    phase.erase(std::remove_if(phase.begin(), phase.end(), local), phase.end());
  });
  for_all([&](std::vector<Communication>& phase) {
    for (const Communication& c : phase) {
      if (c.started) started[c.op] = &c;
    }
  });
  for_all([&](std::vector<Communication>& phase) {
    for (Communication& c : phase) {
      if (c.kind == Communication::Kind::kWait) c.ends = started.at(started_by(c));
    }
  });
}

void Communications::CheckIssued(const StepOrder& order) {
  std::vector<std::vector<int>> issuers(collectives.size());
  for (size_t p = 0; p < of_phase.size(); ++p) {
    for (const auto& phase : of_phase[p]) {
      for (const Communication& c : phase) {
        if (c.kind == Communication::Kind::kCollective)
          issuers[c.collective].push_back(static_cast<int>(p));
      }
    }
  }
  for (size_t m = 0; m < collectives.size(); ++m) {
    for (int program : collectives[m].programs) {
      const auto& who = issuers[m];
      if (std::find(who.begin(), who.end(), program) != who.end()) continue;
      const std::string cause =
          absl::StrCat("program \"", order.ProgramName(program), "\" does not issue ",
                       order.problem().parallel.Describe(collectives[m].example),
                       ", in which it takes part: it would hang");
      violation = OrderViolation(
          "wait cycle", cause,
          absl::StrCat(
              order.OperatorText(order.problem().parallel.operators[collectives[m].example]),
              " waits for program \"", order.ProgramName(program), "\", which does not issue it"));
      return;
    }
  }
}

}  // namespace planproof::stages
