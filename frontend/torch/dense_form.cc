#include "frontend/torch/dense_form.h"

#include <algorithm>
#include <set>
#include <utility>

#include "frontend/torch/exact_values.h"
#include "sdfg/stack_room.h"

namespace planproof::frontend::torch {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;
using solver::Rational;

namespace {

bool Binds(const Node& node) {
  return node.op == Op::kSum || node.op == Op::kReduceMax || node.op == Op::kReduceMin ||
         (node.op == Op::kOpaque && node.var >= 0);
}

std::optional<Rational> FunctionAt(const Node& node, const Rational& argument) {
  switch (node.op) {
    case Op::kExp:
    case Op::kCos:
      if (argument.IsZero()) return Rational(1);
      return std::nullopt;
    case Op::kSin:
    case Op::kErf:
    case Op::kSum:
      if (argument.IsZero()) return argument;
      return std::nullopt;
    case Op::kReduceMax:
    case Op::kReduceMin:
      return argument;
    case Op::kPow:
      if (argument.IsOne() || (argument.IsZero() && node.real.Sign() > 0)) return argument;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Rational> DenseForm::WhereNothingIsChosen(ExprId id) {
  const auto [found, fresh] = values_.try_emplace(id);
  if (!fresh) return found->second;
  if (sdfg::StackIsShort()) return std::nullopt;
  const Node node = b_.node(id);
  const auto value = [&](size_t i) { return WhereNothingIsChosen(node.args[i]); };
  std::optional<Rational> result;
  switch (node.op) {
    case Op::kReal:
      result = node.real;
      break;
    case Op::kElement:
      if (inputs_.zero[node.input]) result = Rational(0);
      break;
    case Op::kMul:
    case Op::kDiv: {
      const std::optional<Rational> a = value(0), b = value(1);
      const bool zero = (a && a->IsZero()) || (node.op == Op::kMul && b && b->IsZero());
      if (zero) {
        result = Rational(0);
      } else if (a && b) {
        result = ExactResult(node, {*a, *b});
      }
      break;
    }
    case Op::kSelect: {
      const std::optional<Rational> a = value(1), b = value(2);
      if (a && b && *a == *b) result = a;
      break;
    }
    case Op::kAdd:
    case Op::kMax:
    case Op::kMin: {
      const std::optional<Rational> a = value(0), b = value(1);
      if (a && b) result = ExactResult(node, {*a, *b});
      break;
    }
    case Op::kNeg:
    case Op::kAbs:
      if (const std::optional<Rational> a = value(0); a) result = ExactResult(node, {*a});
      break;
    case Op::kExp:
    case Op::kCos:
    case Op::kSin:
    case Op::kErf:
    case Op::kSum:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kPow:
      if (const std::optional<Rational> a = value(0); a) result = FunctionAt(node, *a);
      break;
    default:
      break;
  }
  return values_[id] = result;
}

bool DenseForm::ReadsRows(ExprId id) {
  const auto [found, fresh] = reads_.try_emplace(id, true);
  if (!fresh || sdfg::StackIsShort()) return found->second;
  const Node node = b_.node(id);
  const bool reads =
      (IsRead(node) && inputs_.rows[node.input]) ||
      std::any_of(node.args.begin(), node.args.end(), [&](ExprId arg) { return ReadsRows(arg); });
  return reads_[id] = reads;
}

bool DenseForm::IsPositive(ExprId id) {
  const auto [found, fresh] = positive_.try_emplace(id, false);
  if (!fresh || sdfg::StackIsShort()) return found->second;
  const Node node = b_.node(id);
  const auto positive = [&](size_t i) { return IsPositive(node.args[i]); };
  bool result = false;
  switch (node.op) {
    case Op::kExp:
      result = true;
      break;
    case Op::kReal:
      result = node.real.Sign() > 0;
      break;
    case Op::kAdd:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
      result = positive(0) && positive(1);
      break;
    case Op::kMax:
      result = positive(0) || positive(1);
      break;
    case Op::kPow:
      result = positive(0);
      break;
    case Op::kSelect:
      result = positive(1) && positive(2);
      break;
    default:
      break;
  }
  return positive_[id] = result;
}

bool DenseForm::IsDefined(ExprId id) {
  const auto [found, fresh] = defined_.try_emplace(id, false);
  if (!fresh || sdfg::StackIsShort()) return found->second;
  const Node node = b_.node(id);
  bool defined =
      std::all_of(node.args.begin(), node.args.end(), [&](ExprId arg) { return IsDefined(arg); });
  const auto of_rows = [&](size_t i) {
    return ReadsRows(node.args[i]) && !IsPositive(node.args[i]);
  };
  if (node.op == Op::kDiv) defined = defined && !of_rows(1);
  if (node.op == Op::kLog) defined = defined && !of_rows(0);
  if (node.op == Op::kPow && (!node.real.IsInteger() || node.real.Sign() < 0)) {
    defined = defined && !of_rows(0);
  }
  return defined_[id] = defined;
}

namespace {

// Copies an expression from leaves up, with a new variable for each binder.
class Copy {
 public:
  Copy(const sdfg::IndexFunction& from, sdfg::IndexFunctionBuilder* to,
       const std::map<int, int>& inputs)
      : from_(from), to_(*to), inputs_(inputs), free_(from.nodes.size()) {
    for (size_t id = 0; id < from.nodes.size(); ++id) {
      const Node& node = from.nodes[id];
      if (node.op == Op::kIndex) free_[id].insert(node.var);
      for (size_t a = 0; a < node.args.size(); ++a) {
        std::set<VarId> of_arg = free_[node.args[a]];
        if (Binds(node) && a == 0) of_arg.erase(node.var);
        free_[id].insert(of_arg.begin(), of_arg.end());
      }
    }
  }

  using Names = std::map<VarId, VarId>;

  ExprId Of(ExprId id, const Names& names) {
    std::vector<VarId> key;
    for (VarId var : free_[id]) key.push_back(names.at(var));
    const auto found = done_.find({id, key});
    if (found != done_.end()) return found->second;
    Node node = from_.nodes[id];
    Names inner = names;
    if (Binds(node)) {
      inner[node.var] = to_.AddVar(from_.vars[node.var].name, from_.vars[node.var].extent);
    }
    for (size_t a = 0; a < node.args.size(); ++a) {
      node.args[a] = Of(node.args[a], Binds(node) && a == 0 ? inner : names);
    }
    if (node.op == Op::kIndex || Binds(node)) node.var = inner.at(node.var);
    if (IsRead(node)) node.input = inputs_.at(node.input);
    const ExprId copy = to_.AddNode(std::move(node));
    done_[{id, std::move(key)}] = copy;
    return copy;
  }

  const std::set<VarId>& FreeIn(ExprId id) const { return free_[id]; }

 private:
  const sdfg::IndexFunction& from_;
  sdfg::IndexFunctionBuilder& to_;
  const std::map<int, int>& inputs_;
  std::vector<std::set<VarId>> free_;
  std::map<std::pair<ExprId, std::vector<VarId>>, ExprId> done_;
};

std::set<int> InputsOf(const sdfg::IndexFunction& function, ExprId body) {
  std::vector<bool> used(body + 1, false);
  std::set<int> inputs;
  used[body] = true;
  for (ExprId id = body; id >= 0; --id) {
    if (!used[id]) continue;
    if (IsRead(function.nodes[id])) inputs.insert(function.nodes[id].input);
    for (ExprId arg : function.nodes[id].args) used[arg] = true;
  }
  return inputs;
}

}  // namespace

absl::StatusOr<sdfg::IndexFunction> Tidied(const sdfg::IndexFunction& scratch,
                                           const sdfg::FunctionOutput& output, bool keep_inputs,
                                           std::vector<int>* inputs) {
  if (sdfg::StackIsShort()) return absl::ResourceExhaustedError("expression too deep");
  sdfg::IndexFunctionBuilder builder(scratch.operator_name);
  const std::set<int> used = InputsOf(scratch, output.body);
  std::map<int, int> numbers;
  inputs->clear();
  for (int input = 0; input < static_cast<int>(scratch.inputs.size()); ++input) {
    if (!keep_inputs && used.count(input) == 0) continue;
    const sdfg::FunctionInput& operand = scratch.inputs[input];
    numbers[input] = builder.AddInput(operand.name, operand.shape, operand.dtype);
    inputs->push_back(input);
  }
  const int number = builder.AddOutput(output.name, output.shape(scratch.vars), output.dtype);
  Copy copy(scratch, &builder, numbers);
  Copy::Names names;
  for (size_t k = 0; k < output.dims.size(); ++k) {
    names[output.dims[k]] = builder.OutputDims(number)[k];
  }
  for (VarId var : copy.FreeIn(output.body)) {
    if (names.count(var) == 0) return absl::InternalError("a variable is not bound");
  }
  builder.SetBody(number, copy.Of(output.body, names));
  for (const std::string& assumption : scratch.assumptions) builder.AddAssumption(assumption);
  sdfg::IndexFunction function;
  if (absl::Status status = builder.Finish(&function); !status.ok()) return status;
  return function;
}

}  // namespace planproof::frontend::torch
