// Finds which operands a result needs, what is right because of it, and what nothing needs.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_OPERANDS_H_
#define PLANPROOF_STAGES_DIAGNOSIS_OPERANDS_H_

#include <vector>

#include "lineage/lineage.h"
#include "sdfg/graph.h"

namespace planproof::stages {

// By output: the inputs that it reads. A backward operator gives a gradient for each operand, and
// few of them need all.
std::vector<std::vector<sdfg::TensorId>> OperandsByOutput(const sdfg::Graph& graph,
                                                          const sdfg::Operator& op);

// The right tensors, and those that they are computed from, unless they are a part of these. One of
// these may still be wrong where no right tensor reads it.
std::vector<bool> WithOperands(const sdfg::Graph& graph, std::vector<bool> right);

// The tensors that are not right and that lead to what the operator reads and gives, over tensors
// that are not right either.
std::vector<bool> NotRightBehind(const sdfg::Graph& graph, sdfg::OperatorId op,
                                 const std::vector<bool>& right);

// Parallel tensors that are made and neither read nor required: what was forgotten.
std::vector<sdfg::TensorId> UnreadTensors(const lineage::Problem& problem);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_OPERANDS_H_
