// Converts ranks of a job to coordinates of its mesh: the outermost axis first, in row-major order.
#ifndef PLANPROOF_FRONTEND_TORCH_MESH_COORDINATES_H_
#define PLANPROOF_FRONTEND_TORCH_MESH_COORDINATES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace planproof::frontend::torch {

class MeshCoordinates {
 public:
  // Names and extents, outermost first.
  explicit MeshCoordinates(std::vector<std::pair<std::string, int64_t>> axes)
      : axes_(std::move(axes)), strides_(axes_.size(), 1) {
    for (size_t axis = axes_.size(); axis-- > 1;) {
      strides_[axis - 1] = strides_[axis] * axes_[axis].second;
    }
  }

  size_t size() const { return axes_.size(); }
  const std::string& Name(size_t axis) const { return axes_[axis].first; }
  int64_t Extent(size_t axis) const { return axes_[axis].second; }
  int64_t Of(int64_t rank, size_t axis) const { return rank / strides_[axis] % Extent(axis); }
  // The rank at another coordinate along the axis.
  int32_t Moved(int64_t rank, size_t axis, int64_t coordinate) const {
    return static_cast<int32_t>(rank + (coordinate - Of(rank, axis)) * strides_[axis]);
  }

 private:
  std::vector<std::pair<std::string, int64_t>> axes_;
  std::vector<int64_t> strides_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_MESH_COORDINATES_H_
