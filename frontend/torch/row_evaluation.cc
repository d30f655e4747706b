#include "frontend/torch/row_evaluation.h"

#include <algorithm>
#include <utility>

#include "sdfg/stack_room.h"

namespace planproof::frontend::torch {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using sdfg::Sort;
using sdfg::TensorId;
using sdfg::VarId;
using solver::Rational;

namespace {

constexpr int64_t kMostRead = 4096;  // elements that are compared to see whether all are equal
constexpr size_t kMostSummands = 64;

}  // namespace

RowEvaluation::RowEvaluation(const sdfg::Graph& graph, const KnownElements& known,
                             const RowTensors& rows, const std::set<sdfg::OperatorId>& transparent,
                             const sdfg::Operator& op, std::set<VarId> enumerated)
    : graph_(graph),
      known_(known),
      rows_(rows),
      transparent_(transparent),
      op_(op),
      enumerated_(std::move(enumerated)),
      builder_(op.function->operator_name),
      form_(builder_, row_inputs_),
      outer_(op.function->vars.size()) {}

VarId RowEvaluation::Variable(int path, VarId var, int64_t extent, int64_t start) {
  const auto [found, fresh] = variables_.try_emplace({path, var, extent, start}, -1);
  if (fresh) found->second = builder_.AddVar("r", extent);
  return found->second;
}

int RowEvaluation::InputOf(TensorId tensor, bool rows, bool zero) {
  const auto [found, fresh] = numbers_.try_emplace(tensor, static_cast<int>(inputs_.size()));
  if (fresh) {
    const sdfg::Tensor& operand = graph_.tensors[tensor];
    builder_.AddInput("x", operand.shape, operand.dtype);
    inputs_.push_back(tensor);
    row_inputs_.rows.push_back(rows);
    row_inputs_.zero.push_back(zero);
  }
  return found->second;
}

int RowEvaluation::PathOf(int from, ExprId id) {
  return paths_.try_emplace({from, id}, static_cast<int>(paths_.size()) + 1).first->second;
}

ExprId RowEvaluation::ExpressionOf(const PartialValue& value) {
  if (!value.IsConstant()) return value.expression;
  int64_t number = 0;
  if (value.sort == Sort::kInt && value.value->ToInt64(&number)) return builder_.Int(number);
  if (value.sort == Sort::kBool) {
    const ExprId zero = builder_.Int(0);
    return builder_.Binary(Op::kIntEq, zero, builder_.Int(value.value->IsZero() ? 1 : 0));
  }
  return builder_.Real(*value.value);
}

std::optional<PartialValue> RowEvaluation::Value(ExprId id, CurrentRow* row) {
  Scope scope = ScopeOf(op_, 0, outer_, row);
  return Evaluate(&scope, id);
}

RowEvaluation::Scope RowEvaluation::ScopeOf(const sdfg::Operator& op, int path,
                                            std::vector<std::optional<PartialValue>> vars,
                                            CurrentRow* row) {
  const sdfg::IndexFunction& function = *op.function;
  const auto [sorts, fresh] = sorts_.try_emplace(&function);
  if (fresh) sorts->second = sdfg::SortsOf(function);
  Scope scope{&function, &sorts->second, &op.inputs, path, std::move(vars), {}, row};
  scope.vars.resize(function.vars.size());
  scope.memo.resize(function.nodes.size());
  return scope;
}

RowEvaluation::Maybe RowEvaluation::Evaluate(Scope* scope, ExprId id) {
  if (scope->memo[id]) return scope->memo[id];
  if (sdfg::StackIsShort()) return Fail("the expression is too deep");
  Maybe value = EvaluateNode(scope, id);
  if (value) scope->memo[id] = value;
  return value;
}

RowEvaluation::Maybe RowEvaluation::EvaluateNode(Scope* scope, ExprId id) {
  const Node& node = scope->function->nodes[id];
  switch (node.op) {
    case Op::kIntConst:
      return PartialValue::Constant(Sort::kInt, Rational(node.value));
    case Op::kReal:
      return PartialValue::Constant(Sort::kReal, node.real);
    case Op::kIndex:
      if (!scope->vars[node.var]) return Fail("a variable is not bound");
      return scope->vars[node.var];
    case Op::kElement:
    case Op::kIntElement:
      return Element(scope, id);
    case Op::kSelect:
      return Branch(scope, node);
    case Op::kMul:
      return Product(scope, id);
    case Op::kSum:
      if (scope->path == 0 && enumerated_.count(node.var) != 0) return EnumeratedSum(scope, node);
      return Bound(scope, id);
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kOpaque:
      if (node.var >= 0 && scope->path == 0 && enumerated_.count(node.var) != 0) {
        return Fail("chosen rows are compared with one another");
      }
      return Bound(scope, id);
    default:
      return Arithmetic(scope, id);
  }
}

RowEvaluation::Maybe RowEvaluation::Arithmetic(Scope* scope, ExprId id) {
  const Node& node = scope->function->nodes[id];
  std::vector<PartialValue> args;
  std::vector<Rational> values;
  bool constant = true;
  for (ExprId arg : node.args) {
    Maybe value = Evaluate(scope, arg);
    if (!value) return std::nullopt;
    const bool decides = (node.op == Op::kAnd && value->IsZero()) ||
                         (node.op == Op::kOr && value->IsConstant() && !value->IsZero());
    if (decides) return value;
    constant = constant && value->IsConstant();
    if (value->value) values.push_back(*value->value);
    args.push_back(*std::move(value));
  }
  PartialValue result{(*scope->sorts)[id], std::nullopt, sdfg::kNoExpr};
  if (values.size() == args.size()) result.value = ExactResult(node, values);
  // What is known decides conditions; as a number it stays what it is computed from.
  if (result.value && (constant || result.sort == Sort::kBool)) return result;
  if (node.op == Op::kAdd || node.op == Op::kIntAdd || node.op == Op::kAnd || node.op == Op::kOr) {
    const bool neutral_is_one = node.op == Op::kAnd;
    for (size_t i : {0, 1}) {
      if (neutral_is_one ? args[i].IsOne() : args[i].IsZero()) return args[1 - i];
    }
  }
  Node copy = node;
  for (size_t i = 0; i < args.size(); ++i) copy.args[i] = ExpressionOf(args[i]);
  result.expression = node.op == Op::kIntAdd     ? builder_.IntAdd(copy.args[0], copy.args[1])
                      : node.op == Op::kIntScale ? builder_.IntScale(node.value, copy.args[0])
                                                 : builder_.AddNode(std::move(copy));
  return result;
}

RowEvaluation::Maybe RowEvaluation::Product(Scope* scope, ExprId id) {
  const Node& node = scope->function->nodes[id];
  const Maybe first = Evaluate(scope, node.args[0]);
  if (!first || first->IsZero()) return first;
  const Maybe second = Evaluate(scope, node.args[1]);
  if (!second || second->IsZero() || first->IsOne()) return second;
  if (second->IsOne()) return first;
  return Arithmetic(scope, id);
}

RowEvaluation::Maybe RowEvaluation::Branch(Scope* scope, const Node& node) {
  const Maybe condition = Evaluate(scope, node.args[0]);
  if (!condition) return std::nullopt;
  if (condition->IsConstant()) return Evaluate(scope, node.args[condition->IsZero() ? 2 : 1]);
  const Maybe yes = Evaluate(scope, node.args[1]), no = Evaluate(scope, node.args[2]);
  if (!yes || !no) return std::nullopt;
  const ExprId first = ExpressionOf(*yes), second = ExpressionOf(*no);
  if (first == second) return yes;
  return PartialValue{yes->sort, std::nullopt,
                      builder_.Select(ExpressionOf(*condition), first, second)};
}

// The value at these indices, if it is the same for all values of those that are not known.
std::optional<Rational> RowEvaluation::KnownAt(TensorId tensor,
                                               const std::vector<PartialValue>& at) {
  const ExactElements* elements = known_.Of(tensor);
  if (elements == nullptr) return std::nullopt;
  const sdfg::Shape& shape = graph_.tensors[tensor].shape;
  std::vector<int64_t> positions = {0};
  for (size_t k = 0; k < at.size(); ++k) {
    int64_t first = 0, last = shape[k];
    if (at[k].value) {
      if (!at[k].value->ToInt64(&first) || first < 0 || first >= shape[k]) return std::nullopt;
      last = first + 1;
    }
    std::vector<int64_t> next;
    for (int64_t position : positions) {
      for (int64_t i = first; i < last; ++i) next.push_back(position * shape[k] + i);
    }
    if (next.empty() || next.size() > kMostRead) return std::nullopt;
    positions = std::move(next);
  }
  const Rational& value = (*elements)[positions[0]];
  const bool same = std::all_of(positions.begin(), positions.end(),
                                [&](int64_t p) { return (*elements)[p] == value; });
  if (!same) return std::nullopt;
  decided_by_.insert(known_.OriginsOf(tensor).begin(), known_.OriginsOf(tensor).end());
  return value;
}

RowEvaluation::Maybe RowEvaluation::Element(Scope* scope, ExprId id) {
  const Node& node = scope->function->nodes[id];
  TensorId tensor = (*scope->inputs)[node.input];
  std::vector<PartialValue> at;
  bool some_known = node.args.empty();
  for (ExprId arg : node.args) {
    Maybe index = Evaluate(scope, arg);
    if (!index) return std::nullopt;
    some_known = some_known || index->IsConstant();
    at.push_back(*std::move(index));
  }
  PartialValue result{(*scope->sorts)[id], KnownAt(tensor, at), sdfg::kNoExpr};
  const RowTensor* rows = rows_.Find(tensor);
  if (rows == nullptr) {
    if (result.value && (some_known || !known_.DependsOnRouting(tensor))) return result;
    result.value.reset();
    const sdfg::OperatorId producer = graph_.tensors[tensor].producer;
    if (some_known && transparent_.count(producer) != 0) return ByDefinition(scope, id, at);
  }
  Node copy = node;
  for (size_t k = 0; k < at.size(); ++k) copy.args[k] = ExpressionOf(at[k]);
  if (rows != nullptr) {
    int64_t number = -1;
    const std::optional<Rational>& row = at[rows->dim].value;
    if (!row || !row->ToInt64(&number) || number < 0 ||
        number >= static_cast<int64_t>(rows->rows.size())) {
      return Fail("which row is read is not known");
    }
    CurrentRow& current = *scope->row;
    const RowLabel& label = rows->rows[number];
    if (!current.present) return Fail("one chosen row is read by itself");
    if (current.label && !(*current.label == label)) {
      return Fail("rows of different tokens or experts are combined");
    }
    current.label = label;
    current.of_numbers = current.of_numbers || !sdfg::IsInteger(graph_.tensors[tensor].dtype);
    current.uniform = current.uniform && rows->uniform;
    const int64_t shift = rows->layout.StartOf(label.segment) - current.OffsetOf(label.segment);
    copy.args[rows->dim] = builder_.IntAdd(current.base, builder_.Int(shift));
    tensor = rows->dense;
  }
  copy.input = InputOf(tensor, rows != nullptr, rows != nullptr && rows->zero);
  result.expression = builder_.AddNode(std::move(copy));
  return result;
}

RowEvaluation::Maybe RowEvaluation::ByDefinition(Scope* scope, ExprId id,
                                                 const std::vector<PartialValue>& at) {
  const TensorId tensor = (*scope->inputs)[scope->function->nodes[id].input];
  const sdfg::Operator& op = graph_.operators[graph_.tensors[tensor].producer];
  const std::set<TensorId> premises = known_.OriginsOfPremises(*op.function, op.inputs);
  decided_by_.insert(premises.begin(), premises.end());
  Scope inner = ScopeOf(op, PathOf(scope->path, id), {}, scope->row);
  const sdfg::FunctionOutput& output = op.function->outputs[graph_.tensors[tensor].producer_output];
  for (size_t k = 0; k < at.size(); ++k) inner.vars[output.dims[k]] = at[k];
  return Evaluate(&inner, output.body);
}

// Sums, maxima, minima and opaque functions over what is no row.
RowEvaluation::Maybe RowEvaluation::Bound(Scope* scope, ExprId id) {
  const Node& node = scope->function->nodes[id];
  Node copy = node;
  if (node.var >= 0) {
    const int64_t extent = scope->function->vars[node.var].extent;
    copy.var = Variable(scope->path, node.var, extent);
    scope->vars[node.var] = PartialValue{Sort::kInt, std::nullopt, builder_.Index(copy.var)};
  }
  for (size_t a = 0; a < node.args.size(); ++a) {
    const Maybe value = Evaluate(scope, node.args[a]);
    if (!value) return std::nullopt;
    if (node.op == Op::kSum && value->IsZero()) return value;
    copy.args[a] = ExpressionOf(*value);
  }
  return PartialValue{(*scope->sorts)[id], std::nullopt, builder_.AddNode(std::move(copy))};
}

RowEvaluation::Maybe RowEvaluation::At(Scope scope, const Node& sum, int64_t index,
                                       CurrentRow* row) {
  std::fill(scope.memo.begin(), scope.memo.end(), std::nullopt);
  scope.vars[sum.var] = PartialValue::Constant(Sort::kInt, Rational(index));
  scope.row = row;
  return Evaluate(&scope, sum.args[0]);
}

RowEvaluation::Maybe RowEvaluation::EnumeratedSum(Scope* scope, const Node& node) {
  std::vector<Summand> summands;
  size_t labelled = 0;
  const int64_t extent = scope->function->vars[node.var].extent;
  for (int64_t i = 0; i < extent; ++i) {
    CurrentRow probe;
    probe.present = true;
    probe.base = builder_.Index(Variable(-1, 0, kMostRead));
    const Maybe value = At(*scope, node, i, &probe);
    if (!value) return std::nullopt;
    if (value->IsZero()) continue;
    summands.push_back({i, probe.label});
    if (probe.label) ++labelled;
  }
  if (summands.empty()) return PartialValue::Constant(Sort::kReal, Rational(0));
  if (summands.size() == 1 && (scope->row->present || labelled == 0)) {
    return At(*scope, node, summands[0].index, scope->row);
  }
  if (labelled == 0 && summands.size() <= kMostSummands) {
    Maybe total;
    for (const Summand& summand : summands) {
      const Maybe value = At(*scope, node, summand.index, scope->row);
      if (!value) return std::nullopt;
      if (!total) {
        total = value;
        continue;
      }
      if (total->IsConstant() && value->IsConstant()) {
        total->value = *total->value + *value->value;
        continue;
      }
      total = PartialValue{Sort::kReal, std::nullopt,
                           builder_.Binary(Op::kAdd, ExpressionOf(*total), ExpressionOf(*value))};
    }
    return total;
  }
  if (labelled != summands.size()) return Fail("chosen rows and others are added up");
  if (scope->row->present) return Fail("chosen rows are added up in a row");
  return SumOfRows(scope, node, summands);
}

// A sum over all chosen rows of whole segments is the sum over all their places of what is zero
// where nothing is chosen.
RowEvaluation::Maybe RowEvaluation::SumOfRows(Scope* scope, const Node& node,
                                              const std::vector<Summand>& summands) {
  std::vector<RowLabel> labels;
  std::map<Segment, std::vector<int64_t>> indices;
  for (const Summand& summand : summands) {
    labels.push_back(*summand.label);
    indices[summand.label->segment].push_back(summand.index);
  }
  const std::optional<RowLayout> layout = RowLayout::Of(labels, rows_.choices);
  if (!layout) return Fail("the rows that are added up are not all of an expert's");
  // Over all segments at once; then those that follow one another and are computed alike.
  const auto summand = [&](const Segment& segment, int64_t index, int64_t extent,
                           int64_t start) -> std::optional<ExprId> {
    CurrentRow row;
    row.present = true;
    row.base = builder_.Index(Variable(scope->path, node.var, extent, start));
    row.layout = &*layout;
    row.start = start;
    const Maybe value = At(*scope, node, index, &row);
    if (!value) return std::nullopt;
    (void)segment;
    return OnlyChosen(ExpressionOf(*value), row);
  };
  struct Run {
    Segment first;
    ExprId alike = sdfg::kNoExpr;
    int64_t start = 0, end = 0;
  };
  std::vector<Run> runs;
  for (const Segment& segment : layout->segments()) {
    ExprId alike = sdfg::kNoExpr;
    for (int64_t index : indices[segment]) {
      const std::optional<ExprId> value = summand(segment, index, layout->extent(), 0);
      if (!value) return std::nullopt;
      if (alike != sdfg::kNoExpr && alike != *value) {
        return Fail("rows of one expert are not computed alike");
      }
      alike = *value;
    }
    const int64_t start = layout->StartOf(segment);
    const int64_t end = start + rows_.choices[segment.choice].places;
    if (runs.empty() || runs.back().alike != alike) runs.push_back({segment, alike, start, start});
    runs.back().end = end;
  }
  ExprId total = sdfg::kNoExpr;
  for (const Run& run : runs) {
    const int64_t extent = run.end - run.start;
    const std::optional<ExprId> body = summand(run.first, indices[run.first][0], extent, run.start);
    if (!body) return std::nullopt;
    const ExprId sum =
        builder_.Reduce(Op::kSum, Variable(scope->path, node.var, extent, run.start), *body);
    total = total == sdfg::kNoExpr ? sum : builder_.Binary(Op::kAdd, total, sum);
  }
  return PartialValue{Sort::kReal, std::nullopt, total};
}

std::optional<ExprId> RowEvaluation::IsChosen(const CurrentRow& row) {
  const Segment& segment = row.label->segment;
  const Choice& choice = rows_.choices[segment.choice];
  const sdfg::Device device = op_.devices.empty() ? -1 : op_.devices[0];
  if (op_.kind != sdfg::OperatorKind::kCompute || choice.device != device) return std::nullopt;
  const int64_t shift = segment.set * choice.places - row.OffsetOf(segment);
  const ExprId place = builder_.IntAdd(row.base, builder_.Int(shift));
  const ExprId mask = builder_.Element(InputOf(choice.mask), {place});
  return builder_.Unary(Op::kIndicator, builder_.Unary(Op::kNonzero, mask));
}

std::optional<ExprId> RowEvaluation::OnlyChosen(ExprId value, const CurrentRow& row) {
  const bool defined = form_.IsDefined(value);
  if (defined && form_.IsZeroWhereNothingIsChosen(value)) return value;
  const std::optional<ExprId> chosen = IsChosen(row);
  if (!chosen) return Fail("what is added up is not zero where nothing is chosen");
  if (defined) return builder_.Binary(Op::kMul, *chosen, value);
  return builder_.Select(builder_.node(*chosen).args[0], value, builder_.Real(0));
}

}  // namespace planproof::frontend::torch
