#include "sdfg/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/dense_evaluator.h"

namespace planproof::sdfg {
namespace {

using ::testing::HasSubstr;

constexpr DType kTypes[] = {DType::kFloat32, DType::kInt64};

DenseTensor RandomTensor(const Shape& shape, int seed) {
  std::mt19937 random(seed);
  DenseTensor result{shape, std::vector<double>(ElementCount(shape))};
  for (double& value : result.data) value = static_cast<int>(random() % 1000) - 500;
  return result;
}

int64_t Offset(const Shape& shape, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    EXPECT_TRUE(index[d] >= 0 && index[d] < shape[d]);
    offset = offset * shape[d] + index[d];
  }
  return offset;
}
double At(const DenseTensor& t, const std::vector<int64_t>& index) {
  return t.data[Offset(t.shape, index)];
}

// Calls visit(index) for every index of the shape, in row-major order.
template <typename Visit>
void ForEachIndex(const Shape& shape, Visit visit) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < ElementCount(shape); ++i) {
    visit(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

DenseTensor Apply(const absl::StatusOr<IndexFunction>& f, const std::vector<DenseTensor>& inputs) {
  EXPECT_TRUE(f.ok()) << f.status();
  if (!f.ok()) return {};
  const auto result = EvaluateDense(*f, inputs);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? (*result)[0] : DenseTensor();
}

double Combine(double a, double b, ReduceKind kind) {
  if (kind == ReduceKind::kMax) return std::max(a, b);
  if (kind == ReduceKind::kMin) return std::min(a, b);
  return a + b;
}

// Elementwise reduction in group order.
DenseTensor Reduced(const std::vector<DenseTensor>& inputs, ReduceKind kind) {
  DenseTensor result = inputs[0];
  for (size_t p = 1; p < inputs.size(); ++p) {
    for (size_t i = 0; i < result.data.size(); ++i) {
      result.data[i] = Combine(result.data[i], inputs[p].data[i], kind);
    }
  }
  if (kind == ReduceKind::kAvg) {
    for (double& value : result.data) value /= static_cast<double>(inputs.size());
  }
  return result;
}

DenseTensor Slice(const DenseTensor& x, int dim, int64_t start, int64_t extent) {
  DenseTensor result{x.shape, {}};
  result.shape[dim] = extent;
  ForEachIndex(result.shape, [&](std::vector<int64_t> index) {
    index[dim] += start;
    result.data.push_back(At(x, index));
  });
  return result;
}

DenseTensor Concatenated(const std::vector<DenseTensor>& pieces, int dim) {
  DenseTensor result{pieces[0].shape, {}};
  result.shape[dim] = 0;
  for (const DenseTensor& piece : pieces) result.shape[dim] += piece.shape[dim];
  ForEachIndex(result.shape, [&](std::vector<int64_t> index) {
    size_t p = 0;
    for (; index[dim] >= pieces[p].shape[dim]; ++p) index[dim] -= pieces[p].shape[dim];
    result.data.push_back(At(pieces[p], index));
  });
  return result;
}

// One tensor with the participants' tensors at leading coordinate 0, 1, ...
DenseTensor Stacked(const std::vector<DenseTensor>& participants) {
  DenseTensor result;
  result.shape = participants[0].shape;
  result.shape.insert(result.shape.begin(), participants.size());
  for (const DenseTensor& p : participants) {
    result.data.insert(result.data.end(), p.data.begin(), p.data.end());
  }
  return result;
}

void ExpectEqual(const DenseTensor& actual, const DenseTensor& expected) {
  EXPECT_EQ(actual.shape, expected.shape);
  ASSERT_EQ(actual.data.size(), expected.data.size());
  for (size_t i = 0; i < actual.data.size(); ++i) {
    ASSERT_NEAR(actual.data[i], expected.data[i], 1e-9) << "element " << i;
  }
}

std::vector<DenseTensor> Participants(int size, const Shape& shape) {
  std::vector<DenseTensor> result;
  for (int i = 0; i < size; ++i) result.push_back(RandomTensor(shape, 17 * i + 3));
  return result;
}

constexpr int kSize = 3;
const Shape kLocal = {6, 2, 9};

std::vector<ReduceKind> KindsFor(DType dtype) {
  if (IsInteger(dtype)) return {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin};
  return {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kAvg};
}

TEST(CollectivesTest, AllReduceReducesElementwiseInBothForms) {
  const std::vector<DenseTensor> x = Participants(kSize, kLocal);
  for (DType dtype : kTypes) {
    for (ReduceKind kind : KindsFor(dtype)) {
      const DenseTensor expected = Reduced(x, kind);
      ExpectEqual(Apply(AllReduce(kLocal, dtype, kSize, kind), x), expected);
      const Shape shape = Stacked(x).shape;
      ExpectEqual(Apply(AxisAllReduce(shape, dtype, 0, kind), {Stacked(x)}),
                  Stacked(std::vector<DenseTensor>(kSize, expected)));
      ExpectEqual(Apply(AxisReduce(shape, dtype, 0, kind), {Stacked(x)}), expected);
    }
  }
}

TEST(CollectivesTest, AllGatherConcatenatesInGroupOrder) {
  for (DType dtype : kTypes) {
    for (int dim = 0; dim < 3; ++dim) {
      const std::vector<DenseTensor> x = Participants(kSize, kLocal);
      const DenseTensor expected = Concatenated(x, dim);
      ExpectEqual(Apply(AllGather({kLocal, kLocal, kLocal}, dtype, dim), x), expected);
      ExpectEqual(Apply(AxisAllGather(Stacked(x).shape, dtype, 0, dim + 1), {Stacked(x)}),
                  Stacked(std::vector<DenseTensor>(kSize, expected)));
    }
  }
}

TEST(CollectivesTest, AllGatherOfUnequalPieces) {
  std::vector<DenseTensor> x;
  std::vector<Shape> shapes;
  for (int64_t extent : {3, 0, 1, 5, 2}) {
    shapes.push_back({2, extent});
    x.push_back(RandomTensor(shapes.back(), static_cast<int>(extent)));
  }
  ExpectEqual(Apply(AllGather(shapes, DType::kFloat32, 1), x), Concatenated(x, 1));
}

TEST(CollectivesTest, ReduceScatterGivesEachParticipantItsChunk) {
  const std::vector<DenseTensor> x = Participants(kSize, kLocal);
  for (DType dtype : kTypes) {
    for (ReduceKind kind : KindsFor(dtype)) {
      for (int dim : {0, 2}) {
        std::vector<DenseTensor> expected;
        const int64_t chunk = kLocal[dim] / kSize;
        for (int p = 0; p < kSize; ++p) {
          expected.push_back(Slice(Reduced(x, kind), dim, p * chunk, chunk));
          ExpectEqual(Apply(ReduceScatter(kLocal, dtype, kSize, p, dim, kind), x), expected[p]);
        }
        ExpectEqual(
            Apply(AxisReduceScatter(Stacked(x).shape, dtype, 0, dim + 1, kind), {Stacked(x)}),
            Stacked(expected));
      }
    }
  }
}

TEST(CollectivesTest, AllToAllTransposesChunks) {
  const std::vector<DenseTensor> x = Participants(kSize, kLocal);
  for (DType dtype : kTypes) {
    for (int split : {0, 2}) {
      for (int concat = 0; concat < 3; ++concat) {
        const int64_t chunk = kLocal[split] / kSize;
        std::vector<DenseTensor> expected;
        for (int p = 0; p < kSize; ++p) {
          std::vector<DenseTensor> pieces;
          for (const DenseTensor& from : x) pieces.push_back(Slice(from, split, p * chunk, chunk));
          expected.push_back(Concatenated(pieces, concat));
          ExpectEqual(Apply(AllToAll(kLocal, dtype, kSize, p, split, concat), x), expected[p]);
        }
        ExpectEqual(
            Apply(AxisAllToAll(Stacked(x).shape, dtype, 0, split + 1, concat + 1), {Stacked(x)}),
            Stacked(expected));
      }
    }
  }
}

TEST(CollectivesTest, ChunkTakesThePositionOfTheParticipant) {
  const std::vector<DenseTensor> x = Participants(kSize, kLocal);
  std::vector<DenseTensor> expected;
  for (int p = 0; p < kSize; ++p) {
    expected.push_back(Slice(x[p], 2, 3 * p, 3));
    ExpectEqual(Apply(Chunk(kLocal, DType::kFloat32, kSize, p, 2), {x[p]}), expected[p]);
  }
  ExpectEqual(Apply(AxisChunk(Stacked(x).shape, DType::kFloat32, 0, 3), {Stacked(x)}),
              Stacked(expected));
}

TEST(CollectivesTest, CopyAndBroadcastAndPermuteMoveWholeTensors) {
  const std::vector<DenseTensor> x = Participants(4, {2, 3});
  const Shape shape = Stacked(x).shape;
  for (DType dtype : kTypes) {
    ExpectEqual(Apply(Copy({2, 3}, dtype), {x[1]}), x[1]);
    ExpectEqual(Apply(AxisBroadcast(shape, dtype, 0, 2), {Stacked(x)}),
                Stacked({x[2], x[2], x[2], x[2]}));
    const DenseTensor zero{{2, 3}, std::vector<double>(6, 0)};
    for (const std::vector<int64_t>& source : {std::vector<int64_t>{1, 2, 3, 0},
                                               {3, 0, 1, 2},
                                               {-1, 0, 1, 2},
                                               {1, 0, -1, -5},
                                               {0, 0, 0, 0},
                                               {-1, -1, -1, -1},
                                               {0, 1, 2, 3}}) {
      std::vector<DenseTensor> expected;
      for (int64_t from : source) expected.push_back(from < 0 ? zero : x[from]);
      ExpectEqual(Apply(AxisPermute(shape, dtype, 0, source), {Stacked(x)}), Stacked(expected));
    }
  }
}

TEST(CollectivesTest, OtherCoordinatesStayApart) {
  // Axes (dp, tp): the collective runs along the second.
  const std::vector<DenseTensor> copies = Participants(2, {3, 6});
  const DenseTensor x = Stacked(copies);
  const auto per_copy = [&](const absl::StatusOr<IndexFunction>& f) {
    return Stacked({Apply(f, {copies[0]}), Apply(f, {copies[1]})});
  };
  const DType f32 = DType::kFloat32;
  ExpectEqual(Apply(AxisAllReduce(x.shape, f32, 1, ReduceKind::kSum), {x}),
              per_copy(AxisAllReduce({3, 6}, f32, 0, ReduceKind::kSum)));
  ExpectEqual(Apply(AxisReduce(x.shape, f32, 1, ReduceKind::kAvg), {x}),
              per_copy(AxisReduce({3, 6}, f32, 0, ReduceKind::kAvg)));
  ExpectEqual(Apply(AxisAllGather(x.shape, f32, 1, 2), {x}),
              per_copy(AxisAllGather({3, 6}, f32, 0, 1)));
  ExpectEqual(Apply(AxisReduceScatter(x.shape, f32, 1, 2, ReduceKind::kMax), {x}),
              per_copy(AxisReduceScatter({3, 6}, f32, 0, 1, ReduceKind::kMax)));
  ExpectEqual(Apply(AxisPermute(x.shape, f32, 1, {2, 0, 1}), {x}),
              per_copy(AxisPermute({3, 6}, f32, 0, {2, 0, 1})));
}

TEST(CollectivesTest, WideGroupsStayShallow) {
  const int size = 512;
  const std::vector<DenseTensor> x = Participants(size, {1});
  ExpectEqual(Apply(AllGather(std::vector<Shape>(size, Shape{1}), DType::kFloat32, 0), x),
              Concatenated(x, 0));
}

TEST(CollectivesTest, MalformedRequestsAreErrors) {
  const DType f32 = DType::kFloat32;
  EXPECT_THAT(std::string(Chunk({7}, f32, 2, 0, 0).status().message()),
              HasSubstr("extent 7 of dimension 0 is not a multiple of 2"));
  EXPECT_FALSE(Chunk({8}, f32, 2, 2, 0).ok());
  EXPECT_FALSE(Chunk({8}, f32, 2, -1, 0).ok());
  EXPECT_FALSE(Chunk({8}, f32, 0, 0, 0).ok());
  EXPECT_FALSE(Chunk({8}, f32, 2, 0, 1).ok());
  EXPECT_FALSE(AllReduce({8}, f32, 0, ReduceKind::kSum).ok());
  EXPECT_FALSE(AllReduce({8}, DType::kInt64, 2, ReduceKind::kAvg).ok());
  EXPECT_FALSE(AllGather({}, f32, 0).ok());
  EXPECT_FALSE(AllGather({{2, 3}, {2, 4}}, f32, 0).ok());
  EXPECT_FALSE(AllGather({{2, 3}, {2}}, f32, 1).ok());
  EXPECT_FALSE(AllGather({{2, 3}, {2, 3}}, f32, -1).ok());
  EXPECT_FALSE(AxisAllGather({2, 3}, f32, 0, 0).ok());
  EXPECT_FALSE(AxisAllGather({2, 3}, f32, 1, 0).ok());
  EXPECT_FALSE(AxisReduceScatter({2, 3}, f32, 0, 1, ReduceKind::kSum).ok());
  EXPECT_FALSE(AxisBroadcast({2, 3}, f32, 0, 2).ok());
  EXPECT_FALSE(AxisPermute({2, 3}, f32, 0, {0}).ok());
  EXPECT_FALSE(AxisPermute({2, 3}, f32, 0, {0, 2}).ok());
}

}  // namespace
}  // namespace planproof::sdfg
