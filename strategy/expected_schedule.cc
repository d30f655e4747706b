#include "strategy/expected_schedule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strategy/pipeline_stages.h"

namespace planproof::strategy {
namespace {

using lineage::kAllMicrobatches;
using lineage::PipelineStep;
using lineage::ProgramSchedule;

const char* NameOf(lineage::PipelineSchedule schedule) {
  switch (schedule) {
    case lineage::PipelineSchedule::kGPipe:
      return "gpipe";
    case lineage::PipelineSchedule::k1F1B:
      return "1f1b";
    case lineage::PipelineSchedule::kInterleaved:
      return "interleaved";
    case lineage::PipelineSchedule::kAny:
      break;
  }
  return "any";
}

// As the program names its phases: "F:3" or "F0:3".
std::string TextOf(const PipelineStep& step, const ProgramSchedule& program) {
  const bool plain =
      std::any_of(program.phases.begin(), program.phases.end(),
                  [](const std::string& phase) { return phase == "F" || phase == "B"; });
  const std::string chunk = plain ? "" : absl::StrCat(step.chunk);
  return absl::StrCat(step.backward ? "B" : "F", chunk, ":", step.microbatch);
}

stages::Violation NotTheSchedule(lineage::PipelineSchedule expected, const ProgramSchedule& program,
                                 const std::string& what) {
  const std::string at = program.source.ToString();
  const std::string text = absl::StrCat("program \"", program.name, "\" ", what);
  return stages::OrderViolation(absl::StrCat("not the schedule ", NameOf(expected)),
                                absl::StrCat("not the schedule ", NameOf(expected), ": ", text),
                                absl::StrCat(at, at.empty() ? "" : ": ", text));
}

class Comparison {
 public:
  Comparison(const stages::StepOrder& order, lineage::PipelineSchedule expected)
      : order_(order),
        programs_(order.problem().schedule.programs),
        expected_(expected),
        pipeline_(order) {}

  std::optional<stages::Violation> Run() {
    if (const auto& error = pipeline_.error(); error.has_value()) {
      return Deviation(error->program, error->what);
    }
    for (size_t p = 0; p < programs_.size(); ++p) {
      if (!pipeline_.used(p)) continue;
      if (auto violation = Compare(p)) return violation;
    }
    return std::nullopt;
  }

 private:
  stages::Violation Deviation(size_t p, const std::string& what) const {
    return NotTheSchedule(expected_, programs_[p], what);
  }

  std::optional<stages::Violation> Compare(size_t p) const {
    const int64_t chunks = pipeline_.chunks();
    const int64_t stages = pipeline_.stages();
    const int64_t stage = pipeline_.stage(p);
    const int64_t microbatches = order_.microbatches();
    const bool interleaved = expected_ == lineage::PipelineSchedule::kInterleaved;
    if (!interleaved && chunks > 1) {
      return Deviation(p, absl::StrCat("has ", chunks, " chunks, not one"));
    }
    if (interleaved && chunks < 2) return Deviation(p, "has one chunk, not at least two");
    if (interleaved && microbatches % stages != 0) {
      return Deviation(p, absl::StrCat("runs ", microbatches, " microbatches, which the ", stages,
                                       " stages do not divide"));
    }
    const auto steps = static_cast<int64_t>(programs_[p].steps.size());
    if (chunks * microbatches > steps) {
      return Deviation(p, absl::StrCat("has ", steps, " steps for ", chunks, " chunks and ",
                                       microbatches, " microbatches"));
    }
    std::vector<PipelineStep> wanted =
        lineage::PublishedSchedule(expected_, stages, stage, chunks, microbatches);
    size_t position = 0;
    for (size_t s = 0; s < programs_[p].steps.size(); ++s) {
      const lineage::ScheduleStep& step = programs_[p].steps[s];
      const std::optional<Pass> pass = PassNamed(programs_[p].phases[step.phase]);
      if (!pass.has_value()) continue;
      const bool once = step.microbatch == kAllMicrobatches;
      if (once && microbatches > 1) {
        return Deviation(p, absl::StrCat(order_.StepText(p, s), " is no step of one microbatch"));
      }
      const PipelineStep found{pass->backward, pass->chunk, once ? 0 : step.microbatch};
      // The first backward pass says in which direction GPipe's go.
      if (expected_ == lineage::PipelineSchedule::kGPipe && found.backward &&
          position < wanted.size() && wanted[position].backward &&
          position == static_cast<size_t>(microbatches) && found.microbatch == microbatches - 1) {
        std::reverse(wanted.begin() + microbatches, wanted.end());
      }
      const bool same = position < wanted.size() && found == wanted[position];
      if (!same) {
        return Deviation(
            p, absl::StrCat("(stage ", stage, " of ", stages, ") at position ", s, ": ",
                            position < wanted.size() ? TextOf(wanted[position], programs_[p])
                                                     : std::string("nothing more"),
                            " is expected, ", TextOf(found, programs_[p]), " found"));
      }
      ++position;
    }
    if (position == wanted.size()) return std::nullopt;
    return Deviation(p, absl::StrCat("ends after ", position, " passes; ",
                                     TextOf(wanted[position], programs_[p]), " is expected"));
  }

  const stages::StepOrder& order_;
  const std::vector<ProgramSchedule>& programs_;
  const lineage::PipelineSchedule expected_;
  const PipelineStages pipeline_;
};

std::optional<stages::Violation> Deviation(const stages::StepOrder& order,
                                           lineage::PipelineSchedule expected) {
  if (order.problem().schedule.programs.empty()) {
    return stages::OrderViolation(absl::StrCat("not the schedule ", NameOf(expected)),
                                  absl::StrCat("not the schedule ", NameOf(expected),
                                               ": the plan states no order of its instances"),
                                  "the files say in which order instances run only in plan format "
                                  "(\"phase\" and \"schedule\", docs/plan-format.md)");
  }
  return Comparison(order, expected).Run();
}

}  // namespace

bool CheckExpectedSchedule(const stages::StepOrder& order, lineage::PipelineSchedule expected,
                           stages::Result* result) {
  if (expected == lineage::PipelineSchedule::kAny) return true;
  std::optional<stages::Violation> deviation = Deviation(order, expected);
  if (!deviation.has_value()) return true;
  result->verdict = deviation->verdict;
  result->violations.push_back(*std::move(deviation));
  return false;
}

}  // namespace planproof::strategy
