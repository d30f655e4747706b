// Small problems built by hand, for tests of the witness search.
#ifndef PLANPROOF_TESTS_SHAPE_REDUCTION_SMALL_PROBLEM_H_
#define PLANPROOF_TESTS_SHAPE_REDUCTION_SMALL_PROBLEM_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "sdfg/index_function.h"

namespace planproof::shape_reduction {

class SmallProblem {
 public:
  lineage::Problem problem;

  // A logical tensor without producer.
  sdfg::TensorId Logical(const std::string& name, sdfg::Shape shape,
                         sdfg::TensorRole role = sdfg::TensorRole::kInput,
                         sdfg::DType dtype = sdfg::DType::kFloat32);
  // The part of it that starts at `start` and has shape `shape`, on a device.
  sdfg::TensorId Slice(sdfg::TensorId logical, std::vector<int64_t> start, sdfg::Shape shape,
                       sdfg::Device device = 0);
  // Applies a function in one of the graphs; returns its first output.
  sdfg::TensorId Apply(sdfg::Graph* graph, sdfg::IndexFunction function,
                       const std::vector<sdfg::TensorId>& inputs, sdfg::Device device = -1);
  // Claims, resp. requires, that the parallel tensor is the slice of the logical one at `start`.
  void Claim(sdfg::TensorId parallel, sdfg::TensorId logical, std::vector<int64_t> start);
  void Require(sdfg::TensorId parallel, sdfg::TensorId logical, std::vector<int64_t> start);
  // Sorts both graphs; fails the test if they are malformed.
  void Check();

 private:
  lineage::Lineage SliceLineage(sdfg::TensorId logical, const std::vector<int64_t>& start,
                                size_t rank) const;
};

// From a builtin operator on tensors of these shapes.
sdfg::IndexFunction Instantiate(const std::string& name, const std::vector<sdfg::Shape>& shapes);

// Two vectors of these sizes as one.
sdfg::IndexFunction Join(int64_t first, int64_t second);
// Of a vector, the elements from `start` as a matrix of rows of 2.
sdfg::IndexFunction RowsOf(int64_t size, int64_t start, int64_t rows);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_TESTS_SHAPE_REDUCTION_SMALL_PROBLEM_H_
