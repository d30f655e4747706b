// Compares what ranks hold with what they are said to hold.
//
// A parameter, buffer, input or state of a rank is said to be a part of the reference's, by a
// relation that the proof takes for granted. Where a trace has what was held before the warm-up,
// the numbers must be equal as far as their types tell: nothing was computed yet. Optimizer states
// then exist after a step only, and in traces of version 1 all numbers are those after the warm-up.
// In these steps ranks and reference rounded differently, and an optimizer may make a whole step of
// what is rounding (Adam of a gradient that is zero), each run in another direction. So an element
// may differ by twice what the reference may have moved it by: the largest step of the recorded
// iteration in each of two iterations; of a state, which begins at zero, its largest element. What
// the recorded iteration does not update must be equal. A state may be rounding and nothing else
// (the mean of a gradient whose terms cancel), and ranks and reference round terms, not what is
// left of them: where runs of the graphs tell what rounding does to its new value, it may differ by
// as much, too.
//
// A state that steps have made is their result: where it differs, a fault of the graphs may be why.
#ifndef PLANPROOF_ANCHOR_HELD_COMPARISON_H_
#define PLANPROOF_ANCHOR_HELD_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "anchor/graph_runs.h"
#include "anchor/held_tensor.h"
#include "anchor/initial_values.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "stages/anchor_report.h"

namespace planproof::anchor {

// By how much an element may differ before the first iteration. What is computed while a weight is
// loaded (an adapter that is merged into a part of it) is a sum of products, at most as many as the
// rank of a matrix of its shape, and ranks may add them up in another order than the reference:
// they differ by a spacing for each addition, in the tensor's type or single precision, and one of
// the tensor's type. Spacings are those at the largest element of the whole.
double RoundingOfLoading(const runtime_check::Values& whole, sdfg::DType dtype);

// By how much an element may differ after steps that ranks and reference made by themselves.
// `before`, `after`: the reference's tensor before and after the recorded iteration.
double AllowedAfterSteps(frontend::RecordedRole role, const runtime_check::Values& before,
                         const runtime_check::Values& after);

// By how much rounding may change a state in these steps; `updated`: its new value in the runs of
// the reference's graph, with changes. 0 without.
double RoundingOfSteps(const ComputedTensor& updated);

struct HeldComparison {
  int64_t compared = 0;  // tensors of ranks
  std::string missing;   // what could not be compared first, and why; empty: all was
  std::vector<stages::RecordedDifference> differences;  // one for each tensor of the reference
  // All differences are in states that steps before the recorded one have made.
  bool only_by_steps = true;
};

// Compares all tensors that ranks hold. `problem`: its lineage says what they are said to hold;
// `computed`: the results of the reference's graph in its runs, or null. InvalidArgument for values
// that are damaged.
absl::StatusOr<HeldComparison> CompareHeld(const frontend::Recording& recording,
                                           const lineage::Problem& problem,
                                           const ComputedTensors* computed, RecordedFiles* files);

// Returns the difference of one tensor, or none. `others`: for what it may hold instead.
std::vector<stages::RecordedDifference> DifferencesOf(const HeldTensor& tensor,
                                                      const std::vector<const HeldTensor*>& others);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_HELD_COMPARISON_H_
