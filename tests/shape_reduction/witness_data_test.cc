// A counterexample as data says what the search has found, and is one again when it is read back.
#include "shape_reduction/witness_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "shape_reduction/confirmation.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/witness.h"
#include "tests/shape_reduction/small_problem.h"
#include "witness/witness_file.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;

// y = x w^T, of which the plan computes one half of the contraction.
SmallProblem HalfOfALinear() {
  SmallProblem p;
  sdfg::Graph* parallel = &p.problem.parallel;
  const TensorId x = p.Logical("x", {8, 4096});
  const TensorId w = p.Logical("w", {16, 4096}, sdfg::TensorRole::kParameter);
  const TensorId y =
      p.Apply(&p.problem.logical, Instantiate("linear", {{8, 4096}, {16, 4096}}), {x, w});
  const TensorId half =
      p.Apply(parallel, Instantiate("linear", {{8, 2048}, {16, 2048}}),
              {p.Slice(x, {0, 2048}, {8, 2048}, 0), p.Slice(w, {0, 2048}, {16, 2048}, 0)}, 0);
  p.Claim(half, y, {0, 0});
  p.Require(half, y, {0, 0});
  p.Check();
  return p;
}

TEST(WitnessData, IsKeptOnlyIfItIsAskedFor) {
  SmallProblem p = HalfOfALinear();
  WitnessOptions options;
  EXPECT_EQ(SearchWitness(p.problem, options).data, nullptr);
  options.keep_data = true;
  const Witness found = SearchWitness(p.problem, options);
  ASSERT_EQ(found.outcome, Witness::Outcome::kConfirmed);
  ASSERT_NE(found.data, nullptr);
  EXPECT_EQ(found.data->inputs.size(), 2u);
  EXPECT_EQ(found.data->inputs[0].Shape(), (sdfg::Shape{8, 4096}));
  EXPECT_EQ(found.data->difference.parallel_index, found.parallel_index);
  EXPECT_EQ(found.data->difference.logical_value, found.logical_value);
}

TEST(WitnessData, ReadBackFromItsFileItIsConfirmedAgain) {
  SmallProblem p = HalfOfALinear();
  WitnessOptions options;
  options.keep_data = true;
  const Witness found = SearchWitness(p.problem, options);
  ASSERT_NE(found.data, nullptr);
  const auto read = witness::FromBytes(*witness::ToBytes(*found.data));
  ASSERT_TRUE(read.ok()) << read.status();
  const auto inputs = InputsOf(*read, p.problem);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ProgramCache programs;
  size_t which = 0;
  const std::vector<Spot> spots = {{&p.problem.required[0], read->difference.parallel_index}};
  const Enclosures again =
      ConfirmDifference(p.problem, spots, *inputs, kDoubleBits, {}, options.max_elements,
                        WorkClock::now() + std::chrono::seconds(20), &programs, &which);
  EXPECT_TRUE(again.disjoint) << again.message;
  EXPECT_EQ(again.logical_low, read->difference.logical.low);
  EXPECT_EQ(again.parallel_high, read->difference.parallel.high);
  // With other inputs it is another.
  witness::Witness other = *read;
  std::fill(other.inputs[0].reals.begin(), other.inputs[0].reals.end(), 0.0);
  const auto zeros = InputsOf(other, p.problem);
  ASSERT_TRUE(zeros.ok());
  EXPECT_FALSE(ConfirmDifference(p.problem, spots, *zeros, kDoubleBits, {}, options.max_elements,
                                 WorkClock::now() + std::chrono::seconds(20), &programs, &which)
                   .disjoint);
}

TEST(WitnessData, OfOtherInputsIsRefused) {
  SmallProblem p = HalfOfALinear();
  WitnessOptions options;
  options.keep_data = true;
  const Witness found = SearchWitness(p.problem, options);
  ASSERT_NE(found.data, nullptr);
  witness::Witness changed = *found.data;
  changed.inputs[0].name = "z";
  EXPECT_FALSE(InputsOf(changed, p.problem).ok());
  changed = *found.data;
  changed.inputs.pop_back();
  EXPECT_FALSE(InputsOf(changed, p.problem).ok());
  changed = *found.data;
  changed.inputs[0].dtype = sdfg::DType::kFloat64;
  EXPECT_FALSE(InputsOf(changed, p.problem).ok());
}

TEST(WitnessData, OnlyWhatIsApartIsConfirmed) {
  SmallProblem p = HalfOfALinear();
  Enclosures enclosures;
  enclosures.disjoint = true;
  enclosures.precision = kDoubleBits;
  enclosures.logical_low = 0;
  enclosures.logical_high = 2;
  enclosures.parallel_low = 1;
  enclosures.parallel_high = 3;
  Witness witness;
  const auto confirm = [&] {
    return Confirm(p.problem, 0, {0, 0}, enclosures, {}, WitnessOptions{}, &witness);
  };
  EXPECT_FALSE(confirm());  // they meet, whatever is said
  enclosures.parallel_low = 2.5;
  EXPECT_TRUE(confirm());
  enclosures.disjoint = false;
  EXPECT_FALSE(confirm());
  enclosures.undefined = true;
  EXPECT_FALSE(confirm());  // nobody knows why
}

// Cuts of several digits come back with the same blocks in the same order.
TEST(WitnessData, BlocksOfDigitsComeBack) {
  std::mt19937_64 random(7);
  int represented = 0;
  for (int round = 0; round < 300; ++round) {
    const int64_t div = 1 + static_cast<int64_t>(random() % 6), digit = 2 + random() % 5,
                  extent = div * digit * static_cast<int64_t>(1 + random() % 4);
    DimPartition partition =
        DimPartition::WithDigitCuts(extent, div, digit, {static_cast<int64_t>(random() % digit)});
    if (random() % 2 == 0)
      partition = partition.Refine(
          DimPartition::WithCuts(extent, {static_cast<int64_t>(random() % extent)}));
    SmallProblem p;
    p.Logical("x", {extent});
    BlockTensor<double> tensor;
    tensor.dims = {std::make_shared<const DimPartition>(partition)};
    for (int64_t block = 0; block < partition.blocks(); ++block) tensor.values.push_back(block);
    const witness::Witness data{{ToData("x", p.problem.logical.tensors[0].dtype, tensor)}, {}};
    for (int64_t i = 0; i < extent; ++i)
      ASSERT_EQ(data.inputs[0].reals[data.inputs[0].Offset({i})],
                tensor.values[tensor.Offset({i})]);
    const auto inputs = InputsOf(data, p.problem);
    if (!inputs.ok()) continue;
    ++represented;
    for (int64_t i = 0; i < extent; ++i)
      ASSERT_EQ((*inputs)[0]->values[(*inputs)[0]->Offset({i})], tensor.values[tensor.Offset({i})]);
  }
  EXPECT_GT(represented, 250);
}

}  // namespace
}  // namespace planproof::shape_reduction
