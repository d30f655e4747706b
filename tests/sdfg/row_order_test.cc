// Functions of rows in another order: what is said of them holds for values, and what does more
// with a row than to read it is refused.
#include "sdfg/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {
namespace {

constexpr int64_t kRowCount = 5;
using Kind = RowOperand::Kind;

// Operands are x[5, 3] and u[5] in the order of rows, z[5, 3] and i[5] (integers below 5) of which
// nothing is known, c[5, 3] that is 2 everywhere, and q[5], the inverse.
IndexFunction FunctionOf(const std::string& declaration) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  const absl::Status added = library.AddDeclarations(declaration, "test.op");
  EXPECT_TRUE(added.ok()) << declaration << added;
  const Shape matrix = {kRowCount, 3}, row = {kRowCount};
  std::vector<Operand> operands = {{Operand::Kind::kTensor, matrix, DType::kFloat32, 0},
                                   {Operand::Kind::kTensor, row, DType::kFloat32, 0},
                                   {Operand::Kind::kTensor, matrix, DType::kFloat32, 0},
                                   {Operand::Kind::kTensor, row, DType::kInt64, 0},
                                   {Operand::Kind::kTensor, matrix, DType::kFloat32, 0},
                                   {Operand::Kind::kTensor, row, DType::kInt64, 0}};
  absl::StatusOr<IndexFunction> function = library.Instantiate("f", operands, {});
  EXPECT_TRUE(function.ok()) << declaration << function.status();
  return function.ok() ? *std::move(function) : IndexFunction();
}

std::string Declared(const std::string& outputs, const std::string& premise = "") {
  return "## For the test. Source: none.\nop f(x[r, k], u[r], z[r, k], i[r]: int, c[r, k], q[r]: "
         "int) " +
         premise + outputs + "\n";
}

std::vector<RowOperand> Operands() {
  std::vector<RowOperand> operands(6);
  operands[0].kind = operands[1].kind = Kind::kRows;
  operands[3].range = operands[5].range = IndexRange{0, kRowCount - 1};
  operands[4].kind = Kind::kUniform;
  operands[5].kind = Kind::kInverse;
  return operands;
}

std::optional<InOwnOrder> Taken(const std::string& declaration) {
  const IndexFunction function = FunctionOf(declaration);
  if (function.outputs.empty()) return std::nullopt;  // which has failed
  return TakeInOwnOrder(function, Operands(), kRowCount);
}

// The rows of `own` in the order p along `dim`.
DenseTensor InOrder(const DenseTensor& own, size_t dim, const std::vector<int64_t>& p) {
  DenseTensor rows = own;
  const int64_t inner = std::accumulate(own.shape.begin() + static_cast<int64_t>(dim) + 1,
                                        own.shape.end(), int64_t{1}, std::multiplies<>());
  const int64_t extent = own.shape[dim];
  for (size_t at = 0; at < own.data.size(); ++at) {
    const int64_t row = static_cast<int64_t>(at) / inner % extent;
    rows.data[at] = own.data[at + static_cast<size_t>((p[row] - row) * inner)];
  }
  return rows;
}

