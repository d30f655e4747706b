// Guesses by name, shape and use which logical tensor a parallel plan's full tensor is.
//
// Full tensors have the same names in both plans. Names are shared by the copies that multiref and
// identity make (equal values, so the original stands for all) and by the outputs of an operator
// with several (told apart by position). The gradients of copies differ: the gradient of a copy is
// that of the logical copy with the same consumers. A guess only proposes what to prove; parameters
// and inputs, whose relation is given, must match exactly or the files are no pair.
#ifndef PLANPROOF_FRONTEND_NNSCALER_ALIGNMENT_H_
#define PLANPROOF_FRONTEND_NNSCALER_ALIGNMENT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/plan_objects.h"

namespace planproof::frontend::nnscaler {

struct FullAlignment {
  int logical = kNoIndex;    // full tensor of the logical plan
  int batch_dim = kNoIndex;  // the dimension along which copies and microbatches split it
};

struct Alignment {
  std::vector<FullAlignment> full;  // per full tensor of the parallel plan
};

// `blocks` is copies times microbatches. InvalidArgument if parameters, buffers or the data do not
// match.
absl::StatusOr<Alignment> Align(const Plan& logical, const Plan& parallel, int64_t blocks);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_ALIGNMENT_H_
