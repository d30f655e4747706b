// Expresses strided views of memory as index functions.
//
// A view at offset o with shape n and strides s reads element o + sum i[k] s[k] of memory in which
// some tensor lies densely. Which element of that tensor this is, is found digit by digit: strides
// of a dense tensor are a number system, and a view whose dimensions fall on its digits without
// carrying gives an index that is affine, or has divisions where a dimension was merged. Where
// digits carry, the number itself is divided.
#ifndef PLANPROOF_FRONTEND_TORCH_STRIDED_H_
#define PLANPROOF_FRONTEND_TORCH_STRIDED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"

namespace planproof::frontend::torch {

struct Strided {
  int64_t offset = 0;
  sdfg::Shape shape;
  std::vector<int64_t> strides;

  // One more than the last position that is read, `offset` if it is empty.
  int64_t end() const;
  bool empty() const;
  bool operator==(const Strided&) const = default;
};

// Product of the extents.
int64_t ElementsOf(const sdfg::Shape& shape);
// A row-major view of `shape` at `offset`.
Strided Contiguous(int64_t offset, sdfg::Shape shape);
// "5[2,3|3,1]": equal texts, equal views.
std::string TextOf(const Strided& view);
// Every position from `offset` to end() is that of one index.
bool IsDense(const Strided& view);
// Both read the same positions at every index.
bool SamePositions(const Strided& a, const Strided& b);

// y[i] = x at the position that `view` has at i, where x lies densely as `source` says, and within
// it. Precondition: IsDense(source).
absl::StatusOr<sdfg::IndexFunction> ReadFunction(const Strided& source, const Strided& view,
                                                 sdfg::DType dtype);
// y = x, and at the positions of `view` z instead: an update of a part. Unimplemented if positions
// of `view` overlap or are interleaved in a way that is not nested.
absl::StatusOr<sdfg::IndexFunction> UpdateFunction(const Strided& source, const Strided& view,
                                                   sdfg::DType dtype);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_STRIDED_H_
