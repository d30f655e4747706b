#include "frontend/torch/strided_parts.h"

#include <algorithm>
#include <utility>

namespace planproof::frontend::torch {
namespace {

// Neighbouring dimensions that are walked as one are one, and those of extent 1 are left out.
Strided Merged(const Strided& view) {
  Strided merged{view.offset, {}, {}};
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 1) continue;
    int64_t along = 0, together = 0;
    if (!merged.shape.empty() && !__builtin_mul_overflow(view.strides[d], view.shape[d], &along) &&
        !__builtin_mul_overflow(merged.shape.back(), view.shape[d], &together) &&
        merged.strides.back() == along) {
      merged.shape.back() = together;
      merged.strides.back() = view.strides[d];
      continue;
    }
    merged.shape.push_back(view.shape[d]);
    merged.strides.push_back(view.strides[d]);
  }
  return merged;
}

}  // namespace

std::optional<int64_t> DimensionOf(int64_t dim, size_t rank) {
  const auto dims = std::max<int64_t>(1, static_cast<int64_t>(rank));
  if (dim < -dims || dim >= dims) return std::nullopt;
  return dim < 0 ? dim + dims : dim;
}

std::optional<Strided> Sliced(Strided view, int64_t dim, int64_t start, int64_t end, int64_t step) {
  const std::optional<int64_t> at = DimensionOf(dim, view.shape.size());
  if (!at || view.shape.empty() || step < 1) return std::nullopt;
  const int64_t extent = view.shape[*at];
  start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
  end = std::clamp<int64_t>(end < 0 ? end + extent : end, start, extent);
  view.shape[*at] = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  view.offset += start * view.strides[*at];
  if (view.shape[*at] > 1) view.strides[*at] *= step;
  return view;
}

std::optional<Strided> Selected(Strided view, int64_t dim, int64_t index) {
  const std::optional<int64_t> at = DimensionOf(dim, view.shape.size());
  if (!at || view.shape.empty()) return std::nullopt;
  const int64_t extent = view.shape[*at];
  if (index < -extent || index >= extent) return std::nullopt;
  view.offset += (index < 0 ? index + extent : index) * view.strides[*at];
  view.shape.erase(view.shape.begin() + *at);
  view.strides.erase(view.strides.begin() + *at);
  return view;
}

std::optional<Strided> Expanded(const Strided& view, const std::vector<int64_t>& sizes) {
  if (sizes.size() < view.shape.size()) return std::nullopt;
  const size_t fresh = sizes.size() - view.shape.size();
  Strided expanded{view.offset, sizes, std::vector<int64_t>(sizes.size(), 0)};
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d < fresh) {
      if (sizes[d] < 0) return std::nullopt;
      continue;
    }
    const int64_t extent = view.shape[d - fresh];
    if (sizes[d] == -1) expanded.shape[d] = extent;
    if (expanded.shape[d] == extent) {
      expanded.strides[d] = view.strides[d - fresh];
    } else if (extent != 1) {
      return std::nullopt;
    }
  }
  return expanded;
}

std::optional<Strided> Permuted(const Strided& view, const std::vector<int64_t>& dims) {
  if (dims.size() != view.shape.size()) return std::nullopt;
  Strided permuted{view.offset, {}, {}};
  std::vector<bool> taken(dims.size(), false);
  for (const int64_t dim : dims) {
    const std::optional<int64_t> at = DimensionOf(dim, dims.size());
    if (!at || taken[*at]) return std::nullopt;
    taken[*at] = true;
    permuted.shape.push_back(view.shape[*at]);
    permuted.strides.push_back(view.strides[*at]);
  }
  return permuted;
}

std::optional<sdfg::Shape> ShapeOfAsMany(const std::vector<int64_t>& sizes, int64_t elements) {
  sdfg::Shape shape = sizes;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1 && !open) {
      open = d;
    } else if (sizes[d] < 0) {
      return std::nullopt;
    } else if (__builtin_mul_overflow(known, sizes[d], &known)) {
      return std::nullopt;
    }
  }
  if (open) {
    if (known == 0 || elements % known != 0) return std::nullopt;
    shape[*open] = elements / known;
    return shape;
  }
  if (known != elements) return std::nullopt;
  return shape;
}

bool SameSequence(const Strided& a, const Strided& b) {
  const bool nothing = a.empty() && b.empty();
  return nothing || Merged(a) == Merged(b);
}

}  // namespace planproof::frontend::torch
