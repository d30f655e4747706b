#include "stages/schedule/buffer_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "stages/schedule/in_place.h"
#include "stages/schedule/shared_memory.h"

namespace planproof::stages {
namespace {

using lineage::AsyncOperation;
using lineage::kAllMicrobatches;
using lineage::Place;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

constexpr int64_t kMaxBufferInstances = int64_t{1} << 24;

// An operator's instance in one step.
struct Event {
  OperatorId op = kNone;
  int64_t step = 0;
  int64_t microbatch = 0;  // 0 for what does not vary
};

struct PendingAccess {
  const AsyncOperation* async = nullptr;
  Event start;
  bool writes = false;
};

struct Instance {
  TensorId tensor = kNone;
  int64_t microbatch = 0;
  friend bool operator==(const Instance&, const Instance&) = default;
};

struct Slot {
  std::vector<Instance> holds;  // a tensor and its views
  Event writer;
  std::vector<PendingAccess> pending;

  bool Holds(const Instance& instance) const {
    return std::find(holds.begin(), holds.end(), instance) != holds.end();
  }
};

class ProgramBuffers {
 public:
  ProgramBuffers(const StepOrder& order, const SharedMemory& memory, InPlace* in_place, int program,
                 const std::map<TensorId, const AsyncOperation*>& async_operations, int64_t* budget)
      : order_(order),
        graph_(order.problem().parallel),
        memory_(memory),
        in_place_(*in_place),
        program_(program),
        async_operations_(async_operations),
        of_phase_(order.problem().schedule.programs[program].phases.size()),
        budget_(*budget) {}

  void Add(OperatorId op, int phase) {
    const sdfg::Operator& user = graph_.operators[op];
    User added{op, order_.ReadsSameMicrobatch(user), InputsRead(user), {}};
    for (size_t i = 0; i < user.inputs.size(); ++i) {
      if (added.reads[i]) AddSources(user.inputs[i], added.same[i], &added.sources);
    }
    of_phase_[phase].push_back(std::move(added));
  }

  std::optional<Violation> Run() {
    if (auto violation = PlaceInputs()) return violation;
    const auto& steps = order_.Steps(program_);
    for (size_t s = 0; s < steps.size(); ++s) {
      const Place place{program_, steps[s].phase};
      for (const User& user : of_phase_[steps[s].phase]) {
        const bool varies = order_.VariesOperator(graph_.operators[user.op]);
        int64_t first = 0;
        int64_t end = 1;
        if (steps[s].microbatch == kAllMicrobatches) {
          end = varies ? order_.microbatches() : 1;
        } else if (varies) {
          first = steps[s].microbatch;
          end = first + 1;
        } else if (order_.First(place) != static_cast<int64_t>(s)) {
          continue;
        }
        for (int64_t m = first; m < end; ++m) {
          if (--budget_ < 0) return std::nullopt;
          if (auto violation = Perform({user.op, static_cast<int64_t>(s), m}, user)) {
            return violation;
          }
        }
      }
    }
    return CheckRequired();
  }

  // Once it has run.
  void ListLost(std::vector<std::string>* lost) {
    std::set<TensorId> required;
    for (const lineage::RequiredRelation& relation : order_.problem().required) {
      required.insert(StoredAs(relation.parallel));
    }
    for (const auto& [tensor, region] : memory_.tensors()) {
      const sdfg::Tensor& constant = graph_.tensors[tensor];
      if (constant.role != sdfg::TensorRole::kParameter &&
          constant.role != sdfg::TensorRole::kBuffer) {
        continue;
      }
      if (order_.PlaceOf(tensor).program != program_) continue;
      const Slot& slot = SlotOf(tensor, 0);
      if (slot.Holds({tensor, 0}) || slot.writer.op == kNone) continue;
      if (required.count(slot.holds[0].tensor) > 0) continue;
      lost->push_back(absl::StrCat(order_.OperatorText(graph_.operators[slot.writer.op]),
                                   " overwrites ", constant.name,
                                   ", and nothing is required of what the next step reads there"));
    }
  }

 private:
  // An operator that uses shared memory; by operand: whether it reads it at all, and if so, for its
  // own microbatch only.
  struct User {
    OperatorId op = kNone;
    std::vector<bool> same;
    std::vector<bool> reads;
    // What it reads through operands that are no copies (StoredAs), whether for its own microbatch.
    std::vector<std::pair<TensorId, bool>> sources;
  };

  void AddSources(TensorId operand, bool same, std::vector<std::pair<TensorId, bool>>* sources) {
    const TensorId held = StoredAs(operand);
    if (held != operand && Owned(held)) sources->emplace_back(held, same);
  }

