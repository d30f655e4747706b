// Finds the ranks along one axis of the mesh that run one program, and makes the others along that
// axis that do.
//
// Of two or more recorded ranks it is checked that they run the same text (program_text.h), and
// that each number in which they differ (rank_numbers.h) grows evenly with the coordinate: where a
// view begins in memory and a part in the reference's tensor by the same step from each rank to the
// next, and ranks that take part in communication either stay the same or move along with the rank.
// A rank at another coordinate then has that text and the numbers that follow. That it does have
// them is an assumption; what is checked is that nothing that was recorded contradicts it, and that
// what follows is possible.
#ifndef PLANPROOF_FRONTEND_TORCH_RANK_FAMILY_H_
#define PLANPROOF_FRONTEND_TORCH_RANK_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torch/mesh_coordinates.h"
#include "frontend/torch/rank_numbers.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

class RankFamily {
 public:
  // `recorded`: at least two, which differ in their coordinate along the axis alone, lowest first.
  // InvalidArgument, with the place in the program, if they do not agree so.
  static absl::StatusOr<RankFamily> Of(const std::vector<const Trace*>& recorded,
                                       const MeshCoordinates& mesh, size_t axis);

  // The trace of the rank at this coordinate. InvalidArgument if numbers that follow are beyond
  // memory, the reference's tensor or the mesh, or if it is in none of its groups.
  absl::StatusOr<Trace> Member(int64_t coordinate) const;

  // How many numbers of the kind differ.
  size_t Differing(RankNumberKind kind) const;

 private:
  // A number that is not the same on all ranks: `value` where it was recorded first.
  struct Growing {
    size_t position = 0;  // among RankNumbersOf
    RankNumber number;
    int64_t step = 0;
  };

  RankFamily(const MeshCoordinates& mesh, size_t axis) : mesh_(mesh), axis_(axis) {}
  absl::Status Fit(const std::vector<std::vector<RankNumber>>& numbers);
  absl::StatusOr<int64_t> StepOf(const std::vector<const RankNumber*>& recorded) const;
  // Between the ranks' recorded numbers; in the mesh's coordinate if these are ranks of the job.
  absl::StatusOr<int64_t> EvenStep(const std::vector<int64_t>& values,
                                   const TraceEntry& entry) const;
  absl::StatusOr<int64_t> ValueAt(const Growing& growing, int64_t coordinate) const;

  MeshCoordinates mesh_;
  size_t axis_;
  std::vector<int64_t> coordinates_;  // of those that were recorded
  std::vector<int32_t> ranks_;
  Trace first_;
  std::vector<Growing> growing_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RANK_FAMILY_H_
