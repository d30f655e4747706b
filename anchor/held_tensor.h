// Holds a tensor of the ranks, with the numbers of the reference and of all ranks.
#ifndef PLANPROOF_ANCHOR_HELD_TENSOR_H_
#define PLANPROOF_ANCHOR_HELD_TENSOR_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/recording.h"
#include "runtime_check/values.h"
#include "sdfg/index_map.h"
#include "sdfg/types.h"

namespace planproof::anchor {

// The numbers of one tensor of the reference, and of what ranks hold of it.
struct HeldTensor {
  // The part that a rank holds: its element at an index is the reference's at the map.
  struct Part {
    int32_t rank = 0;
    sdfg::DType dtype = sdfg::DType::kUnknown;
    runtime_check::Values values;
    std::vector<sdfg::IndexMap> map;
    bool absent = false;  // a state that the rank did not have yet, which counts as zeros
    double allowed = 0;   // by how much an element may differ, beside what its type makes of it
  };

  std::string name;
  frontend::RecordedRole role = frontend::RecordedRole::kParameter;
  sdfg::DType dtype = sdfg::DType::kUnknown;
  runtime_check::Values whole;  // the reference's, in the shape that maps lead to
  std::vector<Part> parts;
  // A state that was not there before the program's first step.
  bool made_by_steps = false;
};

// Returns whether two numbers are the same as far as their types tell, and up to `allowed`: with
// equal types and nothing allowed if they are equal, or both are not a number.
bool SameNumber(double a, sdfg::DType type_a, double b, sdfg::DType type_b, double allowed);

// The evidence that numbers of a part give for a cause of their difference.
struct HeldEvidence {
  // By how much a number may differ from one that explains it: what it may differ by from its
  // place, and little beside the spread of the part's numbers.
  double allowed = 0;
  // The chance that an unrelated number explains it. 1 where the part's numbers are all equal, as
  // zeros of biases are.
  double chance = 1;
};
HeldEvidence EvidenceOf(const HeldTensor::Part& part);

// The logarithm of a chance below which agreement of numbers is no accident.
inline constexpr double kLogOfSmallChance = -14;

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_HELD_TENSOR_H_
