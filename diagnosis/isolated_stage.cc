#include "diagnosis/isolated_stage.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "diagnosis/cause_votes.h"
#include "diagnosis/exceptions.h"
#include "diagnosis/operands.h"
#include "shape_reduction/input_choice.h"

namespace planproof::diagnosis {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxModelOperators = 60;
constexpr uint64_t kSeeds = 8;

// A part of a graph, with ids of its own.
class Part {
 public:
  explicit Part(const sdfg::Graph& whole) : whole_(whole) {
    part_.axes = whole.axes;
    part_.axis_device_stride = whole.axis_device_stride;
  }
  // The tensor without its producer, if it is new.
  TensorId Tensor(TensorId id) {
    const auto [at, is_new] = ids_.try_emplace(id, static_cast<TensorId>(part_.tensors.size()));
    if (is_new) {
      sdfg::Tensor tensor = whole_.tensors[id];
      tensor.producer = kNone;
      part_.AddTensor(std::move(tensor));
    }
    return at->second;
  }
  // In topological order.
  void Operator(OperatorId id) {
    sdfg::Operator op = whole_.operators[id];
    for (TensorId& input : op.inputs) input = Tensor(input);
    for (TensorId& output : op.outputs) output = output == kNone ? kNone : Tensor(output);
    part_.AddOperator(std::move(op));
  }
  const std::unordered_map<TensorId, TensorId>& ids() const { return ids_; }
  sdfg::Graph Take() { return std::move(part_); }

 private:
  const sdfg::Graph& whole_;
  sdfg::Graph part_;
  std::unordered_map<TensorId, TensorId> ids_;
};

// The model's operators by which a tensor is computed from those that are `given`, in topological
// order; empty if these are many. `read`: those given that are reached.
std::vector<OperatorId> OperatorsSince(const sdfg::Graph& model, TensorId result,
                                       const std::vector<bool>& given, std::set<TensorId>* read) {
  std::set<OperatorId> found;
  std::vector<TensorId> open = {result};
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    if (given[t] && t != result) {
      read->insert(t);
      continue;
    }
    const OperatorId producer = model.tensors[t].producer;
    if (producer == kNone || !found.insert(producer).second) continue;
    if (found.size() > kMaxModelOperators) return {};
    const sdfg::Operator& op = model.operators[producer];
    open.insert(open.end(), op.inputs.begin(), op.inputs.end());
  }
  return {found.begin(), found.end()};
}

// Those by which `result` is computed from the operands of the stage, and from what else the plan
// holds. A plan may compute something from its operands past other tensors that it holds: chosen
// by themselves these would not fit the operands. Those are therefore computed, unless no operand
// lies before them.
std::vector<OperatorId> ModelOperators(const lineage::Problem& problem,
                                       const std::vector<Lineage>& lineage, TensorId result,
                                       const std::set<TensorId>& operands) {
  const sdfg::Graph& model = problem.logical;
  std::vector<bool> held(model.tensors.size());
  for (const Lineage& l : lineage) {
    if (l.kind == LineageKind::kFull) held[l.logical] = true;
  }
  std::set<TensorId> read;
  const std::vector<OperatorId> near = OperatorsSince(model, result, held, &read);
  if (std::includes(read.begin(), read.end(), operands.begin(), operands.end())) return near;
  std::vector<bool> depends(model.tensors.size());
  for (const TensorId t : operands) depends[t] = true;
  for (const sdfg::Operator& op : model.operators) {
    if (!std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) { return depends[t]; })) {
      continue;
    }
    for (const TensorId t : op.outputs) {
      if (t != kNone) depends[t] = true;
    }
  }
  std::vector<bool> given = held;
  for (size_t t = 0; t < given.size(); ++t) given[t] = given[t] && !depends[t];
  for (const TensorId t : operands) given[t] = true;
  const std::vector<OperatorId> far = OperatorsSince(model, result, given, &read);
  return far.empty() ? near : far;
}

}  // namespace

