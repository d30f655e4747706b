#include "stages/premises.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/operator_library.h"
#include "stages/claim_solver.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::Op;
using sdfg::TensorId;

std::vector<std::string> DeclaredPremises(const lineage::Problem& problem) {
  using Kind = lineage::Problem::InputPremise::Kind;
  std::vector<std::string> out;
  for (const auto& p : problem.premises) {
    const std::string& name = problem.logical.tensors[p.tensor].name;
    switch (p.kind) {
      case Kind::kPositive:
        out.push_back(name + " > 0");
        break;
      case Kind::kNonNegative:
        out.push_back(name + " >= 0");
        break;
      case Kind::kNonZero:
        out.push_back(name + " != 0");
        break;
      case Kind::kIntegerRange:
        out.push_back(absl::StrCat(p.low, " <= ", name, " < ", p.high));
        break;
      case Kind::kNoTie:
        out.push_back(name + " has no ties");
        break;
      case Kind::kRowUnmasked:
        out.push_back("every row of " + name + " has an unmasked entry");
        break;
    }
  }
  return out;
}

bool DeclaredHoldTogether(const lineage::Problem& problem) {
  using Kind = lineage::Problem::InputPremise::Kind;
  std::map<TensorId, std::pair<int64_t, int64_t>> ranges;
  for (const auto& p : problem.premises) {
    const sdfg::TensorRole role = problem.logical.tensors[p.tensor].role;
    if (role == sdfg::TensorRole::kOne || role == sdfg::TensorRole::kZero) return false;
    const bool integer = sdfg::IsInteger(problem.logical.tensors[p.tensor].dtype);
    const bool sign =
        p.kind == Kind::kPositive || p.kind == Kind::kNonNegative || p.kind == Kind::kNonZero;
    if (sign && !integer) continue;  // 1 meets all of them
    if (p.kind != Kind::kIntegerRange || !integer) return false;
    auto [at, fresh] = ranges.try_emplace(p.tensor, p.low, p.high);
    at->second = {std::max(at->second.first, p.low), std::min(at->second.second, p.high)};
    // An id that is not negative, as operators ask, must be left.
    if (at->second.first >= at->second.second || at->second.second <= 0) return false;
  }
  return true;
}

bool CanBeUndefined(const sdfg::IndexFunction& f) {
  for (const sdfg::Node& n : f.nodes) {
    if (n.op == Op::kDiv || n.op == Op::kLog) return true;
    if (n.op == Op::kPow && (!n.real.IsInteger() || n.real.Sign() < 0)) return true;
  }
  return false;
}

namespace {

// "0 <= ids": conditions of this form hold together, whatever else is required of real inputs.
bool IsLowerBoundOfIds(const sdfg::IndexFunction& f, sdfg::ExprId condition) {
  const sdfg::Node& n = f.nodes[condition];
  return n.op == Op::kIntLessEq && f.nodes[n.args[0]].op == Op::kIntConst &&
         f.nodes[n.args[0]].value == 0 && f.nodes[n.args[1]].op == Op::kIntElement;
}

// The operand that such a condition is about.
int32_t IdsOf(const sdfg::IndexFunction& f, sdfg::ExprId condition) {
  return f.nodes[f.nodes[condition].args[1]].input;
}

// Each index of the ids runs over its whole dimension, whatever the others are.
bool IsAboutAllIds(const sdfg::IndexFunction& f, sdfg::ExprId condition) {
  const sdfg::Node& ids = f.nodes[f.nodes[condition].args[1]];
  std::set<sdfg::VarId> vars;
  for (size_t d = 0; d < ids.args.size(); ++d) {
    const sdfg::Node& index = f.nodes[ids.args[d]];
    if (index.op != Op::kIndex || !vars.insert(index.var).second ||
        f.vars[index.var].extent != f.inputs[ids.input].shape[d]) {
      return false;
    }
  }
  return true;
}

}  // namespace

