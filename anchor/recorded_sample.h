// Gives the inputs on which the reference was run, as inputs at which the premises of a proof may
// hold.
#ifndef PLANPROOF_ANCHOR_RECORDED_SAMPLE_H_
#define PLANPROOF_ANCHOR_RECORDED_SAMPLE_H_

#include <memory>

#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "lineage/sampled_inputs.h"

namespace planproof::anchor {

// Returns the elements of all inputs of the model. Null where one was not recorded, where values
// are damaged, and where inputs are too large to be tried. Nothing rests on these numbers: who uses
// them checks premises and values.
std::shared_ptr<const lineage::SampledInputs> RecordedSample(const frontend::Recording& recording,
                                                             const lineage::Problem& problem);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_RECORDED_SAMPLE_H_
