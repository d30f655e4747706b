#include "lineage/rounds/at_rank.h"

#include <cstdlib>
#include <utility>

namespace planproof::lineage::rounds {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;

namespace {

constexpr int kMaxSteps = 1000;  // of a look at one function at one rank

}  // namespace

std::optional<Condition> Both(const Condition& a, const Condition& b) {
  if (a.kind == Condition::Kind::kNever || b.kind == Condition::Kind::kAlways) return a;
  if (b.kind == Condition::Kind::kNever || a.kind == Condition::Kind::kAlways) return b;
  return std::nullopt;
}

AtRank::AtRank(const IndexFunction& f, size_t axes, size_t ring, int64_t rank)
    : f_(f), axes_(axes), ring_(ring), rank_(rank) {
  for (size_t d = 0; d < f.outputs[0].dims.size(); ++d) {
    name_[f.outputs[0].dims[d]] = static_cast<int>(d);
  }
}

ExprId AtRank::Chosen(ExprId id) const {
  while (At(id).op == Op::kSelect) {
    if (const std::optional<bool> here = IsThisRank(At(At(id).args[0])); here.has_value()) {
      id = At(id).args[*here ? 1 : 2];
      continue;
    }
    const std::optional<Condition> condition = ConditionAt(At(id).args[0]);
    if (!condition.has_value() || condition->kind == Condition::Kind::kLinear) break;
    id = At(id).args[condition->kind == Condition::Kind::kAlways ? 1 : 2];
  }
  return id;
}

std::optional<Condition> AtRank::ConditionAt(ExprId id) const {
  if (++steps_ > kMaxSteps) return std::nullopt;
  const Node& node = At(id);
  switch (node.op) {
    case Op::kIntLessEq:
      return Compared(node.args[0], node.args[1], 0);
    case Op::kIntLess:
      return Compared(node.args[0], node.args[1], -1);
    case Op::kIntEq: {
      const auto less = Compared(node.args[0], node.args[1], 0);
      const auto more = Compared(node.args[1], node.args[0], 0);
      if (!less.has_value() || !more.has_value()) return std::nullopt;
      return Both(*less, *more);
    }
    case Op::kAnd: {
      const auto a = ConditionAt(node.args[0]), b = ConditionAt(node.args[1]);
      if (!a.has_value() || !b.has_value()) return std::nullopt;
      return Both(*a, *b);
    }
    default:
      return std::nullopt;
  }
}

// Of what selects by rank there is a branch for each: told without arithmetic.
std::optional<bool> AtRank::IsThisRank(const Node& condition) const {
  if (condition.op != Op::kIntEq) return std::nullopt;
  const Node &index = At(condition.args[0]), &constant = At(condition.args[1]);
  if (index.op != Op::kIndex || constant.op != Op::kIntConst ||
      index.var != f_.outputs[0].dims[ring_]) {
    return std::nullopt;
  }
  return constant.value == rank_;
}

std::optional<AtRank::Linear> AtRank::LinearAt(ExprId id) const {
  if (++steps_ > kMaxSteps) return std::nullopt;
  const Node& node = At(id);
  switch (node.op) {
    case Op::kIntConst:
      return Checked({{}, node.value});
    case Op::kIndex: {
      const auto name = name_.find(node.var);
      if (name == name_.end()) return std::nullopt;
      if (name->second == static_cast<int>(ring_)) return Linear{{}, rank_};
      const bool local = name->second == kOfMaximum || name->second >= static_cast<int>(axes_);
      return local ? std::optional(Linear{{{name->second, 1}}, 0}) : std::nullopt;
    }
    case Op::kIntAdd: {
      auto sum = LinearAt(node.args[0]);
      const auto other = LinearAt(node.args[1]);
      if (!sum.has_value() || !other.has_value()) return std::nullopt;
      Add(*other, 1, &*sum);
      return Checked(*std::move(sum));
    }
    case Op::kIntScale: {
      const auto one = LinearAt(node.args[0]);
      if (!one.has_value() || std::abs(node.value) >= kMaxCoefficient) return std::nullopt;
      Linear scaled;
      Add(*one, node.value, &scaled);
      return Checked(std::move(scaled));
    }
    default:
      return std::nullopt;
  }
}

std::optional<Condition> AtRank::Compared(ExprId a, ExprId b, int64_t more) const {
  auto left = LinearAt(a);
  const auto right = LinearAt(b);
  if (!left.has_value() || !right.has_value()) return std::nullopt;
  Add(*right, -1, &*left);
  Condition condition = {Condition::Kind::kLinear, left->form, more - left->constant};
  if (condition.form.empty()) {
    condition.kind = condition.bound >= 0 ? Condition::Kind::kAlways : Condition::Kind::kNever;
  }
  return condition;
}

void AtRank::Add(const Linear& more, int64_t factor, Linear* sum) {
  for (const auto& [name, coefficient] : more.form) {
    if ((sum->form[name] += factor * coefficient) == 0) sum->form.erase(name);
  }
  sum->constant += factor * more.constant;
}

std::optional<AtRank::Linear> AtRank::Checked(Linear linear) {
  bool small = std::abs(linear.constant) < kMaxBound;
  for (const auto& [name, factor] : linear.form) small &= std::abs(factor) < kMaxCoefficient;
  return small ? std::optional(std::move(linear)) : std::nullopt;
}

}  // namespace planproof::lineage::rounds
