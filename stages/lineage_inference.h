// What finds relations that the files do not state (inference/).
#ifndef PLANPROOF_STAGES_LINEAGE_INFERENCE_H_
#define PLANPROOF_STAGES_LINEAGE_INFERENCE_H_

#include <cstdint>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

struct StopRequest;

struct CompletedProblem {
  // With lineages of provenance kInferred, and multiples of logical tensors that they mention.
  // Guesses.
  lineage::Problem problem;
  int64_t tensors = 0;                    // computed ones without lineage that were looked at
  int64_t classes = 0;                    // of them, by definition
  int64_t inferred = 0;                   // that got one
  std::vector<sdfg::TensorId> unrelated;  // that did not
};

class LineageInference {
 public:
  virtual ~LineageInference() = default;
  virtual CompletedProblem Complete(const lineage::Problem& problem,
                                    const StopRequest* stop) const = 0;
  // What to ask where this is not enough for a proof; may be null.
  virtual const LineageInference* Otherwise() const { return nullptr; }
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_LINEAGE_INFERENCE_H_
