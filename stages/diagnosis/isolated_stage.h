// Takes the operators of one stage, with what the model computes in their place, as a problem of
// its own.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_ISOLATED_STAGE_H_
#define PLANPROOF_STAGES_DIAGNOSIS_ISOLATED_STAGE_H_

#include <optional>
#include <vector>

#include "lineage/lineage.h"
#include "stages/diagnosis/repair_search.h"

namespace planproof::stages {

// Inputs of the whole model may leave next to nothing of a tensor in its middle, or too much for
// numbers to be exact. What is said to be equal to a tensor of the model is therefore chosen here,
// as if it were an input.
struct IsolatedStage {
  lineage::Problem problem;                 // ids are its own
  std::vector<char> is_operand;             // by parallel tensor: right by its lineage
  sdfg::TensorId subject = sdfg::kNone;     // the one that is wrong
  std::vector<sdfg::OperatorId> operators;  // those of `problem`, by their ids there
  // What nothing reads in the whole plan and the model reads here, without what makes it.
  std::vector<sdfg::TensorId> unread;
};

// Of the tensor, made by these operators (in topological order) from tensors of full lineage; its
// lineage is the one in `lineage`. Nothing if the model does not compute it from those few.
std::optional<IsolatedStage> Isolate(const lineage::Problem& problem,
                                     const std::vector<lineage::Lineage>& lineage,
                                     sdfg::TensorId tensor,
                                     const std::vector<sdfg::OperatorId>& stage);

// What would make the tensor right on inputs that are chosen for its stage alone; operators are
// those of `problem`. Empty also where the stage cannot be isolated, or where it is right.
std::vector<RepairSearch::Cause> CausesInIsolation(const lineage::Problem& problem,
                                                   const std::vector<lineage::Lineage>& lineage,
                                                   sdfg::TensorId tensor, double seconds);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_ISOLATED_STAGE_H_
