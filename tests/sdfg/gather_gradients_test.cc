// Derivatives of reads at indices that are data, under conditions: wherever a function reads within
// its tensors, so does its derivative, and it has the right value.
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"
#include "tests/sdfg/differentiate_testing.h"

namespace planproof::sdfg {
namespace {

constexpr int64_t kRows = 7, kColumns = 4, kIds = 5;

absl::StatusOr<IndexFunction> Declared(const std::string& body) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  const absl::Status status = library.AddDeclarations(
      "op f(x[v, h], id[n]: int, two[n2]: int) ties even -> y[k:6, l:3] = " + body, "my.op");
  if (!status.ok()) return status;
  Operand x, id, two;
  x.shape = {kRows, kColumns};
  x.dtype = kReal;
  id.shape = {kIds};
  two.shape = {kColumns};
  id.dtype = two.dtype = DType::kInt64;
  return library.Instantiate("f", {x, id, two}, {});
}

// ids in [0, kColumns), so that they may be read at ids.
const std::vector<DenseTensor> kInputs = {
    {{kRows, kColumns},
     {0.5,  -1.2, 2.1, 0.7,  1.1, -0.4, 0.3,  0.9, -2.0, 1.6,  0.2, -0.8, 1.3, 0.6,
      -0.1, 0.4,  1.9, -1.5, 0.8, 2.2,  -0.6, 1.0, 0.1,  -0.9, 1.7, -0.3, 1.4, 0.55}},
    {{kIds}, {3, 0, 3, 2, 1}},
    {{kColumns}, {1, 1, 3, 0}}};

TEST(GatherGradients, AnIndexReadFromATensorIsReadWithinIt) {
  for (const char* body :
       {"where(k < 5, x[id[k], k // 2], 0)", "where(k < 5, x[id[k], l] * x[k, id[k]], x[0, l])",
        "where(k < 5 and l < 2, x[two[id[k]], id[k]], 0)", "where(k + l < 5, x[id[k + l], l], 0)",
        "where(k < 3, x[0, 0] * x[1, k], 0)", "sum(j < 3: where(k + j < 5, x[id[k + j], j], 0))",
        "where(k < 5, where(id[k] < 3, x[k, id[k] + 1], x[6, 0]), 1)"}) {
    SCOPED_TRACE(body);
    const absl::StatusOr<IndexFunction> f = Declared(body);
    ASSERT_TRUE(f.ok()) << f.status();
    ExpectGradients(*f, kInputs);
  }
  // Without a condition: the last index is determined by another read alone.
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  ASSERT_TRUE(
      library.AddDeclarations("op f(x[v, h], id[n]: int) -> y[n] = x[id[n], n // 2]", "my.op")
          .ok());
  Operand x, id;
  x.shape = {kRows, 3};
  x.dtype = kReal;
  id.shape = {kIds};
  id.dtype = DType::kInt64;
  const absl::StatusOr<IndexFunction> f = library.Instantiate("f", {x, id}, {});
  ASSERT_TRUE(f.ok()) << f.status();
  DenseTensor values{{kRows, 3}, {}};
  for (int i = 0; i < kRows * 3; ++i) values.data.push_back(0.1 * i - 1);
  ExpectGradients(*f, {values, kInputs[1]});
}

class RandomGathers : public testing::Test {
 protected:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string Index(int depth) {
    switch (Pick(depth > 0 ? 9 : 5)) {
      case 0:
        return "k";
      case 1:
        return "l";
      case 2:
        return std::to_string(Pick(3));
      case 3:
        return "(k + l)";
      case 4:
        return "(" + std::to_string(Pick(6)) + " - k)";
      case 5:
        return Index(depth - 1) + " // 2";
      case 6:
        return Index(depth - 1) + " % 3";
      case 7:
        return "id[" + Index(depth - 1) + "]";
      default:
        return "two[" + Index(depth - 1) + "]";
    }
  }
  std::string Condition() {
    static const char* const kForms[] = {"k < ",  "l < ",      "k + l < ",
                                         "k >= ", "k // 2 < ", "2 * k - l < "};
    const std::string one = kForms[Pick(6)] + std::to_string(1 + Pick(5));
    return Pick(4) == 0 ? one + " and " + kForms[Pick(3)] + std::to_string(1 + Pick(4)) : one;
  }
  std::string Read() { return "x[" + Index(2) + ", " + Index(2) + "]"; }
  std::string Expression(int depth) {
    switch (depth == 0 ? 0 : Pick(4)) {
      case 0:
        return Read();
      case 1:
        return Expression(depth - 1) + " * " + Expression(depth - 1);
      default:
        return "where(" + Condition() + ", " + Expression(depth - 1) + ", " +
               (Pick(2) == 0 ? "0" : Expression(depth - 1)) + ")";
    }
  }
  std::mt19937_64 random_{3};
};

TEST_F(RandomGathers, HaveTheRightDerivative) {
  int functions = 0, tried = 0;
  while (functions < 300 && ++tried < 60000) {
    const std::string body = Expression(1 + Pick(2));
    const absl::StatusOr<IndexFunction> f = Declared(body);
    if (!f.ok()) continue;
    if (!EvaluateDense(*f, kInputs).ok()) continue;  // it reads outside after all
    SCOPED_TRACE(body);
    ExpectGradients(*f, kInputs);
    if (HasFailure()) return;
    ++functions;
  }
  EXPECT_EQ(functions, 300) << "of " << tried;
}

}  // namespace
}  // namespace planproof::sdfg
