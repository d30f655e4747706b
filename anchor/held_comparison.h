// What ranks hold against what they are said to hold.
//
// A parameter, buffer, input or state of a rank is said to be a part of the reference's, by a
// relation that the proof takes for granted. Where a trace has what was held before the warm-up,
// the numbers must be equal as far as their types tell: nothing was computed yet. Optimizer states
// then exist after a step only, and in traces of version 1 all numbers are those after the warm-up.
// In these steps ranks and reference rounded differently, and an optimizer may make a whole step of
// what is rounding (Adam of a gradient that is zero). So an element may differ by some of the
// largest step that the reference makes in the recorded iteration; what it does not update must be
// equal.
#ifndef PLANPROOF_ANCHOR_HELD_COMPARISON_H_
#define PLANPROOF_ANCHOR_HELD_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "anchor/held_tensor.h"
#include "anchor/initial_values.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "stages/anchor_report.h"

namespace planproof::anchor {

// By how much an element may differ before the first iteration: what is computed while it is loaded
// (an adapter that is merged into a part of its weight) is rounded in the tensor's type, sums of
// products in single precision a few times. Relative to the largest element of the whole.
double RoundingOfLoading(const runtime_check::Values& whole, sdfg::DType dtype);

struct HeldComparison {
  int64_t compared = 0;  // tensors of ranks
  std::string missing;   // what could not be compared first, and why; empty: all was
  std::vector<stages::RecordedDifference> differences;  // one for each tensor of the reference
};

// `problem`: whose lineage says what ranks hold. InvalidArgument for values that are damaged.
absl::StatusOr<HeldComparison> CompareHeld(const frontend::Recording& recording,
                                           const lineage::Problem& problem, RecordedFiles* files);

// The differences of one tensor: none or one. `others`: for what it may hold instead.
std::vector<stages::RecordedDifference> DifferencesOf(const HeldTensor& tensor,
                                                      const std::vector<const HeldTensor*>& others);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_HELD_COMPARISON_H_
