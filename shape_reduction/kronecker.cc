#include "shape_reduction/kronecker.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "shape_reduction/opaque_functions.h"
#include "shape_reduction/scalar_program.h"

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;

namespace {

constexpr size_t kMaxSummands = 16;
constexpr size_t kMaxFactors = 64;

// form == 0 or form >= 0.
struct Condition {
  bool equality = false;
  IndexForm form;
};

// sum over `vars` of: product of factors / divisors where all conditions hold, else 0.
struct Nest {
  std::vector<VarId> vars;
  std::vector<Condition> conditions;
  std::vector<ExprId> booleans;  // conditions of any other kind
  std::vector<ExprId> factors;
  std::vector<ExprId> divisors;
  bool never = false;  // some condition never holds
};

class Eliminator {
 public:
  explicit Eliminator(NodePool* pool) : pool_(*pool) {}

  ExprId Sum(VarId var, ExprId body) {
    Node original{.op = Op::kSum};
    original.var = var;
    original.args.push_back(body);
    std::vector<VarId> vars = {var};
    ExprId core = body;
    while (pool_[core].op == Op::kSum) {
      vars.push_back(pool_[core].var);
      core = pool_[core].args[0];
    }
    std::vector<std::pair<ExprId, bool>> summands;  // node, negated
    if (!Flatten(core, &summands)) return pool_.Add(std::move(original));
    std::vector<Nest> nests;
    bool progress = false;
    for (const auto& [summand, negated] : summands) {
      Nest nest;
      nest.vars = vars;
      if (!Factor(summand, &nest)) return pool_.Add(std::move(original));
      if (negated) nest.factors.push_back(pool_.Real(-1));
      progress |= Simplify(&nest);
      nests.push_back(std::move(nest));
    }
    if (!progress || overflow_) return pool_.Add(std::move(original));
    ExprId total = sdfg::kNoExpr;
    for (const Nest& nest : nests) {
      if (nest.never) continue;
      const ExprId term = Build(nest);
      total = total == sdfg::kNoExpr ? term : pool_.Make(Op::kAdd, {total, term});
    }
    return total == sdfg::kNoExpr ? pool_.Real(0) : total;
  }

 private:
  // Splits a sum into its summands.
  bool Flatten(ExprId root, std::vector<std::pair<ExprId, bool>>* summands) {
    std::vector<std::pair<ExprId, bool>> open = {{root, false}};
    while (!open.empty()) {
      const auto [id, negated] = open.back();
      open.pop_back();
      const Node& node = pool_[id];
      if (node.op == Op::kAdd) {
        open.push_back({node.args[1], negated});
        open.push_back({node.args[0], negated});
      } else if (node.op == Op::kNeg) {
        open.push_back({node.args[0], !negated});
      } else {
        summands->push_back({id, negated});
      }
      if (open.size() + summands->size() > kMaxSummands) return false;
    }
    return true;
  }

  bool IsZero(ExprId id) const { return pool_[id].op == Op::kReal && pool_[id].real.IsZero(); }

  // Splits a product into conditions, factors and divisors.
  bool Factor(ExprId root, Nest* nest) {
    std::vector<std::pair<ExprId, bool>> open = {{root, false}};  // node, divides
    while (!open.empty()) {
      const auto [id, divides] = open.back();
      open.pop_back();
      const Node node = pool_[id];
      if (divides) {
        nest->divisors.push_back(id);
      } else if (node.op == Op::kMul) {
        open.push_back({node.args[1], false});
        open.push_back({node.args[0], false});
      } else if (node.op == Op::kDiv) {
        open.push_back({node.args[1], true});
        open.push_back({node.args[0], false});
      } else if (node.op == Op::kNeg) {
        nest->factors.push_back(pool_.Real(-1));
        open.push_back({node.args[0], false});
      } else if (node.op == Op::kIndicator) {
        AddBoolean(node.args[0], false, nest);
      } else if (node.op == Op::kSelect && IsZero(node.args[2])) {
        AddBoolean(node.args[0], false, nest);
        open.push_back({node.args[1], false});
      } else if (node.op == Op::kSelect && IsZero(node.args[1])) {
        AddBoolean(node.args[0], true, nest);
        open.push_back({node.args[2], false});
      } else if (node.op != Op::kReal || !node.real.IsOne()) {
        nest->factors.push_back(id);
      }
      if (open.size() + nest->factors.size() + nest->conditions.size() > kMaxFactors) return false;
    }
    return true;
  }