ImpliedPremises CollectImplied(const lineage::Problem& problem, const ClaimTable& table,
                               const ClaimOutcomes& outcomes, Relations* relations) {
  const sdfg::Graph& g = problem.logical;
  std::vector<bool> evaluated(g.tensors.size(), false), seen(g.tensors.size(), false);
  std::vector<TensorId> work;
  for (size_t c = 0; c < table.claims().size(); ++c) {  // a proof lists its premises
    if (outcomes[c].status == ClaimStatus::kProved)
      evaluated[table.claims()[c].target.logical] = true;
  }
  for (const auto& r : problem.required) work.push_back(r.lineage.logical);
  ImpliedPremises out;
  std::set<std::string> texts;
  ClaimSolver solver(problem, relations, ClaimLimits{});
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (t == kNone || seen[t]) continue;
    seen[t] = true;
    const sdfg::OperatorId producer = g.tensors[t].producer;
    if (producer == kNone) continue;
    const sdfg::Operator& op = g.operators[producer];
    for (const auto& premise : op.function->premises) {
      out.need_sample |= !IsLowerBoundOfIds(*op.function, premise.condition);
      texts.insert(absl::StrCat(op.name, " (", g.tensors[t].name, "): ", premise.text));
    }
    work.insert(work.end(), op.inputs.begin(), op.inputs.end());
    if (evaluated[t] || !CanBeUndefined(*op.function)) continue;
    ClaimOutcome o = solver.Definedness(t);
    texts.insert(o.premises.begin(), o.premises.end());
    out.need_sample |= !o.premises.empty();
    out.unsatisfiable |= o.unsatisfiable;
    if (o.status != ClaimStatus::kProved && out.complete) {
      out.complete = false;
      out.why = absl::StrCat("premises of ", op.name, " (", g.tensors[t].name,
                             ") could not be listed: ", o.reason);
    }
  }
  out.texts.assign(texts.begin(), texts.end());
  return out;
}

std::vector<std::string> CollectRestrictions(const lineage::Problem& problem) {
  using Kind = lineage::Problem::InputPremise::Kind;
  std::vector<bool> not_negative(problem.logical.tensors.size(), false);
  for (const auto& p : problem.premises) {
    if (p.kind == Kind::kIntegerRange && p.low >= 0) not_negative[p.tensor] = true;
  }
  // What the model requires of all of its own ids.
  std::vector<bool> seen(problem.logical.tensors.size(), false);
  std::vector<TensorId> work;
  for (const auto& r : problem.required) work.push_back(r.lineage.logical);
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (t == kNone || seen[t]) continue;
    seen[t] = true;
    if (problem.logical.tensors[t].producer == kNone) continue;
    const sdfg::Operator& op = problem.logical.operators[problem.logical.tensors[t].producer];
    for (const auto& premise : op.function->premises) {
      if (!IsLowerBoundOfIds(*op.function, premise.condition) ||
          !IsAboutAllIds(*op.function, premise.condition)) {
        continue;
      }
      not_negative[op.inputs[IdsOf(*op.function, premise.condition)]] = true;
    }
    work.insert(work.end(), op.inputs.begin(), op.inputs.end());
  }
  const sdfg::Graph& g = problem.parallel;
  const auto ids_not_negative = [&](TensorId ids) {
    std::set<TensorId> reached;
    work = {ids};
    while (!work.empty()) {
      const TensorId t = work.back();
      work.pop_back();
      if (!reached.insert(t).second) continue;
      const sdfg::OperatorId producer = g.tensors[t].producer;
      if (producer == kNone) {
        if (!not_negative[problem.lineage[t].logical]) return false;
      } else if (sdfg::OperatorLibrary::IsDataMovement(*g.operators[producer].function)) {
        const auto& inputs = g.operators[producer].inputs;
        work.insert(work.end(), inputs.begin(), inputs.end());
      } else {
        return false;
      }
    }
    return true;
  };
  std::set<std::string> texts;
  for (const sdfg::Operator& op : g.operators) {
    for (const auto& premise : op.function->premises) {
      // "at another coordinate, or 0 <= ids".
      const sdfg::IndexFunction& f = *op.function;
      std::vector<sdfg::ExprId> either = {premise.condition};
      bool holds = false;
      while (!either.empty() && !holds) {
        const sdfg::ExprId condition = either.back();
        either.pop_back();
        const sdfg::Node& n = f.nodes[condition];
        if (n.op == Op::kOr) either.insert(either.end(), n.args.begin(), n.args.end());
        holds = IsLowerBoundOfIds(f, condition) && ids_not_negative(op.inputs[IdsOf(f, condition)]);
      }
      // The model's operators may have the same names.
      if (!holds)
        texts.insert(absl::StrCat("in the plan, ", op.name, " (", op.label, "): ", premise.text));
    }
  }
  return {texts.begin(), texts.end()};
}

}  // namespace planproof::stages
