// Numbers of generated plans: dense evaluation of both graphs on full shapes.
#ifndef PLANPROOF_TESTS_MODELS_NUMBERS_H_
#define PLANPROOF_TESTS_MODELS_NUMBERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::models {

// The choice of experts from the paper: the `active` largest scores, after all but the best groups
// are left out; a group counts by the sum of its two largest. `name` is
// "topk_index(k=2,groups=4,...)".
absl::StatusOr<double> ChooseExperts(const sdfg::OpaqueCall& call);

// Evaluates both graphs in double precision on random inputs and compares every required tensor:
// the Frobenius norm of the difference is at most 1e-9 of that of the required values. Gives what
// differs first, or nothing.
absl::StatusOr<std::string> DifferenceInNumbers(const lineage::Problem& problem, uint64_t seed);

}  // namespace planproof::models

#endif  // PLANPROOF_TESTS_MODELS_NUMBERS_H_
