#include "anchor/sketch.h"

#include <cmath>

#include "runtime_check/positions.h"

namespace planproof::anchor {

uint64_t SplitMix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t Fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::array<double, 5> SketchOf(const runtime_check::Values& values) {
  std::array<double, 5> sketch = {};
  for (int64_t i = 0; i < values.size(); ++i) {
    const double x = values.At(i);
    if (!std::isfinite(x)) continue;
    sketch[0] += x * x;
    const uint64_t bits = SplitMix64(static_cast<uint64_t>(i));
    for (size_t k = 0; k < 4; ++k) sketch.at(k + 1) += (bits >> k & 1) != 0 ? -x : x;
  }
  sketch[0] = std::sqrt(sketch[0]);
  return sketch;
}

std::array<double, 4> HeldSketchOf(std::string_view name, const runtime_check::Values& part,
                                   const std::vector<sdfg::IndexMap>& map,
                                   const sdfg::Shape& whole) {
  std::array<double, 4> sketch = {};
  const uint64_t start = Fnv1a64(name);
  runtime_check::ForEachPosition(map, whole, part.shape, [&](int64_t i, int64_t at) {
    const double x = part.At(i);
    if (at < 0 || !std::isfinite(x)) return;
    const uint64_t bits = SplitMix64(start + static_cast<uint64_t>(at));
    for (size_t k = 0; k < 4; ++k) sketch.at(k) += (bits >> k & 1) != 0 ? -x : x;
  });
  return sketch;
}

}  // namespace planproof::anchor
