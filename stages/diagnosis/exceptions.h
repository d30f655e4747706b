// Finds the exceptions of single ranks (rank overrides) among the operators that make a tensor.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_EXCEPTIONS_H_
#define PLANPROOF_STAGES_DIAGNOSIS_EXCEPTIONS_H_

#include <vector>

#include "lineage/lineage.h"
#include "stages/diagnosis/fault.h"

namespace planproof::stages {

// The operators by which a tensor is made from tensors whose lineage is full, in their order.
std::vector<sdfg::OperatorId> StageOf(const sdfg::Graph& graph,
                                      const std::vector<lineage::Lineage>& lineage,
                                      sdfg::TensorId tensor);

bool IsException(const sdfg::Graph& graph, sdfg::OperatorId id);

// The operators before a stage without exceptions, back to the nearest ones: what they give may
// overlap the model's where enclosures are wide, and first be seen to differ here.
std::vector<sdfg::OperatorId> SinceExceptions(const sdfg::Graph& graph,
                                              const std::vector<sdfg::OperatorId>& stage,
                                              sdfg::TensorId tensor);

// The ranks and microbatches of an exception, if that is what is wrong.
void NarrowTo(const sdfg::Graph& graph, const sdfg::Operator& op, Fault* fault);

// Where numbers do not tell: the exceptions of single ranks among the operators by which the tensor
// is made from tensors of full lineage, and their ranks. Nothing else of the result is set.
Fault SuspectExceptions(const lineage::Problem& problem, sdfg::TensorId tensor);
// The logical tensors from which these exceptions, and what they replace, are made.
std::vector<sdfg::TensorId> SuspectOperands(const lineage::Problem& problem, sdfg::TensorId tensor);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_EXCEPTIONS_H_
