#include "frontend/torch/strided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sdfg/dense_evaluator.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::DType;

// Positions of the view, in the order of its index.
std::vector<int64_t> Positions(const Strided& view) {
  std::vector<int64_t> positions = {view.offset};
  for (size_t k = 0; k < view.shape.size(); ++k) {
    std::vector<int64_t> longer;
    for (int64_t position : positions) {
      for (int64_t i = 0; i < view.shape[k]; ++i) longer.push_back(position + i * view.strides[k]);
    }
    positions = std::move(longer);
  }
  return positions;
}

class Random {
 public:
  explicit Random(int seed) : engine_(seed) {}
  int64_t operator()(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  // A tensor that lies densely, its dimensions in any order.
  Strided Dense(int64_t offset) {
    Strided view{offset, {}, {}};
    const int64_t rank = (*this)(0, 4);
    for (int64_t k = 0; k < rank; ++k) view.shape.push_back((*this)(1, 4));
    std::vector<size_t> order(view.shape.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), engine_);
    view.strides.resize(view.shape.size());
    int64_t stride = 1;
    for (size_t k : order) {
      view.strides[k] = stride;
      stride *= view.shape[k];
    }
    return view;
  }
  // A view within `size` elements from `offset` on; `nested`: of strides that do not overlap.
  Strided Within(int64_t offset, int64_t size, bool nested) {
    for (;;) {
      Strided view{offset + (*this)(0, size - 1), {}, {}};
      const int64_t rank = (*this)(0, 3);
      int64_t stride = 1;
      for (int64_t k = 0; k < rank; ++k) {
        view.shape.insert(view.shape.begin(), (*this)(1, 4));
        if (nested) {
          stride *= (*this)(1, 2);
          view.strides.insert(view.strides.begin(), stride);
          stride *= view.shape[0];
        } else {
          view.strides.insert(view.strides.begin(), (*this)(0, 9));
        }
      }
      if (view.end() <= offset + size) return view;
    }
  }

 private:
  std::mt19937 engine_;
};

// Memory in which element p is p + 1, as the tensor that lies there.
sdfg::DenseTensor Lying(const Strided& source) {
  sdfg::DenseTensor tensor{source.shape, {}};
  for (int64_t position : Positions(source)) tensor.data.push_back(position + 1.0);
  return tensor;
}

TEST(Strided, AViewReadsTheElementsAtItsPositions) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const Strided source = random.Dense(random(0, 3));
    ASSERT_TRUE(IsDense(source));
    const Strided view = random.Within(source.offset, source.end() - source.offset, round % 2 == 0);
    const auto function = ReadFunction(source, view, DType::kFloat64);
    ASSERT_TRUE(function.ok()) << function.status() << TextOf(source) << TextOf(view);
    const auto read = sdfg::EvaluateDense(*function, {Lying(source)});
    ASSERT_TRUE(read.ok()) << read.status() << TextOf(source) << TextOf(view);
    EXPECT_EQ((*read)[0].data, Lying(view).data) << TextOf(source) << " " << TextOf(view);
  }
}

TEST(Strided, AnUpdateChangesTheElementsOfTheViewAndNoOthers) {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const Strided source = random.Dense(random(0, 3));
    const Strided view = random.Within(source.offset, source.end() - source.offset, true);
    const auto function = UpdateFunction(source, view, DType::kFloat64);
    ASSERT_TRUE(function.ok()) << function.status() << TextOf(source) << TextOf(view);
    sdfg::DenseTensor part{view.shape, {}};
    std::vector<double> memory(source.end());
    std::iota(memory.begin(), memory.end(), 1.0);
    for (int64_t position : Positions(view)) {
      part.data.push_back(-1.0 - static_cast<double>(part.data.size()));
      memory[position] = part.data.back();
    }
    const auto updated = sdfg::EvaluateDense(*function, {Lying(source), part});
    ASSERT_TRUE(updated.ok()) << updated.status() << TextOf(source) << TextOf(view);
    std::vector<double> expected;
    for (int64_t position : Positions(source)) expected.push_back(memory[position]);
    EXPECT_EQ((*updated)[0].data, expected) << TextOf(source) << " " << TextOf(view);
  }
}

TEST(Strided, AnUpdateOfOverlappingElementsIsRefused) {
  const Strided source = Contiguous(0, {8});
  EXPECT_FALSE(UpdateFunction(source, {0, {3, 2}, {1, 1}}, DType::kFloat64).ok());
  EXPECT_FALSE(UpdateFunction(source, {0, {2}, {0}}, DType::kFloat64).ok());
}

TEST(Strided, OnlyWhatCoversARangeOnceIsDense) {
  EXPECT_TRUE(IsDense({3, {2, 3}, {1, 2}}));
  EXPECT_FALSE(IsDense({0, {2, 3}, {4, 1}}));
  EXPECT_FALSE(IsDense({0, {2, 3}, {0, 1}}));
  EXPECT_TRUE(SamePositions({0, {1, 3}, {9, 1}}, {0, {1, 3}, {3, 1}}));
  EXPECT_FALSE(SamePositions({0, {2, 3}, {3, 1}}, {0, {2, 3}, {1, 2}}));
}

}  // namespace
}  // namespace planproof::frontend::torch
