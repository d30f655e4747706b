#include "sdfg/adjoint_expressions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace planproof::sdfg {
namespace {

using solver::Rational;

constexpr size_t kMaxAdjointNodes = size_t{1} << 20;
constexpr int kMaxNesting = 100;  // of reductions

}  // namespace

bool AdjointExpressions::failed() const {
  return too_deep_ || index_.overflowed() || b_.function().nodes.size() > kMaxAdjointNodes;
}

bool AdjointExpressions::IsReal(ExprId id, int64_t value) const {
  const Node& node = b_.node(id);
  return node.op == Op::kReal && node.real == Rational(value);
}

ExprId AdjointExpressions::Add(ExprId a, ExprId b) {
  if (IsReal(a, 0)) return b;
  if (IsReal(b, 0)) return a;
  return b_.Binary(Op::kAdd, a, b);
}

ExprId AdjointExpressions::Multiply(ExprId a, ExprId b) {
  if (IsReal(a, 0) || IsReal(b, 1)) return a;
  if (IsReal(b, 0) || IsReal(a, 1)) return b;
  const Node& left = b_.node(a);
  const Node& right = b_.node(b);
  if (left.op == Op::kReal && right.op == Op::kReal) return b_.Real(left.real * right.real);
  if (TraitsOf(a).is_choice && TraitsOf(b).can_be_undefined) {
    return Within(a, [&](ExprId branch) { return Multiply(branch, b); });
  }
  return b_.Binary(Op::kMul, a, b);
}

ExprId AdjointExpressions::Divide(ExprId a, ExprId b) {
  if (IsReal(a, 0) || IsReal(b, 1)) return a;
  if (TraitsOf(a).is_choice) {
    return Within(a, [&](ExprId branch) { return Divide(branch, b); });
  }
  return b_.Binary(Op::kDiv, a, b);
}

ExprId AdjointExpressions::Where(ExprId condition, bool holds, ExprId a) {
  if (TraitsOf(a).is_choice && TraitsOf(condition).can_be_undefined) {
    return Within(a, [&](ExprId branch) { return Where(condition, holds, branch); });
  }
  return holds ? Select(condition, a, Zero()) : Select(condition, Zero(), a);
}

ExprId AdjointExpressions::WhereAll(std::vector<ExprId> conditions, ExprId value) {
  // Outermost last. What says that an index lies within its tensor reads less deeply than what
  // reads at that index.
  std::stable_sort(conditions.begin(), conditions.end(),
                   [&](ExprId a, ExprId b) { return TraitsOf(a).reads > TraitsOf(b).reads; });
  for (ExprId condition : conditions) value = Where(condition, true, value);
  return value;
}

// Indices that are read from tensors are within theirs by premises.
bool AdjointExpressions::MayReadOutside(const Node& read) {
  const Shape& shape = b_.function().inputs[read.input].shape;
  for (size_t d = 0; d < read.args.size(); ++d) {
    const std::optional<IndexRange> range = index_.Range(read.args[d]);
    if (range && (range->low < 0 || range->high >= shape[d])) return true;
  }
  return false;
}

AdjointExpressions::Traits AdjointExpressions::TraitsOf(ExprId id) {
  for (ExprId next = static_cast<ExprId>(traits_.size()); next <= id; ++next) {
    const Node& node = b_.node(next);
    Traits traits;
    const bool reads = node.op == Op::kElement || node.op == Op::kIntElement;
    for (ExprId arg : node.args) {
      traits.can_be_undefined |= traits_[arg].can_be_undefined;
      traits.reads = std::max(traits.reads, traits_[arg].reads);
    }
    if (reads) {
      ++traits.reads;
      traits.can_be_undefined |= MayReadOutside(node);
    }
    switch (node.op) {
      case Op::kDiv:
      case Op::kLog:
        traits.can_be_undefined = true;
        break;
      case Op::kPow:
        traits.can_be_undefined |= !node.real.IsInteger() || node.real.Sign() < 0;
        break;
      case Op::kSelect:
        traits.is_choice = true;
        break;
      case Op::kAdd:
      case Op::kMul:
      case Op::kNeg:
      case Op::kSum:
        for (ExprId arg : node.args) traits.is_choice |= traits_[arg].is_choice;
        break;
      default:
        break;
    }
    traits_.push_back(traits);
  }
  return traits_[id];
}

ExprId AdjointExpressions::Within(ExprId choice, const std::function<ExprId(ExprId)>& linear,
                                  int depth) {
  if (depth > kMaxNesting) too_deep_ = true;
  if (failed()) return choice;
  if (!TraitsOf(choice).is_choice) return linear(choice);
  const Node node = b_.node(choice);  // a copy: building moves the nodes
  const auto inner = [&](ExprId arg) { return Within(arg, linear, depth + 1); };
  switch (node.op) {
    case Op::kSelect: {
      const ExprId a = inner(node.args[1]);
      return Select(node.args[0], a, inner(node.args[2]));
    }
    case Op::kAdd: {
      ExprId sum = Zero();
      ExprId rest = choice;  // a chain of summands, which may be long
      while (b_.node(rest).op == Op::kAdd && TraitsOf(rest).is_choice) {
        const ExprId left = b_.node(rest).args[0];
        sum = Add(inner(b_.node(rest).args[1]), sum);
        rest = left;
      }
      return Add(inner(rest), sum);
    }
    case Op::kNeg:
      return Negate(inner(node.args[0]));
    case Op::kMul: {
      const bool first = TraitsOf(node.args[0]).is_choice;
      const ExprId factor = node.args[first ? 1 : 0];
      return Within(
          node.args[first ? 0 : 1], [&](ExprId branch) { return linear(Multiply(branch, factor)); },
          depth + 1);
    }
    default: {  // kSum
      const IndexVariable variable = b_.function().vars[node.var];
      const VarId fresh = b_.AddVar(variable.name, variable.extent);
      const ExprId body = Substitute(node.args[0], {{node.var, b_.Index(fresh)}});
      return b_.Reduce(Op::kSum, fresh, inner(body));
    }
  }
}