  // What is there from the start.
  std::optional<Violation> PlaceInputs() {
    for (const auto& [tensor, region] : memory_.tensors()) {
      const Place place = order_.PlaceOf(tensor);
      if (place.program != program_ || place.phase != kNone) continue;
      for (int64_t m = 0; m < (order_.Varies(tensor) ? order_.microbatches() : 1); ++m) {
        if (--budget_ < 0) return std::nullopt;
        Slot& slot = SlotOf(tensor, m);
        if (!slot.holds.empty()) return TwoInputs({tensor, m}, slot.holds[0]);
        slot.holds.push_back({tensor, m});
      }
    }
    return std::nullopt;
  }

  // What the specification requires is still there at the end.
  std::optional<Violation> CheckRequired() {
    for (const lineage::RequiredRelation& required : order_.problem().required) {
      const TensorId held = StoredAs(required.parallel);
      if (!Owned(held)) continue;
      for (int64_t m = 0; m < (order_.Varies(held) ? order_.microbatches() : 1); ++m) {
        if (--budget_ < 0) return std::nullopt;
        const Slot& slot = SlotOf(held, m);
        if (slot.Holds({held, m})) continue;
        const std::string what = order_.TensorText(held, m);
        return OrderViolation(
            "buffer overwritten",
            absl::StrCat("the required output ", what, " is overwritten in ", NameOf(held)),
            absl::StrCat(Text(slot.writer), " writes ", TextOf(slot), " over ", what,
                         ", which is required", RemedyInPlace(slot)));
      }
    }
    return std::nullopt;
  }

  // What is required per rank may be one tensor that is the same on all of them, written out as
  // "replicate" for the claim's sake: no copy is made.
  TensorId StoredAs(TensorId tensor) const {
    while (!Owned(tensor) && graph_.tensors[tensor].producer != kNone) {
      const sdfg::Operator& op = graph_.operators[graph_.tensors[tensor].producer];
      if (op.kind != sdfg::OperatorKind::kReplicate || op.lifted || op.inputs.size() != 1) break;
      tensor = op.inputs[0];
    }
    return tensor;
  }

  Slot& SlotOf(TensorId tensor, int64_t microbatch) {
    const Region* region = memory_.RegionOf(tensor);
    return slots_[{region, order_.Varies(tensor) ? microbatch % region->slots : 0}];
  }

  // Calls visit(tensor instance's slot, microbatch) for what the event reads of an operand.
  template <typename Visit>
  void Instances(TensorId tensor, bool same, const Event& event, const Visit& visit) {
    if (!order_.Varies(tensor)) return visit(SlotOf(tensor, 0), 0);
    if (same && order_.VariesOperator(graph_.operators[event.op])) {
      return visit(SlotOf(tensor, event.microbatch), event.microbatch);
    }
    for (int64_t m = 0; m < order_.microbatches() && --budget_ >= 0; ++m) {
      visit(SlotOf(tensor, m), m);
    }
  }

  std::optional<Violation> Perform(const Event& event, const User& user) {
    const sdfg::Operator& op = graph_.operators[event.op];
    if (op.kind == sdfg::OperatorKind::kWait && async_operations_.count(op.inputs[0]) > 0) {
      End(*async_operations_.at(op.inputs[0]), event);
      return std::nullopt;
    }
    std::optional<Violation> violation;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!user.reads[i] || !Owned(op.inputs[i])) continue;
      Instances(op.inputs[i], user.same[i], event, [&](const Slot& slot, int64_t m) {
        if (violation || slot.Holds({op.inputs[i], m})) return;
        violation = Overwritten(op.inputs[i], m, slot, event);
      });
    }
    for (const auto& [source, same] : user.sources) {
      Instances(source, same, event, [&, source = source](const Slot& slot, int64_t m) {
        if (violation || slot.Holds({source, m})) return;
        violation = Overwritten(source, m, slot, event);
      });
    }
    for (size_t o = 0; o < op.outputs.size() && !violation; ++o) {
      if (op.outputs[o] != kNone && Owned(op.outputs[o])) violation = Write(op, o, event);
    }
    if (violation) return violation;
    for (TensorId output : op.outputs) {
      const auto async = async_operations_.find(output);
      if (async != async_operations_.end()) Begin(*async->second, event);
    }
    return std::nullopt;
  }