  void AddBoolean(ExprId root, bool negated, Nest* nest) {
    std::vector<std::pair<ExprId, bool>> open = {{root, negated}};
    while (!open.empty()) {
      const auto [id, flip] = open.back();
      open.pop_back();
      const Node node = pool_[id];
      auto difference = [&](int a, int b) {  // args[b] - args[a]
        return AddForms(pool_.form(node.args[b]), pool_.form(node.args[a]), -1, pool_.vars);
      };
      auto at_least = [&](IndexForm form, int64_t bound) {
        form.constant -= bound;
        AddCondition({false, std::move(form)}, nest);
      };
      if (node.op == Op::kNot) {
        open.push_back({node.args[0], !flip});
      } else if ((node.op == Op::kAnd && !flip) || (node.op == Op::kOr && flip)) {
        open.push_back({node.args[0], flip});
        open.push_back({node.args[1], flip});
      } else if (node.op == Op::kIntEq && !flip) {
        AddCondition({true, difference(0, 1)}, nest);
      } else if (node.op == Op::kIntLess) {
        flip ? at_least(difference(1, 0), 0) : at_least(difference(0, 1), 1);
      } else if (node.op == Op::kIntLessEq) {
        flip ? at_least(difference(1, 0), 1) : at_least(difference(0, 1), 0);
      } else {
        nest->booleans.push_back(flip ? pool_.Make(Op::kNot, {id}) : id);
      }
    }
  }

  // Bounds of a form; a choice from a row is one of its positions.
  bool RangeOf(const IndexForm& form, int64_t* low, int64_t* high) const {
    IndexForm known = form;
    known.atoms.clear();
    if (!FormRange(known, low, high)) return false;
    for (const auto& [scale, atom] : form.atoms) {
      const Node& node = pool_[atom];
      if (node.op != Op::kOpaque || node.var < 0 ||
          ParseOpaqueName(node.name).base != "topk_index") {
        return false;
      }
      int64_t last;
      if (__builtin_mul_overflow(scale, pool_.vars[node.var].extent - 1, &last)) return false;
      int64_t& end = last < 0 ? *low : *high;
      if (__builtin_add_overflow(end, last, &end)) return false;
    }
    return true;
  }

  void AddCondition(Condition condition, Nest* nest) {
    overflow_ |= condition.form.overflow;
    int64_t low, high;
    if (RangeOf(condition.form, &low, &high)) {
      if (high < 0 || (condition.equality && low > 0)) nest->never = true;
      if (condition.equality ? low == 0 && high == 0 : low >= 0) return;
    }
    nest->conditions.push_back(std::move(condition));
  }

  bool Uses(const IndexForm& form, const std::vector<VarId>& vars) {
    for (VarId var : vars) {
      if (form.Uses(var)) return true;
    }
    return std::any_of(form.atoms.begin(), form.atoms.end(),
                       [&](const auto& atom) { return Uses(atom.second, vars); });
  }

  bool Uses(ExprId root, const std::vector<VarId>& vars) {
    std::vector<char> used(root + 1, 0);
    used[root] = 1;
    for (ExprId id = root; id >= 0; --id) {
      if (!used[id]) continue;
      const Node& node = pool_[id];
      if (node.op == Op::kIndex && std::find(vars.begin(), vars.end(), node.var) != vars.end()) {
        return true;
      }
      for (ExprId arg : node.args) used[arg] = 1;
    }
    return false;
  }

  // Solves for summed variables while it can. True if anything is better than before.
  bool Simplify(Nest* nest) {
    bool progress = false;
    for (bool solved = true; solved && !nest->never;) {
      solved = false;
      for (bool allow_others : {false, true}) {
        for (size_t i = 0; i < nest->vars.size() && !solved; ++i) {
          const std::optional<IndexForm> value = Solve(*nest, nest->vars[i], allow_others);
          if (!value) continue;
          Substitute(nest->vars[i], *value, nest);
          nest->vars.erase(nest->vars.begin() + i);
          solved = progress = true;
        }
        if (solved) break;
      }
    }
    if (nest->never) return true;
    for (const Condition& condition : nest->conditions) {
      progress |= !Uses(condition.form, nest->vars);
    }
    for (ExprId boolean : nest->booleans) progress |= !Uses(boolean, nest->vars);
    return progress;
  }

