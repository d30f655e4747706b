// Tensors of the parallel graph, and what each is proposed to be of the logical graph.
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/parallel_builder.h"

namespace planproof::frontend::nnscaler {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;

namespace {

constexpr size_t kMaxEndPairs = 1 << 22;

}  // namespace

void ParallelBuilder::CountWrites(int microbatch) {
  writes_.assign(Devices(), std::vector<int>(plan_.subs.size(), 0));
  for (const Event& event : lane_events_[microbatch]) {
    const Node& node = plan_.nodes[event.node];
    if (node.kind == NodeKind::kReducer) continue;
    if (node.kind == NodeKind::kAdapter && event.prim != static_cast<int>(node.prims.size()))
      continue;
    for (const NodeOperand& output : node.outputs) {
      bool in_place = false;
      for (const NodeOperand& input : node.inputs) {
        in_place = in_place || (node.kind == NodeKind::kAdapter && input.tensor == output.tensor);
      }
      if (!in_place) ++writes_[event.device][output.tensor];
    }
  }
  writes_left_ = writes_;
}

// A gradient that travels by an adapter to where it is added to others is only a part of its full
// tensor's gradient, whatever its value map says. Also mends the value maps of multiref's backward.
void ParallelBuilder::FindIncomplete() {
  partial_.assign(plan_.subs.size(), false);
  for (size_t s = 0; s < plan_.subs.size(); ++s) partial_[s] = plan_.subs[s].terms > 1;
  for (int round = 0; round < 8; ++round) {
    for (const Node& node : plan_.nodes) {
      if (node.kind != NodeKind::kBackward || plan_.nodes[node.mirror].name != "multiref") continue;
      bool output_partial = false;
      for (const NodeOperand& output : node.outputs) output_partial |= partial_[output.tensor];
      for (const NodeOperand& input : node.inputs) {
        if (input.tensor != kNoIndex && output_partial) partial_[input.tensor] = true;
      }
    }
  }
  incomplete_.assign(Devices(), std::vector<bool>(plan_.subs.size(), false));
  CountWrites(0);
  struct End {
    int device, sub;
  };
  std::map<int64_t, std::pair<std::vector<End>, std::vector<End>>> adapters;  // inputs, outputs
  for (const Event& event : lane_events_[0]) {
    const Node& node = plan_.nodes[event.node];
    if (node.kind != NodeKind::kAdapter || event.prim != static_cast<int>(node.prims.size())) {
      continue;
    }
    auto& ends = adapters[node.id];
    for (const NodeOperand& input : node.inputs) {
      if (input.tensor != kNoIndex && plan_.FullOf(input.tensor).is_gradient) {
        ends.first.push_back({event.device, input.tensor});
      }
    }
    for (const NodeOperand& output : node.outputs)
      ends.second.push_back({event.device, output.tensor});
  }
  bool changed = true;
  for (int round = 0; changed && round < 64; ++round) {
    changed = false;
    for (const auto& [id, ends] : adapters) {
      if (ends.first.size() * ends.second.size() > kMaxEndPairs) continue;
      for (const End& input : ends.first) {
        if (incomplete_[input.device][input.sub]) continue;
        for (const End& output : ends.second) {
          if (plan_.subs[input.sub].full != plan_.subs[output.sub].full ||
              (input.device == output.device && input.sub == output.sub)) {
            continue;
          }
          if (writes_[output.device][output.sub] < 2 && !incomplete_[output.device][output.sub]) {
            continue;
          }
          incomplete_[input.device][input.sub] = true;
          changed = true;
          break;
        }
      }
    }
  }
}

sdfg::Shape ParallelBuilder::LocalShape(TensorId tensor) {
  const sdfg::Tensor& t = graph().tensors[tensor];
  return sdfg::Shape(t.shape.begin() + t.axes.size(), t.shape.end());
}

ParallelBuilder::TensorId ParallelBuilder::AddTensor(sdfg::Tensor tensor, Lineage lineage) {
  const TensorId id = graph().AddTensor(std::move(tensor));
  problem_->Claim(id, std::move(lineage));
  return id;
}

ParallelBuilder::TensorId ParallelBuilder::AddPiece(int device, int sub,
                                                    std::vector<sdfg::AxisId> axes,
                                                    sdfg::TensorRole role, bool with_lineage) {
  const SubTensor& piece = plan_.subs[sub];
  sdfg::Tensor tensor;
  tensor.name = plan_.TensorName(sub);
  tensor.dtype = RealDType(piece.dtype);
  for (sdfg::AxisId axis : axes) tensor.shape.push_back(graph().axes[axis].extent);
  for (int64_t extent : RealShape(piece.shape(), piece.dtype)) tensor.shape.push_back(extent);
  tensor.role = role;
  tensor.device = device;
  Lineage lineage;
  if (with_lineage) lineage = LineageOf(sub, axes);
  tensor.axes = std::move(axes);
  return AddTensor(std::move(tensor), std::move(lineage));
}

Lineage ParallelBuilder::LineageOf(int sub, const std::vector<sdfg::AxisId>& axes) const {
  Lineage lineage;
  const SubTensor& piece = plan_.subs[sub];
  const FullTensor& full = plan_.fulls[piece.full];
  const FullAlignment& aligned = alignment_.full[piece.full];
  if (aligned.logical == kNoIndex || IsLoss(piece.full)) return lineage;
  const TensorId logical = logical_.tensor_of_full[aligned.logical];
  if (logical == kNone) return lineage;
  const int64_t blocks = plan_.copies * schedule_.microbatches;
  if (aligned.batch_dim != kNoIndex && axes != lane_axes_) return lineage;
  lineage.kind = LineageKind::kFull;
  lineage.logical = logical;
  if (partial_[sub]) {
    lineage.kind = LineageKind::kPartialSum;
    lineage.term = piece.term;
    lineage.terms = piece.terms;
  }
  if (full.is_gradient && aligned.batch_dim == kNoIndex && blocks > 1) {
    lineage.kind = LineageKind::kPartialSum;  // of the sum over copies and microbatches
  }
  const int first = static_cast<int>(axes.size());
  for (size_t d = 0; d < piece.index.size(); ++d) {
    lineage::IndexMap map;
    map.constant = piece.index[d].first;
    map.terms.push_back({first + static_cast<int>(d), 1, 1, 0});
    if (static_cast<int>(d) == aligned.batch_dim) {
      const int64_t extent = full.shape[d];
      map.terms.push_back({0, extent * schedule_.microbatches, 1, 0});
      if (schedule_.uniform) {
        map.terms.push_back({1, extent, 1, 0});
      } else {
        map.constant += extent * lane_;
      }
    }
    lineage.map.push_back(std::move(map));
  }
  if (IsComplex(piece.dtype)) {
    lineage.map.push_back({0, {{first + static_cast<int>(piece.index.size()), 1, 1, 0}}});
  }
  return lineage;
}

// Tensors that no operator makes: parameters and buffers, and the gradient of the loss, which is 1.
ParallelBuilder::TensorId ParallelBuilder::Source(int device, int sub) {
  const auto [it, fresh] = sources_.try_emplace({device, sub}, kNone);
  if (!fresh) return it->second;
  const SubTensor& piece = plan_.subs[sub];
  const FullTensor& full = plan_.fulls[piece.full];
  if (full.is_attribute && !full.is_gradient) {
    const FullAlignment& aligned = alignment_.full[piece.full];
    const bool trained = logical_plan_.fulls[aligned.logical].gradient != kNoIndex;
    const auto [same, first] =
        source_pieces_.try_emplace({device, {piece.full, piece.index}}, kNone);
    if (first) {
      const TensorId logical = logical_.tensor_of_full[aligned.logical];
      if (logical != kNone) {
        same->second =
            AddPiece(device, sub, {},
                     trained ? sdfg::TensorRole::kParameter : sdfg::TensorRole::kBuffer, true);
        Lineage whole = problem_->LineageOf(same->second);
        whole.kind = LineageKind::kFull;
        problem_->Claim(same->second, std::move(whole));
      }
    }
    if (trained) parameter_pieces_.try_emplace({device, {piece.full, piece.index}}, sub);
    return sources_[{device, sub}] = same->second;
  }
  const int logical_gradient = logical_plan_.fulls[logical_.loss].gradient;
  if (full.is_gradient && alignment_.full[piece.full].logical == logical_gradient &&
      logical_gradient != kNoIndex && full.shape == sdfg::Shape{1} &&
      logical_.tensor_of_full[logical_gradient] != kNone) {
    const TensorId tensor = AddPiece(device, sub, {}, sdfg::TensorRole::kOne, false);
    Lineage lineage;
    lineage.kind = LineageKind::kFull;
    lineage.logical = logical_.tensor_of_full[logical_gradient];
    lineage.map = {{0, {{0, 1, 1, 0}}}};
    problem_->Claim(tensor, std::move(lineage));
    return sources_[{device, sub}] = tensor;
  }
  sources_.erase({device, sub});
  return kNone;
}

}  // namespace planproof::frontend::nnscaler
