#include "lineage/folding/group_collective.h"

#include <algorithm>
#include <vector>

namespace planproof::lineage::folding {

using sdfg::IndexFunction;
using sdfg::ReduceKind;
using sdfg::Shape;

namespace {

constexpr ReduceKind kReductions[] = {ReduceKind::kSum, ReduceKind::kAvg, ReduceKind::kMax,
                                      ReduceKind::kMin};

// Collectives that make a tensor of shape `out` of tensors of shape `in`.
std::vector<GroupCollective> Candidates(const Shape& in, const Shape& out, int32_t size,
                                        bool one_operand) {
  std::vector<int> grown, cut;
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] == out[d]) continue;
    (in[d] < out[d] ? grown : cut).push_back(static_cast<int>(d));
  }
  std::vector<GroupCollective> found;
  if (one_operand) {
    if (grown.empty() && cut.size() == 1) {
      found.push_back({CollectiveKind::kChunk, ReduceKind::kSum, cut[0], 0, size});
    }
  } else if (grown.empty() && cut.empty()) {
    for (ReduceKind reduce : kReductions) {
      found.push_back({CollectiveKind::kAllReduce, reduce, 0, 0, size});
    }
    for (size_t d = 0; d < in.size(); ++d) {
      const auto dim = static_cast<int>(d);
      if (in[d] == 0 || in[d] % size != 0) continue;
      found.push_back({CollectiveKind::kAllToAll, ReduceKind::kSum, dim, dim, size});
    }
  } else if (grown.size() == 1 && cut.empty()) {
    found.push_back({CollectiveKind::kAllGather, ReduceKind::kSum, grown[0], 0, size});
  } else if (grown.empty() && cut.size() == 1) {
    for (ReduceKind reduce : kReductions) {
      found.push_back({CollectiveKind::kReduceScatter, reduce, cut[0], 0, size});
    }
  } else if (grown.size() == 1 && cut.size() == 1) {
    found.push_back({CollectiveKind::kAllToAll, ReduceKind::kSum, cut[0], grown[0], size});
  }
  return found;
}

bool HasPosition(CollectiveKind kind) {
  return kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kAllGather;
}

}  // namespace

absl::StatusOr<IndexFunction> GroupForm(const GroupCollective& c, const Shape& local,
                                        sdfg::DType dtype, int position) {
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
      return sdfg::AllReduce(local, dtype, c.size, c.reduce);
    case CollectiveKind::kAllGather:
      return sdfg::AllGather(std::vector<Shape>(c.size, local), dtype, c.dim);
    case CollectiveKind::kReduceScatter:
      return sdfg::ReduceScatter(local, dtype, c.size, position, c.dim, c.reduce);
    case CollectiveKind::kAllToAll:
      return sdfg::AllToAll(local, dtype, c.size, position, c.dim, c.concat_dim);
    case CollectiveKind::kChunk:
      return sdfg::Chunk(local, dtype, c.size, position, c.dim);
  }
  return absl::InternalError("unknown collective");
}

absl::StatusOr<IndexFunction> AxisForm(const GroupCollective& c, const Shape& whole,
                                       sdfg::DType dtype, int axis_dim) {
  const int first = axis_dim + 1;  // of the local dimensions
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
      return sdfg::AxisAllReduce(whole, dtype, axis_dim, c.reduce);
    case CollectiveKind::kAllGather:
      return sdfg::AxisAllGather(whole, dtype, axis_dim, first + c.dim);
    case CollectiveKind::kReduceScatter:
      return sdfg::AxisReduceScatter(whole, dtype, axis_dim, first + c.dim, c.reduce);
    case CollectiveKind::kAllToAll:
      return sdfg::AxisAllToAll(whole, dtype, axis_dim, first + c.dim, first + c.concat_dim);
    case CollectiveKind::kChunk:
      return sdfg::AxisChunk(whole, dtype, axis_dim, first + c.dim);
  }
  return absl::InternalError("unknown collective");
}

std::optional<Participation> RecognizeGroupForm(const IndexFunction& function, int32_t size,
                                                int guess) {
  if (function.outputs.size() != 1 || function.inputs.empty()) return std::nullopt;
  const sdfg::FunctionInput& input = function.inputs[0];
  const Shape out = function.outputs[0].shape(function.vars);
  const bool one_operand = function.inputs.size() == 1;
  if (!one_operand && function.inputs.size() != static_cast<size_t>(size)) return std::nullopt;
  if (input.shape.size() != out.size()) return std::nullopt;
  for (const sdfg::FunctionInput& other : function.inputs) {
    if (other.shape != input.shape || other.dtype != input.dtype) return std::nullopt;
  }
  const std::vector<GroupCollective> candidates = Candidates(input.shape, out, size, one_operand);
  if (candidates.empty()) return std::nullopt;
  const std::string wanted = function.Serialize();
  const auto is = [&](const GroupCollective& collective, int position) {
    const absl::StatusOr<IndexFunction> form =
        GroupForm(collective, input.shape, input.dtype, position);
    return form.ok() && form->nodes.size() == function.nodes.size() && form->Serialize() == wanted;
  };
  // The guess is right for most, and a large group has as many other positions as ranks.
  for (const GroupCollective& collective : candidates) {
    if (is(collective, guess)) return Participation{collective, guess};
  }
  for (const GroupCollective& collective : candidates) {
    for (int position = 0; HasPosition(collective.kind) && position < size; ++position) {
      if (position != guess && is(collective, position)) return Participation{collective, position};
    }
  }
  return std::nullopt;
}

}  // namespace planproof::lineage::folding
