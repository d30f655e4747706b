// What given tensors of the model determine, also through a bucket.
#include "inference/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/shape_reduction/small_problem.h"

namespace planproof::inference {
namespace {

using sdfg::TensorId;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// Two gradients are joined, and the first is read from the bucket.
class CandidatesTest : public testing::Test {
 protected:
  CandidatesTest() {
    const TensorId x = small_.Logical("x", {4}), y = small_.Logical("y", {8});
    first_ = Apply(shape_reduction::Instantiate("neg", {{4}}), {x});
    const TensorId second = Apply(shape_reduction::Instantiate("neg", {{8}}), {y});
    const TensorId bucket = Apply(shape_reduction::Join(4, 8), {first_, second});
    part_ = Apply(shape_reduction::RowsOf(12, 0, 2), {bucket});
    both_ = Apply(shape_reduction::RowsOf(12, 2, 2), {bucket});
    result_ = Apply(shape_reduction::Instantiate("exp", {{2, 2}}), {part_});
  }

  std::vector<TensorId> DeterminedByFirst(Buckets buckets) {
    Operands operands;
    return Candidates(small_.problem.logical, buckets, Opening::kLeast, {}, &operands)
        .DeterminedBy({first_});
  }

  TensorId Apply(const sdfg::IndexFunction& function, const std::vector<TensorId>& operands) {
    return small_.Apply(&small_.problem.logical, function, operands);
  }

  shape_reduction::SmallProblem small_;
  TensorId first_, part_, both_, result_;
};

TEST_F(CandidatesTest, ABucketNeedsAllItsPieces) {
  EXPECT_THAT(DeterminedByFirst(Buckets::kAreOneTensor), Not(Contains(part_)));
}

TEST_F(CandidatesTest, APartOfABucketNeedsThePieceInWhichItLies) {
  const std::vector<TensorId> found = DeterminedByFirst(Buckets::kAreTheirPieces);
  EXPECT_THAT(found, Contains(part_));
  EXPECT_THAT(found, Contains(result_));
  EXPECT_THAT(found, Not(Contains(both_)));
}

// A mask is read once, by a view that all layers read: what a layer makes of it is found from what
// only that layer has.
TEST(CandidatesOfDeepModels, AreLookedForWhereLeastIsRead) {
  shape_reduction::SmallProblem deep;
  sdfg::Graph& graph = deep.problem.logical;
  const TensorId mask = deep.Logical("mask", {2});
  const TensorId view = deep.Apply(&graph, shape_reduction::Instantiate("neg", {{2}}), {mask});
  TensorId scores = sdfg::kNone, masked = sdfg::kNone;
  for (int layer = 0; layer < 4100; ++layer) {
    scores = deep.Apply(&graph, shape_reduction::Instantiate("exp", {{2}}),
                        {deep.Logical("x" + std::to_string(layer), {2})});
    masked = deep.Apply(&graph, shape_reduction::Instantiate("add", {{2}, {2}}), {view, scores});
  }
  Operands operands;
  Candidates candidates(graph, Buckets::kAreOneTensor, Opening::kLeast, {}, &operands);
  EXPECT_THAT(candidates.DeterminedBy({mask, scores}), ElementsAre(masked));
  EXPECT_THAT(candidates.DeterminedBy({scores, mask}), ElementsAre(masked));
  EXPECT_THAT(candidates.DeterminedBy({view, scores}), ElementsAre(masked));
}

// Attention's result is computed from scores by way of weights, which the scores determine, too;
// the gradient of the scores is computed from the scores, not from that result.
TEST(CandidatesToOpen, AreAllThatTheRestDeterminesIfThatIsAskedFor) {
  shape_reduction::SmallProblem small;
  sdfg::Graph& graph = small.problem.logical;
  const auto apply = [&](const char* op, const std::vector<TensorId>& operands) {
    const std::vector<sdfg::Shape> shapes(operands.size(), {2});
    return small.Apply(&graph, shape_reduction::Instantiate(op, shapes), operands);
  };
  const TensorId values = small.Logical("values", {2});
  const TensorId scores = apply("neg", {small.Logical("x", {2})});
  const TensorId weights = apply("exp", {scores});
  const TensorId result = apply("add", {weights, values});
  const TensorId gradient = apply("neg", {small.Logical("y", {2})});
  const TensorId of_scores = apply("add", {apply("add", {gradient, values}), weights});
  const std::vector<TensorId> terms = {values, scores, result, gradient};
  const auto choices = [&](Opening opening) {
    Operands operands;
    return Candidates(graph, Buckets::kAreOneTensor, opening, {}, &operands)
        .ToOpen(terms, [](TensorId /*tensor*/) { return false; });
  };
  const std::vector<TensorId> both = {result, weights};
  EXPECT_THAT(choices(Opening::kAllDetermined), Contains(both));
  EXPECT_THAT(choices(Opening::kLeast), Not(Contains(both)));
  Operands operands;
  Candidates found(graph, Buckets::kAreOneTensor, Opening::kLeast, {}, &operands);
  EXPECT_THAT(found.ComputedFrom({values, scores, gradient}), Contains(of_scores));
}

TEST_F(CandidatesTest, TheyDifferWhereSomethingIsJoined) {
  EXPECT_TRUE(JoinsAny(small_.problem.logical));
  shape_reduction::SmallProblem other;
  const TensorId x = other.Logical("x", {4});
  other.Apply(&other.problem.logical, shape_reduction::RowsOf(4, 0, 2), {x});
  EXPECT_FALSE(JoinsAny(other.problem.logical));
}

}  // namespace
}  // namespace planproof::inference
