// The lineage of a tensor of which every rank holds an equal part.
#ifndef PLANPROOF_LINEAGE_SHARDING_H_
#define PLANPROOF_LINEAGE_SHARDING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"

namespace planproof::lineage {

// Which axes cut a dimension, the outermost first.
struct CutDimension {
  int dim = 0;
  std::vector<sdfg::AxisId> over;
};

struct Sharding {
  Lineage lineage;    // of a tensor with these axes and this shape
  sdfg::Shape shape;  // coordinates of the axes first, then the local extents
};

// What a tensor with the axes `axes` (ascending) holds of a logical tensor whose dimensions are cut
// into equal parts; it is the same along axes that cut nothing. Errors: InvalidArgument for a
// dimension that does not exist, is cut twice or does not divide, and for an axis that cuts two or
// is none of `axes`.
absl::StatusOr<Sharding> EqualParts(sdfg::TensorId logical, const sdfg::Shape& logical_shape,
                                    const std::vector<sdfg::Axis>& mesh,
                                    const std::vector<sdfg::AxisId>& axes,
                                    const std::vector<CutDimension>& cuts);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_SHARDING_H_