ExprId AdjointExpressions::Negate(ExprId a) {
  const Node& node = b_.node(a);
  if (node.op == Op::kReal) return b_.Real(-node.real);
  if (node.op == Op::kNeg) return node.args[0];
  return b_.Unary(Op::kNeg, a);
}

ExprId AdjointExpressions::Select(ExprId condition, ExprId a, ExprId b) {
  if (a == b) return a;
  if (const std::optional<bool> truth = index_.Decide(condition)) return *truth ? a : b;
  return b_.Select(condition, a, b);
}

ExprId AdjointExpressions::Indicator(ExprId condition) {
  if (const std::optional<bool> truth = index_.Decide(condition)) return b_.Real(*truth ? 1 : 0);
  return b_.Unary(Op::kIndicator, condition);
}

ExprId AdjointExpressions::Rebuild(Node node, std::vector<ExprId> args) {
  switch (node.op) {
    case Op::kIntAdd:
      return index_.Add(args[0], args[1]);
    case Op::kIntScale:
      return index_.Scale(node.value, args[0]);
    case Op::kIntDiv:
      return index_.Div(args[0], node.value);
    case Op::kIntMod:
      return index_.Mod(args[0], node.value);
    case Op::kSelect:
      return Select(args[0], args[1], args[2]);
    case Op::kIndicator:
      return Indicator(args[0]);
    default:
      node.args.assign(args.begin(), args.end());
      return b_.AddNode(std::move(node));
  }
}

ExprId AdjointExpressions::Substitute(ExprId root, const Substitution& substitution) {
  return SubstituteNested(root, substitution, 0);
}

ExprId AdjointExpressions::SubstituteNested(ExprId root, const Substitution& substitution,
                                            int depth) {
  if (depth > kMaxNesting) too_deep_ = true;
  VarSet replaced;
  for (const auto& entry : substitution) replaced.push_back(entry.first);
  if (failed() || !Intersects(index_.Free(root), replaced)) return root;

  absl::flat_hash_map<ExprId, ExprId> done;
  const auto result = [&](ExprId id) {
    const auto found = done.find(id);
    return found == done.end() ? id : found->second;
  };
  std::vector<std::pair<ExprId, size_t>> stack = {{root, 0}};  // expression, next argument
  while (!stack.empty()) {
    const ExprId id = stack.back().first;
    const Node node = b_.node(id);  // a copy: building moves the nodes
    const VarId bound = VariableBoundBy(node);
    if (node.op == Op::kIndex) {
      done[id] = substitution.at(node.var);
      stack.pop_back();
      continue;
    }
    // The body of a reduction is replaced by itself, below; it has another scope.
    size_t& next = stack.back().second;
    if (next == 0 && bound >= 0) next = 1;
    if (next < node.args.size()) {
      const ExprId arg = node.args[next++];
      if (!done.contains(arg) && Intersects(index_.Free(arg), replaced)) stack.push_back({arg, 0});
      continue;
    }
    stack.pop_back();
    if (done.contains(id)) continue;
    std::vector<ExprId> args;
    for (ExprId arg : node.args) args.push_back(result(arg));
    Node rebuilt = node;
    if (bound >= 0) {
      const IndexVariable variable = b_.function().vars[bound];
      rebuilt.var = b_.AddVar(variable.name, variable.extent);
      Substitution inner = substitution;
      inner[bound] = b_.Index(rebuilt.var);
      args[0] = SubstituteNested(node.args[0], inner, depth + 1);
    }
    done[id] = Rebuild(std::move(rebuilt), std::move(args));
    if (failed()) return root;
  }
  return result(root);
}

ExprId AdjointExpressions::SumOver(const VarSet& vars, ExprId body) {
  if (IsZero(body)) return body;
  Substitution fresh;
  std::vector<VarId> summed;
  Rational count(1);  // of equal terms
  for (VarId var : vars) {
    const IndexVariable variable = b_.function().vars[var];
    if (variable.extent == 0) return Zero();
    if (!Contains(index_.Free(body), var)) {
      count *= Rational(variable.extent);
    } else if (variable.extent == 1) {
      fresh[var] = b_.Int(0);
    } else {
      summed.push_back(b_.AddVar(variable.name, variable.extent));
      fresh[var] = b_.Index(summed.back());
    }
  }
  ExprId result = Substitute(body, fresh);
  if (failed()) return result;
  for (VarId var : summed) {
    // Simplification may have removed the variable.
    if (Contains(index_.Free(result), var)) {
      result = b_.Reduce(Op::kSum, var, result);
    } else {
      count *= Rational(b_.function().vars[var].extent);
    }
  }
  return Multiply(b_.Real(count), result);
}

}  // namespace planproof::sdfg
