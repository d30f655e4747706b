#include "frontend/nnscaler/prims.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace planproof::frontend::nnscaler {
namespace {

struct Fused {
  PrimKind fused, forward, backward;
};
constexpr Fused kFused[] = {
    {PrimKind::kAllReduceIdentity, PrimKind::kAllReduce, PrimKind::kIdentity},
    {PrimKind::kIdentityAllReduce, PrimKind::kIdentity, PrimKind::kAllReduce},
    {PrimKind::kSplitAllGather, PrimKind::kChunk, PrimKind::kAllGather},
    {PrimKind::kAllGatherSplit, PrimKind::kAllGather, PrimKind::kChunk},
    {PrimKind::kReduceScatterAllGather, PrimKind::kReduceScatter, PrimKind::kAllGather},
    {PrimKind::kAllGatherReduceScatter, PrimKind::kAllGather, PrimKind::kReduceScatter},
    {PrimKind::kAllToAllAllToAll, PrimKind::kAllToAll, PrimKind::kAllToAll},
};

void AddRank(int rank, std::vector<int>* group) {
  if (std::find(group->begin(), group->end(), rank) == group->end()) group->push_back(rank);
}

}  // namespace

const char* PrimName(PrimKind kind) {
  switch (kind) {
    case PrimKind::kMove:
      return "move";
    case PrimKind::kBroadcast:
      return "broadcast";
    case PrimKind::kReduce:
      return "reduce";
    case PrimKind::kAllReduce:
      return "all_reduce";
    case PrimKind::kAllGather:
      return "all_gather";
    case PrimKind::kReduceScatter:
      return "reduce_scatter";
    case PrimKind::kAllToAll:
      return "all_to_all";
    case PrimKind::kChunk:
      return "chunk";
    default:
      return "identity";
  }
}

absl::StatusOr<ResolvedPrim> ResolvePrim(const Node& adapter, const Prim& prim) {
  ResolvedPrim resolved;
  resolved.kind = prim.kind;
  resolved.inputs = prim.inputs;
  resolved.outputs = prim.outputs;
  resolved.dim = prim.dim;
  resolved.split_dim = prim.odim;
  resolved.concat_dim = prim.idim;
  const auto error = [&](const char* what) {
    return absl::InvalidArgumentError(
        absl::StrCat(prim.class_name, " of ", adapter.Label(), ": ", what));
  };
  for (const Fused& fused : kFused) {
    if (fused.fused != prim.kind) continue;
    resolved.kind = adapter.forward ? fused.forward : fused.backward;
    if (adapter.forward) break;
    std::swap(resolved.split_dim, resolved.concat_dim);
    if (adapter.prims.size() != 1 || adapter.inputs.size() != 1 || adapter.outputs.size() != 1 ||
        adapter.inputs[0].tensor == kNoIndex) {
      return absl::UnimplementedError(
          absl::StrCat(prim.class_name, " of ", adapter.Label(),
                       ": in the backward direction only a single primitive with one input and "
                       "output is supported"));
    }
    resolved.inputs = {adapter.inputs[0].tensor};
    resolved.outputs = {adapter.outputs[0].tensor};
    break;
  }
  if (resolved.inputs.size() > 1 || resolved.outputs.size() > 1) {
    return error("has more than one tensor");
  }
  switch (resolved.kind) {
    case PrimKind::kMove:
      if (prim.source == kNoIndex || prim.destination == kNoIndex) return error("lacks src or dst");
      AddRank(prim.source, &resolved.participants);
      AddRank(prim.destination, &resolved.participants);
      if (resolved.inputs.empty() && resolved.outputs.empty()) return error("has no tensor");
      return resolved;
    case PrimKind::kBroadcast:
      resolved.participants = prim.ranks;
      if (prim.source == kNoIndex) return error("lacks src");
      AddRank(prim.source, &resolved.participants);
      if (resolved.inputs.empty() && resolved.outputs.empty()) return error("has no tensor");
      return resolved;
    case PrimKind::kReduce:
      resolved.participants = prim.ranks;
      if (prim.destination == kNoIndex) return error("lacks dst");
      AddRank(prim.destination, &resolved.participants);
      if (resolved.inputs.empty()) return error("has no tensor");
      return resolved;
    default:
      break;
  }
  if (resolved.inputs.size() != 1 || resolved.outputs.size() != 1) {
    return error("must have one input and one output");
  }
  if (resolved.kind == PrimKind::kIdentity) return resolved;
  if (prim.ranks.empty()) return error("lacks ranks");
  const bool one_dim = resolved.kind == PrimKind::kAllGather || resolved.kind == PrimKind::kChunk ||
                       resolved.kind == PrimKind::kReduceScatter;
  if (one_dim && resolved.dim == kNoIndex) return error("lacks dim");
  if (resolved.kind == PrimKind::kAllToAll &&
      (resolved.split_dim == kNoIndex || resolved.concat_dim == kNoIndex)) {
    return error("lacks idim or odim");
  }
  resolved.participants = prim.ranks;
  return resolved;
}

}  // namespace planproof::frontend::nnscaler