  // The one value that the conditions leave to `var`, if they do.
  std::optional<IndexForm> Solve(const Nest& nest, VarId var, bool allow_others) {
    const int64_t extent = pool_.vars[var].extent;
    struct DigitEquation {
      DigitTerm term;
      IndexForm value;
    };
    std::vector<DigitEquation> digits;
    std::vector<std::pair<int64_t, IndexForm>> multiples;  // |scale|, the rest R: s v == R
    for (const Condition& condition : nest.conditions) {
      if (!condition.equality) continue;
      DigitTerm term;
      IndexForm rest;
      if (!Isolate(condition.form, var, &term, &rest)) continue;
      const int64_t scale = std::abs(term.scale);
      if (scale == 1) {
        if (term.div == 1 && term.extent == extent) return rest;
        digits.push_back({term, rest});
      } else if (term.div == 1 && term.extent == extent) {
        multiples.push_back({scale, rest});
      }
    }
    std::sort(digits.begin(), digits.end(),
              [](const auto& a, const auto& b) { return a.term.div < b.term.div; });
    IndexForm joined;
    int64_t next = 1;
    for (const DigitEquation& digit : digits) {
      if (digit.term.div != next) continue;
      joined = AddForms(joined, digit.value, digit.term.div, pool_.vars);
      next *= digit.term.extent;
      if (next >= extent) return joined;
    }
    // 0 <= R - s v <= K with K < s leaves v = floor(R / s).
    for (const Condition& lower : nest.conditions) {
      DigitTerm term;
      IndexForm rest;
      if (lower.equality || !Isolate(lower.form, var, &term, &rest)) continue;
      if (term.scale >= 0 || term.div != 1 || term.extent != extent) continue;
      for (const Condition& upper : nest.conditions) {
        if (upper.equality) continue;
        const IndexForm width = AddForms(lower.form, upper.form, 1, pool_.vars);
        if (!width.overflow && width.IsConstant() && width.constant >= 0 &&
            width.constant < -term.scale) {
          return Quotient(rest, -term.scale);
        }
      }
    }
    for (const auto& [scale, rest] : multiples) {
      std::vector<VarId> others = nest.vars;
      others.erase(std::find(others.begin(), others.end(), var));
      if (allow_others || !Uses(rest, others)) return Quotient(rest, scale);
    }
    return std::nullopt;
  }

  // form = scale digit(var) + the rest; `rest` is what scale digit(var) equals up to sign where the
  // form is 0, so that |scale| digit(var) == rest. False if var occurs twice or in an atom.
  bool Isolate(const IndexForm& form, VarId var, DigitTerm* term, IndexForm* rest) {
    int found = 0;
    IndexForm others;
    others.constant = form.constant;
    others.atoms = form.atoms;
    for (const DigitTerm& t : form.terms) {
      if (t.var == var) {
        *term = t;
        ++found;
      } else {
        others.terms.push_back(t);
      }
    }
    if (found != 1) return false;
    for (const auto& atom : form.atoms) {
      if (Uses(atom.second, {var})) return false;
    }
    *rest = AddForms(IndexForm(), others, term->scale > 0 ? -1 : 1, pool_.vars);
    return true;
  }

  IndexForm Quotient(const IndexForm& form, int64_t divisor) {
    if (form.overflow) return form;
    IndexForm quotient, remainder;
    if (DivideForm(form, divisor, pool_.vars, &quotient, &remainder)) return quotient;
    return pool_.form(Divided(Op::kIntDiv, form, divisor));
  }

  ExprId Divided(Op op, const IndexForm& form, int64_t divisor) {
    Node node{.op = op};
    node.value = divisor;
    node.args.push_back(pool_.FromForm(form));
    return pool_.Add(std::move(node));
  }

