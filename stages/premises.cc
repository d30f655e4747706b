#include "stages/premises.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stages/claim_solver.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::Op;
using sdfg::TensorId;

namespace {
// Conditions are comparisons of single elements.
constexpr int64_t kConditionTermBudget = 20'000;
constexpr int kConditionCells = 256;
}  // namespace

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
    for (const Condition& condition : o.premises) texts.insert(InWords(condition));
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

std::vector<OpenCondition> OpenConditions(const lineage::Problem& problem, Relations* relations) {
  ClaimLimits limits;
  limits.term_budget = kConditionTermBudget;
  limits.max_cells = kConditionCells;
  std::unique_ptr<ClaimSolver> solver;
  std::vector<OpenCondition> open;
  for (size_t op = 0; op < problem.parallel.operators.size(); ++op) {
    const sdfg::IndexFunction& f = *problem.parallel.operators[op].function;
    if (f.premises.empty()) continue;
    if (!solver) solver = std::make_unique<ClaimSolver>(problem, relations, limits);
    const auto id = static_cast<sdfg::OperatorId>(op);
    ClaimOutcome o = solver->Conditions(id);
    for (Condition& condition : o.restrictions)
      open.push_back({.op = id, .condition = std::move(condition)});
    if (o.status == ClaimStatus::kProved) continue;
    Condition not_evaluated;
    not_evaluated.operator_name = f.operator_name;
    not_evaluated.declared = f.premises[0].text;
    not_evaluated.term = absl::StrCat("a condition that could not be evaluated (", o.reason, ")");
    open.push_back({.op = id, .condition = std::move(not_evaluated)});
  }
  return open;
}

}  // namespace planproof::stages
