#include "lineage/rounds/ring_hops.h"

#include <map>
#include <string>
#include <utility>

#include "sdfg/collectives.h"

namespace planproof::lineage::rounds {

using sdfg::AxisId;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::Tensor;

namespace {

Hop HopAlong(const IndexFunction& function, const Tensor& tensor, int64_t least) {
  Hop found;
  const std::string own = function.Serialize();
  for (size_t a = 0; a < tensor.axes.size(); ++a) {
    const int64_t ranks = tensor.shape[a];
    if (ranks < least) continue;
    for (const int64_t step : {int64_t{1}, ranks - 1}) {
      std::vector<int64_t> source(static_cast<size_t>(ranks));
      for (int64_t r = 0; r < ranks; ++r) source[r] = (r + ranks - step) % ranks;
      const auto hop = sdfg::AxisPermute(tensor.shape, tensor.dtype, static_cast<int>(a), source);
      if (hop.ok() && hop->Serialize() == own) found = {tensor.axes[a], step};
    }
  }
  return found;
}

}  // namespace

bool SameForm(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.axes == b.axes && a.dtype == b.dtype;
}

std::vector<Hop> HopsOf(const sdfg::Graph& graph, int64_t least) {
  std::vector<Hop> hops;
  std::map<std::pair<const IndexFunction*, std::vector<AxisId>>, Hop> known;
  for (const Operator& op : graph.operators) {
    hops.push_back({});
    if (op.kind != sdfg::OperatorKind::kPermute || op.lifted || op.inputs.size() != 1 ||
        op.outputs.size() != 1 || op.outputs[0] == kNone ||
        !SameForm(graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]])) {
      continue;
    }
    const Tensor& tensor = graph.tensors[op.inputs[0]];
    const auto [at, fresh] = known.try_emplace({op.function.get(), tensor.axes});
    if (fresh) at->second = HopAlong(*op.function, tensor, least);
    hops.back() = at->second;
  }
  return hops;
}

}  // namespace planproof::lineage::rounds
