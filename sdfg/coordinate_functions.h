// Builds index functions whose coordinates are explicit: what a lifted operator cannot say.
//
// Shapes here are whole: coordinates of the tensor's axes first, then local extents.
#ifndef PLANPROOF_SDFG_COORDINATE_FUNCTIONS_H_
#define PLANPROOF_SDFG_COORDINATE_FUNCTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/graph.h"

namespace planproof::sdfg {

// y[.., c, ..] = x[..]: a value that every rank holds, written with the coordinate at `position`.
absl::StatusOr<IndexFunction> Spread(const Shape& shape, DType dtype, int position, int64_t extent);
// y[..] = x[.., value, ..]: the instance at one coordinate of dimension `axis_dim`.
absl::StatusOr<IndexFunction> SelectCoordinate(const Shape& shape, DType dtype, int axis_dim,
                                               int64_t value);
// all_gather along `dim` whose result, the same on every rank, drops the coordinate `axis_dim`.
absl::StatusOr<IndexFunction> GatherDrop(const Shape& shape, DType dtype, int axis_dim, int dim);
// reduce: the sum over `axis_dim` on rank `root`; on the others an unspecified value, which no
// other tensor shares: `result` is this one's name.
absl::StatusOr<IndexFunction> ReduceToRoot(const Shape& shape, DType dtype, int axis_dim,
                                           int64_t root, const std::string& result);
// y = sum of `count` tensors of one shape.
absl::StatusOr<IndexFunction> AddAll(const Shape& shape, DType dtype, int count);

// One tensor among the operands of the functions below: the axes over which it varies.
using AxisList = std::vector<AxisId>;

// A set of coordinates per axis; the box is their product.
using CoordinateBox = std::vector<std::pair<AxisId, std::vector<int64_t>>>;

// y = inside the box `variant`, elsewhere `regular`; both have local shape `local`. The output
// varies over `output_axes`, a superset of the operands' axes and the box's.
absl::StatusOr<IndexFunction> SelectInBox(const std::vector<Axis>& axes,
                                          const AxisList& variant_axes,
                                          const AxisList& regular_axes, const AxisList& output_axes,
                                          const CoordinateBox& box, const Shape& local,
                                          DType dtype);

// An operator whose attributes depend on coordinates: `variants` holds its function at each
// coordinate of `special` (row-major). They share inputs and outputs. With `affine`, where variants
// differ in integer constants that are affine in the coordinates, the result is one expression
// (good for slices, which only read elsewhere); otherwise it selects by coordinate. `output_axes`
// is a superset of `special` and of the inputs' axes. Errors: InvalidArgument if the variants'
// shapes differ.
absl::StatusOr<IndexFunction> CombineByCoordinate(const std::vector<IndexFunction>& variants,
                                                  const std::vector<Axis>& axes,
                                                  const AxisList& special,
                                                  const std::vector<AxisList>& input_axes,
                                                  const AxisList& output_axes, bool affine);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_COORDINATE_FUNCTIONS_H_
