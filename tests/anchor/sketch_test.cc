// Sketches: sums with hashed signs, as docs/torch-trace.md defines them.
#include "anchor/sketch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace planproof::anchor {
namespace {

using runtime_check::Values;

Values Counting(sdfg::Shape shape) {
  Values values = Values::Zeros(std::move(shape), sdfg::DType::kFloat64, sdfg::DType::kFloat64);
  for (int64_t i = 0; i < values.size(); ++i) values.Set(i, 0.5 + static_cast<double>(i * i % 17));
  return values;
}

TEST(Sketch, HashesAreThoseOfTheirAuthors) {
  // The first numbers of splitmix64 with the seed 0, and of FNV-1a, as published.
  EXPECT_EQ(SplitMix64(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(SplitMix64(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(Fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a64("a"), 0xaf63dc4c8601ec8cu);
}

TEST(Sketch, PartsAddUpToTheWhole) {
  const Values whole = Counting({4, 6});
  std::array<double, 4> sum = {};
  for (int64_t half = 0; half < 2; ++half) {
    Values part = Values::Zeros({4, 3}, sdfg::DType::kFloat64, sdfg::DType::kFloat64);
    for (int64_t i = 0; i < 12; ++i) part.Set(i, whole.At(i / 3 * 6 + half * 3 + i % 3));
    const std::vector<sdfg::IndexMap> map = {{0, {{0, 1, 1, 0}}}, {half * 3, {{1, 1, 1, 0}}}};
    const auto sketch = HeldSketchOf("w", part, map, {4, 6});
    for (size_t k = 0; k < 4; ++k) sum.at(k) += sketch.at(k);
  }
  const std::vector<sdfg::IndexMap> all = {{0, {{0, 1, 1, 0}}}, {0, {{1, 1, 1, 0}}}};
  const auto sketch = HeldSketchOf("w", whole, all, {4, 6});
  for (size_t k = 0; k < 4; ++k) EXPECT_DOUBLE_EQ(sum.at(k), sketch.at(k));
}

TEST(Sketch, AnotherOrderIsAnotherSketch) {
  Values values = Counting({8});
  const auto before = SketchOf(values);
  std::swap(values.doubles[2], values.doubles[5]);
  const auto after = SketchOf(values);
  EXPECT_DOUBLE_EQ(before[0], after[0]);  // a norm does not show it
  bool differs = false;
  for (size_t k = 1; k < 5; ++k) differs = differs || before.at(k) != after.at(k);
  EXPECT_TRUE(differs);
}

TEST(Sketch, WhatIsNotFiniteCountsAsZero) {
  Values values = Counting({3});
  values.doubles = {3, std::nan(""), 4};
  EXPECT_DOUBLE_EQ(SketchOf(values)[0], 5);
}

}  // namespace
}  // namespace planproof::anchor
