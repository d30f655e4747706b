#include "sdfg/row_order.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace planproof::sdfg {
namespace {

using Kind = RowOperand::Kind;

bool IsRead(const Node& node) { return node.op == Op::kElement || node.op == Op::kIntElement; }

// Ranges of integers and the truth of conditions, by expression, as far as they are known.
struct Known {
  std::vector<std::optional<IndexRange>> ranges;
  std::vector<std::optional<bool>> truth;
};

std::optional<bool> Compared(Op op, const std::optional<IndexRange>& a,
                             const std::optional<IndexRange>& b) {
  if (!a || !b) return std::nullopt;
  switch (op) {
    case Op::kIntLess:
      if (a->high < b->low) return true;
      if (a->low >= b->high) return false;
      return std::nullopt;
    case Op::kIntLessEq:
      if (a->high <= b->low) return true;
      if (a->low > b->high) return false;
      return std::nullopt;
    default:  // kIntEq
      if (a->high < b->low || b->high < a->low) return false;
      return std::nullopt;
  }
}

std::optional<bool> TruthOf(const Node& node, const Known& known) {
  const auto truth = [&](size_t i) { return known.truth[node.args[i]]; };
  switch (node.op) {
    case Op::kIntLess:
    case Op::kIntLessEq:
    case Op::kIntEq:
      return Compared(node.op, known.ranges[node.args[0]], known.ranges[node.args[1]]);
    case Op::kNot:
      if (!truth(0)) return std::nullopt;
      return !*truth(0);
    case Op::kAnd:
    case Op::kOr: {
      const bool decides = node.op == Op::kOr;
      if (truth(0) == decides || truth(1) == decides) return decides;
      if (truth(0) && truth(1)) return !decides;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Known> KnownOf(const IndexFunction& function,
                             const std::vector<RowOperand>& operands) {
  Known known;
  known.ranges.resize(function.nodes.size());
  known.truth.resize(function.nodes.size());
  for (size_t id = 0; id < function.nodes.size(); ++id) {
    const Node& node = function.nodes[id];
    if (node.op == Op::kIntElement) {
      known.ranges[id] = operands[node.input].range;
    } else if (node.op == Op::kSelect && known.truth[node.args[0]]) {
      known.ranges[id] = known.ranges[node.args[*known.truth[node.args[0]] ? 1 : 2]];
    } else if (!IntRangeOf(node, function.vars, known.ranges, &known.ranges[id])) {
      return std::nullopt;  // beyond 64 bits
    }
    known.truth[id] = TruthOf(node, known);
  }
  return known;
}

// The function with each expression replaced by what `node_of` makes of it (of the copied
// arguments), without the premises that `drops` names. Variables keep their numbers.
std::optional<IndexFunction> Copied(
    const IndexFunction& function,
    const std::function<ExprId(IndexFunctionBuilder*, ExprId, Node)>& node_of,
    const std::function<bool(const FunctionPremise&)>& drops) {
  IndexFunctionBuilder builder(function.operator_name);
  for (const FunctionInput& input : function.inputs) {
    builder.AddInput(input.name, input.shape, input.dtype);
  }
  for (const IndexVariable& var : function.vars) builder.AddVar(var.name, var.extent);
  std::vector<ExprId> copies;
  for (size_t id = 0; id < function.nodes.size(); ++id) {
    Node node = function.nodes[id];
    for (ExprId& arg : node.args) arg = copies[arg];
    copies.push_back(node_of(&builder, static_cast<ExprId>(id), std::move(node)));
  }
  for (const FunctionOutput& output : function.outputs) {
    const int number = builder.AddOutput(output.name, output.dims, output.dtype);
    builder.SetBody(number, copies[output.body]);
    if (output.stop_gradient) builder.SetStopGradient(number);
  }
  for (const FunctionPremise& premise : function.premises) {
    if (!drops(premise)) {
      builder.AddPremise(premise.output, copies[premise.condition], premise.text);
    }
  }
  for (const std::string& assumption : function.assumptions) builder.AddAssumption(assumption);
  IndexFunction copy;
  if (!builder.Finish(&copy).ok()) return std::nullopt;
  return copy;
}

// The variables that count rows in one function, and that they do nothing else.
class RowVariables {
 public:
  RowVariables(const IndexFunction& function, const std::vector<RowOperand>& operands, int64_t rows)
      : f_(function), operands_(operands), rows_(rows), matched_(function.nodes.size(), false) {}

  // False if there is none, or one is used in another way.
  bool Find() {
    if (!OperandsFit() || !FindReads()) return false;
    FindComparisons();
    return !variables_.empty() && UsesAreOfRows() && BindersMayBeReordered() &&
           InversesAreCompared();
  }
  bool Contains(VarId var) const { return variables_.count(var) != 0; }
  // The expression is [inverse[i] == v]: in the own order [i == v].
  bool IsMatched(ExprId id) const { return matched_[id]; }
  // Of a matched one: which argument is the element of the inverse.
  size_t InverseSide(const Node& node) const { return IsInverse(node.args[0]) ? 0 : 1; }

 private:
  Kind KindOf(const Node& read) const { return operands_[read.input].kind; }
  bool IsInverse(ExprId id) const {
    return IsRead(f_.nodes[id]) && KindOf(f_.nodes[id]) == Kind::kInverse;
  }
  bool IsRow(ExprId id) const {
    const Node& node = f_.nodes[id];
    return node.op == Op::kIndex && f_.vars[node.var].extent == rows_;
  }

  bool OperandsFit() const {
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Shape& shape = f_.inputs[i].shape;
      const size_t dim = operands_[i].kind == Kind::kRows ? operands_[i].dim : 0;
      if (operands_[i].kind != Kind::kRows && operands_[i].kind != Kind::kInverse) continue;
      if (dim >= shape.size() || shape[dim] != rows_) return false;
      if (operands_[i].kind == Kind::kInverse && shape.size() != 1) return false;
    }
    return operands_.size() == f_.inputs.size();
  }

  // Operands in the order p are read at a variable that runs over all rows.
  bool FindReads() {
    for (const Node& node : f_.nodes) {
      if (!IsRead(node) || KindOf(node) != Kind::kRows) continue;
      const ExprId row = node.args[operands_[node.input].dim];
      if (!IsRow(row)) return false;
      variables_.insert(f_.nodes[row].var);
    }
    return true;
  }

  void FindComparisons() {
    for (size_t id = 0; id < f_.nodes.size(); ++id) {
      const Node& node = f_.nodes[id];
      if (node.op != Op::kIntEq) continue;
      const bool first = IsInverse(node.args[0]);
      if (first == IsInverse(node.args[1])) continue;
      const ExprId row = node.args[first ? 1 : 0];
      if (!IsRow(row)) continue;
      matched_[id] = true;
      variables_.insert(f_.nodes[row].var);
    }
  }

  bool MayUse(const Node& node, ExprId id, size_t argument) const {
    if (IsRead(node)) {
      if (KindOf(node) == Kind::kUniform) return true;
      return KindOf(node) == Kind::kRows && argument == operands_[node.input].dim;
    }
    return matched_[id] && argument != InverseSide(node);
  }

  bool IsRowVariable(ExprId id) const {
    return f_.nodes[id].op == Op::kIndex && Contains(f_.nodes[id].var);
  }

  bool UsesAreOfRows() const {
    for (size_t id = 0; id < f_.nodes.size(); ++id) {
      const Node& node = f_.nodes[id];
      for (size_t a = 0; a < node.args.size(); ++a) {
        if (IsRowVariable(node.args[a]) && !MayUse(node, static_cast<ExprId>(id), a)) return false;
      }
    }
    return std::none_of(f_.outputs.begin(), f_.outputs.end(),
                        [&](const FunctionOutput& output) { return IsRowVariable(output.body); });
  }

  // Sums, maxima and minima over all rows do not depend on their order; a function of a row does.
  bool BindersMayBeReordered() const {
    return std::none_of(f_.nodes.begin(), f_.nodes.end(), [&](const Node& node) {
      return node.op == Op::kOpaque && node.var >= 0 && Contains(node.var);
    });
  }

  bool InversesAreCompared() const {
    for (size_t id = 0; id < f_.nodes.size(); ++id) {
      if (matched_[id]) continue;
      for (ExprId arg : f_.nodes[id].args) {
        if (IsInverse(arg)) return false;
      }
    }
    return std::none_of(f_.outputs.begin(), f_.outputs.end(),
                        [&](const FunctionOutput& output) { return IsInverse(output.body); });
  }

  const IndexFunction& f_;
  const std::vector<RowOperand>& operands_;
  const int64_t rows_;
  std::set<VarId> variables_;
  std::vector<bool> matched_;
};

}  // namespace

std::optional<IndexFunction> WithinRanges(const IndexFunction& function,
                                          const std::vector<RowOperand>& operands) {
  const std::optional<Known> known = KnownOf(function, operands);
  if (!known) return std::nullopt;
  return Copied(
      function,
      [&](IndexFunctionBuilder* builder, ExprId id, Node node) {
        const Node& original = function.nodes[id];
        if (original.op == Op::kSelect && known->truth[original.args[0]]) {
          return node.args[*known->truth[original.args[0]] ? 1 : 2];
        }
        return builder->AddNode(std::move(node));
      },
      [&](const FunctionPremise& premise) { return known->truth[premise.condition] == true; });
}

std::optional<IndexRange> RangeOfOutput(const IndexFunction& function, size_t output,
                                        const std::vector<RowOperand>& operands) {
  const std::optional<Known> known = KnownOf(function, operands);
  if (!known) return std::nullopt;
  return known->ranges[function.outputs[output].body];
}

std::optional<size_t> CopiedOperand(const IndexFunction& function) {
  const FunctionOutput& output = function.outputs[0];
  ExprId id = output.body;
  while (function.nodes[id].op == Op::kPosition || function.nodes[id].op == Op::kWhole) {
    id = function.nodes[id].args[0];
  }
  const Node& node = function.nodes[id];
  if (!IsRead(node) || node.args.size() != output.dims.size()) return std::nullopt;
  for (size_t k = 0; k < node.args.size(); ++k) {
    const Node& index = function.nodes[node.args[k]];
    if (index.op != Op::kIndex || index.var != output.dims[k]) return std::nullopt;
  }
  if (function.inputs[node.input].shape != output.shape(function.vars)) return std::nullopt;
  return node.input;
}

std::optional<InOwnOrder> TakeInOwnOrder(const IndexFunction& function,
                                         const std::vector<RowOperand>& operands, int64_t rows) {
  const std::optional<IndexFunction> within = WithinRanges(function, operands);
  if (!within) return std::nullopt;
  RowVariables variables(*within, operands, rows);
  if (!variables.Find()) return std::nullopt;
  InOwnOrder result;
  for (const FunctionOutput& output : within->outputs) {
    std::optional<size_t>& dim = result.dims.emplace_back();
    for (size_t k = 0; k < output.dims.size(); ++k) {
      if (!variables.Contains(output.dims[k])) continue;
      if (dim) return std::nullopt;  // two dimensions of rows
      dim = k;
    }
  }
  std::optional<IndexFunction> own = Copied(
      *within,
      [&](IndexFunctionBuilder* builder, ExprId id, Node node) {
        if (variables.IsMatched(id)) {
          // inverse[i] is the row v where i is its number in the own order
          const size_t side = variables.InverseSide(within->nodes[id]);
          node.args[side] = builder->node(node.args[side]).args[0];
        }
        return builder->AddNode(std::move(node));
      },
      [](const FunctionPremise&) { return false; });
  if (!own) return std::nullopt;
  result.function = *std::move(own);
  return result;
}

}  // namespace planproof::sdfg
