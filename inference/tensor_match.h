// Finds the logical tensor that a parallel tensor is, and where in it.
#ifndef PLANPROOF_INFERENCE_TENSOR_MATCH_H_
#define PLANPROOF_INFERENCE_TENSOR_MATCH_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "inference/candidates.h"
#include "inference/frontier.h"
#include "inference/index_fit.h"
#include "inference/index_solver.h"
#include "inference/masked_regions.h"
#include "inference/match_budget.h"
#include "lineage/lineage.h"
#include "sdfg/symbolic_evaluator.h"
#include "solver/rational.h"
#include "solver/term.h"
#include "stages/cells.h"

namespace planproof::inference {

struct TensorMatch {
  sdfg::TensorId logical = sdfg::kNone;
  solver::Rational factor = 1;  // of the logical values
  std::vector<sdfg::IndexMap> map;
  // Down to which its definition has the value, ascending; of a copy the logical tensor itself.
  std::vector<sdfg::TensorId> values;
  bool copy = false;
};

// Keeps one arena for many tensors.
class TensorMatcher {
 public:
  // What is related in `problem` may grow between calls, of tensors that were not read yet, or that
  // are forgotten.
  TensorMatcher(const lineage::Problem& problem, MatchBudget budget, Frontier* parallel,
                Candidates* candidates);
  ~TensorMatcher();

  std::optional<TensorMatch> Match(sdfg::TensorId parallel, MatchEffort effort);
  // Reads parallel tensors anew from now on.
  void ForgetValues() { values_->Forget(); }
  // Of the last tensor: its term exceeded the work limit, as those of what is computed from it
  // will.
  bool exceeded() const { return exceeded_; }

 private:
  struct Value {
    solver::PolyId term = solver::kZeroPoly;
    bool integer = false;
    std::vector<Occurrence> occurrences;
    std::vector<Occurrence> from_start;  // where it was asked for
  };
  // A part of a tensor in which its value is one term.
  struct Part {
    stages::Cell cell;
    Value value;
  };
  enum class Found : uint8_t { kNo, kSplit, kYes };
  // What a part of the parallel tensor may be, and at which index.
  struct Guess {
    solver::Rational factor = 1;
    std::vector<solver::Affine> index;
  };

  std::optional<TensorMatch> MatchWithin(sdfg::TensorId parallel);
  void Begin();
  std::optional<TensorMatch> MatchCopy(const std::vector<Part>& parts, bool scaled,
                                       sdfg::TensorId parallel) const;
  // Where nothing is computed from the values of the parts, to_open_ says what may help.
  std::optional<TensorMatch> MatchDefinition(std::vector<Part> parts, sdfg::TensorId parallel);
  bool EvaluateParts(sdfg::TensorId parallel, std::vector<stages::Cell> work,
                     std::vector<Part>* parts);
  std::vector<sdfg::TensorId> ValuesOf(const std::vector<Part>& parts) const;
  // Finds out where these logical tensors are 0, as masks make them. Whether anything is new.
  bool LearnZeroRegions(const std::vector<sdfg::TensorId>& values);
  bool IsConstant(const Value& value) const;
  std::optional<Value> Evaluate(sdfg::SymbolicEvaluator* evaluator, sdfg::TensorRef tensor,
                                const sdfg::Indices& index);
  // The largest part that can be evaluated as one term; what is split off stays in `work`. False if
  // no split helps.
  bool EvaluateLargest(sdfg::SymbolicEvaluator* evaluator, sdfg::TensorRef tensor,
                       std::vector<stages::Cell>* work, Part* part);
  // The part is an element of a logical tensor, or a multiple of one.
  bool IsCopy(const Part& part, sdfg::TensorId* logical, Guess* guess) const;
  void OpenDownTo(const std::vector<sdfg::TensorId>& values);
  std::vector<Part>& DefinitionsOf(sdfg::TensorId logical);
  // Looks for the part in the logical tensor of the match; if there is none yet, in all candidates.
  Found Find(Part* part, sdfg::TensorId parallel, TensorMatch* match, Guess* guess);
  Found FindIn(Part* part, sdfg::TensorId parallel, sdfg::TensorId logical, Guess* guess);
  const std::vector<Occurrence>& FromStart(Value* value) const;
  bool HasValueAtOneOf(const std::vector<IndexSolver::Solution>& solutions,
                       const stages::Cell& definition, const Part& part, sdfg::TensorId parallel,
                       sdfg::TensorId logical, Guess* guess);
  bool HasValue(const Value& value, sdfg::TensorId logical, Guess* guess);
  // Whether the match is right on these cells of the parallel tensor.
  bool Holds(sdfg::TensorId parallel, const TensorMatch& match, std::vector<stages::Cell> work);
  bool FitLikeOperand(sdfg::TensorId parallel, TensorMatch* match);

  const lineage::Problem& problem_;
  Frontier& parallel_;
  Candidates& candidates_;
  Frontier logical_;
  MaskedRegions regions_;
  std::unique_ptr<solver::Arena> arena_;
  std::unique_ptr<sdfg::SymbolicEvaluator> values_, definitions_;
  std::vector<sdfg::TensorId> opened_down_to_, candidate_tensors_;
  bool exceeded_ = false;
  MatchBudget budget_;
  std::vector<std::pair<sdfg::TensorId, std::vector<Part>>> opened_;
  sdfg::SplitRequest split_;  // with it, there may be a guess
  // With one of these sets opened, there may be a match.
  std::vector<std::vector<sdfg::TensorId>> to_open_;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_TENSOR_MATCH_H_
