#include "sdfg/adjoint_rules.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/differentiate.h"

namespace planproof::sdfg {
namespace {

using solver::Rational;

// The derivatives of max(a, b), or min(a, b), by a and by b.
absl::StatusOr<std::pair<ExprId, ExprId>> TieWeights(AdjointExpressions* e, bool max, TieRule tie,
                                                     ExprId a, ExprId b) {
  IndexFunctionBuilder& f = e->builder();
  // [x beats y], [x beats or equals y].
  const auto beats = [&](ExprId x, ExprId y) {
    return e->Indicator(max ? f.Binary(Op::kRealLess, y, x) : f.Binary(Op::kRealLess, x, y));
  };
  const auto at_least = [&](ExprId x, ExprId y) {
    return e->Indicator(max ? f.Binary(Op::kRealLessEq, y, x) : f.Binary(Op::kRealLessEq, x, y));
  };
  switch (tie) {
    case TieRule::kNone:
      break;
    case TieRule::kFirst:
      return std::make_pair(at_least(a, b), beats(b, a));
    case TieRule::kAll:
      return std::make_pair(at_least(a, b), at_least(b, a));
    case TieRule::kZero:
      return std::make_pair(beats(a, b), beats(b, a));
    case TieRule::kEven: {
      const ExprId half =
          e->Multiply(f.Real(Rational(1, 2)), e->Indicator(f.Binary(Op::kRealEq, a, b)));
      return std::make_pair(e->Add(beats(a, b), half), e->Add(beats(b, a), half));
    }
  }
  return absl::FailedPreconditionError("max, min and abs need a rule for ties");
}

// 1 if an entry of a maximum is its value, else 0. An entry that is masked is not: the maximum of a
// row that is masked as a whole is not defined.
ExprId Attains(AdjointExpressions* e, ExprId entry, ExprId value) {
  IndexFunctionBuilder& f = e->builder();
  const Node node = f.node(entry);
  if (node.op == Op::kSelect && f.node(node.args[2]).op == Op::kNegInf) {
    return e->Where(node.args[0], true, Attains(e, node.args[1], value));
  }
  return e->Indicator(f.Binary(Op::kRealEq, entry, value));
}

// Weight of the body's value at one index in the derivative of a maximum or minimum over the
// index `var`.
absl::StatusOr<ExprId> ReductionWeight(AdjointExpressions* e, TieRule tie, VarId var, ExprId body,
                                       ExprId value) {
  IndexFunctionBuilder& f = e->builder();
  const ExprId attains = Attains(e, body, value);
  if (tie == TieRule::kAll) return attains;
  // Values at other indices that attain the extremum as well, earlier ones for kFirst.
  const IndexVariable variable = f.function().vars[var];
  const VarId other = f.AddVar(variable.name, variable.extent);
  ExprId counted = Attains(e, e->Substitute(body, {{var, f.Index(other)}}), value);
  if (tie == TieRule::kFirst) {
    const ExprId earlier = f.Binary(Op::kIntLess, f.Index(other), f.Index(var));
    counted = e->Multiply(e->Indicator(earlier), counted);
  }
  counted = f.Reduce(Op::kSum, other, counted);
  switch (tie) {
    case TieRule::kFirst:
      return e->Multiply(attains, e->Indicator(f.Binary(Op::kRealEq, counted, f.Real(0))));
    case TieRule::kZero:
      return e->Multiply(attains, e->Indicator(f.Binary(Op::kRealEq, counted, f.Real(1))));
    default:
      return absl::FailedPreconditionError(
          "a maximum or minimum over an index needs a rule for ties");
  }
}

// d|x| / dx is the weight of x less the weight of -x in max(x, -x).
absl::StatusOr<ExprId> AbsWeight(AdjointExpressions* e, TieRule tie, ExprId x) {
  const absl::StatusOr<std::pair<ExprId, ExprId>> weights =
      TieWeights(e, true, tie, x, e->builder().Real(0));
  if (!weights.ok()) return weights.status();
  return e->Add(weights->first, e->Negate(weights->second));
}

}  // namespace

std::vector<int> DifferentiableArguments(const Node& node) {
  switch (node.op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMax:
    case Op::kMin:
      return {0, 1};
    case Op::kNeg:
    case Op::kPow:
    case Op::kExp:
    case Op::kLog:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
    case Op::kAbs:
    case Op::kSum:
    case Op::kReduceMax:
    case Op::kReduceMin:
      return {0};
    case Op::kSelect:
      return {1, 2};
    case Op::kOpaque: {
      std::vector<int> all;
      // An integer is piecewise constant.
      for (size_t i = 0; !node.int_valued && i < node.args.size(); ++i) {
        all.push_back(static_cast<int>(i));
      }
      return all;
    }
    default:
      return {};
  }
}

std::vector<ExprId> EvenWeights(AdjointExpressions* e, const std::vector<TiedOperand>& operands,
                                ExprId value) {
  IndexFunctionBuilder& f = e->builder();
  std::vector<ExprId> attains;
  ExprId count = e->Zero();
  for (const TiedOperand& operand : operands) {
    attains.push_back(Attains(e, operand.body, value));
    std::vector<VarId> others;
    Substitution to_others;
    for (VarId var : operand.vars) {
      const IndexVariable variable = f.function().vars[var];
      others.push_back(f.AddVar(variable.name, variable.extent));
      to_others[var] = f.Index(others.back());
    }
    ExprId counted = Attains(e, e->Substitute(operand.body, to_others), value);
    for (VarId other : others) counted = f.Reduce(Op::kSum, other, counted);
    count = e->Add(count, counted);
  }
  for (ExprId& weight : attains) weight = e->Divide(weight, count);
  return attains;
}

namespace {

// The part of the operand of a smooth function of one operand.
ExprId PartOfOperand(AdjointExpressions* e, const LocalDerivative& local) {
  IndexFunctionBuilder& f = e->builder();
  const Node& node = local.node;
  const ExprId operand = local.args[0];
  const auto scaled = [&](ExprId factor) { return e->Multiply(local.adjoint, factor); };
  switch (node.op) {
    case Op::kPow: {
      const Rational rest = node.real - Rational(1);
      if (node.real.IsZero()) return kNoExpr;
      const ExprId power = rest.IsZero()  ? f.Real(1)
                           : rest.IsOne() ? operand
                                          : f.Pow(operand, rest);
      return scaled(e->Multiply(f.Real(node.real), power));
    }
    case Op::kExp:
      return scaled(local.value);
    case Op::kLog:
      return e->Divide(local.adjoint, operand);
    case Op::kErf: {
      const ExprId bell = f.Unary(Op::kExp, e->Negate(e->Multiply(operand, operand)));
      const ExprId constant = f.Opaque(kTwoOverSqrtPi, false, -1, {});
      return scaled(e->Multiply(constant, bell));
    }
    case Op::kSin:
      return scaled(f.Unary(Op::kCos, operand));
    case Op::kCos:
      return e->Negate(scaled(f.Unary(Op::kSin, operand)));
    default:
      return kNoExpr;
  }
}

}  // namespace

absl::StatusOr<std::vector<ExprId>> LocalAdjoints(AdjointExpressions* e,
                                                  const LocalDerivative& local) {
  const Node& node = local.node;
  const std::vector<ExprId>& args = local.args;
  const ExprId adjoint = local.adjoint;
  std::vector<ExprId> parts(args.size(), kNoExpr);
  const auto scaled = [&](ExprId factor) { return e->Multiply(adjoint, factor); };
  switch (node.op) {
    case Op::kAdd:
      parts = {adjoint, adjoint};
      break;
    case Op::kMul:
      parts = {scaled(args[1]), scaled(args[0])};
      break;
    case Op::kNeg:
      parts = {e->Negate(adjoint)};
      break;
    case Op::kDiv:
      if (local.wanted[0]) parts[0] = e->Divide(adjoint, args[1]);
      if (local.wanted[1]) {
        parts[1] = e->Negate(e->Divide(scaled(args[0]), e->Multiply(args[1], args[1])));
      }
      break;
    case Op::kPow:
    case Op::kExp:
    case Op::kLog:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
      parts = {PartOfOperand(e, local)};
      break;
    case Op::kAbs: {
      const absl::StatusOr<ExprId> weight = AbsWeight(e, node.tie, args[0]);
      if (!weight.ok()) return weight.status();
      parts = {scaled(*weight)};
      break;
    }
    case Op::kMax:
    case Op::kMin: {
      const absl::StatusOr<std::pair<ExprId, ExprId>> weights =
          TieWeights(e, node.op == Op::kMax, node.tie, args[0], args[1]);
      if (!weights.ok()) return weights.status();
      parts = {scaled(weights->first), scaled(weights->second)};
      break;
    }
    case Op::kSelect:
      parts[1] = e->Where(args[0], true, adjoint);
      parts[2] = e->Where(args[0], false, adjoint);
      break;
    case Op::kSum:
      parts = {adjoint};
      break;
    case Op::kReduceMax:
    case Op::kReduceMin: {
      const absl::StatusOr<ExprId> weight =
          ReductionWeight(e, node.tie, node.var, args[0], local.value);
      if (!weight.ok()) return weight.status();
      parts = {scaled(*weight)};
      break;
    }
    case Op::kOpaque:
      return absl::UnimplementedError(
          absl::StrCat("the opaque function ", node.name, " has no derivative"));
    default:
      break;
  }
  return parts;
}

}  // namespace planproof::sdfg
