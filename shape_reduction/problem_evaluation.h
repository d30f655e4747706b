// Evaluates both graphs of a problem on the same inputs.
#ifndef PLANPROOF_SHAPE_REDUCTION_PROBLEM_EVALUATION_H_
#define PLANPROOF_SHAPE_REDUCTION_PROBLEM_EVALUATION_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

template <typename D>
class ProblemEvaluation {
 public:
  using V = typename D::Value;
  using Ptr = BlockTensorPtr<V>;

  // `enclose`, `compared`: ReducedEvaluator.
  ProblemEvaluation(const lineage::Problem& problem, ProgramCache* programs, bool enclose = false,
                    PartitionsByExtent compared = {});

  // `inputs`: values of the logical tensors without producer. Evaluates the logical tensors that
  // `cone_of` depends on (all if empty), and those that the plan is given (lineage/assumptions.h).
  absl::Status EvaluateLogical(const std::vector<BlockTensorPtr<double>>& inputs,
                               const ReducedOptions& options);
  // Then the parallel graph, whose inputs are read from the logical ones through their lineage.
  // `trusted`, by parallel tensor if not null: these are read through their lineage too.
  absl::Status EvaluateParallel(const ReducedOptions& options,
                                const std::vector<char>* trusted = nullptr);
  ReducedEvaluator<D>& evaluator() { return evaluator_; }
  // The logical tensor as the parallel tensor's lineage says it is laid out.
  absl::Status Claimed(sdfg::TensorId parallel, const lineage::Lineage& lineage,
                       int64_t max_elements, Ptr* result);

  const std::vector<Ptr>& logical() const { return logical_; }
  const std::vector<Ptr>& parallel() const { return parallel_; }
  // A premise of an operator of either graph that is not known to hold; empty if there is none.
  const std::string& open_premise() const { return open_premise_; }

 private:
  using OpenPremises = std::vector<typename ReducedEvaluator<D>::OpenPremise>;
  void NotePremises(const sdfg::Graph& graph, const OpenPremises& open);

  const lineage::Problem& problem_;
  ReducedEvaluator<D> evaluator_;
  std::vector<sdfg::TensorId> given_;  // that the model computes, and the plan does not
  std::vector<Ptr> logical_, parallel_;
  std::string open_premise_;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_PROBLEM_EVALUATION_H_
