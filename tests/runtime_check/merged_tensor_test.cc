// Shards put together: what overlaps, is missing, or is held twice and not equal.
#include "runtime_check/merged_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace planproof::runtime_check {
namespace {

using sdfg::IndexMap;

Values Numbers(sdfg::Shape shape, const std::vector<double>& elements) {
  Values values = Values::Zeros(std::move(shape), sdfg::DType::kFloat64, sdfg::DType::kFloat64);
  for (size_t i = 0; i < elements.size(); ++i) values.Set(static_cast<int64_t>(i), elements[i]);
  return values;
}

// Of a tensor [ranks, local]: rank r holds the elements from step * r.
std::vector<IndexMap> Cut(int64_t step, int64_t start = 0) {
  return {{start, {{.dim = 0, .scale = step}, {.dim = 1}}}};
}
// Every rank holds the whole.
std::vector<IndexMap> Whole() { return {{0, {{.dim = 1}}}}; }

TEST(MergedTensor, EqualPartsMakeTheWhole) {
  MergedTensor merged({6});
  EXPECT_TRUE(merged.Add(Numbers({2, 3}, {1, 2, 3, 4, 5, 6}), 1, Cut(3)));
  EXPECT_EQ(merged.omitted(), 0);
  EXPECT_EQ(merged.disagreements().overlaps.elements, 0);
  EXPECT_EQ(merged.disagreements().replicas.elements, 0);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(merged.At(i), static_cast<double>(i + 1));
}

TEST(MergedTensor, WhatNobodyHoldsIsOmitted) {
  MergedTensor merged({7});
  merged.Add(Numbers({2, 2}, {1, 2, 3, 4}), 1, Cut(3));
  EXPECT_EQ(merged.omitted(), 3);
  EXPECT_EQ(merged.FirstOmitted(), std::vector<int64_t>{2});
  EXPECT_FALSE(merged.Holds(2));
  EXPECT_TRUE(merged.Holds(3));
}

TEST(MergedTensor, PartsOfTwoTensorsAreMerged) {
  MergedTensor merged({4});
  merged.Add(Numbers({1, 2}, {1, 2}), 1, Cut(0));
  EXPECT_EQ(merged.omitted(), 2);
  merged.Add(Numbers({1, 2}, {3, 4}), 1, Cut(0, 2));
  EXPECT_EQ(merged.omitted(), 0);
}

TEST(MergedTensor, OverlapsThatAgreeAreFine) {
  MergedTensor merged({5});
  merged.Add(Numbers({2, 3}, {1, 2, 3, 3, 4, 5}), 1, Cut(2));
  EXPECT_EQ(merged.disagreements().overlaps.elements, 0);
  EXPECT_EQ(merged.omitted(), 0);
}

TEST(MergedTensor, OverlapsThatDisagreeAreFound) {
  MergedTensor merged({5});
  merged.Add(Numbers({2, 3}, {1, 2, 3, 3.5, 4, 5}), 1, Cut(2));
  EXPECT_EQ(merged.disagreements().overlaps.elements, 1);
  EXPECT_EQ(merged.disagreements().overlaps.index, std::vector<int64_t>{2});
  EXPECT_EQ(merged.disagreements().overlaps.squares, 0.25);
  EXPECT_EQ(merged.disagreements().replicas.elements, 0);
}

TEST(MergedTensor, ReplicasThatDifferAreFound) {
  MergedTensor merged({3});
  merged.Add(Numbers({3, 3}, {1, 2, 3, 1, 2, 3, 1, 0, 3}), 1, Whole());
  EXPECT_EQ(merged.disagreements().replicas.elements, 1);
  EXPECT_EQ(merged.disagreements().replicas.index, std::vector<int64_t>{1});
  EXPECT_EQ(merged.disagreements().replicas.squares, 4);
  EXPECT_EQ(merged.disagreements().overlaps.elements, 0);
}

TEST(MergedTensor, NotANumberIsNoAgreementWithANumber) {
  MergedTensor merged({1});
  merged.Add(Numbers({2, 1}, {NAN, 1}), 1, Whole());
  EXPECT_EQ(merged.disagreements().replicas.elements, 1);
  MergedTensor same({1});
  same.Add(Numbers({2, 1}, {NAN, NAN}), 1, Whole());
  EXPECT_EQ(same.disagreements().replicas.elements, 0);
}

TEST(MergedTensor, WhatLiesOutsideIsSaid) {
  MergedTensor merged({5});
  EXPECT_FALSE(merged.Add(Numbers({2, 3}, {1, 2, 3, 4, 5, 6}), 1, Cut(3)));
  EXPECT_EQ(merged.omitted(), 0);
}

}  // namespace
}  // namespace planproof::runtime_check
