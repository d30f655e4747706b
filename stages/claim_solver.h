// Decides claims by evaluating both sides at a generic index of each cell.
#ifndef PLANPROOF_STAGES_CLAIM_SOLVER_H_
#define PLANPROOF_STAGES_CLAIM_SOLVER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdfg/symbolic_evaluator.h"
#include "solver/term.h"
#include "stages/cells.h"
#include "stages/claim.h"
#include "stages/relations.h"

namespace planproof::stages {

struct ClaimLimits {
  int64_t term_budget = 400'000;  // size of intermediate terms, per claim
  int max_cells = 4096;
  int max_unfoldings = 24;  // logical tensors opened per claim before giving up
  // Opens first what the difference of the two sides mentions, quotients by a sum (softmax) before
  // others, to see whether the difference is zero for what these tensors are; and only where that
  // does not help what one side alone mentions.
  bool open_differences = false;
  // Where the plan has conditions that do not follow from the claim's own premises: looks at the
  // rest of the model, and unfolds up to so many logical tensors that the conditions mention.
  bool whole_model = false;
  int restriction_unfoldings = 6;
};

// Keeps one arena for many claims: what equal subterms share is built once.
class ClaimSolver {
 public:
  ClaimSolver(const lineage::Problem& problem, Relations* relations, ClaimLimits limits);
  ~ClaimSolver();

  ClaimOutcome Decide(const Claim& claim);
  // The conditions that operators of the plan declare, where they are not seen to hold wherever the
  // model is defined. kFailed if a condition could not be evaluated.
  ClaimOutcome Conditions(sdfg::OperatorId parallel);
  // The conditions under which what an operator of the plan makes has a value, in the same way.
  ClaimOutcome ConditionsOfValues(sdfg::OperatorId parallel);
  // Evaluates a logical tensor at a generic index for the premises of its definition.
  ClaimOutcome Definedness(sdfg::TensorId logical);
  // Whether a logical tensor that may be zero (Relations) is, for all inputs and without a premise.
  // False means "not shown".
  bool IsZero(sdfg::TensorId logical);
  // Forms of the index of such a tensor at whose negative values it is 0, shown in the same way:
  // among the conditions that stand in its definition (that of a causal mask). Empty if none is
  // seen.
  std::vector<sdfg::IndexMap> ZeroUnless(sdfg::TensorId logical);
  // Must be called when the relations in use have changed.
  void Forget();

 private:
  ClaimOutcome DecideOnce(const Claim& claim);
  void SetExactBranches(bool exact);
  // Of a claim that was shown: whether all that it rests on, granted or not, holds wherever the
  // model is defined.
  bool HoldsWithBranches(const Claim& claim, ClaimOutcome* outcome);
  ClaimOutcome Decide(const Claim& claim, bool open_difference, int64_t term_budget);
  // Of the last cell, for reports and for what is unfolded.
  void NoteDifference(ClaimOutcome* outcome);
  enum class CellResult : uint8_t { kEqual, kSplit, kDifferent, kError };
  CellResult DecideCell(const Claim& claim, const Cell& cell, ClaimOutcome* outcome);
  // Whether a value is a multiple of what defines a tensor that is known to be zero.
  bool IsMultiple(solver::PolyId p, sdfg::TensorRef zero, const sdfg::Indices& index);
  // Chooses a logical tensor to unfold from what the two sides, or their difference, mention;
  // kNone if none is left.
  sdfg::TensorId ToUnfold(solver::PolyId logical, solver::PolyId parallel) const;
  sdfg::TensorId ToUnfold(solver::PolyId difference) const;
  sdfg::TensorId Latest(const std::vector<uint32_t>& tags) const;
  bool Unfold(sdfg::TensorId choice);
  void CollectTags(solver::PolyId p, std::vector<uint32_t>* tags) const;
  void GiveLimit(ClaimOutcome* outcome)
      const;  // why terms could not be built  // which one, where the arena is exhausted
  // claim_premises.cc: of the claim that was shown, what it rests on.
  void TakePremises(ClaimOutcome* outcome);
  ClaimOutcome DecideInModel(const Claim& claim);
  bool NeverHolds(const solver::Premise& premise) const;
  Condition Describe(const solver::Premise& premise) const;
  void DischargeInModel();
  ClaimOutcome ConditionsOfTensor(sdfg::TensorId parallel);
  void EvaluateDefinition(sdfg::TensorRef tensor, const sdfg::Tensor& t, ClaimOutcome* outcome);
  bool RecordCondition(sdfg::OperatorId parallel, int premise, ClaimOutcome* outcome);

  const lineage::Problem& problem_;
  Relations& relations_;
  ClaimLimits limits_;
  std::unique_ptr<solver::Arena> arena_;
  std::unique_ptr<sdfg::SymbolicEvaluator> evaluator_;
  solver::PolyId last_logical_ = 0, last_parallel_ = 0;
  std::vector<solver::Premise> granted_, open_;  // of the last claim that was shown
  std::vector<sdfg::TensorId> opened_;           // from the start of a claim
  bool unfolded_any_ = false;
  bool exact_branches_ = false;  // of the evaluator, also of the next one
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_SOLVER_H_
