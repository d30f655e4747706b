// What the reference has, the ranks have: a result that was lost is named, and a gradient that a
// framework does not keep is listed.
#include "frontend/torch/required_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/frontend/torch/small_job.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// An iteration with two parameters u and w: gradients 2 u and 2 w of the sum of their squares, a
// momentum of each, and new values. What a process leaves out is said.
struct Process {
  bool gradient_of_u = true, gradient_of_w = true;
  bool momentum_of_u = true, momentum_of_w = true;  // whether it is held
  bool update = true;
  bool holds_w = true;
  bool loss = true;
  bool update_reads_gradient = true;
};

SmallTrace Traced(int rank, int world, const Process& process) {
  SmallTrace trace(rank, world);
  const auto parameter = [&](const std::string& name, bool gradient, bool momentum) {
    const int value = trace.Input("parameter", name, trace.Add("float64", {4}));
    const int by = trace.Add("float64", {4});
    trace.Op("aten.mul.Tensor", {{{"tensor", value}}, 2}, by);
    if (gradient) trace.Result("gradient", name, by);
    if (momentum) {
      const std::string state = name + ".momentum";
      const int m = trace.Input("state", state, trace.Add("float64", {4}), {{"parameter", name}});
      trace.Op("aten.add_.Tensor", {{{"tensor", m}}, {{"tensor", by}}}, m,
               {{"writes", json::array({m})}});
      trace.Result("updated", state, m);
    }
    if (!process.update) return;
    if (process.update_reads_gradient) {
      trace.Op("aten.add_.Tensor", {{{"tensor", value}}, {{"tensor", by}}}, value,
               {{"writes", json::array({value})}});
    } else {
      trace.Op("aten.mul_.Tensor", {{{"tensor", value}}, 0.5}, value,
               {{"writes", json::array({value})}});
    }
    trace.Result("updated", name, value);
  };
  parameter("u", process.gradient_of_u, process.momentum_of_u);
  if (process.holds_w) parameter("w", process.gradient_of_w, process.momentum_of_w);
  const int loss = trace.Input("input", "l", trace.Add("float64", {}));
  if (process.loss) trace.Result("output", "loss", loss);
  return trace;
}

absl::StatusOr<lineage::Problem> Job(const Process& reference, const Process& first,
                                     const Process& second) {
  return ProblemOf({Traced(0, 1, reference), Traced(0, 2, first), Traced(1, 2, second)});
}

void ExpectRefused(const absl::StatusOr<lineage::Problem>& problem,
                   const testing::Matcher<std::string>& says) {
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kInvalidArgument) << problem.status();
  EXPECT_THAT(std::string(problem.status().message()), says);
}

const Process kWithoutGradients = {.gradient_of_u = false, .gradient_of_w = false};

TEST(RequiredResults, AJobThatHasAllOfThemAssumesNothing) {
  const auto problem = Job({}, {}, {});
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(problem->assumptions, IsEmpty());
}

TEST(RequiredResults, AnOutputThatNoRankHasIsNamed) {
  ExpectRefused(Job({}, {.loss = false}, {.loss = false}),
                HasSubstr("reference.trace: loss: an output of the reference that no rank has"));
  EXPECT_TRUE(Job({}, {.loss = false}, {}).ok()) << "the last stage alone has it";
}

TEST(RequiredResults, AGradientThatNoRankHasIsNamed) {
  const Process lost = {.gradient_of_w = false};
  ExpectRefused(Job({}, lost, lost),
                HasSubstr("rank0.trace: w: the reference has a gradient of it, and rank 0, which "
                          "holds it, has none"));
  // Neither is it shown by anything else where there is no optimizer.
  Process bare = {.momentum_of_u = false, .momentum_of_w = false, .update = false};
  Process bare_without = bare;
  bare_without.gradient_of_u = bare_without.gradient_of_w = false;
  ExpectRefused(Job(bare, bare_without, bare_without), HasSubstr("nor is a new value required"));
}

TEST(RequiredResults, AGradientThatOneOfItsHoldersLostIsNamed) {
  ExpectRefused(Job({}, {}, {.gradient_of_w = false}), HasSubstr("rank1.trace: w: the reference"));
  EXPECT_TRUE(Job({}, {}, {.holds_w = false}).ok()) << "another stage does not hold it";
}

TEST(RequiredResults, WhatNoRankHoldsIsNamed) {
  const Process without = {.holds_w = false};
  ExpectRefused(Job({}, without, without),
                AllOf(HasSubstr("w: the reference"), HasSubstr("no rank holds it")));
  const Process stateless = {.momentum_of_w = false};
  ExpectRefused(Job({}, stateless, stateless),
                HasSubstr("w.momentum: the reference changes it, and no rank holds it"));
}

TEST(RequiredResults, GradientsThatNoRankKeepsAreListed) {
  const auto problem = Job({}, kWithoutGradients, kWithoutGradients);
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(problem->assumptions,
              Contains(AllOf(HasSubstr("no rank keeps gradients"), HasSubstr("2 tensors"))));
}

TEST(RequiredResults, ANewValueThatIsNotComputedFromTheGradientShowsNothing) {
  const Process reference = {.update_reads_gradient = false};
  Process rank = reference;
  rank.gradient_of_u = rank.gradient_of_w = false;
  ExpectRefused(Job(reference, rank, rank), HasSubstr("nor is a new value required"));
}

TEST(RequiredResults, AGradientWhoseOptimizerStateIsOnAnotherRankIsListed) {
  const auto problem = Job({}, {}, {.gradient_of_w = false, .momentum_of_w = false});
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(problem->assumptions,
              Contains(AllOf(HasSubstr("rank 1 has no gradient of 1 tensors, the first w"),
                             HasSubstr("optimizer states are on other ranks"))));
}

TEST(RequiredResults, AResultThatStandsTwiceIsRefused) {
  SmallTrace reference = Traced(0, 1, {}), first = Traced(0, 2, {}), second = Traced(1, 2, {});
  reference.Result("output", "loss", 0);
  ExpectRefused(ProblemOf({reference, first, second}), HasSubstr("loss: stands twice"));
}

}  // namespace
}  // namespace planproof::frontend::torch
