// Describes and relates tensors of which every rank holds an equal part.
#ifndef PLANPROOF_LINEAGE_SHARDING_H_
#define PLANPROOF_LINEAGE_SHARDING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/problem_builder.h"

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

// Adds to the plan a tensor that holds an input of the model, or the parts of it that `cuts` gives
// to every rank; it varies over the axes that cut. Its name, type and role are the input's.
absl::StatusOr<sdfg::TensorId> HoldParts(ProblemBuilder* problem, sdfg::TensorId logical,
                                         const std::vector<CutDimension>& cuts, sdfg::Device device,
                                         ProblemBuilder::Holding holding);

// Requires the plan's tensor to hold the parts of a value of the model, as the specification says.
absl::Status RequireParts(ProblemBuilder* problem, sdfg::TensorId tensor, sdfg::TensorId logical,
                          const std::vector<CutDimension>& cuts, std::string what,
                          ProblemBuilder::Holding holding);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_SHARDING_H_
