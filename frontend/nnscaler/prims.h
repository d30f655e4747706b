// What a communication primitive does in the direction in which its adapter runs.
#ifndef PLANPROOF_FRONTEND_NNSCALER_PRIMS_H_
#define PLANPROOF_FRONTEND_NNSCALER_PRIMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/plan_objects.h"

namespace planproof::frontend::nnscaler {

// A fused primitive is one collective forward and its dual backward; resolved, only the plain kinds
// are left. In a backward adapter a fused primitive stands between the adapter's own input and
// output; the tensors it names are the forward ones.
struct ResolvedPrim {
  PrimKind kind = PrimKind::kIdentity;
  std::vector<int> inputs, outputs;                 // in Plan::subs
  int dim = kNoIndex;                               // chunk, gather, reduce-scatter
  int split_dim = kNoIndex, concat_dim = kNoIndex;  // all-to-all
  // The group, in its order. Chunk is local all the same; identity has none.
  std::vector<int> participants;
};

// InvalidArgument for missing or contradicting parameters.
absl::StatusOr<ResolvedPrim> ResolvePrim(const Node& adapter, const Prim& prim);

// "all_reduce", "move", ...
const char* PrimName(PrimKind kind);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_PRIMS_H_