// Values agree for random operands and every order of the rows that is tried.
void ExpectEqualValues(const std::string& declaration) {
  const IndexFunction function = FunctionOf(declaration);
  const std::optional<InOwnOrder> own = Taken(declaration);
  ASSERT_TRUE(own) << declaration;
  std::mt19937 random(5);
  const auto values = [&](Shape shape, bool whole) {
    DenseTensor tensor{shape, std::vector<double>(ElementCount(shape))};
    for (double& value : tensor.data) {
      value = whole ? static_cast<double>(random() % kRowCount)
                    : static_cast<double>(random() % 17) - 8;
    }
    return tensor;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<int64_t> p(kRowCount);
    std::iota(p.begin(), p.end(), 0);
    std::shuffle(p.begin(), p.end(), random);
    std::vector<DenseTensor> before = {values({kRowCount, 3}, false), values({kRowCount}, false),
                                       values({kRowCount, 3}, false), values({kRowCount}, true),
                                       values({kRowCount, 3}, false), values({kRowCount}, true)};
    std::fill(before[4].data.begin(), before[4].data.end(), 2.0);
    for (int64_t j = 0; j < kRowCount; ++j) before[5].data[p[j]] = static_cast<double>(j);
    std::vector<DenseTensor> rows = before;
    for (size_t operand : {0, 1}) rows[operand] = InOrder(before[operand], 0, p);
    const auto expected = EvaluateDense(function, rows);
    const auto computed = EvaluateDense(own->function, before);
    ASSERT_TRUE(expected.ok() && computed.ok()) << expected.status() << computed.status();
    for (size_t o = 0; o < expected->size(); ++o) {
      const DenseTensor& result = (*computed)[o];
      const DenseTensor ordered = own->dims[o] ? InOrder(result, *own->dims[o], p) : result;
      ASSERT_EQ(ordered.data.size(), (*expected)[o].data.size());
      for (size_t at = 0; at < ordered.data.size(); ++at) {
        EXPECT_NEAR(ordered.data[at], (*expected)[o].data[at], 1e-9) << declaration;
      }
    }
  }
}

TEST(RowOrder, WhatIsDoneToEachRowIsDoneInAnyOrder) {
  ExpectEqualValues(Declared("-> y[r, k] = exp(x[r, k] / 9) * u[r] + sum(k2: x[r, k2])"));
  ExpectEqualValues(Declared("-> y[k, r] = x[r, k] * c[r, k]"));
  ExpectEqualValues(Declared("-> y[r, n:5] = u[r] * sum(k: x[r, k] * z[n, k])"));
  ExpectEqualValues(Declared("-> y[r, n:5] = sum(r2: [i[r2] == n] * z[r2, 0]) * u[r]"));
  ExpectEqualValues(Declared("-> y[r] = u[r]\n  -> w[k] = sum(r2: x[r2, k])"));
}

TEST(RowOrder, WhatAllRowsAddUpToDoesNotDependOnTheirOrder) {
  ExpectEqualValues(Declared("-> y[k] = sum(r: x[r, k] * u[r])"));
  ExpectEqualValues(Declared("-> y[k] = max(r: x[r, k]) - min(r: u[r])", "ties first\n  "));
  ExpectEqualValues(Declared("-> y[n:5, k] = z[n, k] + sum(r: [u[r] == n] * x[r, k])"));
  ExpectEqualValues(Declared("-> y[r] = sum(r2: [u[r2] < u[r]])"));
}

TEST(RowOrder, TheInverseTakesRowsBack) {
  ExpectEqualValues(Declared("-> y[n:5, k] = sum(r: [q[n] == r] * x[r, k])"));
  ExpectEqualValues(Declared("-> y[r, k] = c[r, k] + sum(n: [q[n] == r] * z[n, k])"));
  ExpectEqualValues(Declared("-> y[r, k] = sum(n: [r == q[n]] * z[n, k]) * x[r, k]"));
  const std::optional<InOwnOrder> own =
      Taken(Declared("-> y[n:5, k] = sum(r: [q[n] == r] * x[r, k])"));
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->dims[0]);
}

TEST(RowOrder, ARowThatCountsByItsPlaceIsRefused) {
  for (const char* outputs : {
           "-> y[r] = u[r] * [r < 2]",                 // a mask of places
           "-> y[r] = sum(r2: [r2 <= r] * u[r2])",     // sums so far
           "-> y[r] = u[r] + r",                       // the place itself
           "-> y[r, k] = x[r, k] * z[r, k]",           // rows of something else
           "-> y[k] = sum(r: x[r, k] * z[r, k])",      // the same, added up
           "-> y[k] = sum(r: x[r, k] * [i[r] == 2])",  // chosen by something else
           "-> y[n:4] = u[n] - u[n + 1]",              // neighbours
           "-> y[n:3] = u[n]",                         // the first rows
           "-> y[n:5] = u[4 - n]",                     // backwards
           "-> y[r, n:5] = u[r] * u[n]",               // two dimensions of rows
           "-> y[k] = x[0, k]",                        // one of them
           "-> y[r] = sum(r2: [i[r] == r2] * u[r2])",  // at other places that are data
       }) {
    EXPECT_FALSE(Taken(Declared(outputs))) << outputs;
  }
}

