// Tapes that multiply matrices, found by what they compute and not by their operator's name: sums
// of products of two operands' elements at affine places.
#ifndef PLANPROOF_RUNTIME_CHECK_MATRIX_PRODUCT_H_
#define PLANPROOF_RUNTIME_CHECK_MATRIX_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime_check/tape.h"

namespace planproof::runtime_check {

// result[row, column] = factor * sum over depth of left[row, depth] * right[depth, column], at each
// position of the loops, and added up over the sums. Strides are in elements.
struct MatrixProduct {
  int left_operand = 0, right_operand = 0;
  int64_t left_offset = 0, right_offset = 0;  // first elements
  int64_t rows = 1, columns = 1, depth = 1;
  int64_t left_row = 0, left_depth = 0;
  int64_t right_depth = 0, right_column = 0;
  int64_t result_row = 0, result_column = 0;
  struct Loop {
    int64_t extent = 1, left = 0, right = 0, result = 0;
  };
  std::vector<Loop> loops;  // the longest is the last
  std::vector<Loop> sums;   // over dimensions that are not one with the depth
  double factor = 1;

  double Multiplications() const;
  // So many products of matrices it is, where those along the longest loop are one.
  double Calls() const;
};

// Nothing if the tape is something else.
std::optional<MatrixProduct> AsMatrixProduct(const Tape& tape);

// The same as a BLAS has it, where matrices are stored by columns: result (m x n) = factor *
// first (m x k) * second (k x n). A matrix that is transposed is stored as its transpose.
struct BlasProduct {
  bool first_is_right = true;  // the first matrix is the product's right operand
  bool transpose_first = false, transpose_second = false;
  int64_t m = 1, n = 1, k = 1;
  int64_t first_leading = 1, second_leading = 1, result_leading = 1;  // between columns
};
// Nothing if no dimension of a matrix is contiguous.
std::optional<BlasProduct> AsBlasProduct(const MatrixProduct& product);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_MATRIX_PRODUCT_H_
