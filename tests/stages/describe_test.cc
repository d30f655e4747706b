// Lineage in words.
#include "stages/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planproof::stages {
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

}  // namespace
}  // namespace planproof::stages
