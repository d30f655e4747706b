// Makes inputs of the model with all their elements.
#ifndef PLANPROOF_RUNTIME_CHECK_FULL_INPUTS_H_
#define PLANPROOF_RUNTIME_CHECK_FULL_INPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "runtime_check/values.h"
#include "witness/witness.h"

namespace planproof::runtime_check {

// By tensor of the model; empty but for inputs. Real numbers are rounded to the arithmetic's type.
using Inputs = std::vector<Values>;

// Of real inputs numbers in [-1, 1], of parameters such that contractions stay moderate; of
// integers those that the model can index with; all such that the declared premises hold. Equal
// seeds give equal inputs. FailedPrecondition if premises contradict each other.
absl::StatusOr<Inputs> RandomInputs(const lineage::Problem& problem, sdfg::DType arithmetic,
                                    uint64_t seed);

// The witness's blocks, written out. InvalidArgument if they are no inputs of this model.
absl::StatusOr<Inputs> InputsOf(const witness::Witness& witness, const lineage::Problem& problem,
                                sdfg::DType arithmetic);

// The same numbers, as float64 has them.
Inputs InFloat64(const Inputs& inputs);

// Which elements are perturbed independently of each other.
enum class Perturbation : uint8_t {
  kByElement,
  // Equal elements of a tensor alike: in a witness rounding is the same for all elements of a
  // block, and does not average out in sums over it.
  kByValue,
};

// Every floating-point input times 1 + e or 1 - e, e being the type's epsilon; other inputs stay.
// Equal seeds give equal signs.
Inputs Perturbed(const Inputs& inputs, const lineage::Problem& problem, sdfg::DType arithmetic,
                 Perturbation perturbation, uint64_t seed);
// The same of one tensor, whose elements are declared to be of type `element`.
Values PerturbedTensor(const Values& values, sdfg::DType element, sdfg::DType arithmetic,
                       Perturbation perturbation, uint64_t seed);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_FULL_INPUTS_H_
