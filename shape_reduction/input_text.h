// Describes inputs of a counterexample in words.
#ifndef PLANPROOF_SHAPE_REDUCTION_INPUT_TEXT_H_
#define PLANPROOF_SHAPE_REDUCTION_INPUT_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

// To reproduce it: "tokens [512={0,128} x 128={0}]: 3 1", partition and values per block, at most
// `max_values`.
std::string DescribeInput(const std::string& name, const BlockTensor<double>& tensor,
                          size_t max_values);

// The same of all inputs of a counterexample (null: not read), which whoever evaluates it again
// needs in full. After 16 * `max_values` values the other inputs are only counted.
std::vector<std::string> DescribeInputs(const lineage::Problem& problem,
                                        const std::vector<BlockTensorPtr<double>>& inputs,
                                        size_t max_values);

// To read it: "x = [[1, 2], [3, 4]]" for a few elements, "x = 0.5" for one value everywhere,
// "x = 1 in [0:2, :], 3 in [2:8, :]" for a few blocks; for more, how many.
std::string WriteOut(const std::string& name, const BlockTensor<double>& tensor);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_INPUT_TEXT_H_
