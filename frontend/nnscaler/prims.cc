#include "frontend/nnscaler/prims.h"

#include <algorithm>
#include <numeric>

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
    {PrimKind::kAllReduceAllReduce, PrimKind::kAllReduce, PrimKind::kAllReduce},
};

const Fused* FusedOf(PrimKind kind) {
  for (const Fused& fused : kFused) {
    if (fused.fused == kind) return &fused;
  }
  return nullptr;
}

// It has the primitives of its forward adapter.
bool HasForwardPrims(const Node& adapter) {
  return !adapter.forward &&
         std::any_of(adapter.prims.begin(), adapter.prims.end(),
                     [](const Prim& prim) { return FusedOf(prim.kind) != nullptr; });
}

// The tensors between which primitive number `number` of such an adapter runs backward.
absl::Status RunBackward(const Node& adapter, int number, ResolvedPrim* resolved) {
  const Prim& prim = adapter.prims[number];
  const auto unknown = [&](const std::string& what) {
    return absl::UnimplementedError(
        absl::StrCat(prim.class_name, " of ", adapter.Label(), ", backward: ", what));
  };
  if (FusedOf(prim.kind) == nullptr && prim.kind != PrimKind::kIdentity) {
    return unknown("what it is in the backward direction, beside fused primitives, is not known");
  }
  if (adapter.inputs.size() != 1 || adapter.outputs.size() != 1 ||
      adapter.inputs[0].tensor == kNoIndex) {
    return unknown("only an adapter with one input and one output is supported");
  }
  if (prim.inputs.size() != 1 || prim.outputs.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(prim.class_name, " of ", adapter.Label(), ": must have one input and output"));
  }
  const int last = static_cast<int>(adapter.prims.size()) - 1;
  if (number < last && adapter.prims[number + 1].inputs != prim.outputs) {
    return unknown("its output is not what the next primitive reads; only chains are supported");
  }
  resolved->inputs = {number == last ? adapter.inputs[0].tensor : prim.outputs[0]};
  resolved->outputs = {number == 0 ? adapter.outputs[0].tensor : prim.inputs[0]};
  return absl::OkStatus();
}

void AddRank(int rank, std::vector<int>* group) {
  if (std::find(group->begin(), group->end(), rank) == group->end()) group->push_back(rank);
}

}  // namespace

sdfg::OperatorKind PrimOperatorKind(PrimKind kind) {
  using sdfg::OperatorKind;
  switch (kind) {
    case PrimKind::kMove:
      return OperatorKind::kMove;
    case PrimKind::kBroadcast:
      return OperatorKind::kBroadcast;
    case PrimKind::kReduce:
      return OperatorKind::kReduce;
    case PrimKind::kAllReduce:
      return OperatorKind::kAllReduce;
    case PrimKind::kAllGather:
      return OperatorKind::kAllGather;
    case PrimKind::kReduceScatter:
      return OperatorKind::kReduceScatter;
    case PrimKind::kAllToAll:
      return OperatorKind::kAllToAll;
    case PrimKind::kChunk:
      return OperatorKind::kChunk;
    default:
      return OperatorKind::kCompute;
  }
}

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

std::vector<int> RunningOrder(const Node& adapter) {
  std::vector<int> order(adapter.prims.size());
  std::iota(order.begin(), order.end(), 0);
  if (HasForwardPrims(adapter)) std::reverse(order.begin(), order.end());
  return order;
}

absl::StatusOr<ResolvedPrim> ResolvePrim(const Node& adapter, int number) {
  const Prim& prim = adapter.prims[number];
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
  if (const Fused* fused = FusedOf(prim.kind)) {
    resolved.kind = adapter.forward ? fused->forward : fused->backward;
  }
  if (HasForwardPrims(adapter)) {
    std::swap(resolved.split_dim, resolved.concat_dim);
    absl::Status status = RunBackward(adapter, number, &resolved);
    if (!status.ok()) return status;
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