std::optional<IsolatedStage> Isolate(const lineage::Problem& problem,
                                     const std::vector<Lineage>& lineage, TensorId tensor,
                                     const std::vector<OperatorId>& stage) {
  const TensorId result = lineage[tensor].logical;
  Part parallel(problem.parallel), logical(problem.logical);
  for (const OperatorId id : stage) parallel.Operator(id);
  std::set<TensorId> operands;
  for (const auto& [whole, part] : parallel.ids()) {
    const OperatorId producer = problem.parallel.tensors[whole].producer;
    if (std::binary_search(stage.begin(), stage.end(), producer)) continue;
    if (lineage[whole].kind != LineageKind::kFull || lineage[whole].logical == result) return {};
    operands.insert(lineage[whole].logical);
  }
  const std::vector<OperatorId> model = ModelOperators(problem, lineage, result, operands);
  if (model.empty() || parallel.ids().count(tensor) == 0) return std::nullopt;
  for (const OperatorId id : model) logical.Operator(id);
  // An operator with several outputs may give what is said to be chosen.
  for (const TensorId t : operands) {
    const OperatorId producer = problem.logical.tensors[t].producer;
    if (std::binary_search(model.begin(), model.end(), producer)) return std::nullopt;
    logical.Tensor(t);
  }
  IsolatedStage isolated;
  isolated.subject = parallel.ids().at(tensor);
  // What the model reads there, and nothing in the plan does, may be what was forgotten.
  for (const TensorId unread : UnreadTensors(problem)) {
    const Lineage& held = lineage[unread];
    if (held.kind != LineageKind::kFull || logical.ids().count(held.logical) == 0) continue;
    const OperatorId producer = problem.logical.tensors[held.logical].producer;
    if (std::binary_search(model.begin(), model.end(), producer)) continue;
    if (std::binary_search(stage.begin(), stage.end(), problem.parallel.tensors[unread].producer))
      continue;
    isolated.unread.push_back(parallel.Tensor(unread));
  }
  isolated.is_operand.assign(parallel.ids().size(), 0);
  isolated.problem.lineage.resize(parallel.ids().size());
  for (const auto& [whole, part] : parallel.ids()) {
    const OperatorId producer = problem.parallel.tensors[whole].producer;
    const bool made = std::binary_search(stage.begin(), stage.end(), producer);
    if (made && whole != tensor) continue;
    isolated.is_operand[part] = !made;
    isolated.problem.lineage[part] = lineage[whole];
    isolated.problem.lineage[part].logical = logical.Tensor(lineage[whole].logical);
  }
  for (const auto& premise : problem.premises) {
    const auto at = logical.ids().find(premise.tensor);
    if (at == logical.ids().end()) continue;
    isolated.problem.premises.push_back(premise);
    isolated.problem.premises.back().tensor = at->second;
  }
  isolated.operators = stage;
  isolated.problem.required.push_back({.parallel = isolated.subject,
                                       .lineage = isolated.problem.lineage[isolated.subject],
                                       .what = problem.parallel.tensors[tensor].name});
  isolated.problem.names_tell = problem.names_tell;
  isolated.problem.mesh = problem.mesh;
  isolated.problem.parallel = parallel.Take();
  isolated.problem.logical = logical.Take();
  return isolated;
}

std::vector<RepairSearch::Cause> CausesInIsolation(const lineage::Problem& problem,
                                                   const std::vector<Lineage>& lineage,
                                                   TensorId tensor, double seconds) {
  const std::optional<IsolatedStage> isolated =
      Isolate(problem, lineage, tensor, StageOf(problem.parallel, lineage, tensor));
  if (!isolated) return {};
  const IsolatedStage& stage = *isolated;
  using Clock = shape_reduction::WorkClock;
  const Clock::time_point start = Clock::now();
  shape_reduction::Replay replay(stage.problem, stage.is_operand);
  std::vector<OperatorId> operators(stage.operators.size());
  for (size_t o = 0; o < operators.size(); ++o) operators[o] = static_cast<OperatorId>(o);
  CauseVotes votes;
  for (uint64_t seed = 0; seed < kSeeds && !votes.Settled(); ++seed) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    const shape_reduction::ChoiceOptions choice = shape_reduction::OptionsOfSeed(seed);
    if (choice.literals || choice.wild) continue;
    if (!replay.Run(seed, {}, seconds).ok()) break;
    RepairSearch repairs(
        stage.problem, replay,
        {stage.subject, stage.problem.lineage[stage.subject], operators, stage.unread});
    if (!repairs.usable() || Agree(repairs.actual(), repairs.claimed())) continue;
    votes.Add(repairs.Run(true));
  }
  // Nothing is near zero here, or rounding.
  std::vector<RepairSearch::Cause> elected = votes.Elected(true);
  for (RepairSearch::Cause& cause : elected) {
    if (cause.op != kNone) cause.op = stage.operators[cause.op];
  }
  return elected;
}

}  // namespace planproof::diagnosis
