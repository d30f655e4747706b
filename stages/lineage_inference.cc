#include "stages/lineage_inference.h"

#include <string>
#include <utility>

#include "stages/workers/relations_bytes.h"

namespace planproof::stages {

std::optional<InferredRelations> InferInWorker(const LineageInference& inference,
                                               const lineage::Problem& problem,
                                               WorkerLimits limits) {
  limits.jobs = 1;
  TaskOutcome answer;
  RunInWorkers(
      1, limits, [&](int) { return ToBytes(inference.Infer(problem, limits.stop)); },
      [&](int, TaskOutcome outcome) { answer = std::move(outcome); },
      [](int) { return std::string("inference of relations"); });
  InferredRelations inferred;
  if (answer.status != TaskStatus::kDone || !FromBytes(answer.result, &inferred)) {
    return std::nullopt;
  }
  return inferred;
}

}  // namespace planproof::stages
