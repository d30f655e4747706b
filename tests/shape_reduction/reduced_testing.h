// Comparison of reduced evaluation with full dense evaluation on block-constant inputs.
#ifndef PLANPROOF_TESTS_SHAPE_REDUCTION_REDUCED_TESTING_H_
#define PLANPROOF_TESTS_SHAPE_REDUCTION_REDUCED_TESTING_H_

#include <cstdint>
#include <random>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/index_function.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

using Random = std::mt19937_64;

inline int64_t Pick(Random* random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(*random);
}

DimPartition RandomPartition(int64_t extent, Random* random);
// Values are eighths in [-2, 2], or integers in [0, id_range) for integer tensors. Dimensions of
// `full_extent` are cut everywhere; if it is given, values get different offsets below 1/8.
std::shared_ptr<BlockTensor<double>> RandomBlocks(const sdfg::Shape& shape, bool integer,
                                                  int64_t id_range, Random* random,
                                                  bool one_cut_per_dimension = false,
                                                  int64_t full_extent = -1);
// Every element of the full tensor.
sdfg::DenseTensor Expand(const BlockTensor<double>& tensor);

// Evaluates all outputs both ways on random block-constant inputs, `trials` times, and fails the
// test where an element differs. Returns the largest number of blocks of any output.
int64_t ExpectReducedEqualsDense(const sdfg::IndexFunction& function, int trials,
                                 int64_t id_range = 4, uint64_t seed = 1,
                                 bool one_cut_per_dimension = false);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_TESTS_SHAPE_REDUCTION_REDUCED_TESTING_H_
