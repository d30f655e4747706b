// Generates the published orders of microbatches in a pipeline of stages.
#ifndef PLANPROOF_LINEAGE_PIPELINE_SCHEDULE_H_
#define PLANPROOF_LINEAGE_PIPELINE_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace planproof::lineage {

enum class PipelineSchedule : uint8_t {
  kAny,          // none in particular
  kGPipe,        // all forward passes, then all backward passes (Huang et al., GPipe, 2019)
  k1F1B,         // min(microbatches, stages - stage - 1) forward passes, then one forward and one
                 // backward pass in turn, then the backward passes that remain (PipeDream-Flush in
                 // Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, 2021;
                 // Megatron-LM, forward_backward_pipelining_without_interleaving)
  kInterleaved,  // a stage holds several chunks of layers; 2 (stages - stage - 1) + (chunks - 1)
                 // stages forward passes come first; chunks take turns after `stages` microbatches,
                 // backward passes from the last chunk (Narayanan et al., Efficient Large-Scale
                 // Language Model Training, 2021, section 2.2; Megatron-LM,
                 // forward_backward_pipelining_with_interleaving)
};

// A forward or backward pass of one chunk for one microbatch.
struct PipelineStep {
  bool backward = false;
  int64_t chunk = 0;
  int64_t microbatch = 0;
  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};

// The passes of stage `stage` of `stages`; none for kAny. `chunks` is 1 but for kInterleaved, which
// needs `microbatches` to be a multiple of `stages`.
std::vector<PipelineStep> PublishedSchedule(PipelineSchedule schedule, int64_t stages,
                                            int64_t stage, int64_t chunks, int64_t microbatches);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_PIPELINE_SCHEDULE_H_
