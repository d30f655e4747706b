// Builds collectives as index functions over the participants' tensors.
//
// Two forms. Group form: inputs are the participants' local tensors in group order and the result
// is that of one participant (readers that list every device use it). Axis form: one input with
// explicit coordinate dimensions, the collective runs along one of them (plans with coordinates).
#ifndef PLANPROOF_SDFG_COLLECTIVES_H_
#define PLANPROOF_SDFG_COLLECTIVES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"
#include "sdfg/types.h"

namespace planproof::sdfg {

enum class ReduceKind : uint8_t { kSum, kMax, kMin, kAvg };

// Group form; `local` is each participant's shape, `size` the number of participants.
// y = reduction of all inputs. The result is the same on every participant.
absl::StatusOr<IndexFunction> AllReduce(const Shape& local, DType dtype, int size, ReduceKind kind);
// y = concatenation of the inputs along `dim` in group order; extents along dim may differ.
absl::StatusOr<IndexFunction> AllGather(const std::vector<Shape>& locals, DType dtype, int dim);
// y = chunk `position` of `size` equal chunks along `dim` of the reduction of all inputs.
absl::StatusOr<IndexFunction> ReduceScatter(const Shape& local, DType dtype, int size, int position,
                                            int dim, ReduceKind kind);
// y = concatenation along `concat_dim` of chunk `position` (of size, along split_dim) of each
// input.
absl::StatusOr<IndexFunction> AllToAll(const Shape& local, DType dtype, int size, int position,
                                       int split_dim, int concat_dim);
// y = chunk `position` of `size` equal chunks along dim of the one input (local, no communication).
absl::StatusOr<IndexFunction> Chunk(const Shape& local, DType dtype, int size, int position,
                                    int dim);
// y = the one input (move, broadcast, send/receive).
absl::StatusOr<IndexFunction> Copy(const Shape& local, DType dtype);

// Axis form. `shape` has the coordinates as leading dimensions; `axis_dim` is the leading dimension
// along which the collective runs. The result has the same leading dimensions.
absl::StatusOr<IndexFunction> AxisAllReduce(const Shape& shape, DType dtype, int axis_dim,
                                            ReduceKind kind);
// As AxisAllReduce but the result no longer varies over the axis: the dimension is dropped.
absl::StatusOr<IndexFunction> AxisReduce(const Shape& shape, DType dtype, int axis_dim,
                                         ReduceKind kind);
// `dim` counts whole-tensor dimensions (coordinates included), dim > axis_dim, a local dimension.
absl::StatusOr<IndexFunction> AxisAllGather(const Shape& shape, DType dtype, int axis_dim, int dim);
absl::StatusOr<IndexFunction> AxisReduceScatter(const Shape& shape, DType dtype, int axis_dim,
                                                int dim, ReduceKind kind);
absl::StatusOr<IndexFunction> AxisAllToAll(const Shape& shape, DType dtype, int axis_dim,
                                           int split_dim, int concat_dim);
absl::StatusOr<IndexFunction> AxisChunk(const Shape& shape, DType dtype, int axis_dim, int dim);
absl::StatusOr<IndexFunction> AxisBroadcast(const Shape& shape, DType dtype, int axis_dim,
                                            int64_t root);
// y[r] = x[source[r]] along the axis; source[r] < 0 gives zeros (a rank that receives nothing).
absl::StatusOr<IndexFunction> AxisPermute(const Shape& shape, DType dtype, int axis_dim,
                                          const std::vector<int64_t>& source);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_COLLECTIVES_H_
