// ClaimSolver: what a claim that was shown rests on. Where the model is defined is granted; the
// conditions of the plan have to follow from that.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "stages/claim_solver.h"
#include "stages/model_domain.h"

namespace planproof::stages {

using sdfg::SplitRequest;
using sdfg::TensorRef;
using solver::Premise;
using solver::PremiseKind;

namespace {

constexpr size_t kMaxPrintedBytes = 4000;  // bytes of a term

}  // namespace

std::string InWords(const Condition& condition) {
  const char* relation = condition.kind == PremiseKind::kNonZero    ? " != 0"
                         : condition.kind == PremiseKind::kPositive ? " > 0"
                                                                    : " >= 0";
  std::string text = condition.operator_name;
  if (!text.empty()) text += ": ";
  if (condition.never) {
    absl::StrAppend(&text,
                    condition.declared.empty() ? condition.term + relation : condition.declared,
                    ", which never holds");
    return text;
  }
  if (condition.term.empty()) return text + condition.declared;
  absl::StrAppend(&text, condition.term, relation);
  if (!condition.declared.empty()) absl::StrAppend(&text, " (", condition.declared, ")");
  return text;
}

bool ClaimSolver::NeverHolds(const Premise& premise) const {
  solver::Rational c;
  if (!arena_->IsConstant(premise.poly, &c)) return false;
  switch (premise.kind) {
    case PremiseKind::kNonZero:
      return c.IsZero();
    case PremiseKind::kPositive:
      return c.Sign() <= 0;
    case PremiseKind::kNonNegative:
      return c.Sign() < 0;
  }
  return false;
}

Condition ClaimSolver::Describe(const Premise& premise) const {
  Condition condition;
  condition.kind = premise.kind;
  condition.term = arena_->ToString(premise.poly, kMaxPrintedBytes);
  if (const std::optional<solver::Affine> form = arena_->AsCondition(premise)) {
    condition.kind = PremiseKind::kNonNegative;
    condition.term = arena_->ToString(*form);
  }
  condition.never = NeverHolds(premise);
  if (premise.number >= 0) {
    const bool parallel = GraphOfPremise(premise.number) == kParallel;
    const sdfg::Graph& g = parallel ? problem_.parallel : problem_.logical;
    condition.operator_name =
        g.operators[OperatorOfPremise(premise.number)].function->operator_name;
  }
  return condition;
}

void ClaimSolver::TakePremises(ClaimOutcome* outcome) {
  const std::vector<Premise> met = arena_->premises();
  granted_.clear();
  open_.clear();
  for (const Premise& premise : met) {
    outcome->unsatisfiable |= premise.granted && NeverHolds(premise);
    (premise.granted ? granted_ : open_).push_back(premise);
  }
  if (!open_.empty()) {
    ModelDomain domain(problem_, relations_, arena_.get(), evaluator_.get());
    for (const Premise& premise : granted_) domain.Assume(premise);
    domain.Discharge(&open_);
  }
  for (const Premise& premise : granted_) outcome->premises.push_back(Describe(premise));
  for (const Premise& premise : open_) outcome->restrictions.push_back(Describe(premise));
}

bool ClaimSolver::HoldsWithBranches(const Claim& claim, ClaimOutcome* outcome) {
  std::vector<Premise> met = granted_;
  met.insert(met.end(), open_.begin(), open_.end());
  ModelDomain domain(problem_, relations_, arena_.get(), evaluator_.get());
  const std::vector<Premise> model = domain.AssumeDefinitionOf(claim.target.logical);
  domain.Discharge(&met);
  if (arena_->exhausted()) return false;
  outcome->premises.clear();
  outcome->restrictions.clear();
  outcome->unsatisfiable = false;
  for (const Premise& premise : model) {
    outcome->unsatisfiable |= NeverHolds(premise);
    outcome->premises.push_back(Describe(premise));
  }
  for (const Premise& premise : met) outcome->restrictions.push_back(Describe(premise));
  return met.empty();
}

// Drops open conditions that follow from the rest of the model.
void ClaimSolver::DischargeInModel() {
  std::vector<uint32_t> tags;
  for (const Premise& premise : open_) CollectTags(premise.poly, &tags);
  ModelDomain domain(problem_, relations_, arena_.get(), evaluator_.get());
  for (const Premise& premise : granted_) domain.Assume(premise);
  domain.AssumeReadersOf(tags);
  domain.Discharge(&open_);
}

ClaimOutcome ClaimSolver::DecideInModel(const Claim& claim) {
  ClaimOutcome outcome;
  for (int round = 0;; ++round) {
    ClaimOutcome now = Decide(claim, false, limits_.term_budget);
    if (now.status != ClaimStatus::kProved) {
      if (round == 0) outcome = std::move(now);
      break;  // with more unfolded it is not shown; what was shown stays so
    }
    const bool within_limits = now.restrictions.size() == open_.size();
    if (!within_limits) {
      if (round == 0) outcome = std::move(now);
      break;
    }
    for (const sdfg::TensorId t : opened_) relations_.Unfold(t);
    DischargeInModel();
    relations_.FoldAll();
    now.restrictions.clear();
    for (const Premise& premise : open_) now.restrictions.push_back(Describe(premise));
    outcome = std::move(now);
    if (open_.empty() || round == limits_.restriction_unfoldings) break;
    std::vector<uint32_t> tags;
    for (const Premise& premise : open_) CollectTags(premise.poly, &tags);
    const sdfg::TensorId latest = Latest(tags);
    if (latest == sdfg::kNone) break;
    opened_.push_back(latest);
  }
  opened_.clear();
  return outcome;
}

bool ClaimSolver::RecordCondition(sdfg::OperatorId parallel, int premise, ClaimOutcome* outcome) {
  const sdfg::Shape shape =
      sdfg::SymbolicEvaluator::ConditionShape(problem_.parallel, parallel, premise);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  std::vector<Cell> work = {WholeCell(evaluator_->symbols(), shape)};
  while (!work.empty()) {
    const Cell cell = std::move(work.back());
    work.pop_back();
    evaluator_->ClearFailure();
    if (evaluator_->RecordCondition(kParallel, parallel, premise, cell.index)) continue;
    if (++outcome->cells < limits_.max_cells && !arena_->exhausted() &&
        evaluator_->request().kind != SplitRequest::Kind::kNone &&
        Split(evaluator_->symbols(), cell, evaluator_->request(), &work)) {
      continue;
    }
    outcome->reason = evaluator_->error();
    return false;
  }
  return true;
}

ClaimOutcome ClaimSolver::Conditions(sdfg::OperatorId parallel) {
  ClaimOutcome outcome;
  outcome.status = ClaimStatus::kProved;
  arena_->ResetExhausted(limits_.term_budget);
  const sdfg::IndexFunction& f = *problem_.parallel.operators[parallel].function;
  for (size_t p = 0; p < f.premises.size() && outcome.status == ClaimStatus::kProved; ++p) {
    evaluator_->Forget();
    arena_->ClearPremises();
    ClaimOutcome of_premise;
    const bool recorded = RecordCondition(parallel, static_cast<int>(p), &outcome);
    if (recorded) TakePremises(&of_premise);
    if (recorded && !open_.empty()) DischargeInModel();
    for (const Premise& premise : open_) {
      outcome.restrictions.push_back(Describe(premise));
      outcome.restrictions.back().declared = f.premises[p].text;
    }
    if (recorded && !arena_->exhausted()) continue;
    outcome.status = ClaimStatus::kFailed;
    if (arena_->exhausted()) outcome.reason = "the terms exceed the work limit";
  }
  if (arena_->exhausted()) Forget();
  return outcome;
}

ClaimOutcome ClaimSolver::ConditionsOfValues(sdfg::OperatorId parallel) {
  ClaimOutcome outcome;
  outcome.status = ClaimStatus::kProved;
  for (const sdfg::TensorId t : problem_.parallel.operators[parallel].outputs) {
    if (t == sdfg::kNone || outcome.status != ClaimStatus::kProved) continue;
    ClaimOutcome of_tensor = ConditionsOfTensor(t);
    outcome.status = of_tensor.status;
    outcome.reason = std::move(of_tensor.reason);
    for (Condition& condition : of_tensor.restrictions)
      outcome.restrictions.push_back(std::move(condition));
  }
  Forget();  // what was unfolded is not so for the next question
  return outcome;
}

ClaimOutcome ClaimSolver::ConditionsOfTensor(sdfg::TensorId parallel) {
  ClaimOutcome outcome;
  const sdfg::ExactBranches exact(evaluator_.get());
  open_.clear();
  // As in a claim: the more of the model is unfolded, the more is seen to hold.
  for (int round = 0; round <= limits_.restriction_unfoldings; ++round) {
    std::vector<uint32_t> tags;
    for (const Premise& premise : open_) CollectTags(premise.poly, &tags);
    if (round > 0 && !Unfold(Latest(tags))) break;
    ClaimOutcome now;
    arena_->ResetExhausted(limits_.term_budget);
    evaluator_->Forget();
    arena_->ClearPremises();
    EvaluateDefinition({kParallel, parallel}, problem_.parallel.tensors[parallel], &now);
    if (now.status == ClaimStatus::kProved) {
      ClaimOutcome of_tensor;
      TakePremises(&of_tensor);
      if (!open_.empty()) DischargeInModel();
      for (const Premise& premise : open_) now.restrictions.push_back(Describe(premise));
    }
    if (arena_->exhausted()) {
      now.status = ClaimStatus::kFailed;
      now.reason = "the terms exceed the work limit";
    }
    const bool evaluated = now.status == ClaimStatus::kProved;
    if (evaluated || round == 0) outcome = std::move(now);  // what was seen before stays so
    if (!evaluated || open_.empty()) break;
  }
  relations_.FoldAll();
  return outcome;
}

// Evaluates what defines each element, for the premises that this meets.
void ClaimSolver::EvaluateDefinition(TensorRef tensor, const sdfg::Tensor& t,
                                     ClaimOutcome* outcome) {
  std::vector<Cell> work;
  if (std::find(t.shape.begin(), t.shape.end(), 0) == t.shape.end())
    work.push_back(WholeCell(evaluator_->symbols(), t.shape));
  outcome->status = ClaimStatus::kProved;
  while (!work.empty() && outcome->status == ClaimStatus::kProved) {
    const Cell cell = std::move(work.back());
    work.pop_back();
    evaluator_->ClearFailure();
    const bool ok = sdfg::IsInteger(t.dtype)
                        ? evaluator_->IntegerDefined(tensor, cell.index).has_value()
                        : evaluator_->Defined(tensor, cell.index).has_value();
    if (ok && !arena_->exhausted()) continue;
    if (++outcome->cells < limits_.max_cells && !arena_->exhausted() &&
        evaluator_->request().kind != SplitRequest::Kind::kNone &&
        Split(evaluator_->symbols(), cell, evaluator_->request(), &work)) {
      continue;
    }
    outcome->status = ClaimStatus::kFailed;
    outcome->reason = arena_->exhausted() ? "the terms exceed the work limit" : evaluator_->error();
  }
}

ClaimOutcome ClaimSolver::Definedness(sdfg::TensorId logical) {
  ClaimOutcome outcome;
  arena_->ResetExhausted(limits_.term_budget);
  const sdfg::ExactBranches exact(evaluator_.get());
  arena_->ClearPremises();
  EvaluateDefinition({kLogical, logical}, problem_.logical.tensors[logical], &outcome);
  for (const Premise& premise : arena_->premises()) {
    outcome.unsatisfiable |= NeverHolds(premise);
    outcome.premises.push_back(Describe(premise));
  }
  return outcome;
}

}  // namespace planproof::stages
