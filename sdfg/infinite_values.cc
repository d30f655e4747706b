#include "sdfg/infinite_values.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

namespace {

// What an output of a function takes -infinity from.
struct Origins {
  bool own = false;          // the function itself
  std::vector<bool> inputs;  // whichever of these is
};

Origins OriginsOf(const IndexFunction& f, ExprId body) {
  Origins origins = {false, std::vector<bool>(f.inputs.size(), false)};
  std::vector<bool> seen(f.nodes.size(), false);
  std::vector<ExprId> left = {body};
  while (!left.empty()) {
    const ExprId id = left.back();
    left.pop_back();
    if (id == kNoExpr || seen[id]) continue;
    seen[id] = true;
    const Node& node = f.nodes[id];
    if (node.op == Op::kExp) continue;
    if (node.op == Op::kNegInf) origins.own = true;
    if (node.op == Op::kElement) origins.inputs[node.input] = true;
    left.insert(left.end(), node.args.begin(), node.args.end());
  }
  return origins;
}

}  // namespace

std::vector<bool> MayBeInfinite(const Graph& graph) {
  std::vector<bool> infinite(graph.tensors.size(), false);
  absl::flat_hash_map<std::pair<const IndexFunction*, size_t>, Origins> known;
  for (const Operator& op : graph.operators) {
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (op.outputs[k] == kNone) continue;
      const auto [found, fresh] = known.try_emplace({op.function.get(), k});
      if (fresh) found->second = OriginsOf(*op.function, op.function->outputs[k].body);
      const Origins& origins = found->second;
      bool any = origins.own;
      for (size_t i = 0; i < origins.inputs.size(); ++i) {
        any = any || (origins.inputs[i] && op.inputs[i] != kNone && infinite[op.inputs[i]]);
      }
      infinite[op.outputs[k]] = any;
    }
  }
  return infinite;
}

}  // namespace planproof::sdfg
