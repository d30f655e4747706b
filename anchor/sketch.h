// Computes sketches of recorded tensors: sums of their elements with signs that are hashed from
// where they stand, so that two tensors which differ in values, order or strides differ in some
// sum. What they are is part of the trace format (docs/torch-trace.md).
#ifndef PLANPROOF_ANCHOR_SKETCH_H_
#define PLANPROOF_ANCHOR_SKETCH_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime_check/values.h"
#include "sdfg/index_map.h"

namespace planproof::anchor {

// Computes Sebastiano Vigna's splitmix64, https://prng.di.unimi.it/splitmix64.c.
uint64_t SplitMix64(uint64_t x);
// Returns FNV-1a of the text's bytes.
uint64_t Fnv1a64(std::string_view text);

// Returns the root of the sum of squares, and four sums in which element i, in row-major order, has
// a minus where bit k of SplitMix64(i) is 1. Elements that are not finite count as 0.
std::array<double, 5> SketchOf(const runtime_check::Values& values);

// Returns four sums of a part's elements, whose places in the whole are given by the map: a minus
// where bit k of SplitMix64(Fnv1a64(name) + place) is 1.
std::array<double, 4> HeldSketchOf(std::string_view name, const runtime_check::Values& part,
                                   const std::vector<sdfg::IndexMap>& map,
                                   const sdfg::Shape& whole);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_SKETCH_H_
