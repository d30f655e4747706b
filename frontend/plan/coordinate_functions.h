// Index functions whose coordinates are explicit: what a lifted operator cannot say.
//
// Shapes here are whole: coordinates of the tensor's axes first, then local extents.
#ifndef PLANPROOF_FRONTEND_PLAN_COORDINATE_FUNCTIONS_H_
#define PLANPROOF_FRONTEND_PLAN_COORDINATE_FUNCTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/graph.h"

namespace planproof::plan {

// y[.., c, ..] = x[..]: a value that every rank holds, written with the coordinate at `position`.
absl::StatusOr<sdfg::IndexFunction> Spread(const sdfg::Shape& shape, sdfg::DType dtype,
                                           int position, int64_t extent);
// y[..] = x[.., value, ..]: the instance at one coordinate of dimension `axis_dim`.
absl::StatusOr<sdfg::IndexFunction> SelectCoordinate(const sdfg::Shape& shape, sdfg::DType dtype,
                                                     int axis_dim, int64_t value);
// all_gather along `dim` whose result, the same on every rank, drops the coordinate `axis_dim`.
absl::StatusOr<sdfg::IndexFunction> GatherDrop(const sdfg::Shape& shape, sdfg::DType dtype,
                                               int axis_dim, int dim);
// reduce: the sum over `axis_dim` on rank `root`; on the others an unspecified value, which no
// other tensor shares: `result` is this one's name.
absl::StatusOr<sdfg::IndexFunction> ReduceToRoot(const sdfg::Shape& shape, sdfg::DType dtype,
                                                 int axis_dim, int64_t root,
                                                 const std::string& result);
// y = sum of `count` tensors of one shape.
absl::StatusOr<sdfg::IndexFunction> AddAll(const sdfg::Shape& shape, sdfg::DType dtype, int count);

// One tensor among the operands of the functions below: the axes over which it varies.
using AxisList = std::vector<sdfg::AxisId>;

// A set of coordinates per axis; the box is their product.
using CoordinateBox = std::vector<std::pair<sdfg::AxisId, std::vector<int64_t>>>;

// y = inside the box `variant`, elsewhere `regular`; both have local shape `local`. The output
// varies over `output_axes`, a superset of the operands' axes and the box's.
absl::StatusOr<sdfg::IndexFunction> SelectInBox(const std::vector<sdfg::Axis>& axes,
                                                const AxisList& variant_axes,
                                                const AxisList& regular_axes,
                                                const AxisList& output_axes,
                                                const CoordinateBox& box, const sdfg::Shape& local,
                                                sdfg::DType dtype);

// An operator whose attributes depend on coordinates: `variants` holds its function at each
// coordinate of `special` (row-major). They share inputs and outputs. With `affine`, where variants
// differ in integer constants that are affine in the coordinates, the result is one expression
// (good for slices, which only read elsewhere); otherwise it selects by coordinate. `output_axes`
// is a superset of `special` and of the inputs' axes. Errors: InvalidArgument if the variants'
// shapes differ.
absl::StatusOr<sdfg::IndexFunction> CombineByCoordinate(
    const std::vector<sdfg::IndexFunction>& variants, const std::vector<sdfg::Axis>& axes,
    const AxisList& special, const std::vector<AxisList>& input_axes, const AxisList& output_axes,
    bool affine);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_COORDINATE_FUNCTIONS_H_