  std::optional<Violation> Write(const sdfg::Operator& op, size_t o, const Event& event) {
    const TensorId output = op.outputs[o];
    Slot& slot = SlotOf(output, event.microbatch);
    if (memory_.IsView(output)) {
      slot.holds.push_back({output, event.microbatch});
      return std::nullopt;
    }
    if (!slot.pending.empty()) return WrittenWhilePending(output, slot.pending[0], event);
    for (const Instance& there : slot.holds) {
      const auto before = op.outputs.begin() + static_cast<std::ptrdiff_t>(o);
      if (there.microbatch == event.microbatch &&
          std::find(op.outputs.begin(), before, there.tensor) != before) {
        return TwoOutputs(there.tensor, output, event);
      }
      const std::string& conflict = in_place_.Conflict(event.op, output, there.tensor,
                                                       memory_.SamePlaces(output, there.tensor));
      if (!conflict.empty()) return ReadWhileWritten(output, there, conflict, event);
    }
    slot.holds = {{output, event.microbatch}};
    slot.writer = event;
    return std::nullopt;
  }

  bool Owned(TensorId tensor) const {
    return memory_.RegionOf(tensor) != nullptr && order_.PlaceOf(tensor).program == program_;
  }

  void Begin(const AsyncOperation& async, const Event& event) {
    for (TensorId source : async.sources) {
      if (!Owned(source)) continue;
      Instances(source, true, event, [&](Slot& slot, int64_t) {
        slot.pending.push_back({&async, event, false});
      });
    }
    if (!Owned(async.result)) return;
    SlotOf(async.result, event.microbatch).pending.push_back({&async, event, true});
  }

  void End(const AsyncOperation& async, const Event& event) {
    for (TensorId source : async.sources) {
      if (!Owned(source)) continue;
      Instances(source, true, event, [&](Slot& slot, int64_t) { Land(async, event, &slot); });
    }
    if (!Owned(async.result)) return;
    Slot& slot = SlotOf(async.result, event.microbatch);
    Land(async, event, &slot);
    slot.holds = {{graph_.operators[event.op].outputs[0], event.microbatch}};
  }

