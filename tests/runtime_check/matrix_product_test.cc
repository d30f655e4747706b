// Which tapes are products of matrices, and how a BLAS is asked for them.
#include "runtime_check/matrix_product.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"

namespace planproof::runtime_check {
namespace {

sdfg::Operand Tensor(sdfg::Shape shape) {
  sdfg::Operand operand;
  operand.shape = std::move(shape);
  operand.dtype = sdfg::DType::kFloat32;
  return operand;
}

sdfg::IndexFunction Operator(const std::string& name, const std::vector<sdfg::Operand>& operands,
                             const sdfg::Attributes& attributes = {}) {
  const auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes);
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? *function : sdfg::IndexFunction();
}

std::optional<MatrixProduct> ProductOf(const sdfg::IndexFunction& function, int output = 0) {
  const absl::StatusOr<Tape> tape = Compile(function, output);
  EXPECT_TRUE(tape.ok()) << tape.status();
  return tape.ok() ? AsMatrixProduct(*tape) : std::nullopt;
}

TEST(MatrixProduct, ALinearLayerIsOneProductOfAllItsRows) {
  const auto product = ProductOf(Operator("linear", {Tensor({3, 5, 70}), Tensor({150, 70})}));
  ASSERT_TRUE(product.has_value());
  EXPECT_EQ(product->rows, 15);  // both leading dimensions
  EXPECT_EQ(product->columns, 150);
  EXPECT_EQ(product->depth, 70);
  EXPECT_TRUE(product->loops.empty());
  EXPECT_EQ(product->Multiplications(), 15. * 150 * 70);
  const auto blas = AsBlasProduct(*product);
  ASSERT_TRUE(blas.has_value());
  EXPECT_TRUE(blas->first_is_right);
  EXPECT_TRUE(blas->transpose_first);  // the weight is stored by its outputs
  EXPECT_FALSE(blas->transpose_second);
  EXPECT_EQ(blas->m, 150);
  EXPECT_EQ(blas->n, 15);
  EXPECT_EQ(blas->first_leading, 70);
  EXPECT_EQ(blas->second_leading, 70);
  EXPECT_EQ(blas->result_leading, 150);
}

TEST(MatrixProduct, ABatchIsALoop) {
  const auto product = ProductOf(Operator("bmm", {Tensor({6, 33, 40}), Tensor({6, 40, 20})}));
  ASSERT_TRUE(product.has_value());
  ASSERT_EQ(product->loops.size(), 1u);
  EXPECT_EQ(product->loops[0].extent, 6);
  EXPECT_EQ(product->loops[0].left, 33 * 40);
  EXPECT_EQ(product->loops[0].right, 40 * 20);
  EXPECT_EQ(product->loops[0].result, 33 * 20);
  EXPECT_TRUE(AsBlasProduct(*product).has_value());
}

TEST(MatrixProduct, TheGradientOfAWeightSumsOverAllRows) {
  const auto backward =
      sdfg::Differentiate(Operator("linear", {Tensor({3, 5, 70}), Tensor({150, 70})}), {0, 1}, {0});
  ASSERT_TRUE(backward.ok()) << backward.status();
  const auto input = ProductOf(*backward, 0), weight = ProductOf(*backward, 1);
  ASSERT_TRUE(input.has_value());
  EXPECT_EQ(input->depth, 150);
  ASSERT_TRUE(weight.has_value());
  EXPECT_EQ(weight->depth, 15);
  EXPECT_EQ(weight->rows * weight->columns, 150 * 70);
  EXPECT_TRUE(AsBlasProduct(*weight).has_value());
}

// Grouped heads: the gradient of a key sums over the group's heads, which are not next to queries.
TEST(MatrixProduct, SumsThatAreNotOneAreAddedUp) {
  const auto backward =
      sdfg::Differentiate(Operator("einsum", {Tensor({2, 3, 9, 4, 8}), Tensor({2, 3, 10, 8})},
                                   {{"equation", std::string("bkqgd,bktd->bkgqt")}}),
                          {0, 1}, {0});
  ASSERT_TRUE(backward.ok()) << backward.status();
  const auto product = ProductOf(*backward, 1);
  ASSERT_TRUE(product.has_value());
  EXPECT_EQ(product->depth, 9);
  ASSERT_EQ(product->sums.size(), 1u);
  EXPECT_EQ(product->sums[0].extent, 4);
  EXPECT_EQ(product->Multiplications(), 2. * 3 * 9 * 4 * 10 * 8);
  EXPECT_EQ(product->Calls(), 4);  // both leading dimensions are one loop, and a batch
  EXPECT_TRUE(AsBlasProduct(*product).has_value());
}

TEST(MatrixProduct, OtherOperatorsAreNone) {
  const sdfg::Attributes last = {{"dim", int64_t{-1}}};
  EXPECT_FALSE(ProductOf(Operator("add", {Tensor({8, 8}), Tensor({8, 8})})));
  EXPECT_FALSE(ProductOf(Operator("mul", {Tensor({8, 8}), Tensor({8, 8})})));
  EXPECT_FALSE(ProductOf(Operator("sum", {Tensor({8, 8})})));
  EXPECT_FALSE(ProductOf(Operator("softmax", {Tensor({8, 8})}, last)));
  // A bias is added.
  EXPECT_FALSE(ProductOf(Operator("linear", {Tensor({8, 8}), Tensor({8, 8}), Tensor({8})})));
}

// Sums of products that are none of matrices: the square of a sum, a sum of a single element.
TEST(MatrixProduct, ElementsAreMultipliedBeforeTheyAreAddedUp) {
  for (const bool outside : {false, true}) {
    sdfg::IndexFunctionBuilder builder("f");
    const int x = builder.AddInput("x", {8, 8}, sdfg::DType::kFloat32);
    const int y = builder.AddOutput("y", sdfg::Shape{8}, sdfg::DType::kFloat32);
    const sdfg::ExprId row = builder.Index(builder.OutputDims(y)[0]);
    const sdfg::VarId k = builder.AddVar("k", 8);
    const sdfg::ExprId element = builder.Element(x, {row, builder.Index(k)});
    const sdfg::ExprId other = builder.Element(x, {row, builder.Int(0)});
    const sdfg::ExprId body =
        outside ? builder.Binary(sdfg::Op::kMul, builder.Reduce(sdfg::Op::kSum, k, element), other)
                : builder.Reduce(sdfg::Op::kSum, k, builder.Binary(sdfg::Op::kMul, element, other));
    builder.SetBody(y, body);
    sdfg::IndexFunction function;
    ASSERT_TRUE(builder.Finish(&function).ok());
    EXPECT_FALSE(ProductOf(function)) << outside;
  }
}

TEST(MatrixProduct, ABlasNeedsADimensionThatIsContiguous) {
  MatrixProduct product;
  product.rows = product.columns = product.depth = 4;
  product.left_row = 4;
  product.left_depth = 1;
  product.right_depth = 4;
  product.right_column = 1;
  product.result_row = 4;
  product.result_column = 1;
  EXPECT_TRUE(AsBlasProduct(product).has_value());
  MatrixProduct strided = product;
  strided.left_depth = 2;
  strided.left_row = 8;
  EXPECT_FALSE(AsBlasProduct(strided).has_value());
  MatrixProduct overlapping = product;  // windows of a convolution
  overlapping.left_row = 2;
  EXPECT_FALSE(AsBlasProduct(overlapping).has_value());
  MatrixProduct by_columns = product;
  by_columns.result_row = 1;
  by_columns.result_column = 4;
  const auto blas = AsBlasProduct(by_columns);
  ASSERT_TRUE(blas.has_value());
  EXPECT_FALSE(blas->first_is_right);
}

}  // namespace
}  // namespace planproof::runtime_check
