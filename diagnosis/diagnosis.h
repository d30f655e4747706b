// Finds where a refuted plan first goes wrong, and what it looks like.
#ifndef PLANPROOF_DIAGNOSIS_DIAGNOSIS_H_
#define PLANPROOF_DIAGNOSIS_DIAGNOSIS_H_

#include <vector>

#include "diagnosis/fault.h"
#include "lineage/lineage.h"
#include "shape_reduction/witness.h"

namespace planproof::diagnosis {

// Replays the witness and lists its faults, earliest first (at most `most`). `trusted`, by parallel
// tensor: it was shown to be what its full lineage says.
std::vector<Fault> Diagnose(const lineage::Problem& problem,
                            const shape_reduction::Witness& witness,
                            const std::vector<char>& trusted, size_t most, double seconds);

}  // namespace planproof::diagnosis

#endif  // PLANPROOF_DIAGNOSIS_DIAGNOSIS_H_
