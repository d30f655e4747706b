// Partitions of the indices that a mask compares, where values are enclosed.
#include "shape_reduction/program_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "shape_reduction/domain_interval.h"
#include "shape_reduction/reduced_evaluator.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

// create_mask: made of the shape of its operands alone.
struct Mask {
  SmallProblem small;
  ProgramCache programs;
  const ScalarProgram* program;
  std::vector<InputBlocks> inputs;

  Mask() {
    const sdfg::TensorId tokens = small.Logical("tokens", {2, 64});
    const sdfg::TensorId h = small.Logical("h", {2, 64, 4});
    small.Apply(&small.problem.logical, Instantiate("create_mask", {{2, 64}, {2, 64, 4}}),
                {tokens, h});
    program = &programs.Get(small.problem.logical, small.problem.logical.operators[0], 0);
    for (const sdfg::Shape& shape : {sdfg::Shape{2, 64}, sdfg::Shape{2, 64, 4}}) {
      inputs.emplace_back();
      for (int64_t extent : shape)
        inputs.back().dims.push_back(std::make_shared<const DimPartition>(extent));
    }
  }
};

TEST(ProgramPartition, ComparedIndicesThatNoOperandCutsAreCutAsAskedFor) {
  Mask mask;
  const PartitionsByExtent cuts = {
      {64, std::make_shared<const DimPartition>(DimPartition::WithCuts(64, {1, 8}))}};
  for (const bool asked : {true, false}) {
    LooseComparisons loose{.nodes = {}, .otherwise = asked ? &cuts : nullptr};
    const std::vector<DimPartition> partitions =
        DerivePartitions(*mask.program, mask.inputs, &loose);
    for (const size_t dim : {2, 3})
      EXPECT_EQ(partitions[mask.program->dims[dim]].blocks(), asked ? 3 : 1);
    EXPECT_EQ(std::count(loose.nodes.begin(), loose.nodes.end(), 1), 1);
  }
  // Exact values need every position.
  const std::vector<DimPartition> exact = DerivePartitions(*mask.program, mask.inputs);
  EXPECT_EQ(exact[mask.program->dims[3]].blocks(), 64);
}

// The first key is never masked, keys of later blocks are; where both occur, the enclosure has
// both.
TEST(ProgramPartition, BlocksOfAMaskEncloseWhatTheyHold) {
  Mask mask;
  const PartitionsByExtent cuts = {
      {64, std::make_shared<const DimPartition>(DimPartition::WithCuts(64, {1, 8}))}};
  ReducedEvaluator<IntervalDomain> evaluator(&mask.programs, /*enclose=*/true, cuts);
  std::vector<BlockTensorPtr<Interval>> inputs;
  for (const sdfg::Shape& shape : {sdfg::Shape{2, 64}, sdfg::Shape{2, 64, 4}})
    inputs.push_back(ConstantTensor(shape, Interval{1, 1}));
  BlockTensorPtr<Interval> made;
  PremiseCheck premises;
  ASSERT_TRUE(evaluator.Apply(*mask.program, inputs, 1 << 20, &made, &premises).ok());
  const auto at = [&](int64_t query, int64_t key) {
    return made->values[made->Offset({0, 0, query, key})];
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(at(40, 0).lo, 0);
  EXPECT_EQ(at(40, 0).hi, 0);
  EXPECT_EQ(at(0, 40).hi, -kInfinity);
  EXPECT_EQ(at(40, 50).lo, -kInfinity);
  EXPECT_EQ(at(40, 50).hi, 0);
}

}  // namespace
}  // namespace planproof::shape_reduction
