// Finds where a refuted plan first goes wrong, and what it looks like.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_DIAGNOSIS_H_
#define PLANPROOF_STAGES_DIAGNOSIS_DIAGNOSIS_H_

#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/witness.h"
#include "stages/diagnosis/fault.h"

namespace planproof::stages {

// Replays the witness and lists its faults, earliest first (at most `most`). `trusted`, by parallel
// tensor: it was shown to be what its full lineage says.
std::vector<Fault> Diagnose(const lineage::Problem& problem,
                            const shape_reduction::Witness& witness,
                            const std::vector<char>& trusted, size_t most, double seconds);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_DIAGNOSIS_H_
