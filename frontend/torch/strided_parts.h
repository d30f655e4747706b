// Computes views of views from the arguments of PyTorch's operators: slices, selections,
// expansions.
//
// Dimensions and positions that are negative count from the end, and the ends of a slice are
// limited to the dimension, as in PyTorch. Nothing is given where PyTorch refuses the arguments.
#ifndef PLANPROOF_FRONTEND_TORCH_STRIDED_PARTS_H_
#define PLANPROOF_FRONTEND_TORCH_STRIDED_PARTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/torch/strided.h"

namespace planproof::frontend::torch {

// The dimension counted from the front, of `rank` dimensions; a tensor without any has one to name.
std::optional<int64_t> DimensionOf(int64_t dim, size_t rank);

// Elements start, start + step, ... before `end` along the dimension.
std::optional<Strided> Sliced(Strided view, int64_t dim, int64_t start, int64_t end, int64_t step);
// The elements at `index` along the dimension, which is gone.
std::optional<Strided> Selected(Strided view, int64_t dim, int64_t index);
// Dimensions of extent 1, and new ones in front, are repeated; -1 leaves an extent.
std::optional<Strided> Expanded(const Strided& view, const std::vector<int64_t>& sizes);
// The dimensions in this order.
std::optional<Strided> Permuted(const Strided& view, const std::vector<int64_t>& dims);
// The extents, one of which may be -1, that are as many elements.
std::optional<sdfg::Shape> ShapeOfAsMany(const std::vector<int64_t>& sizes, int64_t elements);
// Whether both name the same positions, one after another in row-major order, in whatever shape.
bool SameSequence(const Strided& a, const Strided& b);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_STRIDED_PARTS_H_
