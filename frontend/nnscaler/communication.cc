// Adapters of the parallel plan: their primitives as collectives over the participants' tensors.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/nnscaler/parallel_builder.h"
#include "sdfg/collectives.h"

namespace planproof::frontend::nnscaler {
namespace {

std::string ShapeKey(const sdfg::Shape& shape) { return absl::StrJoin(shape, ","); }

}  // namespace

absl::Status ParallelBuilder::RunAdapterStep(const Event& event) {
  const Node& node = plan_.nodes[event.node];
  if (event.prim == static_cast<int>(node.prims.size())) return FinishAdapter(event);
  if (event.communication == kNoIndex) return RunLocalPrim(event);
  const Communication& communication = schedule_.communications[event.communication];
  if (++arrived_[event.communication] < static_cast<int>(communication.participants.size())) {
    return absl::OkStatus();
  }
  return RunCommunication(communication);
}

// Tensors that pass between the primitives of one adapter are not visible outside.
absl::StatusOr<ParallelBuilder::TensorId> ParallelBuilder::AdapterRead(const Event& event,
                                                                       int sub) {
  const auto& local = adapter_local_[event.device];
  const auto found = local.find(sub);
  if (found != local.end()) return found->second;
  return Read(event, sub);
}

absl::Status ParallelBuilder::FinishAdapter(const Event& event) {
  const Node& node = plan_.nodes[event.node];
  auto& local = adapter_local_[event.device];
  for (const NodeOperand& output : node.outputs) {
    bool is_input = false;
    for (const NodeOperand& input : node.inputs) is_input |= input.tensor == output.tensor;
    const auto made = local.find(output.tensor);
    if (made == local.end()) {
      if (is_input) continue;  // the sender of a move names its tensor as an output as well
      return absl::InvalidArgumentError(absl::StrCat(
          "dangling tensor: output ", plan_.TensorName(output.tensor), " of ", node.Label(),
          " on device ", event.device, " is made by none of its primitives"));
    }
    if (is_input) {
      value_[event.device][output.tensor] = made->second;
      if (IsLoss(plan_.subs[output.tensor].full)) {
        loss_[event.device] = {made->second, output.tensor};
      }
      continue;
    }
    absl::Status status = Write(event, output.tensor, made->second);
    if (!status.ok()) return status;
  }
  local.clear();
  return absl::OkStatus();
}

void ParallelBuilder::WarnOrder(const Event& event, const std::string& what) {
  const Node& node = plan_.nodes[event.node];
  if (!warned_.insert(absl::StrCat(node.id)).second) return;
  problem_->warnings.push_back(absl::StrCat(
      node.Label(), ": ", what,
      options_.collective_order == CollectiveOrder::kIndexMap
          ? "; the order of the index maps is used, a runtime may use that of the ranks"
          : "; the order of the ranks is used"));
}

absl::StatusOr<int> ParallelBuilder::ChunkPosition(const Event& event, int whole, int part, int dim,
                                                   int size, int rank) {
  const auto& outer = plan_.subs[whole].index;
  const auto& inner = plan_.subs[part].index;
  const auto error = [&](const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape mismatch: ", plan_.nodes[event.node].Label(), " on device ",
                     event.device, ": ", plan_.TensorName(part), " is no ", size, "th of ",
                     plan_.TensorName(whole), " along dimension ", dim, ", ", why));
  };
  if (dim >= static_cast<int>(outer.size()) || inner.size() != outer.size()) {
    return error("the ranks differ");
  }
  const int64_t extent = outer[dim].second - outer[dim].first;
  const int64_t chunk = inner[dim].second - inner[dim].first;
  if (chunk <= 0 || chunk * size != extent) return error("the extents do not fit");
  const int64_t offset = inner[dim].first - outer[dim].first;
  if (offset < 0 || offset % chunk != 0 || offset / chunk >= size)
    return error("it starts elsewhere");
  const int position = static_cast<int>(offset / chunk);
  if (position != rank) {
    WarnOrder(event, absl::StrCat("position ", rank, " of the group holds piece ", position,
                                  " of dimension ", dim));
  }
  return options_.collective_order == CollectiveOrder::kRank ? rank : position;
}

std::vector<int> ParallelBuilder::PieceOrder(const Communication& communication,
                                             const std::vector<int>& subs, int dim) {
  std::vector<int> order(subs.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> sorted = order;
  std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) {
    return plan_.subs[subs[a]].index[dim].first < plan_.subs[subs[b]].index[dim].first;
  });
  if (sorted != order) {
    WarnOrder(communication.arrivals[0],
              absl::StrCat("the devices of the group hold the pieces of dimension ", dim,
                           " in another order than their ranks"));
  }
  return options_.collective_order == CollectiveOrder::kRank ? order : sorted;
}

