// Numbers of generated plans: dense evaluation of both graphs on full shapes.
#ifndef PLANPROOF_TESTS_MODELS_NUMBERS_H_
#define PLANPROOF_TESTS_MODELS_NUMBERS_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::generator {

// The choice of experts from the paper: the `active` largest scores, after all but the best groups
// are left out; a group counts by the sum of its two largest. `name` is
// "topk_index(k=2,groups=4,...)".
absl::StatusOr<double> ChooseExperts(const sdfg::OpaqueCall& call);

// How far that choice is from another one: the least distance between scores of which one comes
// before the other, among the chosen experts and the next, and among the chosen groups and the
// next.
absl::StatusOr<double> GateMargin(const sdfg::OpaqueCall& call);

inline constexpr double kGateMargin = 1e-6;

struct Comparison {
  std::string different;  // the first required tensor that differs; empty: none does
  uint64_t seed = 0;      // of the inputs
  double margin = std::numeric_limits<double>::infinity();  // least of all gates in the model
};

// Evaluates both graphs in double precision on random inputs and compares every required tensor:
// the Frobenius norm of the difference is at most 1e-9 of that of the required values. The inputs
// are those of the first seed from `seed` on with which every gate's margin in the logical graph
// is above kGateMargin.
absl::StatusOr<Comparison> CompareInNumbers(const lineage::Problem& problem, uint64_t seed);

// The same; gives what differs first, or nothing.
absl::StatusOr<std::string> DifferenceInNumbers(const lineage::Problem& problem, uint64_t seed);

}  // namespace planproof::generator

#endif  // PLANPROOF_TESTS_MODELS_NUMBERS_H_