  static void Land(const AsyncOperation& async, const Event& event, Slot* slot) {
    for (size_t i = slot->pending.size(); i-- > 0;) {
      if (slot->pending[i].async != &async) continue;
      if (slot->pending[i].start.microbatch != event.microbatch) continue;
      slot->pending.erase(slot->pending.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::string Text(const Event& event) const {
    return absl::StrCat(order_.OperatorText(graph_.operators[event.op]), " in ",
                        order_.StepText(program_, event.step));
  }
  std::string TextOf(const Instance& instance) const {
    return order_.TensorText(instance.tensor, instance.microbatch);
  }
  std::string TextOf(const Slot& slot) const {
    return slot.holds.empty() ? "nothing" : TextOf(slot.holds[0]);
  }
  const std::string& NameOf(TensorId tensor) const { return memory_.RegionOf(tensor)->name; }
  // What to do if the slot was overwritten by an operator that computes in place.
  std::string RemedyInPlace(const Slot& slot) const {
    if (slot.writer.op == kNone) return "";
    const sdfg::Operator& writer = graph_.operators[slot.writer.op];
    if (writer.memory.overwrites == kNone) return "";
    return absl::StrCat("; ", writer.name, " computes in place (\"inplace\"): read ",
                        graph_.tensors[writer.outputs[0]].name,
                        " instead, or leave \"inplace\" out");
  }

  Violation TwoInputs(const Instance& a, const Instance& b) const {
    const std::string& where = NameOf(a.tensor);
    return OrderViolation(
        "buffer overwritten", absl::StrCat(where, " holds two inputs"),
        absl::StrCat(TextOf(b), " and ", TextOf(a), " lie in ", where, " from the start"));
  }

  Violation TwoOutputs(TensorId a, TensorId b, const Event& event) const {
    const std::string both = absl::StrCat(order_.TensorText(a, event.microbatch), " and ",
                                          order_.TensorText(b, event.microbatch));
    Violation violation = OrderViolation(
        "buffer overwritten", absl::StrCat(NameOf(a), " gets two results of one operator, ", both),
        absl::StrCat(Text(event), " writes ", both, " into ", NameOf(a),
                     ", in an order that is not known; give one of them another buffer"));
    Concerns(graph_.operators[event.op], &violation);
    return violation;
  }

  Violation ReadWhileWritten(TensorId written, const Instance& there, const std::string& why,
                             const Event& event) const {
    const sdfg::Operator& op = graph_.operators[event.op];
    const std::string result = order_.TensorText(written, event.microbatch);
    Violation violation = OrderViolation(
        "operand overwritten while it is read",
        absl::StrCat(op.name, " (", op.label, ") writes ", result, " over ", TextOf(there), " in ",
                     NameOf(written), ": ", why),
        absl::StrCat(Text(event), " writes ", result, " into ", NameOf(written), ", where ",
                     TextOf(there), " lies, from which it is computed; give ",
                     graph_.tensors[written].name, " another buffer"));
    Concerns(op, &violation);
    return violation;
  }

  Violation Overwritten(TensorId tensor, int64_t m, const Slot& slot, const Event& event) const {
    const std::string what = order_.TensorText(tensor, m);
    const std::string by = TextOf(slot);
    Violation violation = OrderViolation(
        "buffer overwritten", absl::StrCat(what, " is read after ", NameOf(tensor), " got ", by),
        absl::StrCat(Text(event), " reads ", what, " from ", NameOf(tensor), ", into which ",
                     slot.writer.op == kNone ? "nothing" : Text(slot.writer), " has written ", by,
                     RemedyInPlace(slot)));
    Concerns(graph_.operators[event.op], &violation);
    if (slot.writer.op != kNone) Concerns(graph_.operators[slot.writer.op], &violation);
    return violation;
  }

  Violation WrittenWhilePending(TensorId tensor, const PendingAccess& pending,
                                const Event& event) const {
    const std::string what = order_.TensorText(tensor, event.microbatch);
    Violation violation = OrderViolation(
        "buffer in flight",
        absl::StrCat(NameOf(tensor), " is written while handle \"", pending.async->handle, "\" ",
                     pending.writes ? "writes" : "reads", " it"),
        absl::StrCat(Text(event), " writes ", what, " into ", NameOf(tensor), ", which ",
                     Text(pending.start), pending.writes ? " writes" : " reads", " until handle \"",
                     pending.async->handle, "\" is waited for"));
    Concerns(graph_.operators[event.op], &violation);
    Concerns(graph_.operators[pending.start.op], &violation);
    return violation;
  }

  const StepOrder& order_;
  const sdfg::Graph& graph_;
  const SharedMemory& memory_;
  InPlace& in_place_;
  const int program_;
  const std::map<TensorId, const AsyncOperation*>& async_operations_;
  std::vector<std::vector<User>> of_phase_;
  int64_t& budget_;  // instances that may still be looked at
  std::map<std::pair<const Region*, int64_t>, Slot> slots_;
};

std::optional<Violation> RunPrograms(const StepOrder& order, Views views,
                                     std::vector<std::string>* lost) {
  const lineage::Problem& problem = order.problem();
  const SharedMemory memory(order, views);
  if (memory.violation().has_value()) return memory.violation();
  if (memory.empty()) return std::nullopt;
  InPlace in_place(order);
  std::map<TensorId, const AsyncOperation*> async_operations;
  for (const AsyncOperation& async : problem.schedule.async_operations)
    async_operations[async.result] = &async;
  int64_t budget = kMaxBufferInstances;
  std::vector<ProgramBuffers> programs;
  for (size_t p = 0; p < problem.schedule.programs.size(); ++p) {
    programs.emplace_back(order, memory, &in_place, static_cast<int>(p), async_operations, &budget);
  }
  for (size_t id = 0; id < problem.parallel.operators.size(); ++id) {
    const sdfg::Operator& op = problem.parallel.operators[id];
    const Place place = order.PlaceOf(op);
    if (place.program == kNone) continue;
    // A started collective reads its sources until its wait.
    bool uses = op.kind == sdfg::OperatorKind::kWait;
    for (TensorId tensor : op.inputs) uses = uses || memory.RegionOf(tensor) != nullptr;
    for (TensorId tensor : op.outputs) {
      uses = uses || async_operations.count(tensor) > 0 || memory.RegionOf(tensor) != nullptr;
    }
    if (uses) programs[place.program].Add(static_cast<OperatorId>(id), place.phase);
  }
  for (ProgramBuffers& program : programs) {
    if (auto violation = program.Run()) return violation;
    if (lost != nullptr && budget >= 0) program.ListLost(lost);
  }
  if (budget >= 0) return std::nullopt;
  Violation violation;
  violation.kind = "over a limit";
  violation.cause = "more than 2^24 instances use shared buffers; their order was not checked";
  violation.message = violation.cause;
  return violation;
}

}  // namespace

std::optional<Violation> CheckBuffers(const StepOrder& order, Views views) {
  return RunPrograms(order, views, nullptr);
}

std::vector<std::string> LostConstants(const StepOrder& order) {
  std::vector<std::string> lost;
  if (RunPrograms(order, Views::kAsStated, &lost).has_value()) return {};
  return lost;
}

}  // namespace planproof::stages
