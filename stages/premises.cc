#include "stages/premises.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "stages/claim_questions.h"
#include "stages/claim_solver.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::Op;
using sdfg::TensorId;

namespace {

// "0 <= ids": conditions of this form hold together, whatever else is required of real inputs.
bool IsLowerBoundOfIds(const sdfg::IndexFunction& f, sdfg::ExprId condition) {
  const sdfg::Node& n = f.nodes[condition];
  return n.op == Op::kIntLessEq && f.nodes[n.args[0]].op == Op::kIntConst &&
         f.nodes[n.args[0]].value == 0 && f.nodes[n.args[1]].op == Op::kIntElement;
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

}  // namespace planproof::stages
