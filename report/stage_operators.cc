#include "report/stage_operators.h"

#include <algorithm>
#include <set>

namespace planproof::report {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

// `enter` says whether an operator is met for the first time.
template <typename Enter>
std::vector<OperatorId> WalkBack(const sdfg::Graph& graph, TensorId tensor,
                                 const std::vector<bool>& known, const Enter& enter) {
  std::vector<OperatorId> found;
  const auto reach = [&](TensorId t) {
    const OperatorId op = t == kNone ? kNone : graph.tensors[t].producer;
    if (op != kNone && enter(op)) found.push_back(op);
  };
  reach(tensor);
  for (size_t next = 0; next < found.size(); ++next) {
    for (const TensorId input : graph.operators[found[next]].inputs) {
      if (!known[input]) reach(input);
    }
  }
  return found;
}

}  // namespace

StageOperators::StageOperators(const stages::Account& account)
    : account_(account),
      claimed_(account.problem.parallel.tensors.size()),
      seen_(account.problem.parallel.operators.size(), -1) {
  for (const stages::Stage& stage : account.stages) {
    if (stage.state != stages::Stage::State::kGivenUp) claimed_[stage.claim.parallel] = true;
  }
}

std::vector<OperatorId> StageOperators::Of(TensorId tensor) const {
  ++call_;
  return WalkBack(account_.problem.parallel, tensor, claimed_, [this](OperatorId op) {
    const bool first = seen_[op] != call_;
    seen_[op] = call_;
    return first;
  });
}

std::vector<TensorId> StageOperators::InputsOf(const std::vector<OperatorId>& operators) const {
  const sdfg::Graph& graph = account_.problem.parallel;
  const std::set<OperatorId> inside(operators.begin(), operators.end());
  std::set<TensorId> inputs;
  for (const OperatorId op : operators) {
    for (const TensorId input : graph.operators[op].inputs) {
      if (!inside.contains(graph.tensors[input].producer)) inputs.insert(input);
    }
  }
  return {inputs.begin(), inputs.end()};
}

std::vector<OperatorId> OperatorsUpTo(const sdfg::Graph& graph, TensorId tensor,
                                      const std::vector<bool>& known) {
  std::set<OperatorId> seen;
  return WalkBack(graph, tensor, known, [&seen](OperatorId op) { return seen.insert(op).second; });
}

}  // namespace planproof::report
