// Flat pieces of parameters in a buffer that ranks gather follow one another.
#include "frontend/torch/flat_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/frontend/torch/small_job.h"

namespace planproof::frontend::torch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Range = std::pair<int64_t, int64_t>;

// The parameters a[2, 3] and b[4] in one buffer of ten elements, of which each rank has five: all
// but one element of a, and that one with b. Each has a state beside it.
SmallTrace Rank(int rank, const std::vector<std::vector<int>>& groups, int64_t of_a,
                bool gathered = true) {
  SmallTrace trace(rank, 2);
  trace.Groups(groups);
  const int shard = trace.Add("float32", {5});
  const int a = trace.View(0, "float32", {of_a}, 0);
  const int b = trace.View(0, "float32", {5 - of_a}, of_a);
  trace.Input("parameter", "a", a);
  trace.Input("parameter", "b", b);
  trace.Input("state", "a.momentum", trace.Add("float32", {of_a}), {{"parameter", "a"}});
  trace.Input("state", "a.step", trace.Add("float32", {}), {{"parameter", "a"}});
  if (gathered) trace.Exchange("all_gather", {shard}, {trace.Add("float32", {10})});
  return trace;
}

struct Placed {
  absl::Status status;
  std::vector<Trace> ranks;
  std::vector<std::string> assumptions;
};

Placed Place(const std::vector<SmallTrace>& traces) {
  SmallTrace reference(0, 1);
  reference.Input("parameter", "a", reference.Add("float32", {2, 3}));
  reference.Input("parameter", "b", reference.Add("float32", {4}));
  reference.Input("state", "a.momentum", reference.Add("float32", {2, 3}), {{"parameter", "a"}});
  reference.Input("state", "a.step", reference.Add("float32", {}), {{"parameter", "a"}});
  Placed placed;
  for (const SmallTrace& trace : traces) placed.ranks.push_back(trace.Read().value());
  placed.status = PlaceFlatPieces(reference.Read().value(), &placed.ranks, &placed.assumptions);
  return placed;
}

TEST(FlatPieces, FollowOneAnotherInTheOrderOfTheGroup) {
  const Placed placed = Place({Rank(0, {{0, 1}}, 5), Rank(1, {{0, 1}}, 1)});
  ASSERT_TRUE(placed.status.ok()) << placed.status;
  EXPECT_EQ(placed.ranks[0].inputs[0].part.flat, (Range{0, 5}));
  EXPECT_EQ(placed.ranks[1].inputs[0].part.flat, (Range{5, 1}));
  EXPECT_EQ(placed.ranks[1].inputs[0].part.whole, (sdfg::Shape{2, 3}));
  EXPECT_EQ(placed.ranks[0].inputs[1].part.flat, (Range{0, 0}));
  EXPECT_EQ(placed.ranks[1].inputs[1].part.flat, (Range{0, 4}));
  EXPECT_EQ(placed.ranks[1].inputs[2].part.flat, (Range{5, 1})) << "a state lies as its parameter";
  EXPECT_FALSE(placed.ranks[1].inputs[3].part.flat);
  EXPECT_THAT(placed.assumptions, ElementsAre(HasSubstr("flat pieces of 2 parameters")));
  const Placed other = Place({Rank(0, {{1, 0}}, 1), Rank(1, {{1, 0}}, 5)});
  ASSERT_TRUE(other.status.ok()) << other.status;
  EXPECT_EQ(other.ranks[0].inputs[0].part.flat, (Range{5, 1}));
}

TEST(FlatPieces, PiecesThatAreNotAllOfItAreRefused) {
  const Placed placed = Place({Rank(0, {{0, 1}}, 4), Rank(1, {{0, 1}}, 1)});
  EXPECT_EQ(placed.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(placed.status.message()), HasSubstr("on ranks 0, 1 are not all of it"));
}

TEST(FlatPieces, NothingIsGuessedWhereNothingIsGathered) {
  const Placed placed = Place({Rank(0, {{0, 1}}, 5, false), Rank(1, {{0, 1}}, 1, false)});
  EXPECT_TRUE(placed.status.ok());
  EXPECT_FALSE(placed.ranks[0].inputs[0].part.flat);
  EXPECT_THAT(placed.assumptions, IsEmpty());
}

}  // namespace
}  // namespace planproof::frontend::torch
