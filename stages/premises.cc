#include "stages/premises.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stages/claim_solver.h"
#include "stages/workers/outcome_bytes.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::Op;
using sdfg::TensorId;

namespace {
// Conditions are comparisons of single elements.
constexpr int64_t kConditionTermBudget = 20'000;
constexpr int kConditionCells = 256;

// "0 <= ids": conditions of this form hold together, whatever else is required of real inputs.
bool IsLowerBoundOfIds(const sdfg::IndexFunction& f, sdfg::ExprId condition) {
  const sdfg::Node& n = f.nodes[condition];
  return n.op == Op::kIntLessEq && f.nodes[n.args[0]].op == Op::kIntConst &&
         f.nodes[n.args[0]].value == 0 && f.nodes[n.args[1]].op == Op::kIntElement;
}

// What a solver of its own finds out in one worker, question by question.
std::vector<ClaimOutcome> AskInWorker(const lineage::Problem& problem, Relations* relations,
                                      const ClaimLimits& claim_limits, WorkerLimits limits,
                                      int questions,
                                      const std::function<ClaimOutcome(ClaimSolver*, int)>& ask,
                                      const std::function<std::string(int)>& name) {
  std::vector<ClaimOutcome> answers(static_cast<size_t>(questions));
  std::unique_ptr<ClaimSolver> solver;
  const auto work = [&](int k) {
    if (!solver) solver = std::make_unique<ClaimSolver>(problem, relations, claim_limits);
    return ToBytes(ask(solver.get(), k));
  };
  const auto on_result = [&](int k, TaskOutcome outcome) {
    ClaimOutcome& answer = answers[static_cast<size_t>(k)];
    if (outcome.status == TaskStatus::kDone && FromBytes(outcome.result, &answer)) return;
    answer = ClaimOutcome{};
    answer.status = ClaimStatus::kAbandoned;
    answer.reason =
        outcome.reason.empty() ? "the worker's answer was not readable" : outcome.reason;
  };
  limits.jobs = 1;
  if (questions > 0) RunInWorkers(questions, limits, work, on_result, name);
  return answers;
}

}  // namespace

ImpliedPremises CollectImplied(const lineage::Problem& problem, const ClaimTable& table,
                               const ClaimOutcomes& outcomes, const WorkerLimits& limits,
                               Relations* relations) {
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
  std::vector<TensorId> open;
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
    if (!evaluated[t] && sdfg::CanBeUndefined(*op.function)) open.push_back(t);
  }
  const auto name = [&](int k) {
    const sdfg::Tensor& tensor = g.tensors[open[static_cast<size_t>(k)]];
    return absl::StrCat("premises of ", g.operators[tensor.producer].name, " (", tensor.name, ")");
  };
  const std::vector<ClaimOutcome> answers = AskInWorker(
      problem, relations, ClaimLimits{}, limits, static_cast<int>(open.size()),
      [&](ClaimSolver* solver, int k) { return solver->Definedness(open[static_cast<size_t>(k)]); },
      name);
  for (size_t k = 0; k < answers.size(); ++k) {
    const ClaimOutcome& o = answers[k];
    for (const Condition& condition : o.premises) texts.insert(InWords(condition));
    out.need_sample |= !o.premises.empty();
    out.unsatisfiable |= o.unsatisfiable;
    if (o.status != ClaimStatus::kProved && out.complete) {
      out.complete = false;
      out.why = absl::StrCat(name(static_cast<int>(k)), " could not be listed: ", o.reason);
    }
  }
  out.texts.assign(texts.begin(), texts.end());
  return out;
}

namespace {

// Conditions that operators of the plan declare. Also of operators without effect: a derivative
// does not repeat the conditions of its forward operator. They are evaluated in one worker.
std::vector<OpenCondition> OpenConditions(const lineage::Problem& problem,
                                          const WorkerLimits& limits, Relations* relations) {
  const sdfg::Graph& g = problem.parallel;
  std::vector<sdfg::OperatorId> declare;
  for (size_t op = 0; op < g.operators.size(); ++op) {
    if (!g.operators[op].function->premises.empty())
      declare.push_back(static_cast<sdfg::OperatorId>(op));
  }
  ClaimLimits claim_limits;
  claim_limits.term_budget = kConditionTermBudget;
  claim_limits.max_cells = kConditionCells;
  std::vector<ClaimOutcome> answers = AskInWorker(
      problem, relations, claim_limits, limits, static_cast<int>(declare.size()),
      [&](ClaimSolver* solver, int k) {
        return solver->Conditions(declare[static_cast<size_t>(k)]);
      },
      [&](int k) {
        return absl::StrCat("conditions of ", g.Describe(declare[static_cast<size_t>(k)]));
      });
  std::vector<OpenCondition> open;
  for (size_t k = 0; k < answers.size(); ++k) {
    ClaimOutcome& o = answers[k];
    for (Condition& condition : o.restrictions)
      open.push_back({.op = declare[k], .condition = std::move(condition)});
    if (o.status == ClaimStatus::kProved) continue;
    const sdfg::IndexFunction& f = *g.operators[declare[k]].function;
    Condition not_evaluated;
    not_evaluated.operator_name = f.operator_name;
    not_evaluated.declared = f.premises[0].text;
    not_evaluated.term = absl::StrCat("a condition that could not be evaluated (", o.reason, ")");
    open.push_back({.op = declare[k], .condition = std::move(not_evaluated)});
  }
  return open;
}

}  // namespace

std::vector<OpenCondition> ConditionsOfPlan(const lineage::Problem& problem, bool discharge,
                                            ProofSearch* search, Relations* relations) {
  std::vector<OpenCondition> open;
  if (const std::vector<int> restricted = search->Restricted(); !restricted.empty()) {
    if (discharge) search->Discharge(restricted);
    for (const int c : search->Restricted()) {
      for (const Condition& condition : search->outcomes()[c].restrictions)
        open.push_back({.claim = c, .condition = condition});
    }
  }
  for (OpenCondition& condition : OpenConditions(problem, search->Limits(), relations))
    open.push_back(std::move(condition));
  return open;
}

}  // namespace planproof::stages
