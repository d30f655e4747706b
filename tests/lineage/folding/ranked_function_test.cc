#include "lineage/folding/ranked_function.h"

#include <gtest/gtest.h>

#include "sdfg/collectives.h"

namespace planproof::lineage::folding {
namespace {

using sdfg::IndexFunction;
using sdfg::Shape;

constexpr sdfg::DType kElement = sdfg::DType::kFloat32;

// The rank as the only coordinate, in front.
CoordinateLayout InFront(int64_t size, size_t inputs) {
  CoordinateLayout layout;
  layout.extents = {size};
  layout.output = {0};
  layout.inputs.assign(inputs, {{0, 0}});
  return layout;
}

std::vector<IndexFunction> Chunks(const std::vector<int>& positions) {
  std::vector<IndexFunction> chunks;
  const int size = static_cast<int>(positions.size());
  for (int p : positions) chunks.push_back(*sdfg::Chunk({8 * size, 3}, kElement, size, p, 0));
  return chunks;
}

std::vector<const IndexFunction*> Pointers(const std::vector<IndexFunction>& functions) {
  std::vector<const IndexFunction*> pointers;
  for (const IndexFunction& f : functions) pointers.push_back(&f);
  return pointers;
}

void ExpectGivenBack(const std::vector<IndexFunction>& variants) {
  const CoordinateLayout layout =
      InFront(static_cast<int64_t>(variants.size()), variants[0].inputs.size());
  const auto folded = FoldRanks(Pointers(variants), layout);
  ASSERT_TRUE(folded.has_value());
  for (size_t r = 0; r < variants.size(); ++r) {
    const auto instance = InstanceOf(*folded, layout, static_cast<int64_t>(r));
    ASSERT_TRUE(instance.ok()) << instance.status();
    EXPECT_EQ(instance->Serialize(), Rebuilt(variants[r])->Serialize()) << r;
  }
}

TEST(FoldRanks, OffsetsBecomeDigitsOfTheRank) {
  ExpectGivenBack(Chunks({0, 1, 2, 3}));  // rank 0 has no offset to add
  ExpectGivenBack(Chunks({0, 1}));
  ExpectGivenBack(Chunks({1, 0}));
  ExpectGivenBack(Chunks({0, 2, 4, 6, 1, 3, 5, 7}));
  ExpectGivenBack(Chunks({2, 2, 2}));
}

TEST(FoldRanks, OneRankWithAnotherOffsetDoesNotFold) {
  for (const std::vector<int>& positions :
       {std::vector<int>{0, 1, 1, 3}, {0, 1, 3, 2}, {0, 0, 2, 3, 4}}) {
    EXPECT_FALSE(
        FoldRanks(Pointers(Chunks(positions)), InFront(static_cast<int64_t>(positions.size()), 1))
            .has_value());
  }
}

TEST(FoldRanks, AnotherRealConstantOrOperatorDoesNotFold) {
  const auto scaled = [](int64_t by, sdfg::Op op) {
    sdfg::IndexFunctionBuilder b("scale");
    b.AddInput("x", {4}, kElement);
    const int y = b.AddOutput("y", Shape{4}, kElement);
    const sdfg::ExprId x = b.Element(0, {b.Index(b.OutputDims(y)[0])});
    b.SetBody(y, b.Binary(op, b.Real(by), x));
    IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    return f;
  };
  using sdfg::Op;
  ExpectGivenBack({scaled(3, Op::kMul), scaled(3, Op::kMul), scaled(3, Op::kMul)});
  for (const std::vector<IndexFunction>& variants :
       {std::vector<IndexFunction>{scaled(3, Op::kMul), scaled(3, Op::kMul), scaled(4, Op::kMul)},
        {scaled(3, Op::kMul), scaled(3, Op::kAdd), scaled(3, Op::kMul)}}) {
    EXPECT_FALSE(FoldRanks(Pointers(variants), InFront(3, 1)).has_value());
  }
}

TEST(FoldRanks, WhatOneRankAssumesIsAssumedOfAll) {
  // Ids of a shard: rank 0 subtracts nothing, and assumes nothing.
  const auto shifted = [](int64_t by) {
    sdfg::IndexFunctionBuilder b("sub");
    b.AddInput("x", {4}, sdfg::DType::kInt64);
    const int y = b.AddOutput("y", Shape{4}, sdfg::DType::kInt64);
    b.SetBody(y, b.IntSub(b.IntElement(0, {b.Index(b.OutputDims(y)[0])}), b.Int(by)));
    if (by != 0) b.AddAssumption("no overflow");
    IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    return f;
  };
  const std::vector<IndexFunction> variants = {shifted(0), shifted(16), shifted(32)};
  const auto folded = FoldRanks(Pointers(variants), InFront(3, 1));
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(folded->assumptions, std::vector<std::string>{"no overflow"});
  for (size_t r = 0; r < variants.size(); ++r) {
    const auto instance = InstanceOf(*folded, InFront(3, 1), static_cast<int64_t>(r));
    ASSERT_TRUE(instance.ok());
    EXPECT_EQ(ContentOf(*instance), ContentOf(*Rebuilt(variants[r]))) << r;
    EXPECT_TRUE(AssumesAllOf(*folded, variants[r]));
  }
  EXPECT_FALSE(AssumesAllOf(variants[0], variants[1]));
  EXPECT_NE(ContentOf(variants[1]), ContentOf(variants[2]));
}

TEST(InstanceOf, AReadAtAnotherRankIsAnError) {
  // y[r, i] = x[0, i]: what rank 0 holds, for all.
  const auto broadcast = sdfg::AxisBroadcast({3, 4}, kElement, 0, 0);
  ASSERT_TRUE(broadcast.ok());
  EXPECT_FALSE(InstanceOf(*broadcast, InFront(3, 1), 0).ok());
}

}  // namespace
}  // namespace planproof::lineage::folding
