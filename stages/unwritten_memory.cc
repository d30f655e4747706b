#include "stages/unwritten_memory.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "stages/describe.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;

namespace {

// Results are elements of operands, or constants.
bool OnlyMoves(const sdfg::Operator& op) {
  if (sdfg::IsCommunication(op.kind)) return true;
  const auto& nodes = op.function->nodes;
  return std::all_of(nodes.begin(), nodes.end(), [](const sdfg::Node& node) {
    switch (node.op) {
      case sdfg::Op::kIntConst:
      case sdfg::Op::kIndex:
      case sdfg::Op::kIntAdd:
      case sdfg::Op::kIntScale:
      case sdfg::Op::kIntDiv:
      case sdfg::Op::kIntMod:
      case sdfg::Op::kIntElement:
      case sdfg::Op::kReal:
      case sdfg::Op::kElement:
      case sdfg::Op::kSelect:
      case sdfg::Op::kIntLess:
      case sdfg::Op::kIntLessEq:
      case sdfg::Op::kIntEq:
      case sdfg::Op::kAnd:
      case sdfg::Op::kOr:
      case sdfg::Op::kNot:
        return true;
      default:
        return false;
    }
  });
}

// What is written at indices that are data reads what was there before, with no effect perhaps.
bool Chooses(const sdfg::Operator& op) {
  const auto& nodes = op.function->nodes;
  return std::any_of(nodes.begin(), nodes.end(), [](const sdfg::Node& node) {
    return node.op == sdfg::Op::kSelect || node.op == sdfg::Op::kIndicator;
  });
}

// By tensor: none of its elements has been written.
std::vector<bool> Unwritten(const sdfg::Graph& graph) {
  std::vector<bool> unwritten(graph.tensors.size(), false);
  for (const sdfg::Operator& op : graph.operators) {
    bool all = op.kind == sdfg::OperatorKind::kUninitialised;
    if (!all && !op.inputs.empty() && OnlyMoves(op)) {
      all = std::all_of(op.inputs.begin(), op.inputs.end(),
                        [&](TensorId t) { return t != kNone && unwritten[t]; });
    }
    for (const TensorId t : op.outputs) {
      if (t != kNone) unwritten[t] = all;
    }
  }
  return unwritten;
}

Violation Reads(const lineage::Problem& problem, const std::string& what, TensorId tensor,
                const sdfg::Operator* by) {
  Violation v;
  v.verdict = Verdict::kMalformed;
  v.kind = "read of memory that nothing has written";
  v.stage = what;
  const sdfg::Tensor& read = problem.parallel.tensors[tensor];
  const sdfg::Operator& op = by != nullptr ? *by : problem.parallel.operators[read.producer];
  v.parallel_operators = DescribeOperators(
      problem.parallel, {static_cast<sdfg::OperatorId>(&op - problem.parallel.operators.data())},
      Names::kAll);
  if (read.device >= 0) v.devices = {read.device};
  const std::string place = op.source.ToString();
  v.cause = absl::StrCat(v.parallel_operators[0], " reads memory that nothing has written",
                         place.empty() ? "" : ", at ", place);
  v.message = "a write before it is missing, or the collective that makes it";
  return v;
}

}  // namespace

std::optional<Violation> ReadOfUnwrittenMemory(const lineage::Problem& problem, const Cone& cone) {
  const std::vector<bool> unwritten = Unwritten(problem.parallel);
  if (std::find(unwritten.begin(), unwritten.end(), true) == unwritten.end()) return std::nullopt;
  for (size_t o = 0; o < problem.parallel.operators.size(); ++o) {
    const sdfg::Operator& op = problem.parallel.operators[o];
    if (!cone.operators[o] || OnlyMoves(op) || Chooses(op)) continue;
    for (const TensorId t : op.inputs) {
      if (t == kNone || !unwritten[t]) continue;
      const TensorId result = op.outputs[0] != kNone ? op.outputs[0] : t;
      return Reads(problem, problem.parallel.tensors[result].name, t, &op);
    }
  }
  for (const lineage::RequiredRelation& required : problem.required) {
    if (unwritten[required.parallel]) {
      return Reads(problem, required.what, required.parallel, nullptr);
    }
  }
  return std::nullopt;
}

}  // namespace planproof::stages
