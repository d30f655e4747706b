#include "frontend/plan/raw_schedule.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "sdfg/limit.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

constexpr int kMaxSteps = 1 << 20;
constexpr int kMaxSlots = 1 << 20;

class RawScheduleReader {
 public:
  RawScheduleReader(const RawSchedule& raw, const sdfg::Graph& graph) : raw_(raw), graph_(graph) {}

  absl::StatusOr<lineage::Schedule> Run() {
    PLAN_RETURN_IF_ERROR(ReadPrograms());
    PLAN_RETURN_IF_ERROR(ReadPlaces());
    for (const RawStorage& storage : raw_.storage()) {
      PLAN_RETURN_IF_ERROR(CheckTensor(storage.tensor()));
      if (storage.slots() < 1) return Bad("a buffer has no slots");
      if (storage.slots() > kMaxSlots) {
        return sdfg::BeyondLimit("slots of a buffer", storage.slots(), kMaxSlots);
      }
      out_.storage[storage.tensor()] = {storage.buffer(), storage.slots()};
    }
    for (const RawChannel& channel : raw_.channels()) {
      PLAN_RETURN_IF_ERROR(CheckTensor(channel.tensor()));
      out_.channels[channel.tensor()] = channel.name();
    }
    std::set<sdfg::TensorId> results;
    for (const RawAsyncOperation& async : raw_.async_operations()) {
      PLAN_RETURN_IF_ERROR(CheckTensor(async.result()));
      if (graph_.tensors[async.result()].producer == sdfg::kNone) {
        return Bad("a handle has a result that nothing computes");
      }
      if (!results.insert(async.result()).second) return Bad("a result has two handles");
      for (int32_t source : async.sources()) PLAN_RETURN_IF_ERROR(CheckTensor(source));
      out_.async_operations.push_back(
          {async.handle(), async.result(), {async.sources().begin(), async.sources().end()}});
    }
    return std::move(out_);
  }

 private:
  static absl::Status Bad(const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("schedule: ", what));
  }

  absl::Status CheckTensor(int32_t tensor) const {
    if (tensor >= 0 && tensor < static_cast<int32_t>(graph_.tensors.size())) {
      return absl::OkStatus();
    }
    return Bad("names a tensor that does not exist");
  }

  absl::Status ReadPrograms() {
    int64_t steps = 0;
    for (const RawProgram& program : raw_.programs()) {
      lineage::ProgramSchedule to;
      to.name = program.name();
      to.phases.assign(program.phases().begin(), program.phases().end());
      if (program.step_phases_size() != program.step_microbatches_size() ||
          (steps += program.step_phases_size()) > kMaxSteps) {
        return Bad(absl::StrCat("program ", to.name, " has too many steps"));
      }
      for (int i = 0; i < program.step_phases_size(); ++i) {
        const lineage::ScheduleStep step{program.step_phases(i), program.step_microbatches(i)};
        if (step.phase < 0 || step.phase >= program.phases_size() ||
            step.microbatch < lineage::kAllMicrobatches) {
          return Bad(absl::StrCat("program ", to.name, ": step ", i, " is out of range"));
        }
        to.steps.push_back(step);
      }
      to.source = {program.file(), program.line(), ""};
      out_.programs.push_back(std::move(to));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPlaces() {
    for (const RawPlace& place : raw_.places()) {
      if (place.phase() < 0 || place.entry() < 0) return Bad("a place is out of range");
      const int32_t phase = place.phase() - 1;
      const int32_t entry = place.entry() - 1;
      if (place.program() < 0 || place.program() >= raw_.programs_size() ||
          phase >= raw_.programs(place.program()).phases_size()) {
        return Bad("a place is out of range");
      }
      if (place.count() < 1 || place.count() + out_.places.size() > graph_.tensors.size()) {
        return Bad("there are more places than tensors");
      }
      out_.places.insert(out_.places.end(), place.count(), {place.program(), phase, entry});
    }
    if (out_.places.size() != graph_.tensors.size()) return Bad("a tensor has no place");
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      if (graph_.tensors[id].producer == sdfg::kNone) continue;
      if (out_.places[id].phase != sdfg::kNone) continue;
      return Bad(absl::StrCat(graph_.tensors[id].name, " is computed in no phase"));
    }
    return absl::OkStatus();
  }

  const RawSchedule& raw_;
  const sdfg::Graph& graph_;
  lineage::Schedule out_;
};

}  // namespace

void WriteRawSchedule(const lineage::Schedule& schedule, RawSchedule* out) {
  for (const lineage::ProgramSchedule& program : schedule.programs) {
    RawProgram* to = out->add_programs();
    to->set_name(program.name);
    for (const std::string& phase : program.phases) to->add_phases(phase);
    for (const lineage::ScheduleStep& step : program.steps) {
      to->add_step_phases(step.phase);
      to->add_step_microbatches(step.microbatch);
    }
    to->set_file(program.source.file);
    to->set_line(program.source.line);
  }
  for (const lineage::Place& place : schedule.places) {
    if (out->places_size() > 0) {
      RawPlace* last = out->mutable_places(out->places_size() - 1);
      if (last->program() == place.program && last->phase() == place.phase + 1 &&
          last->entry() == place.entry + 1) {
        last->set_count(last->count() + 1);
        continue;
      }
    }
    RawPlace* to = out->add_places();
    to->set_count(1);
    to->set_program(place.program);
    to->set_phase(place.phase + 1);
    to->set_entry(place.entry + 1);
  }
  for (const auto& [tensor, storage] : schedule.storage) {
    RawStorage* to = out->add_storage();
    to->set_tensor(tensor);
    to->set_buffer(storage.buffer);
    to->set_slots(storage.slots);
  }
  for (const auto& [tensor, name] : schedule.channels) {
    RawChannel* to = out->add_channels();
    to->set_tensor(tensor);
    to->set_name(name);
  }
  for (const lineage::AsyncOperation& async : schedule.async_operations) {
    RawAsyncOperation* to = out->add_async_operations();
    to->set_handle(async.handle);
    to->set_result(async.result);
    for (sdfg::TensorId source : async.sources) to->add_sources(source);
  }
}

absl::StatusOr<lineage::Schedule> ReadRawSchedule(const RawSchedule& raw,
                                                  const sdfg::Graph& graph) {
  return RawScheduleReader(raw, graph).Run();
}

}  // namespace planproof::plan