absl::Status ParallelBuilder::RunLocalPrim(const Event& event) {
  const Node& node = plan_.nodes[event.node];
  absl::StatusOr<ResolvedPrim> prim = ResolvePrim(node, event.prim);
  if (!prim.ok()) return prim.status();
  absl::StatusOr<TensorId> input = AdapterRead(event, prim->inputs[0]);
  if (!input.ok()) return input.status();
  auto& local = adapter_local_[event.device];
  if (prim->kind == PrimKind::kIdentity) {
    const sdfg::Shape declared = plan_.subs[prim->outputs[0]].shape();
    if (declared != plan_.subs[prim->inputs[0]].shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape mismatch: identity of ", node.Label(), " on device ", event.device,
                       " makes ", ShapeText(declared), " of ", ShapeText(LocalShape(*input))));
    }
    local[prim->outputs[0]] = *input;
    return absl::OkStatus();
  }
  const std::vector<int>& group = prim->participants;
  const auto self = std::find(group.begin(), group.end(), event.device);
  if (self == group.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk of ", node.Label(), " on device ", event.device, " names the ranks ",
                     absl::StrJoin(group, ", "), ", not this device"));
  }
  const int size = static_cast<int>(group.size());
  absl::StatusOr<int> position = ChunkPosition(event, prim->inputs[0], prim->outputs[0], prim->dim,
                                               size, static_cast<int>(self - group.begin()));
  if (!position.ok()) return position.status();
  const sdfg::Shape shape = LocalShape(*input);
  const sdfg::DType dtype = graph().tensors[*input].dtype;
  absl::StatusOr<Function> function =
      functions_.Other(absl::StrCat("chunk ", ShapeKey(shape), " ", static_cast<int>(dtype), " ",
                                    size, " ", *position, " ", prim->dim),
                       [&] { return sdfg::Chunk(shape, dtype, size, *position, prim->dim); });
  if (!function.ok()) return function.status();
  sdfg::Operator op;
  op.name = PrimName(PrimKind::kChunk);
  op.kind = PrimOperatorKind(PrimKind::kChunk);
  op.function = *std::move(function);
  op.inputs = {*input};
  op.group = group;
  std::vector<TensorId> outputs;
  absl::Status status = Emit(std::move(op), event, {prim->outputs[0]}, &outputs);
  if (status.ok()) local[prim->outputs[0]] = outputs[0];
  return status;
}

absl::Status ParallelBuilder::Transfer(const Event& from, const Event& to) {
  const Node& sender = plan_.nodes[from.node];
  const Node& receiver = plan_.nodes[to.node];
  absl::StatusOr<ResolvedPrim> source = ResolvePrim(sender, from.prim);
  if (!source.ok()) return source.status();
  absl::StatusOr<ResolvedPrim> target = ResolvePrim(receiver, to.prim);
  if (!target.ok()) return target.status();
  if (source->inputs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unmatched communication: ", sender.Label(),
                                                   " on device ", from.device, " sends no tensor"));
  }
  if (target->outputs.empty()) return absl::OkStatus();
  absl::StatusOr<TensorId> input = AdapterRead(from, source->inputs[0]);
  if (!input.ok()) return input.status();
  if (from.device == to.device) {
    adapter_local_[to.device][target->outputs[0]] = *input;
    return absl::OkStatus();
  }
  const sdfg::Shape shape = LocalShape(*input);
  const sdfg::DType dtype = graph().tensors[*input].dtype;
  absl::StatusOr<Function> function =
      functions_.Other(absl::StrCat("copy ", ShapeKey(shape), " ", static_cast<int>(dtype)),
                       [&] { return sdfg::Copy(shape, dtype); });
  if (!function.ok()) return function.status();
  sdfg::Operator op;
  op.name = PrimName(source->kind);
  op.kind = PrimOperatorKind(source->kind);
  op.function = *std::move(function);
  op.inputs = {*input};
  op.group = {from.device, to.device};
  std::vector<TensorId> outputs;
  absl::Status status = Emit(std::move(op), to, {target->outputs[0]}, &outputs);
  if (status.ok()) adapter_local_[to.device][target->outputs[0]] = outputs[0];
  return status;
}

