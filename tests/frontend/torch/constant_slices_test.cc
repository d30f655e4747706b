#include "frontend/torch/constant_slices.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "frontend/torch/strided.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::DType;
using sdfg::Shape;

Storage Listed(const std::vector<int64_t>& values) {
  Storage storage;
  storage.dtype = DType::kFloat32;
  storage.size = static_cast<int64_t>(values.size());
  for (int64_t value : values) storage.values.emplace_back(value);
  storage.minus_infinity.assign(values.size(), false);
  return storage;
}

Tensor View(StorageId storage, const Shape& shape) {
  Tensor tensor;
  tensor.storage = storage;
  tensor.dtype = DType::kFloat32;
  tensor.shape = shape;
  tensor.strides = Contiguous(0, shape).strides;
  return tensor;
}

// A rank with one constant, of this shape, and an input of which it holds this place.
Trace RankWith(Storage constant, const Shape& shape, const Shape& whole,
               std::vector<std::vector<std::pair<int64_t, int64_t>>> place) {
  Trace trace;
  trace.storages = {std::move(constant), Storage()};
  trace.tensors = {View(0, shape), View(1, {})};
  Input input;
  input.tensor = 1;
  input.part.whole = whole;
  input.part.place = std::move(place);
  trace.inputs = {input};
  return trace;
}

// The values at which the slice is in the whole constant.
std::vector<int64_t> Positions(const sdfg::IndexMap& map, int64_t size) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < size; ++i) positions.push_back(map.ValueAt({i}));
  return positions;
}

class ConstantSlices : public testing::Test {
 protected:
  // Rows 0 and 2 hold the same.
  Storage mask = Listed({1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1});
  ListedWhole whole{&mask, {{4, 3}}};
};

TEST_F(ConstantSlices, OfSeveralPlacesThatOfAnInputIsTaken) {
  const Trace rank = RankWith(Listed({1, 0, 0}), {1, 3}, {4, 3, 8}, {{{2, 1}}, {{0, 3}}, {{0, 8}}});
  const auto map = SliceOf(whole, rank, 0);
  ASSERT_TRUE(map);
  EXPECT_EQ(Positions(*map, 3), (std::vector<int64_t>{6, 7, 8}));
}

TEST_F(ConstantSlices, APlaceMayBeSeveralRanges) {
  const Trace rank = RankWith(Listed({1, 0, 1, 0}), {2, 2}, {4, 3}, {{{0, 1}, {2, 1}}, {{0, 2}}});
  const auto map = SliceOf(whole, rank, 0);
  ASSERT_TRUE(map);
  EXPECT_EQ(Positions(*map, 4), (std::vector<int64_t>{0, 1, 6, 7}));
}

TEST_F(ConstantSlices, WithoutAnInputOneDimensionMayBeCut) {
  const Trace rank = RankWith(Listed({0, 0, 0, 1}), {4, 1}, {7}, {{{0, 1}}});
  const auto map = SliceOf(whole, rank, 0);
  ASSERT_TRUE(map);
  EXPECT_EQ(Positions(*map, 4), (std::vector<int64_t>{2, 5, 8, 11}));
}

TEST_F(ConstantSlices, EveryValueIsCompared) {
  for (const int different : {0, 1, 2, 3, 4, 5}) {
    Storage part = Listed({1, 1, 0, 1, 0, 0});
    part.values[different] = 7;
    const Trace rank = RankWith(part, {2, 3}, {4, 3}, {{{1, 2}}, {{0, 3}}});
    EXPECT_FALSE(SliceOf(whole, rank, 0)) << different;
  }
}

TEST_F(ConstantSlices, MinusInfinityIsNoNumber) {
  Storage part = Listed({1, 0, 0});
  part.minus_infinity[1] = true;
  const Trace rank = RankWith(part, {1, 3}, {4, 3}, {{{0, 1}}, {{0, 3}}});
  EXPECT_FALSE(SliceOf(whole, rank, 0));
}

TEST_F(ConstantSlices, OneNumberEverywhereIsASliceOnlyWhereAnInputIs) {
  Storage part;
  part.dtype = DType::kFloat32;
  part.size = 2;
  part.uniform = 1;
  const auto found = [&](int64_t row) {
    return SliceOf(whole, RankWith(part, {1, 2}, {4, 3}, {{{row, 1}}, {{1, 2}}}), 0).has_value();
  };
  EXPECT_TRUE(found(3));
  EXPECT_FALSE(found(0));
}

TEST_F(ConstantSlices, NumbersThatCountUpAreASliceOnlyWhereAnInputIs) {
  mask.dtype = DType::kInt64;
  Storage part = Listed({0, 1});
  part.dtype = DType::kInt64;
  EXPECT_TRUE(SliceOf(whole, RankWith(part, {2, 1}, {4, 3}, {{{0, 2}}, {{1, 1}}}), 0));
  EXPECT_FALSE(SliceOf(whole, RankWith(part, {1, 2}, {7}, {{{0, 7}}}), 0));
}

TEST_F(ConstantSlices, AnotherTypeHoldsOtherNumbers) {
  Storage part = Listed({1, 0, 0});
  part.dtype = DType::kFloat64;
  EXPECT_FALSE(SliceOf(whole, RankWith(part, {1, 3}, {4, 3}, {{{0, 1}}, {{0, 3}}}), 0));
}

TEST(UniformConstants, AreNotWritten) {
  Storage uniform = Listed({});
  uniform.size = 2;
  uniform.uniform = 0;
  Trace trace = RankWith(uniform, {2}, {4}, {{{0, 2}}});
  EXPECT_EQ(UniformConstants(trace), std::vector<StorageId>{0});
  trace.operators.emplace_back();
  trace.operators[0].writes = {0};
  EXPECT_TRUE(UniformConstants(trace).empty());
}

}  // namespace
}  // namespace planproof::frontend::torch
