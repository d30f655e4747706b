// Decides whether a difference between a plan's tensor and the model's is more than round-off.
//
// The error of a tensor is |plan - model| / |model| in the Frobenius norm. What round-off makes of
// it depends on the model and the inputs, not on the plan alone: so the model is run again on
// inputs changed by one epsilon of the type, and how much that changes the tensor is what is
// expected (the idea of TTrace, arXiv:2506.09280). No tolerance is set by hand: a tensor alarms
// where its error is more than RatioBound times what is expected.
#ifndef PLANPROOF_RUNTIME_CHECK_COMPARISON_H_
#define PLANPROOF_RUNTIME_CHECK_COMPARISON_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "lineage/lineage.h"
#include "runtime_check/merged_tensor.h"
#include "runtime_check/values.h"
#include "sdfg/graph.h"

namespace planproof::runtime_check {

// How often what is compared was rounded on its way.
enum class Roundings : uint8_t {
  kMany,  // errors accumulate: over operators, or within a sum that is added up in the type itself
  kFew,   // operands were the model's, and sums are added up in a wider type
};

// How many times the expectation is still round-off, for a tensor with n different values: 4 + 20 /
// n, with few roundings half of that. The expectation is that of a few samples, and so uncertain
// for few values. It is that of changes by a whole epsilon, whereas one rounding is half of one at
// most; a plan that computes a stage by other operators than the model does rounds more often.
// docs/replay.md has what was measured on right plans.
double RatioBound(int64_t values, Roundings roundings);

// What is known of a tensor of the model.
struct Reference {
  const Values* values = nullptr;
  // By element the mean square of its change under perturbation.
  const std::vector<double>* changes = nullptr;
  // Where all elements compared are 0, their rounding is that of what they are computed from: the
  // largest magnitude among it.
  double operand_magnitude = 0;
  // Not 0: everything cancels in the tensor, its elements are rounding and nothing else; that is
  // relative to this, the magnitude of what cancels.
  double cancelled_magnitude = 0;
  // Of the arithmetic: the spacing of numbers is epsilon |x|, but no less than `spacing`.
  double epsilon = 0, spacing = 0;
  // The elements are rounded to multiples of something coarser than their own spacing, and few
  // samples may not show that an element comes to lie on the other side: at least one such change,
  // of this size, is expected.
  double step = 0;
  // How many values the expectation rests on, if it is fewer than there are different ones.
  int64_t most_values = std::numeric_limits<int64_t>::max();
  double bound_factor = 1;  // of RatioBound
  Roundings roundings = Roundings::kMany;
};

// Of how many values as large as each other changes are as uncertain as these: (sum c)^2 / sum c^2,
// where c is the mean square of an element's change, or of its spacing.
int64_t EffectiveValues(const Reference& reference);

struct Measure {
  double error = 0;        // relative; infinite if an infinite element, or NaN, is not the model's
  double expectation = 0;  // of round-off, relative; at least the spacing of the type's numbers
  double ratio = 0;
  double bound = 0;  // of the ratio
  double scale = 0;  // norm of the model's elements that are compared, or of their operands
  bool alarm = false;
  // Rounding may change the tensor by as much as it is: hardly anything could alarm.
  bool blind = false;
  // No element of the model's is NaN, some are finite, and so is what is expected of them: there is
  // something to compare with.
  bool defined = true;
  // The element that differs most; of CompareParts, in which part.
  int64_t part = 0;
  std::vector<int64_t> parallel_index, logical_index;
  double parallel_value = 0, logical_value = 0;
  // Instances (positions in row-major order of the coordinates) that alarm by themselves; only if
  // there is an alarm.
  std::vector<int64_t> instances;
};

// Compares all elements of a parallel tensor, whose first `axes` dimensions are coordinates, with
// the model's at the map.
Measure Compare(const Values& parallel, int axes, const std::vector<sdfg::IndexMap>& map,
                const Reference& reference);

// What somebody holds of a tensor, and which elements these are.
struct Part {
  const Values* values = nullptr;
  std::vector<sdfg::IndexMap> map;
};

// The same of parts of any sizes: instances are positions in `parts`, indices are the part's.
Measure CompareParts(const std::vector<Part>& parts, const Reference& reference);

// Adds a perturbed run's part to the mean square of changes of a tensor, which are as many as its
// elements.
void AddChanges(const Values& values, const Values& perturbed, int samples,
                std::vector<double>* changes);

// The ratio of disagreements within a merged tensor to what is expected.
double RatioOf(const Disagreement& disagreement, const Measure& measure);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_COMPARISON_H_
