// Confirms a numeric difference by interval arithmetic.
#ifndef PLANPROOF_SHAPE_REDUCTION_CONFIRMATION_H_
#define PLANPROOF_SHAPE_REDUCTION_CONFIRMATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/focused_evaluation.h"
#include "shape_reduction/reduced_evaluator.h"
#include "shape_reduction/undefined_origin.h"
#include "shape_reduction/witness.h"

namespace planproof::shape_reduction {

inline constexpr int kDoubleBits = 53;

struct Enclosures {
  bool disjoint = false;  // and every premise in the cone holds
  // Or: the parallel element certainly is undefined, the logical one has a finite value.
  bool undefined = false;
  UndefinedOrigin origin;     // of the undefined value; none if it comes from `proved` only
  bool open_premise = false;  // a premise in the cone is not decided, or a value is undefined
  double logical_low = 0, logical_high = 0, parallel_low = 0, parallel_high = 0;
  std::string logical_text, parallel_text;
  int precision = 0;    // bits
  std::string message;  // why not disjoint
};

// Of one element in doubles, as a focused search finds them.
Enclosures EnclosuresOf(const Gap& gap);
Enclosures EnclosuresOf(const MissingValue& missing);

// One element of a required relation.
struct Spot {
  const lineage::RequiredRelation* relation = nullptr;
  std::vector<int64_t> index;  // of the relation's parallel tensor
};

// Encloses both values of each spot on the given inputs, in intervals of `bits` (up to 53:
// doubles), and returns those of the first spot where they are disjoint, with its position in
// *which; else those of the last spot, and why. Only the cones of the tensors are evaluated. On the
// logical side no element of the cone may be invalid: the inputs lie in the domain of the
// specification. `proved`: FindUndefinedOrigin.
Enclosures ConfirmDifference(const lineage::Problem& problem, const std::vector<Spot>& spots,
                             const std::vector<BlockTensorPtr<double>>& inputs, int bits,
                             const std::vector<sdfg::TensorId>& proved, int64_t max_elements,
                             WorkClock::time_point deadline, ProgramCache* programs, size_t* which);

// The one place where a difference becomes a counterexample: only if the enclosures are disjoint,
// or only the model's element has a value. Fills in the element, its values and, if the options ask
// for them, the inputs as data. False: it is none, and `witness` is as it was.
bool Confirm(const lineage::Problem& problem, int required, const std::vector<int64_t>& index,
             const Enclosures& enclosures, const std::vector<BlockTensorPtr<double>>& inputs,
             const WitnessOptions& options, Witness* witness);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_CONFIRMATION_H_
