// The two forms of a collective say the same: evaluated element by element on full shapes.
#include "lineage/folding/group_collective.h"

#include <gtest/gtest.h>

#include <random>

#include "sdfg/dense_evaluator.h"

namespace planproof::lineage::folding {
namespace {

using sdfg::DenseTensor;
using sdfg::ReduceKind;
using sdfg::Shape;

constexpr sdfg::DType kReduced = sdfg::DType::kFloat32;

std::vector<GroupCollective> Collectives(int32_t size) {
  std::vector<GroupCollective> all;
  for (ReduceKind reduce :
       {ReduceKind::kSum, ReduceKind::kAvg, ReduceKind::kMax, ReduceKind::kMin}) {
    all.push_back({CollectiveKind::kAllReduce, reduce, 0, 0, size});
    for (int d : {0, 1}) all.push_back({CollectiveKind::kReduceScatter, reduce, d, 0, size});
  }
  for (int d : {0, 1}) {
    all.push_back({CollectiveKind::kAllGather, ReduceKind::kSum, d, 0, size});
    all.push_back({CollectiveKind::kChunk, ReduceKind::kSum, d, 0, size});
    all.push_back({CollectiveKind::kAllToAll, ReduceKind::kSum, d, 1 - d, size});
  }
  return all;
}

TEST(GroupCollective, TheAxisFormAtEachRankIsTheGroupFormAtThatPosition) {
  std::mt19937 random(7);
  for (int32_t size : {2, 3, 4}) {
    const Shape local = {size * 2, size};
    std::vector<DenseTensor> held;
    DenseTensor whole{{size, local[0], local[1]}, {}};
    for (int32_t r = 0; r < size; ++r) {
      DenseTensor t{local, {}};
      for (int64_t i = 0; i < local[0] * local[1]; ++i) t.data.push_back(random() % 64);
      whole.data.insert(whole.data.end(), t.data.begin(), t.data.end());
      held.push_back(std::move(t));
    }
    for (const GroupCollective& c : Collectives(size)) {
      const auto axis_form = AxisForm(c, whole.shape, kReduced, 0);
      ASSERT_TRUE(axis_form.ok()) << axis_form.status();
      const auto all = sdfg::EvaluateDense(*axis_form, {whole});
      ASSERT_TRUE(all.ok()) << all.status();
      for (int32_t r = 0; r < size; ++r) {
        const auto group_form = GroupForm(c, local, kReduced, r);
        ASSERT_TRUE(group_form.ok()) << group_form.status();
        const auto own = sdfg::EvaluateDense(*group_form, c.kind == CollectiveKind::kChunk
                                                              ? std::vector<DenseTensor>{held[r]}
                                                              : held);
        ASSERT_TRUE(own.ok()) << own.status();
        const size_t count = (*own)[0].data.size();
        for (size_t i = 0; i < count; ++i) {
          EXPECT_DOUBLE_EQ((*own)[0].data[i], (*all)[0].data[r * count + i])
              << static_cast<int>(c.kind) << " of " << size << " at " << r;
        }
      }
    }
  }
}

TEST(GroupCollective, IsRecognizedWithItsPosition) {
  for (int32_t size : {2, 4}) {
    const Shape local = {size * 2, size};
    for (const GroupCollective& c : Collectives(size)) {
      for (int position = 0; position < size; ++position) {
        const auto function = GroupForm(c, local, kReduced, position);
        ASSERT_TRUE(function.ok());
        const auto found = RecognizeGroupForm(*function, size, 0);
        ASSERT_TRUE(found.has_value());
        EXPECT_TRUE(found->collective == c);
        const bool placed =
            c.kind != CollectiveKind::kAllReduce && c.kind != CollectiveKind::kAllGather;
        EXPECT_EQ(found->position, placed ? position : 0);
      }
    }
  }
}

TEST(GroupCollective, ASumThatCountsOneOperandTwiceIsNone) {
  sdfg::IndexFunctionBuilder builder("all_reduce");
  for (const char* name : {"x0", "x1"}) builder.AddInput(name, {3}, kReduced);
  const int y = builder.AddOutput("y", Shape{3}, kReduced);
  const sdfg::ExprId i = builder.Index(builder.OutputDims(y)[0]);
  const sdfg::ExprId x0 = builder.Element(0, {i}), x1 = builder.Element(1, {i});
  builder.SetBody(y, builder.Binary(sdfg::Op::kAdd, builder.Binary(sdfg::Op::kAdd, x0, x1), x1));
  sdfg::IndexFunction function;
  ASSERT_TRUE(builder.Finish(&function).ok());
  EXPECT_FALSE(RecognizeGroupForm(function, 2, 0).has_value());
}

}  // namespace
}  // namespace planproof::lineage::folding
