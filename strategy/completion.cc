#include "strategy/completion.h"

#include <algorithm>
#include <chrono>

#include "stages/elapsed.h"
#include "strategy/proved_relations.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

std::optional<lineage::Problem> Complete(const stages::LineageInference& inference,
                                         const lineage::Problem& problem,
                                         const stages::VerifyOptions& options,
                                         stages::Result* known) {
  constexpr double kSecondsOfInference = 20;
  const auto start = std::chrono::steady_clock::now();
  stages::WorkerLimits limits;
  limits.task_timeout_s = std::min(kSecondsOfInference, options.stage_timeout_s);
  limits.memory_limit_mb = options.memory_limit_mb;
  limits.stop = options.stop;
  const std::optional<stages::InferredRelations> inferred =
      stages::InferInWorker(inference, problem, limits);
  known->time_s.infer += stages::Since(start);
  if (!inferred.has_value()) {
    if (!Stopped(options)) {
      known->warnings.push_back("relations are not inferred: it takes too much time or memory");
    }
    return std::nullopt;
  }
  lineage::Problem form = stages::WithRelations(problem, inferred->relations);
  known->inference.used = true;
  known->inference.tensors = inferred->tensors;
  known->inference.classes = inferred->classes;
  known->inference.inferred = stages::CountInferred(form);
  if (options.keep_relations) known->unrelated = NamesOf(problem.parallel, inferred->unrelated);
  return form;
}

}  // namespace planproof::strategy