absl::Status ParallelBuilder::RunCommunication(const Communication& communication) {
  std::vector<ResolvedPrim> prims;
  for (const Event& event : communication.arrivals) {
    const Node& node = plan_.nodes[event.node];
    absl::StatusOr<ResolvedPrim> prim = ResolvePrim(node, event.prim);
    if (!prim.ok()) return prim.status();
    prims.push_back(*std::move(prim));
  }
  const PrimKind kind = prims[0].kind;
  if (kind != PrimKind::kMove && kind != PrimKind::kBroadcast)
    return RunCollective(communication, prims);
  const Event& first = communication.arrivals[0];
  const int root = plan_.nodes[first.node].prims[first.prim].source;
  const auto from =
      std::find(communication.participants.begin(), communication.participants.end(), root);
  for (const Event& to : communication.arrivals) {
    const bool self = to.device == root;
    if (self && communication.participants.size() > 1 && kind == PrimKind::kMove) continue;
    absl::Status status =
        Transfer(communication.arrivals[from - communication.participants.begin()], to);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ParallelBuilder::RunCollective(const Communication& communication,
                                            const std::vector<ResolvedPrim>& prims) {
  const PrimKind kind = prims[0].kind;
  const int size = static_cast<int>(prims.size());
  std::vector<int> pieces;
  std::vector<TensorId> inputs;
  for (int i = 0; i < size; ++i) {
    pieces.push_back(prims[i].inputs[0]);
    absl::StatusOr<TensorId> input = AdapterRead(communication.arrivals[i], pieces.back());
    if (!input.ok()) return input.status();
    inputs.push_back(*input);
  }
  const int order_dim = kind == PrimKind::kAllGather  ? prims[0].dim
                        : kind == PrimKind::kAllToAll ? prims[0].concat_dim
                                                      : kNoIndex;
  if (order_dim != kNoIndex) {
    for (int piece : pieces) {
      if (order_dim >= static_cast<int>(plan_.subs[piece].index.size())) {
        return absl::InvalidArgumentError(absl::StrCat(
            PrimName(kind), " of ", plan_.nodes[communication.arrivals[0].node].Label(),
            ": dimension ", order_dim, " does not exist"));
      }
    }
    const std::vector<int> order = PieceOrder(communication, pieces, order_dim);
    std::vector<TensorId> sorted;
    for (int i : order) sorted.push_back(inputs[i]);
    inputs = std::move(sorted);
  }
  std::vector<sdfg::Shape> shapes;
  for (TensorId input : inputs) shapes.push_back(LocalShape(input));
  const sdfg::DType dtype = graph().tensors[inputs[0]].dtype;
  std::string shapes_key;
  for (const sdfg::Shape& shape : shapes) absl::StrAppend(&shapes_key, ShapeKey(shape), ";");
  for (int i = 0; i < size; ++i) {
    const ResolvedPrim& prim = prims[i];
    const Event& event = communication.arrivals[i];
    if (prim.outputs.empty()) continue;
    const Prim& plain = plan_.nodes[event.node].prims[event.prim];
    if (kind == PrimKind::kReduce && event.device != plain.destination) continue;
    int position = 0;
    if (kind == PrimKind::kReduceScatter || kind == PrimKind::kAllToAll) {
      const int dim = kind == PrimKind::kReduceScatter ? prim.dim : prim.split_dim;
      // In an all-to-all the output also grows along another dimension; only `dim` is compared.
      absl::StatusOr<int> found =
          ChunkPosition(event, prim.inputs[0], prim.outputs[0], dim, size, i);
      if (!found.ok()) return found.status();
      position = *found;
    }
    absl::StatusOr<Function> function = functions_.Other(
        absl::StrCat(PrimName(kind), " ", shapes_key, " ", static_cast<int>(dtype), " ", position,
                     " ", prim.dim, " ", prim.split_dim, " ", prim.concat_dim),
        [&]() -> absl::StatusOr<sdfg::IndexFunction> {
          switch (kind) {
            case PrimKind::kAllGather:
              return sdfg::AllGather(shapes, dtype, prim.dim);
            case PrimKind::kReduceScatter:
              return sdfg::ReduceScatter(shapes[0], dtype, size, position, prim.dim,
                                         sdfg::ReduceKind::kSum);
            case PrimKind::kAllToAll:
              return sdfg::AllToAll(shapes[0], dtype, size, position, prim.split_dim,
                                    prim.concat_dim);
            default:
              return sdfg::AllReduce(shapes[0], dtype, size, sdfg::ReduceKind::kSum);
          }
        });
    if (!function.ok()) {
      return absl::Status(function.status().code(),
                          absl::StrCat(PrimName(kind), " of ", plan_.nodes[event.node].Label(),
                                       ": ", function.status().message()));
    }
    sdfg::Operator op;
    op.name = PrimName(kind);
    op.kind = PrimOperatorKind(kind);
    op.function = *std::move(function);
    op.inputs = inputs;
    op.group = communication.participants;
    std::vector<TensorId> outputs;
    absl::Status status = Emit(std::move(op), event, {prim.outputs[0]}, &outputs);
    if (!status.ok()) return status;
    adapter_local_[event.device][prim.outputs[0]] = outputs[0];
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::nnscaler