  IndexForm SubstituteForm(const IndexForm& form, VarId var, const IndexForm& value,
                           ExprId value_node) {
    IndexForm result;
    result.constant = form.constant;
    for (const DigitTerm& t : form.terms) {
      if (t.var != var) {
        IndexForm single;
        single.terms.push_back(t);
        result = AddForms(result, single, 1, pool_.vars);
        continue;
      }
      IndexForm digit = t.div > 1 ? Quotient(value, t.div) : value;
      if (t.extent < (pool_.vars[var].extent + t.div - 1) / t.div) {
        IndexForm quotient, remainder;
        digit = DivideForm(digit, t.extent, pool_.vars, &quotient, &remainder)
                    ? remainder
                    : pool_.form(Divided(Op::kIntMod, digit, t.extent));
      }
      result = AddForms(result, digit, t.scale, pool_.vars);
    }
    for (const auto& [scale, atom] : form.atoms) {
      result =
          AddForms(result, pool_.form(pool_.Substitute(atom, var, value_node)), scale, pool_.vars);
    }
    return result;
  }

  void Substitute(VarId var, const IndexForm& value, Nest* nest) {
    overflow_ |= value.overflow;
    if (overflow_) return;
    const ExprId node = pool_.FromForm(value);
    std::vector<Condition> conditions = std::move(nest->conditions);
    nest->conditions.clear();
    for (Condition& condition : conditions) {
      condition.form = SubstituteForm(condition.form, var, value, node);
      AddCondition(std::move(condition), nest);
    }
    AddCondition({false, value}, nest);
    IndexForm room = AddForms(IndexForm(), value, -1, pool_.vars);
    room.constant += pool_.vars[var].extent - 1;
    AddCondition({false, std::move(room)}, nest);
    for (std::vector<ExprId>* list : {&nest->booleans, &nest->factors, &nest->divisors}) {
      for (ExprId& id : *list) id = pool_.Substitute(id, var, node);
    }
  }

  ExprId ConditionNode(const Condition& condition) {
    return pool_.Make(condition.equality ? Op::kIntEq : Op::kIntLessEq,
                      {pool_.Int(0), pool_.FromForm(condition.form)});
  }

  ExprId Guard(const std::vector<ExprId>& conditions, ExprId value) {
    if (conditions.empty()) return value;
    ExprId all = conditions[0];
    for (size_t i = 1; i < conditions.size(); ++i) {
      all = pool_.Make(Op::kAnd, {all, conditions[i]});
    }
    return pool_.Make(Op::kSelect, {all, value, pool_.Real(0)});
  }

  ExprId Build(const Nest& nest) {
    std::vector<ExprId> inner_conditions, outer_conditions;
    for (const Condition& condition : nest.conditions) {
      (Uses(condition.form, nest.vars) ? inner_conditions : outer_conditions)
          .push_back(ConditionNode(condition));
    }
    for (ExprId boolean : nest.booleans) {
      (Uses(boolean, nest.vars) ? inner_conditions : outer_conditions).push_back(boolean);
    }
    ExprId inner = sdfg::kNoExpr, outer = sdfg::kNoExpr;
    auto multiply = [&](ExprId* product, ExprId factor) {
      *product = *product == sdfg::kNoExpr ? factor : pool_.Make(Op::kMul, {*product, factor});
    };
    for (ExprId factor : nest.factors) {
      multiply(Uses(factor, nest.vars) ? &inner : &outer, factor);
    }
    ExprId outer_divisor = sdfg::kNoExpr;
    for (ExprId divisor : nest.divisors) {
      if (Uses(divisor, nest.vars)) {
        inner = pool_.Make(Op::kDiv, {inner == sdfg::kNoExpr ? pool_.Real(1) : inner, divisor});
      } else {
        multiply(&outer_divisor, divisor);
      }
    }
    if (inner == sdfg::kNoExpr) inner = pool_.Real(1);
    inner = Guard(inner_conditions, inner);
    for (size_t i = nest.vars.size(); i-- > 0;) {
      Node sum{.op = Op::kSum};
      sum.var = nest.vars[i];
      sum.args.push_back(inner);
      inner = pool_.Add(std::move(sum));
    }
    ExprId result = outer == sdfg::kNoExpr ? inner : pool_.Make(Op::kMul, {outer, inner});
    if (outer_divisor != sdfg::kNoExpr) result = pool_.Make(Op::kDiv, {result, outer_divisor});
    return Guard(outer_conditions, result);
  }

  NodePool& pool_;
  bool overflow_ = false;  // of some form: nothing is gained
};

}  // namespace

ExprId EliminateKronecker(VarId var, ExprId body, NodePool* pool) {
  return Eliminator(pool).Sum(var, body);
}

}  // namespace planproof::shape_reduction
