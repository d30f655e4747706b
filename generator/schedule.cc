#include "generator/schedule.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace planproof::generator {
namespace {

using lineage::PipelineSchedule;
using lineage::PipelineStep;

constexpr size_t kShortestLoop = 3;  // times; shorter ones are written out

std::string PhaseOf(const PipelineStep& step) {
  return absl::StrCat(step.backward ? "B" : "F", step.chunk);
}

// `b` is the same pass as `a`, `distance` microbatches later.
bool Follows(const PipelineStep& a, const PipelineStep& b, int64_t distance) {
  return a.backward == b.backward && a.chunk == b.chunk && a.microbatch + distance == b.microbatch;
}

// How often the `width` steps at `at` come in a row, one microbatch later each time.
size_t Repetitions(const std::vector<PipelineStep>& steps, size_t at, size_t width) {
  size_t times = 1;
  while (at + (times + 1) * width <= steps.size()) {
    for (size_t i = 0; i < width; ++i) {
      const PipelineStep& last = steps[at + (times - 1) * width + i];
      if (!Follows(last, steps[at + times * width + i], 1)) return times;
    }
    ++times;
  }
  return times;
}

void WriteStep(const PipelineStep& step, const std::string& microbatch, plan::ScheduleItem* item) {
  item->set_phase(PhaseOf(step));
  item->set_microbatch(microbatch);
}

void WriteSteps(const std::vector<PipelineStep>& steps, plan::Program* program) {
  for (size_t at = 0; at < steps.size();) {
    const PipelineStep& step = steps[at];
    plan::ScheduleItem* item = program->add_schedule();
    const size_t alone = Repetitions(steps, at, 1);
    const size_t pairs = Repetitions(steps, at, 2);
    if (alone < kShortestLoop && pairs >= kShortestLoop) {
      item->set_variable("i");
      item->set_from("0");
      item->set_to(absl::StrCat(pairs));
      for (size_t i = 0; i < 2; ++i) {
        const PipelineStep& inner = steps[at + i];
        WriteStep(inner, inner.microbatch == 0 ? "i" : absl::StrCat("i+", inner.microbatch),
                  item->add_body());
      }
      at += 2 * pairs;
      continue;
    }
    WriteStep(step, absl::StrCat(step.microbatch), item);
    if (alone > 1) item->set_until(absl::StrCat(step.microbatch + static_cast<int64_t>(alone)));
    at += alone;
  }
}

}  // namespace

void PhaseMarks::Begin(int stage, const plan::Program& program, const std::string& phase) {
  if (static_cast<int>(marks_.size()) <= stage) marks_.resize(stage + 1);
  auto& marks = marks_[stage];
  if (!marks.empty() && marks.back().second == phase) return;
  const int next = program.operators_size();
  if (!marks.empty() && marks.back().first == next) marks.pop_back();  // it had no operator
  if (!marks.empty() && marks.back().second == phase) return;
  marks.emplace_back(next, phase);
}

void PhaseMarks::Label(int stage, plan::Program* program) const {
  if (stage >= static_cast<int>(marks_.size())) return;
  for (const auto& [at, phase] : marks_[stage]) {
    if (at < program->operators_size()) program->mutable_operators(at)->set_phase(phase);
  }
}

absl::StatusOr<PipelineSchedule> ScheduleNamed(const std::string& name) {
  if (name == "gpipe") return PipelineSchedule::kGPipe;
  if (name == "1f1b") return PipelineSchedule::k1F1B;
  if (name == "interleaved") return PipelineSchedule::kInterleaved;
  return absl::InvalidArgumentError(
      absl::StrCat("no schedule '", name, "'; there are gpipe, 1f1b, interleaved"));
}

absl::Status CheckSchedule(PipelineSchedule schedule, int64_t stages, int64_t chunks,
                           int64_t microbatches) {
  if (chunks < 1) return absl::InvalidArgumentError("a stage has at least one chunk of layers");
  if (schedule != PipelineSchedule::kInterleaved) {
    return chunks == 1 ? absl::OkStatus()
                       : absl::InvalidArgumentError(
                             "several chunks per stage need the schedule interleaved");
  }
  if (chunks < 2 || stages < 2) {
    return absl::InvalidArgumentError(
        "the schedule interleaved needs at least two stages with two chunks (virtual stages) each");
  }
  if (microbatches % stages != 0) {
    return absl::InvalidArgumentError(absl::StrCat("the schedule interleaved needs a multiple of ",
                                                   stages, " microbatches, not ", microbatches));
  }
  return absl::OkStatus();
}

void WriteSchedule(PipelineSchedule schedule, int64_t chunks, int64_t microbatches,
                   const PhaseMarks& marks, std::vector<plan::Program>* programs) {
  const auto stages = static_cast<int64_t>(programs->size());
  for (int64_t stage = 0; stage < stages; ++stage) {
    plan::Program& program = (*programs)[stage];
    marks.Label(static_cast<int>(stage), &program);
    std::vector<PipelineStep> steps =
        lineage::PublishedSchedule(schedule, stages, stage, chunks, microbatches);
    // A chunk may leave nothing to a pass.
    std::set<std::string> phases;
    for (const plan::Operator& op : program.operators()) phases.insert(op.phase());
    steps.erase(
        std::remove_if(steps.begin(), steps.end(),
                       [&](const PipelineStep& step) { return phases.count(PhaseOf(step)) == 0; }),
        steps.end());
    if (phases.count(kPreparePhase) > 0) program.add_schedule()->set_phase(kPreparePhase);
    WriteSteps(steps, &program);
    if (phases.count(kUpdatePhase) > 0) program.add_schedule()->set_phase(kUpdatePhase);
  }
}

}  // namespace planproof::generator
