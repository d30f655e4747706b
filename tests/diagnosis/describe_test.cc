// Lineage in words.
#include "diagnosis/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sdfg/index_function.h"
#include "strategy/verify.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::diagnosis {
namespace {

using testing::ElementsAre;

// y[tp, i, j], held by one group of devices, against a logical y.
lineage::Problem OneTensor(const lineage::IndexMap& columns) {
  lineage::Problem problem;
  sdfg::Tensor logical;
  logical.name = "y";
  logical.shape = {4, 16};
  problem.logical.AddTensor(logical);
  problem.parallel.axes.push_back({"tp", 2});
  sdfg::Tensor parallel;
  parallel.name = "part";
  parallel.axes = {0};
  parallel.shape = {2, 4, 8};
  parallel.device = 0;
  problem.parallel.AddTensor(parallel);
  lineage::RequiredRelation required;
  required.what = "y";
  required.parallel = 0;
  required.lineage.kind = lineage::LineageKind::kFull;
  required.lineage.logical = 0;
  lineage::IndexMap rows;
  rows.terms.push_back({1, 1, 1, 0});
  required.lineage.map = {rows, columns};
  problem.required.push_back(required);
  return problem;
}

lineage::IndexMap Columns(int64_t constant, int64_t scale) {
  lineage::IndexMap map;
  map.constant = constant;
  if (scale != 0) map.terms.push_back({0, scale, 1, 0});
  map.terms.push_back({2, 1, 1, 0});
  return map;
}

TEST(Describe, ASliceReadsFromItsStartToItsEnd) {
  EXPECT_THAT(DescribeRequired(OneTensor(Columns(0, 8))),
              ElementsAre("y: part = y[0:4, 8 tp:8 tp + 8]"));
  EXPECT_THAT(DescribeRequired(OneTensor(Columns(3, 4))),
              ElementsAre("y: part = y[0:4, 4 tp + 3:4 tp + 11]"));
  EXPECT_THAT(DescribeRequired(OneTensor(Columns(8, -8))),
              ElementsAre("y: part = y[0:4, -8 tp + 8:-8 tp + 16]"));
  EXPECT_THAT(DescribeRequired(OneTensor(Columns(8, 0))), ElementsAre("y: part = y[0:4, 8:16]"));
}

TEST(Describe, ADeviceIsNamedWhereThereAreSeveralGroups) {
  lineage::Problem problem = OneTensor(Columns(0, 8));
  sdfg::Tensor elsewhere = problem.parallel.tensors[0];
  elsewhere.name = "other";
  elsewhere.device = 4;
  problem.parallel.AddTensor(elsewhere);
  EXPECT_THAT(DescribeRequired(problem),
              ElementsAre("y: part on device 0 = y[0:4, 8 tp:8 tp + 8]"));
}

// z = f(x), w = z + 1, where the plan does something else than f. No numbers are known of f and g.
class UndecidedTest : public testing::Test {
 protected:
  using Body = std::function<sdfg::ExprId(sdfg::IndexFunctionBuilder*, sdfg::ExprId element)>;

  static sdfg::IndexFunction Function(const std::string& name, const Body& body) {
    sdfg::IndexFunctionBuilder b(name);
    const int x = b.AddInput("x", {4}, sdfg::DType::kFloat32);
    const int y = b.AddOutput("y", sdfg::Shape{4}, sdfg::DType::kFloat32);
    b.SetBody(y, body(&b, b.Element(x, {b.Index(b.OutputDims(y)[0])})));
    sdfg::IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    return f;
  }
  static sdfg::ExprId F(sdfg::IndexFunctionBuilder* b, sdfg::ExprId e) {
    return b->Opaque("f", false, -1, {e});
  }
  static stages::Result OfPlan(const Body& in_place_of_f) {
    shape_reduction::SmallProblem small;
    const auto plus_one = [](sdfg::IndexFunctionBuilder* b, sdfg::ExprId e) {
      return b->Binary(sdfg::Op::kAdd, e, b->Real(1));
    };
    sdfg::Graph *logical = &small.problem.logical, *parallel = &small.problem.parallel;
    const sdfg::TensorId x = small.Logical("x", {4});
    const sdfg::TensorId z = small.Apply(logical, Function("z", F), {x});
    const sdfg::TensorId w = small.Apply(logical, Function("w", plus_one), {z});
    const sdfg::TensorId own_x = small.Slice(x, {0}, {4});
    const sdfg::TensorId own_z =
        small.Apply(parallel, Function("first", in_place_of_f), {own_x}, 0);
    const sdfg::TensorId own_w = small.Apply(parallel, Function("second", plus_one), {own_z}, 0);
    small.Claim(own_z, z, {0});
    small.Claim(own_w, w, {0});
    small.Require(own_w, w, {0});
    small.Check();
    return strategy::Verify(small.problem, {});
  }
};

TEST_F(UndecidedTest, TheFirstThatFailedComesBeforeTheOutputs) {
  const stages::Result result = OfPlan(
      [](sdfg::IndexFunctionBuilder* b, sdfg::ExprId e) { return b->Opaque("g", false, -1, {e}); });
  ASSERT_EQ(result.verdict, stages::Verdict::kUnknown);
  ASSERT_EQ(result.violations.size(), 2);
  EXPECT_THAT(result.violations[0].parallel_operators, ElementsAre("first"));
  EXPECT_THAT(result.violations[0].message, testing::HasSubstr("z.1 on device 0: not proved"));
  EXPECT_THAT(result.violations[1].message, testing::HasSubstr("w.2 on device 0: not proved"));
}

}  // namespace
}  // namespace planproof::diagnosis
