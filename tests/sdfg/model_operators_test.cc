// Operators with windows, norms and indices that are data: derivatives by finite differences, and
// what is refused. Their values are compared with PyTorch and JAX in operator_goldens_test.cc.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"
#include "tests/sdfg/differentiate_testing.h"

namespace planproof::sdfg {
namespace {

Operand RealOperand(Shape shape, DType dtype = kReal) {
  Operand operand;
  operand.shape = std::move(shape);
  operand.dtype = dtype;
  return operand;
}

Operand Absent() {
  Operand operand;
  operand.kind = Operand::Kind::kAbsent;
  return operand;
}

AttributeValue List(std::vector<int64_t> values) { return values; }
AttributeValue Text(const char* text) { return std::string(text); }

absl::StatusOr<IndexFunction> Call(const std::string& name, const std::vector<Operand>& operands,
                                   const Attributes& attributes) {
  return OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes);
}

void ExpectDerivative(const std::string& name, const std::vector<Operand>& operands,
                      const Attributes& attributes, const std::vector<DenseTensor>& inputs = {}) {
  SCOPED_TRACE(name);
  const absl::StatusOr<IndexFunction> f = Call(name, operands, attributes);
  ASSERT_TRUE(f.ok()) << f.status();
  ExpectGradients(*f, inputs);
}

TEST(ModelOperators, DerivativesOfWindowsAreThoseOfFiniteDifferences) {
  const Operand x = RealOperand({1, 4, 4, 3});
  for (int64_t stride = 1; stride <= 3; ++stride) {
    for (int64_t dilation = 1; dilation <= 2; ++dilation) {
      SCOPED_TRACE(stride * 10 + dilation);
      const Attributes options = {
          {"stride", stride}, {"dilation", dilation}, {"padding", int64_t{1}}};
      Attributes grouped = options;
      grouped["groups"] = int64_t{2};
      ExpectDerivative("conv2d", {x, RealOperand({2, 4, 3, 2}), RealOperand({2})}, options);
      ExpectDerivative("conv2d", {x, RealOperand({4, 2, 2, 2})}, grouped);
      ExpectDerivative("conv_transpose2d", {x, RealOperand({4, 3, 2, 3}), RealOperand({3})},
                       options);
      ExpectDerivative("conv_transpose2d", {x, RealOperand({4, 2, 2, 2})}, grouped);
      Attributes pool = options;
      pool["kernel_size"] = int64_t{2};
      pool["ceil_mode"] = true;
      ExpectDerivative("max_pool2d", {x}, pool);
      pool.erase("dilation");
      ExpectDerivative("avg_pool2d", {x}, pool);
      pool["count_include_pad"] = false;
      ExpectDerivative("avg_pool2d", {x}, pool);
    }
  }
  ExpectDerivative("adaptive_avg_pool2d", {x}, {{"output_size", List({3, 2})}});
  ExpectDerivative("adaptive_max_pool2d", {x}, {{"output_size", List({3, 2})}});
  for (const char* name : {"reduce_window_sum", "reduce_window_max", "reduce_window_min"}) {
    ExpectDerivative(name, {RealOperand({5, 4})},
                     {{"window_dimensions", List({3, 2})},
                      {"window_strides", List({2, 1})},
                      {"padding", List({1, 1, 0, 1})}});
  }
}

TEST(ModelOperators, DerivativesOfNormsAreThoseOfFiniteDifferences) {
  const Operand x = RealOperand({3, 4, 2}), c = RealOperand({4});
  ExpectDerivative("batch_norm", {x, Absent(), Absent(), c, c}, {{"training", true}});
  ExpectDerivative("batch_norm", {x, c, c, c, c}, {});
  ExpectDerivative("instance_norm", {x, Absent(), Absent(), c, c}, {});
  ExpectDerivative("group_norm", {x, c, c}, {{"num_groups", int64_t{2}}});
}

TEST(ModelOperators, DerivativesAtIndicesThatAreDataAreThoseOfFiniteDifferences) {
  const Operand x = RealOperand({4, 3}), index = RealOperand({2}, DType::kInt64);
  const DenseTensor values{{4, 3}, {0.5, 1.2, 0.7, 1.1, 0.4, 0.3, 0.9, 2.0, 1.6, 0.2, 0.8, 1.3}};
  const DenseTensor source{{2, 3}, {0.1, 0.6, 1.4, 0.25, 0.35, 1.9}};
  const DenseTensor ids{{2}, {3, 1}}, far{{2}, {-7, 9}};
  ExpectDerivative("index_select", {x, index}, {{"dim", int64_t{0}}}, {values, ids});
  for (const char* mode : {"fill", "clip", "wrap"}) {
    ExpectDerivative(
        "take", {x, index},
        {{"axis", int64_t{0}}, {"mode", Text(mode)}, {"fill_value", solver::Rational(1, 2)}},
        {values, far});
  }
  for (const char* mode : {"clip", "drop"}) {
    ExpectDerivative("index_add", {x, index, RealOperand({2, 3})},
                     {{"dim", int64_t{0}}, {"mode", Text(mode)}}, {values, far, source});
  }
  ExpectDerivative("index_copy", {x, index, RealOperand({2, 3})}, {{"dim", int64_t{0}}},
                   {values, ids, source});
  const Operand start = RealOperand({1}, DType::kInt64);
  for (const double at : {-9., -2., 1., 5.}) {
    ExpectDerivative("dynamic_slice", {x, start, start}, {{"slice_sizes", List({2, 2})}},
                     {values, {{1}, {at}}, {{1}, {0}}});
    ExpectDerivative("dynamic_update_slice", {x, RealOperand({2, 3}), start, start}, {},
                     {values, source, {{1}, {at}}, {{1}, {0}}});
  }
}

// A meaning that is not declared is UNKNOWN, a call that the framework refuses is MALFORMED.
TEST(ModelOperators, WhatIsNotCoveredIsRefused) {
  const Operand x = RealOperand({1, 2, 4, 4}), w = RealOperand({2, 2, 3, 3});
  const Operand ids = RealOperand({1, 2, 4, 4}, DType::kInt64);
  const auto code = [](const std::string& name, const std::vector<Operand>& operands,
                       const Attributes& attributes) {
    return Call(name, operands, attributes).status().code();
  };
  constexpr auto kUnknown = absl::StatusCode::kUnimplemented;
  constexpr auto kMalformed = absl::StatusCode::kInvalidArgument;
  const Attributes two = {{"kernel_size", int64_t{2}}};
  EXPECT_EQ(code("max_pool2d", {x}, {{"kernel_size", int64_t{2}}, {"return_indices", true}}),
            kUnknown);
  EXPECT_EQ(code("max_pool2d", {ids}, two), kUnknown);
  EXPECT_EQ(code("conv2d", {ids, w}, {}), kUnknown);
  EXPECT_EQ(code("conv2d", {x, RealOperand({2, 2, 5, 5})}, {}), kUnknown);
  EXPECT_EQ(code("max_pool2d", {x}, {{"kernel_size", int64_t{2}}, {"padding", int64_t{2}}}),
            kMalformed);
  // Window 0 of a dilated pooling of one element has padding only.
  EXPECT_EQ(code("max_pool1d", {RealOperand({1, 1, 1})},
                 {{"kernel_size", int64_t{2}}, {"padding", int64_t{1}}, {"dilation", int64_t{2}}}),
            kUnknown);
  EXPECT_EQ(code("reduce_window_max", {RealOperand({3})},
                 {{"window_dimensions", List({1})}, {"padding", List({1, 0})}}),
            kUnknown);
  EXPECT_EQ(code("conv2d", {x, w}, {{"padding", Text("SAME")}}), kMalformed);
  EXPECT_EQ(code("conv2d", {x, w}, {{"padding", Text("same")}, {"stride", int64_t{2}}}),
            kMalformed);
  EXPECT_EQ(code("conv2d", {x, w}, {{"groups", int64_t{2}}}), kMalformed);
  EXPECT_EQ(code("conv2d", {x, w}, {{"stride", List({1, 1, 1})}}), kMalformed);
  EXPECT_EQ(code("conv_general_dilated", {x, w}, {{"batch_group_count", int64_t{2}}}), kUnknown);
  EXPECT_EQ(code("instance_norm", {x}, {{"use_input_stats", false}}), kUnknown);
  EXPECT_EQ(code("batch_norm", {x, Absent(), Absent()}, {}), kMalformed);
  EXPECT_EQ(code("topk", {x}, {{"k", int64_t{5}}}), kMalformed);
  EXPECT_EQ(code("scatter", {x, ids, x}, {{"dim", int64_t{0}}, {"reduce", Text("add")}}), kUnknown);
  EXPECT_EQ(
      code("scatter_add", {x, RealOperand({1, 1, 4, 4}, DType::kInt64), x}, {{"dim", int64_t{0}}}),
      kUnknown);
  EXPECT_EQ(code("gather", {x, x}, {{"dim", int64_t{0}}}), kMalformed);
  EXPECT_EQ(code("strided_slice", {RealOperand({3})},
                 {{"start_indices", List({0})}, {"limit_indices", List({4})}}),
            kMalformed);
}

// PyTorch's power of 0: exp(y log(0)) would be defined nowhere.
TEST(Powers, OfZeroAreDefinedWhereTheExponentIsNotNegative) {
  Operand vector;
  vector.shape = {5};
  vector.dtype = DType::kFloat64;
  const auto power = OperatorLibrary::BuiltIn().Instantiate("aten_power", {vector, vector}, {});
  ASSERT_TRUE(power.ok()) << power.status();
  const DenseTensor base{{5}, {0, 0, 2, 0, -2}}, exponent{{5}, {1.5, 0, -1, -1, 2}};
  const auto values = EvaluateDense(*power, {base, exponent});
  ASSERT_TRUE(values.ok()) << values.status();
  const std::vector<double>& z = values->front().data;
  EXPECT_EQ(z[0], 0);
  EXPECT_EQ(z[1], 1);
  EXPECT_NEAR(z[2], 0.5, 1e-15);
  EXPECT_FALSE(std::isfinite(z[3]));
  EXPECT_TRUE(std::isnan(z[4]));
}

}  // namespace
}  // namespace planproof::sdfg
