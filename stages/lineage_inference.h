// Declares the interface of what finds relations that the files do not state (inference/).
#ifndef PLANPROOF_STAGES_LINEAGE_INFERENCE_H_
#define PLANPROOF_STAGES_LINEAGE_INFERENCE_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/inferred_relations.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

class LineageInference {
 public:
  virtual ~LineageInference() = default;
  virtual InferredRelations Infer(const lineage::Problem& problem,
                                  const StopRequest* stop) const = 0;
  // What to ask where this is not enough for a proof of the problem; may be null. `mostly_proved`:
  // with this, half of the claims were proved.
  virtual const LineageInference* Otherwise(const lineage::Problem& /*problem*/,
                                            bool /*mostly_proved*/) const {
    return nullptr;
  }
};

// The same in a process of its own, since terms of a wrong plan may grow beyond any time. Nothing
// if it does not end within the limits of a task.
std::optional<InferredRelations> InferInWorker(const LineageInference& inference,
                                               const lineage::Problem& problem,
                                               WorkerLimits limits);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_LINEAGE_INFERENCE_H_
