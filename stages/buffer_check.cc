#include "stages/buffer_check.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::stages {
namespace {

using lineage::Flight;
using lineage::kAllMicrobatches;
using lineage::Place;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

constexpr int64_t kMostInstances = int64_t{1} << 24;

// An operator's instance in one step.
struct Event {
  OperatorId op = kNone;
  int64_t step = 0;
  int64_t microbatch = 0;  // 0 for what does not vary
};

struct InFlight {
  const Flight* flight = nullptr;
  Event start;
  bool writes = false;
};

struct Slot {
  TensorId tensor = kNone;
  int64_t microbatch = 0;
  Event writer;
  std::vector<InFlight> in_flight;
};

class ProgramBuffers {
 public:
  ProgramBuffers(const StepOrder& order, int program,
                 const std::map<TensorId, const Flight*>& flights, int64_t* budget)
      : order_(order),
        graph_(order.problem().parallel),
        storage_(order.problem().schedule.storage),
        program_(program),
        flights_(flights),
        of_phase_(order.problem().schedule.programs[program].phases.size()),
        budget_(*budget) {}

  void Add(OperatorId op, int phase) {
    of_phase_[phase].push_back({op, order_.ReadsSameMicrobatch(graph_.operators[op])});
  }

  std::optional<Violation> Run() {
    for (const auto& [tensor, storage] : storage_) {
      const Place place = order_.PlaceOf(tensor);
      if (place.program != program_ || place.phase != kNone) continue;
      for (int64_t m = 0; m < (order_.Varies(tensor) ? order_.microbatches() : 1); ++m) {
        if (--budget_ < 0) return std::nullopt;
        Slot& slot = SlotOf(tensor, m);
        if (slot.tensor != kNone) return TwoInputs(tensor, slot.tensor);
        slot.tensor = tensor;
        slot.microbatch = m;
      }
    }
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
          if (auto violation = Perform({user.op, static_cast<int64_t>(s), m}, user.same)) {
            return violation;
          }
        }
      }
    }
    return CheckRequired();
  }

 private:
  // What the specification requires is still there at the end.
  std::optional<Violation> CheckRequired() {
    for (const lineage::RequiredRelation& required : order_.problem().required) {
      const TensorId held = HeldAs(required.parallel);
      if (!Owned(held)) continue;
      for (int64_t m = 0; m < (order_.Varies(held) ? order_.microbatches() : 1); ++m) {
        if (--budget_ < 0) return std::nullopt;
        const Slot& slot = SlotOf(held, m);
        if (slot.tensor == held && slot.microbatch == m) continue;
        const std::string what = order_.TensorText(held, m);
        return OrderViolation(
            "buffer overwritten",
            absl::StrCat("the required output ", what, " is overwritten in ", Buffer(held)),
            absl::StrCat(Text(slot.writer), " writes ",
                         order_.TensorText(slot.tensor, slot.microbatch), " over ", what,
                         ", which is required"));
      }
    }
    return std::nullopt;
  }

  // What is required per rank may be one tensor that is the same on all of them, written out as
  // "replicate" for the claim's sake: no copy is made.
  TensorId HeldAs(TensorId tensor) const {
    while (!Owned(tensor) && graph_.tensors[tensor].producer != kNone) {
      const sdfg::Operator& op = graph_.operators[graph_.tensors[tensor].producer];
      if (op.name != "replicate" || op.lifted || op.inputs.size() != 1) break;
      tensor = op.inputs[0];
    }
    return tensor;
  }

  Slot& SlotOf(TensorId tensor, int64_t microbatch) {
    const lineage::Storage& storage = storage_.at(tensor);
    return slots_[{storage.buffer, order_.Varies(tensor) ? microbatch % storage.slots : 0}];
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

  std::optional<Violation> Perform(const Event& event, const std::vector<bool>& same) {
    const sdfg::Operator& op = graph_.operators[event.op];
    if (op.name == "wait" && flights_.count(op.inputs[0]) > 0) {
      End(*flights_.at(op.inputs[0]), event);
      return std::nullopt;
    }
    std::optional<Violation> violation;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!Owned(op.inputs[i])) continue;
      Instances(op.inputs[i], same[i], event, [&](const Slot& slot, int64_t m) {
        if (slot.tensor == op.inputs[i] && slot.microbatch == m) return;
        if (!violation) violation = Overwritten(op.inputs[i], m, slot, event);
      });
    }
    for (TensorId output : op.outputs) {
      if (violation || output == kNone || !Owned(output)) continue;
      Slot& slot = SlotOf(output, event.microbatch);
      if (!slot.in_flight.empty()) return WrittenInFlight(output, slot.in_flight[0], event);
      slot.tensor = output;
      slot.microbatch = event.microbatch;
      slot.writer = event;
    }
    if (violation) return violation;
    for (TensorId output : op.outputs) {
      const auto flight = flights_.find(output);
      if (flight != flights_.end()) Begin(*flight->second, event);
    }
    return std::nullopt;
  }

  bool Owned(TensorId tensor) const {
    return storage_.count(tensor) > 0 && order_.PlaceOf(tensor).program == program_;
  }

  void Begin(const Flight& flight, const Event& event) {
    for (TensorId source : flight.sources) {
      if (!Owned(source)) continue;
      Instances(source, true, event, [&](Slot& slot, int64_t) {
        slot.in_flight.push_back({&flight, event, false});
      });
    }
    if (!Owned(flight.result)) return;
    SlotOf(flight.result, event.microbatch).in_flight.push_back({&flight, event, true});
  }

  void End(const Flight& flight, const Event& event) {
    for (TensorId source : flight.sources) {
      if (!Owned(source)) continue;
      Instances(source, true, event, [&](Slot& slot, int64_t) { Land(flight, event, &slot); });
    }
    if (!Owned(flight.result)) return;
    Slot& slot = SlotOf(flight.result, event.microbatch);
    Land(flight, event, &slot);
    slot.tensor = graph_.operators[event.op].outputs[0];
    slot.microbatch = event.microbatch;
  }

  static void Land(const Flight& flight, const Event& event, Slot* slot) {
    for (size_t i = slot->in_flight.size(); i-- > 0;) {
      if (slot->in_flight[i].flight != &flight) continue;
      if (slot->in_flight[i].start.microbatch != event.microbatch) continue;
      slot->in_flight.erase(slot->in_flight.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::string Text(const Event& event) const {
    return absl::StrCat(order_.OperatorText(graph_.operators[event.op]), " in ",
                        order_.StepText(program_, event.step));
  }
  std::string Buffer(TensorId tensor) const {
    return absl::StrCat("buffer \"", storage_.at(tensor).buffer, "\" of program \"",
                        order_.ProgramName(program_), "\"");
  }

  Violation TwoInputs(TensorId a, TensorId b) const {
    return OrderViolation("buffer overwritten", absl::StrCat(Buffer(a), " holds two inputs"),
                          absl::StrCat(order_.TensorText(a, 0), " and ", order_.TensorText(b, 0),
                                       " lie in ", Buffer(a), " from the start"));
  }

  Violation Overwritten(TensorId tensor, int64_t m, const Slot& slot, const Event& event) const {
    const std::string what = order_.TensorText(tensor, m);
    const std::string by =
        slot.tensor == kNone ? "nothing" : order_.TensorText(slot.tensor, slot.microbatch);
    Violation violation = OrderViolation(
        "buffer overwritten", absl::StrCat(what, " is read after ", Buffer(tensor), " got ", by),
        absl::StrCat(Text(event), " reads ", what, " from ", Buffer(tensor), ", into which ",
                     slot.writer.op == kNone ? "nothing" : Text(slot.writer), " has written ", by));
    Concerns(graph_.operators[event.op], &violation);
    if (slot.writer.op != kNone) Concerns(graph_.operators[slot.writer.op], &violation);
    return violation;
  }

  Violation WrittenInFlight(TensorId tensor, const InFlight& in_flight, const Event& event) const {
    const std::string what = order_.TensorText(tensor, event.microbatch);
    Violation violation = OrderViolation(
        "buffer in flight",
        absl::StrCat(Buffer(tensor), " is written while handle \"", in_flight.flight->handle, "\" ",
                     in_flight.writes ? "writes" : "reads", " it"),
        absl::StrCat(Text(event), " writes ", what, " into ", Buffer(tensor), ", which ",
                     Text(in_flight.start), in_flight.writes ? " writes" : " reads",
                     " until handle \"", in_flight.flight->handle, "\" is waited for"));
    Concerns(graph_.operators[event.op], &violation);
    Concerns(graph_.operators[in_flight.start.op], &violation);
    return violation;
  }

  const StepOrder& order_;
  const sdfg::Graph& graph_;
  const std::map<TensorId, lineage::Storage>& storage_;
  const int program_;
  const std::map<TensorId, const Flight*>& flights_;
  // Operators that use shared buffers, and which operands they read for their own microbatch only.
  struct User {
    OperatorId op = kNone;
    std::vector<bool> same;
  };
  std::vector<std::vector<User>> of_phase_;
  int64_t& budget_;  // instances that may still be looked at
  std::map<std::pair<std::string, int64_t>, Slot> slots_;
};

}  // namespace

std::optional<Violation> CheckBuffers(const StepOrder& order) {
  const lineage::Problem& problem = order.problem();
  const auto& storage = problem.schedule.storage;
  if (storage.empty()) return std::nullopt;
  std::map<TensorId, const Flight*> flights;
  for (const Flight& flight : problem.schedule.flights) flights[flight.result] = &flight;
  int64_t budget = kMostInstances;
  std::vector<ProgramBuffers> programs;
  for (size_t p = 0; p < problem.schedule.programs.size(); ++p) {
    programs.emplace_back(order, static_cast<int>(p), flights, &budget);
  }
  for (size_t id = 0; id < problem.parallel.operators.size(); ++id) {
    const sdfg::Operator& op = problem.parallel.operators[id];
    const Place place = order.PlaceOf(op);
    if (place.program == kNone) continue;
    // A started collective reads its sources until its wait.
    bool uses = op.name == "wait";
    for (TensorId tensor : op.inputs) uses = uses || storage.count(tensor) > 0;
    for (TensorId tensor : op.outputs) {
      uses = uses || storage.count(tensor) > 0 || flights.count(tensor) > 0;
    }
    if (uses) programs[place.program].Add(static_cast<OperatorId>(id), place.phase);
  }
  for (ProgramBuffers& program : programs) {
    if (auto violation = program.Run()) return violation;
  }
  if (budget >= 0) return std::nullopt;
  Violation violation;
  violation.kind = "over a limit";
  violation.cause = "more than 2^24 instances use shared buffers; their order was not checked";
  violation.message = violation.cause;
  return violation;
}

}  // namespace planproof::stages
