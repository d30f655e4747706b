// Converts a counterexample to data (witness/witness.h), and its inputs back.
#ifndef PLANPROOF_SHAPE_REDUCTION_WITNESS_DATA_H_
#define PLANPROOF_SHAPE_REDUCTION_WITNESS_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"
#include "witness/witness.h"

namespace planproof::shape_reduction {

// The input as it is, with its original extents.
witness::Tensor ToData(const std::string& name, sdfg::DType dtype,
                       const BlockTensor<double>& tensor);

// The inputs of a counterexample (null: not read) by logical tensor.
std::vector<witness::Tensor> ToData(const lineage::Problem& problem,
                                    const std::vector<BlockTensorPtr<double>>& inputs);

// The witness's tensors by logical tensor that they are an input for (null: it is none), within
// `witness`. InvalidArgument if it is about inputs of other names or shapes, or lacks one.
absl::StatusOr<std::vector<const witness::Tensor*>> TensorsOf(const witness::Witness& witness,
                                                              const lineage::Problem& problem);

// The same as tensors in blocks, for an evaluation of this problem.
absl::StatusOr<std::vector<BlockTensorPtr<double>>> InputsOf(const witness::Witness& witness,
                                                             const lineage::Problem& problem);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_WITNESS_DATA_H_
