#include "shape_reduction/fan_in.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "shape_reduction/loss_dependence.h"

namespace planproof::shape_reduction {

using sdfg::Op;

namespace {

// By input of a program: the number of its elements that one contraction sums. Where sums are
// nested in one operator (the layers of an expert), each counts for what it sums directly.
class ProgramFanIns {
 public:
  explicit ProgramFanIns(const ScalarProgram& program) : program_(program) {
    Visit(program.body, sdfg::kNone, false);
  }
  const std::map<int, double>& by_input() const { return by_input_; }

 private:
  // `sum`: the innermost one around the node; `next`: there is nothing between.
  void Visit(sdfg::ExprId id, sdfg::ExprId sum, bool next) {
    if (!seen_.insert({id, sum}).second) return;
    const sdfg::Node& node = program_.nodes[id];
    if (node.op == Op::kElement) {
      double fan = 1;
      for (sdfg::ExprId arg : node.args) {
        for (const DigitTerm& term : program_.forms[arg].terms) {
          const auto at = sum == sdfg::kNone ? summed_.end() : summed_.find(sum);
          if (at != summed_.end() && at->second.count(term.var) != 0) {
            fan *= static_cast<double>(term.extent);
          }
        }
      }
      double& largest = by_input_[node.input];
      largest = std::max(largest, fan);
      return;
    }
    const bool sums = node.op == Op::kSum;
    if (sums) {
      std::set<int>& variables = summed_[id];
      if (next) variables = summed_[sum];
      variables.insert(node.var);
    }
    for (sdfg::ExprId arg : node.args) Visit(arg, sums ? id : sum, sums);
  }

  const ScalarProgram& program_;
  std::map<sdfg::ExprId, std::set<int>> summed_;  // by sum: its variable, and of those around it
  std::set<std::pair<sdfg::ExprId, sdfg::ExprId>> seen_;
  std::map<int, double> by_input_;
};

}  // namespace

std::vector<double> FanIns(const sdfg::Graph& graph, ProgramCache* programs) {
  std::vector<double> result(graph.tensors.size(), 1);
  const std::vector<char> backward = DependOnLoss(graph);
  for (size_t o = graph.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph.operators[o];
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (op.outputs[k] == sdfg::kNone || backward[op.outputs[k]]) continue;
      const ScalarProgram& program = programs->Get(graph, op, static_cast<int>(k));
      const bool moved = program.nodes[program.body].op == Op::kElement;
      const ProgramFanIns fans(program);
      for (const auto& [input, fan] : fans.by_input()) {
        double& most = result[op.inputs[input]];
        most = std::max(most, moved ? result[op.outputs[k]] : fan);
      }
    }
  }
  return result;
}

}  // namespace planproof::shape_reduction
