#include "lineage/pipeline_schedule.h"

#include <algorithm>

namespace planproof::lineage {

std::vector<PipelineStep> PublishedSchedule(PipelineSchedule schedule, int64_t stages,
                                            int64_t stage, int64_t chunks, int64_t microbatches) {
  const int64_t passes = chunks * microbatches;
  const int64_t group = schedule == PipelineSchedule::kInterleaved ? stages : microbatches;
  const auto pass = [&](bool backward, int64_t number) {
    const int64_t round = number / (group * chunks);
    const int64_t chunk = number % (group * chunks) / group;
    return PipelineStep{backward, backward ? chunks - 1 - chunk : chunk,
                        round * group + number % group};
  };
  int64_t first = 0;  // forward passes before the first backward pass can follow one
  switch (schedule) {
    case PipelineSchedule::kAny:
      return {};
    case PipelineSchedule::kGPipe:
      first = passes;
      break;
    case PipelineSchedule::k1F1B:
      first = stages - stage - 1;
      break;
    case PipelineSchedule::kInterleaved:
      first = 2 * (stages - stage - 1) + (chunks - 1) * stages;
      break;
  }
  first = std::min(first, passes);
  std::vector<PipelineStep> steps;
  for (int64_t i = 0; i < first; ++i) steps.push_back(pass(false, i));
  for (int64_t i = first; i < passes; ++i) {
    steps.push_back(pass(false, i));
    steps.push_back(pass(true, i - first));
  }
  for (int64_t i = passes - first; i < passes; ++i) steps.push_back(pass(true, i));
  return steps;
}

}  // namespace planproof::lineage