TEST(RowOrder, TheInverseIsOnlyComparedWithRows) {
  for (const char* outputs : {
           "-> y[r] = u[r] * q[r]",                             // its value
           "-> y[n:5, k] = sum(r: [q[n] <= r] * x[r, k])",      // another comparison
           "-> y[n:5, k] = sum(r: [q[n] + 1 == r] * x[r, k])",  // the row after it
           "-> y[k] = sum(r: [q[r] == r] * x[r, k])",           // at a row
           "-> y[n:5] = sum(r: [q[n] == r] * z[r, 0])",         // rows of something else
       }) {
    EXPECT_FALSE(Taken(Declared(outputs))) << outputs;
  }
}

TEST(RowOrder, ARowOfAnOpaqueFunctionIsNotReordered) {
  const OperatorLibrary& library = OperatorLibrary::BuiltIn();
  const Operand x{Operand::Kind::kTensor, {kRowCount, 3}, DType::kFloat32, 0};
  std::vector<RowOperand> rows(1);
  rows[0].kind = Kind::kRows;
  const auto along = [&](int64_t dim) {
    return *library.Instantiate("topk", {x}, {{"k", int64_t{2}}, {"dim", dim}});
  };
  EXPECT_FALSE(TakeInOwnOrder(along(0), rows, kRowCount));  // which rows are the best
  EXPECT_TRUE(TakeInOwnOrder(along(1), rows, kRowCount));   // the best of each row
}

TEST(RowOrder, PremisesStayUnlessRangesDecideThem) {
  const std::optional<InOwnOrder> own =
      Taken(Declared("-> y[r] = u[r]", "premise u[r] >= 0 \"it is not negative\" "));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->function.premises.size(), 1u);
  const std::optional<InOwnOrder> within =
      Taken(Declared("-> y[r, n:5] = u[r]", "premise 0 <= q[n] and q[n] < 5 \"it is a place\" "));
  ASSERT_TRUE(within);
  EXPECT_TRUE(within->function.premises.empty());
  EXPECT_FALSE(
      Taken(Declared("-> y[r, n:5] = u[r]", "premise 0 <= q[n] and q[n] < 4 \"it is a place\" ")));
}

TEST(RowOrder, OperandsWithAnotherNumberOfRowsAreRefused) {
  const IndexFunction function = FunctionOf(Declared("-> y[r] = u[r]"));
  EXPECT_TRUE(TakeInOwnOrder(function, Operands(), kRowCount));
  EXPECT_FALSE(TakeInOwnOrder(function, Operands(), kRowCount - 1));
  std::vector<RowOperand> operands = Operands();
  operands[0].dim = 1;
  EXPECT_FALSE(TakeInOwnOrder(function, operands, kRowCount));
}

TEST(RowOrder, ACopyIsOneOfEveryElementInItsPlace) {
  EXPECT_EQ(CopiedOperand(FunctionOf(Declared("-> y[r, k] = z[r, k]"))), 2u);
  EXPECT_EQ(CopiedOperand(FunctionOf(Declared("-> y[r] = u[r]"))), 1u);
  EXPECT_FALSE(CopiedOperand(FunctionOf(Declared("-> y[k, r] = z[r, k]"))));
  EXPECT_FALSE(CopiedOperand(FunctionOf(Declared("-> y[n:3, k] = z[n, k]"))));
  EXPECT_FALSE(CopiedOperand(FunctionOf(Declared("-> y[r] = u[r] + 1"))));
}

}  // namespace
}  // namespace planproof::sdfg
