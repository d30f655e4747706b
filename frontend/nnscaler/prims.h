// Tells what a communication primitive does in the direction in which its adapter runs.
#ifndef PLANPROOF_FRONTEND_NNSCALER_PRIMS_H_
#define PLANPROOF_FRONTEND_NNSCALER_PRIMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/plan_objects.h"
#include "sdfg/operator_kind.h"

namespace planproof::frontend::nnscaler {

// A fused primitive is one collective forward and its dual backward; resolved, only the plain kinds
// are left. A backward adapter with fused primitives has the list of its forward adapter: its
// primitives name the forward tensors, and run from the last to the first, each as its dual, from
// the adapter's own input to its own output. In between, a forward tensor stands for its gradient.
struct ResolvedPrim {
  PrimKind kind = PrimKind::kIdentity;
  std::vector<int> inputs, outputs;                 // in Plan::subs
  int dim = kNoIndex;                               // chunk, gather, reduce-scatter
  int split_dim = kNoIndex, concat_dim = kNoIndex;  // all-to-all
  // The group, in its order. Chunk is local all the same; identity has none.
  std::vector<int> participants;
};

// Primitive number `prim` of the adapter. InvalidArgument for missing or contradicting parameters,
// Unimplemented for a list whose backward direction is not known.
absl::StatusOr<ResolvedPrim> ResolvePrim(const Node& adapter, int prim);

// The numbers of the adapter's primitives in the order in which they run.
std::vector<int> RunningOrder(const Node& adapter);

// "all_reduce", "move", ...
const char* PrimName(PrimKind kind);
sdfg::OperatorKind PrimOperatorKind(PrimKind kind);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_PRIMS_H_
