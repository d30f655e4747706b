// Results that are written into the memory of an operand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/schedules/pipeline_plan.h"

namespace planproof::schedules {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// One program on two ranks of tp that runs what the specification runs, `operators`, with buffers.
// x is whole on both ranks.
std::string Same(const std::string& operators, const std::string& buffers,
                 const std::string& output = "y") {
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 4], "z": [4, 4]},
      "parameters": {"w": [4, 4], "v": [4]}, "operators": [)",
                      operators, R"(], "outputs": [")", output, R"("]},
      "plan": {"mesh": {"tp": 2}, "programs": [{
        "inputs": ["x", "z", "w", "v"], "operators": [)",
                      operators, R"(], "buffers": )", buffers, "}]}}");
}

constexpr char kOver[] = R"({"x": "b", "y": "b"})";

TEST(InPlace, ElementwiseOperatorsMayOverwriteAnOperand) {
  for (
      const std::string op :
      {R"({"op": "exp", "in": "x", "out": "y"})", R"({"op": "mul", "in": ["x", "x"], "out": "y"})",
       R"({"op": "add", "in": ["z", "x"], "out": "y"})",
       R"({"op": "add", "in": ["x", "v"], "out": "y"})",
       R"({"op": "where", "in": ["x", "z", "x"], "out": "y"})",
       R"({"op": "identity", "in": "x", "out": "y"})",
       R"({"op": "clamp", "in": "x", "out": "y", "attrs": {"min": 0.5}})",
       // The same elements in the same order, in another shape.
       R"({"op": "view", "in": "x", "out": "y", "attrs": {"size": [2, 8]}})",
       R"({"op": "flatten", "in": "x", "out": "y"})",
       // The first rows stay where they are.
       R"({"op": "narrow", "in": "x", "out": "y", "attrs": {"dim": 0, "start": 0, "length": 2}})"}) {
    EXPECT_EQ(Said(Same(op, kOver)), "PROVED") << op;
  }
}

TEST(InPlace, WhatReadsOtherElementsMayNotOverwriteThem) {
  for (
      const std::string op :
      {R"({"op": "linear", "in": ["x", "w"], "out": "y"})",
       R"({"op": "linear", "in": ["w", "x"], "out": "y"})",
       R"({"op": "matmul", "in": ["x", "w"], "out": "y"})",
       R"({"op": "flip", "in": "x", "out": "y", "attrs": {"dims": [0]}})",
       R"({"op": "transpose", "in": "x", "out": "y", "attrs": {"dim0": 0, "dim1": 1}})",
       R"({"op": "permute", "in": "x", "out": "y", "attrs": {"dims": [1, 0]}})",
       R"({"op": "roll", "in": "x", "out": "y", "attrs": {"shifts": 1, "dims": 0}})",
       R"({"op": "softmax", "in": "x", "out": "y", "attrs": {"dim": 1}})",
       R"({"op": "rms_norm", "in": ["x", "v"], "out": "y"})",
       R"({"op": "sum", "in": "x", "out": "y", "attrs": {"dim": 1}})",
       R"({"op": "cumsum", "in": "x", "out": "y", "attrs": {"dim": 0}})",
       R"({"op": "narrow", "in": "x", "out": "y", "attrs": {"dim": 0, "start": 1, "length": 2}})",
       R"({"op": "narrow", "in": "x", "out": "y", "attrs": {"dim": 1, "start": 0, "length": 2}})"}) {
    const std::string said = Said(Same(op, kOver));
    if (said.find("is not declared") != std::string::npos) continue;
    EXPECT_THAT(said, AllOf(StartsWith("MALFORMED: operand overwritten while it is read"),
                            HasSubstr("in buffer \"b\" of program \"program0\""),
                            HasSubstr("give y another buffer")))
        << op;
  }
  // The vector is broadcast: each of its elements is read for four of the result's.
  EXPECT_THAT(
      Said(Same(R"({"op": "add", "in": ["x", "v"], "out": "y"})", R"({"v": "b", "y": "b"})")),
      HasSubstr("add (y) writes y over v in buffer \"b\""));
  // An element of another type does not lie in the same place.
  EXPECT_THAT(Said(Same(R"({"op": "gt", "in": ["x", "z"], "out": "m"},
                           {"op": "where", "in": ["m", "x", "z"], "out": "y"})",
                        R"({"x": "b", "m": "b", "z": "c"})")),
              StartsWith("MALFORMED: operand overwritten while it is read"));
}

// w is one for all microbatches: that of the first overwrites what the second receives.
TEST(InPlace, WhatAllMicrobatchesReadIsNotOverwrittenByOne) {
  const auto shifted = [](const std::string& slot) {
    return R"({"planproof": 1, "specification": {"inputs": {"w": [2, 2]}, "operators": [
      {"op": "mul", "in": ["w", 0], "out": "z"}, {"op": "concat", "in": ["z", "w"], "out": "t"}],
      "outputs": {"t": {"0": "microbatch"}}},
      "plan": {"mesh": {"a": 1}, "microbatches": 2, "programs": [{"inputs": {"w": {}},
        "operators": [{"op": "permute", "over": "microbatch", "pairs": [[0, 1]], "in": "w", "out": "t"}],
        "buffers": {"w": {"name": "b", "slots": 2}, "t": {"name": ")" +
           slot + R"(", "slots": 2}}}]}})";
  };
  EXPECT_EQ(Said(shifted("c")), "PROVED");
  EXPECT_THAT(Said(shifted("b")), HasSubstr("w is read after buffer"));
}

// Of h, which relu overwrites with r, a view; y is computed from it into the same buffer.
TEST(InPlace, TheElementsOfAViewLieWhereTheyLay) {
  const auto said = [](const std::string& view, const std::string& from = R"("s")") {
    return Said(Same(absl::StrCat(R"({"op": "exp", "in": "x", "out": "h"},
        {"op": "relu", "in": "h", "out": "r", "attrs": {"inplace": true}}, )",
                                  view, R"(, {"op": "add", "in": [)", from, R"(, 1], "out": "y"})"),
                     R"({"h": "b", "y": "b"})"));
  };
  for (
      const std::string view :
      {R"({"op": "identity", "in": "r", "out": "s"})",
       R"({"op": "view", "in": "r", "out": "s", "attrs": {"size": [2, 8]}})",
       R"({"op": "narrow", "in": "r", "out": "s", "attrs": {"dim": 0, "start": 0, "length": 2}})"}) {
    EXPECT_EQ(said(view), "PROVED") << view;
  }
  for (const std::string view :
       {R"({"op": "transpose", "in": "r", "out": "s", "attrs": {"dim0": 0, "dim1": 1}})",
        R"({"op": "narrow", "in": "r", "out": "s", "attrs": {"dim": 0, "start": 2, "length": 2}})",
        R"({"op": "transpose", "in": "r", "out": "u", "attrs": {"dim0": 0, "dim1": 1}},
          {"op": "view", "in": "u", "out": "s", "attrs": {"size": [16]}})",
        R"({"op": "select", "in": "r", "out": "s", "attrs": {"dim": 0, "index": 1}})"}) {
    EXPECT_THAT(said(view), AllOf(StartsWith("MALFORMED: operand overwritten while it is read"),
                                  HasSubstr("s, whose elements lie at other places")))
        << view;
    // That s lies there does not matter where r is read.
    EXPECT_EQ(said(view, R"("r")"), "PROVED") << view;
  }
  EXPECT_EQ(said(R"({"op": "flip", "in": "r", "out": "s", "attrs": {"dims": [0]}})"), "PROVED")
      << "a copy";
}

// Without a buffer of its own a view of a tensor in a buffer counts as a copy. If it is none, ...
TEST(InPlace, ThatViewsOfBuffersAreCopiesIsAnAssumptionWhereItMatters) {
  const auto assumed = [](const std::string& operators, const std::string& buffers) {
    const stages::Result result =
        Verified(Same(operators, buffers), stages::PipelineSchedule::kAny);
    EXPECT_EQ(result.verdict, stages::Verdict::kProved) << operators;
    return absl::StrJoin(result.assumptions, "; ");
  };
  const std::string made = R"({"op": "exp", "in": "x", "out": "h"},
      {"op": "transpose", "in": "h", "out": "u", "attrs": {"dim0": 0, "dim1": 1}},
      {"op": "view", "in": "u", "out": "s", "attrs": {"size": [16]}}, )";
  const std::string other = R"({"op": "neg", "in": "z", "out": "k"})";
  const std::string read = R"({"op": "sin", "in": "s", "out": "y"})";
  constexpr char kShared[] = R"({"h": "b", "k": "b"})";
  EXPECT_THAT(assumed(absl::StrCat(made, other, ", ", read), kShared),
              HasSubstr("from a tensor in a buffer is a copy, unless it has a buffer, too; else s "
                        "is read after buffer \"b\" of program \"program0\" got k"));
  EXPECT_THAT(assumed(absl::StrCat(made, read), R"({"h": "b", "y": "b"})"),
              HasSubstr("else sin (y) writes y over s"));
  EXPECT_EQ(assumed(absl::StrCat(made, read, ", ", other), kShared), "");
  EXPECT_EQ(assumed(absl::StrCat(made, other, ", ", read), R"({"h": "b", "k": "b", "u": "c"})"),
            "");
}

TEST(InPlace, OnlyWhatIsStillReadCounts) {
  // x has been read before: another operator may write anything there.
  EXPECT_EQ(Said(Same(R"({"op": "exp", "in": "x", "out": "t"},
                         {"op": "linear", "in": ["t", "w"], "out": "y"})",
                      kOver)),
            "PROVED");
  // Two steps of which the second one reads what the first one made, in memory of its own.
  EXPECT_EQ(
      Said(Same(R"({"op": "transpose", "in": "x", "out": "t", "attrs": {"dim0": 0, "dim1": 1}},
                         {"op": "exp", "in": "t", "out": "y"})",
                kOver)),
      "PROVED");
}

TEST(InPlace, TwoResultsOfOneOperatorDoNotShareABuffer) {
  const std::string split =
      R"({"op": "chunk", "in": "x", "out": ["a", "y"], "attrs": {"chunks": 2, "dim": 0}})";
  EXPECT_EQ(Said(Same(split, R"({"a": "a", "y": "b"})")), "PROVED");
  EXPECT_THAT(Said(Same(split, R"({"a": "b", "y": "b"})")),
              HasSubstr("buffer \"b\" of program \"program0\" gets two results of one operator"));
}

// AdamW as one operator: all three results at one index, then the next index.
TEST(InPlace, AnOptimizerOverwritesParameterAndMoments) {
  const auto plan = [](const std::string& buffers) {
    const std::string step =
        R"({"op": "adamw", "in": ["w", "g", "m", "v"], "out": ["w1", "m1", "v1"],
            "attrs": {"lr": 0.5, "step": 1}})";
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"g": [4]},
      "parameters": {"w": [4], "m": [4], "v": [4]}, "premises": {"v": "nonnegative"},
      "operators": [)",
                        step, R"(], "updates": {"w": "w1", "m": "m1", "v": "v1"}},
      "plan": {"mesh": {"tp": 2}, "programs": [{"inputs": ["g", "w", "m", "v"], "operators": [)",
                        step, R"(], "buffers": )", buffers, "}]}}");
  };
  EXPECT_EQ(Said(plan(R"({"w": "w", "w1": "w", "m": "m", "m1": "m", "v": "v", "v1": "v"})")),
            "PROVED");
  EXPECT_EQ(Said(plan(R"({"g": "g", "w1": "g"})")), "PROVED");
}

// loss = sum((x w) u) on one device, with the gradients of w and u.
std::string WithBackward(const std::string& backward, const std::string& buffers) {
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 4]},
      "parameters": {"w": [4, 4], "u": [4, 4]}, "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h"}, {"op": "mul", "in": ["h", "u"], "out": "y"},
        {"op": "sum", "in": "y", "out": "loss"}],
      "gradients": {"loss": "loss", "of": ["w", "u"]}, "outputs": ["grad.w", "grad.u"]},
      "plan": {"mesh": {}, "programs": [{"inputs": ["x", "w", "u", "grad.loss"], "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h"}, {"op": "mul", "in": ["h", "u"], "out": "y"},
        {"op": "sum", "in": "y", "out": "loss"}, {"backward": "loss"}, )",
                      backward, R"(], "buffers": )", buffers, "}]}}");
}

// What the next step reads in place of a parameter is required, or there is a warning.
TEST(InPlace, AParameterThatIsLostIsWarnedOf) {
  const auto warnings = [](const std::string& operators, const std::string& buffers) {
    const stages::Result result =
        Verified(Same(operators, buffers), stages::PipelineSchedule::kAny);
    EXPECT_EQ(result.verdict, stages::Verdict::kProved) << operators;
    return absl::StrJoin(result.warnings, "; ");
  };
  const std::string read = R"({"op": "linear", "in": ["x", "w"], "out": "y"})";
  const std::string other = R"({"op": "exp", "in": "z", "out": "e"})";
  const std::string lost =
      "overwrites w, and nothing is required of what the next step reads there";
  EXPECT_THAT(warnings(absl::StrCat(read, ", ", other), R"({"w": "b", "e": "b"})"),
              HasSubstr(lost));
  EXPECT_THAT(warnings(R"({"op": "relu", "in": "w", "out": "r", "attrs": {"inplace": true}},
                          {"op": "linear", "in": ["x", "r"], "out": "y"})",
                       "{}"),
              HasSubstr(lost));
  EXPECT_THAT(warnings(R"({"op": "add", "in": ["w", "x"], "out": "y"})", R"({"w": "b", "y": "b"})"),
              Not(HasSubstr(lost)))
      << "it is required";
  EXPECT_THAT(warnings(absl::StrCat(read, ", ", other), R"({"z": "b", "e": "b"})"),
              Not(HasSubstr("overwrites")))
      << "the next step has other data";
}

// Each gradient is computed by itself, in an order that is not known.
TEST(InPlace, AGradientDoesNotOverwriteWhatAnotherOneReads) {
  const std::string both = R"({"backward": "y"}, {"backward": "h"})";
  EXPECT_EQ(Said(WithBackward(both, "{}")), "PROVED");
  EXPECT_THAT(Said(WithBackward(both, R"({"h": "b", "grad.h": "b"})")),
              AllOf(HasSubstr("mul.backward (y.backward) writes grad.h over h"),
                    HasSubstr("grad.u is computed from h, too")));
  EXPECT_THAT(Said(WithBackward(both, R"({"grad.y": "b", "grad.u": "b"})")),
              HasSubstr("grad.h is computed from grad.y, too"));
  // One after the other: grad.u first, for which h is read, then grad.h in its place.
  EXPECT_EQ(Said(WithBackward(R"({"backward": "y", "out": {"u": "grad.u"}},
                                 {"backward": "y", "out": {"h": "grad.h"}}, {"backward": "h"})",
                              R"({"h": "b", "grad.h": "b"})")),
            "PROVED");
  EXPECT_THAT(Said(WithBackward(R"({"backward": "y", "out": {"h": "grad.h"}},
                                   {"backward": "y", "out": {"u": "grad.u"}}, {"backward": "h"})",
                                R"({"h": "b", "grad.h": "b"})")),
              StartsWith("MALFORMED: buffer overwritten: h is read after"));
  EXPECT_THAT(Said(WithBackward(both, R"({"x": "b", "grad.w": "b"})")),
              HasSubstr("linear.backward reads other elements of x"));
}

// What a derivative does not depend on need not be there any more.
TEST(InPlace, AnOperandThatNothingIsComputedFromMayBeGone) {
  EXPECT_EQ(Said(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "parameters": {"w": [4]}, "operators": [
        {"op": "add", "in": ["x", "w"], "out": "h"}, {"op": "sum", "in": "h", "out": "loss"}],
      "gradients": {"loss": "loss", "of": ["w"]}, "outputs": ["grad.w", "loss"]},
      "plan": {"mesh": {}, "programs": [{"inputs": ["x", "w", "grad.loss"], "operators": [
        {"op": "add", "in": ["x", "w"], "out": "h"}, {"op": "sum", "in": "h", "out": "loss"},
        {"op": "exp", "in": "x", "out": "other"}, {"backward": "loss"}, {"backward": "h"}],
        "buffers": {"x": "b", "other": "b"}}]}})"),
            "PROVED");
}

// x [4, 4] is cut by rows over two ranks; `operators` make y of it, whose rank r holds rows r.
std::string Collective(const std::string& operators, const std::string& buffers,
                       const std::string& exceptions = "[]") {
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 4]},
      "operators": [{"op": "identity", "in": "x", "out": "y"}], "outputs": {"y": RELATION}},
      "plan": {"mesh": {"dp": 2, "tp": 2}, "programs": [{"inputs": {"x": {"0": "tp"}}, "operators": [)",
                      operators, R"(], "exceptions": )", exceptions, R"(, "buffers": )", buffers,
                      "}]}}");
}

TEST(InPlace, NoRankOverwritesWhatOthersReadInTheSameCollective) {
  const std::string cut = R"({"0": "tp"})";
  const auto said = [](const std::string& operators, const std::string& relation) {
    return Said(
        Replaced(Collective(operators, R"({"x": "b", "z": "b", "y": "c"})"), "RELATION", relation));
  };
  const std::string swap = R"({"op": "permute", "over": "tp", "pairs": [[0, 1], [1, 0]], )";
  for (
      const std::string& operators : std::vector<std::string>{
          swap + R"("in": "x", "out": "z"}, )" + swap + R"("in": "z", "out": "y"})",
          R"({"op": "all_to_all", "over": "tp", "split_dim": 0, "concat_dim": 0, "in": "x",
               "out": "z"}, {"op": "all_to_all", "over": "tp", "split_dim": 0, "concat_dim": 0,
               "in": "z", "out": "y"})",
          R"({"op": "all_gather", "over": "tp", "dim": 0, "in": "x", "out": "z"},
              {"op": "chunk", "over": "tp", "dim": 0, "in": "z", "out": "y"})",
          R"({"op": "reduce_scatter", "over": "dp", "dim": 0, "reduce": "avg", "in": "x", "out": "z"},
              {"op": "all_gather", "over": "dp", "dim": 0, "in": "z", "out": "y"})"}) {
    EXPECT_THAT(said(operators, cut), StartsWith("MALFORMED: operand overwritten while it is read"))
        << operators;
  }
  EXPECT_EQ(Said(Replaced(Collective(swap + R"("in": "x", "out": "z"}, )" + swap +
                                         R"("in": "z", "out": "y"})",
                                     "{}"),
                          "RELATION", cut)),
            "PROVED");
}

TEST(InPlace, AReductionOrABroadcastMayRunInPlace) {
  const auto said = [](const std::string& operators) {
    return Said(
        Replaced(Collective(operators, R"({"x": "b", "z": "b"})"), "RELATION", R"({"0": "tp"})"));
  };
  const std::string divided = R"(, {"op": "div", "in": ["z", 2], "out": "y"})";
  EXPECT_EQ(said(R"({"op": "all_reduce", "over": "dp", "in": "x", "out": "z"})" + divided),
            "PROVED");
  EXPECT_EQ(said(R"({"op": "broadcast", "over": "dp", "root": 1, "in": "x", "out": "z"},
                    {"op": "identity", "in": "z", "out": "y"})"),
            "PROVED");
  EXPECT_EQ(said(R"({"op": "reduce", "over": "dp", "root": 1, "in": "x", "out": "z"},
                    {"op": "broadcast", "over": "dp", "root": 1, "in": "z", "out": "t"},
                    {"op": "div", "in": ["t", 2], "out": "y"})"),
            "PROVED");
}

// A collective over two axes is one exchange, although it is written out axis by axis.
TEST(InPlace, ACollectiveOverSeveralAxesIsJudgedAsOne) {
  const auto said = [](const std::string& operators, const std::string& buffers) {
    return Said(Replaced(Collective(operators, buffers), "RELATION", R"({"0": "tp"})"));
  };
  const std::string reduce =
      R"({"op": "all_reduce", "over": ["dp", "tp"], "reduce": "max", "in": "x", "out": "z"},
         {"op": "identity", "in": "x2", "out": "y"})";
  const std::string copy = R"({"op": "identity", "in": "x", "out": "x2"}, )";
  EXPECT_EQ(said(copy + reduce, R"({"x": "b", "z": "b"})"), "PROVED");
  const std::string gather =
      R"({"op": "all_gather", "over": ["dp", "tp"], "dim": 0, "in": "x", "out": "z"},
         {"op": "identity", "in": "x2", "out": "y"})";
  EXPECT_THAT(said(copy + gather, R"({"x": "b", "z": "b"})"),
              HasSubstr("all_gather (z) writes z over x"));
}

TEST(InPlace, StartedCollectivesAreJudgedAtTheirStart) {
  const auto said = [](const std::string& start) {
    return Said(Replaced(Collective(absl::StrCat(start, R"(, {"op": "wait", "in": "h"},
                                {"op": "identity", "in": "z", "out": "y"})"),
                                    R"({"x": "b", "z": "b"})"),
                         "RELATION", R"({"0": "tp"})"));
  };
  EXPECT_EQ(said(R"({"op": "all_reduce", "over": "dp", "reduce": "avg", "in": "x", "out": "z",
                     "async": "h"})"),
            "PROVED");
  EXPECT_THAT(said(R"({"op": "permute", "over": "dp", "shift": 1, "in": "x", "out": "z",
                       "async": "h"})"),
              HasSubstr("permute (z) writes z@started over x"));
}

// Of a collective between programs the other programs' reads count as well: rank 0 keeps its chunk
// where it is, and would still overwrite the others.
TEST(InPlace, BetweenProgramsOnlyAnAllReduceMayRunInPlace) {
  const auto plan = [](const std::string& collective, const std::string& rest) {
    std::vector<std::string> programs;
    for (const std::string r : {"0", "1"}) {
      programs.push_back(absl::StrCat(
          R"({"name": "r)", r, R"(", "devices": {"r": )", r,
          R"(}, "inputs": ["x"], "operators": [{"op": "identity", "in": "x", "out": "p"}, )",
          collective, ", ", rest, R"(], "buffers": {"p": "b", "z": "b"}})"));
    }
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 4]},
      "operators": [{"op": "identity", "in": "x", "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"r": 2}, "programs": [)",
                        absl::StrJoin(programs, ", "), "]}}");
  };
  EXPECT_EQ(Said(plan(R"({"op": "all_reduce", "in": ["r0:p", "r1:p"], "out": "z"})",
                      R"({"op": "div", "in": ["z", 2], "out": "y"})")),
            "PROVED");
  const std::string copy = R"({"op": "identity", "in": "x", "out": "y"})";
  for (
      const std::string collective :
      {R"({"op": "all_to_all", "split_dim": 0, "concat_dim": 0, "in": ["r0:p", "r1:p"], "out": "z"})",
       R"({"op": "all_gather", "dim": 0, "in": ["r0:p", "r1:p"], "out": "z"})",
       R"({"op": "reduce_scatter", "dim": 0, "in": ["r0:p", "r1:p"], "out": "z"})"}) {
    EXPECT_THAT(Said(plan(collective, copy)),
                StartsWith("MALFORMED: operand overwritten while it is read"))
        << collective;
  }
}

TEST(InPlace, SomeRanksOnlyIsRefused) {
  const auto said = [](const std::string& regular, const std::string& with) {
    const std::string exceptions =
        absl::StrCat(R"([{"at": {"dp": 1}, "replace": "z", "with": )", with, "}]");
    return Said(
        Replaced(Collective(absl::StrCat(R"({"op": "identity", "in": "x", "out": "x2"}, )", regular,
                                         R"(, {"op": "identity", "in": "x2", "out": "y"})"),
                            R"({"x": "b", "z": "b"})", exceptions),
                 "RELATION", R"({"0": "tp"})"));
  };
  const std::string elementwise = R"({"op": "exp", "in": "x", "out": "z"})";
  const std::string other = R"({"op": "flip", "in": "x", "out": "z", "attrs": {"dims": [0]}})";
  EXPECT_THAT(said(other, elementwise), HasSubstr("over x in buffer \"b\""));
  EXPECT_THAT(said(elementwise, other), HasSubstr("over x in buffer \"b\""));
  EXPECT_THAT(said(elementwise, elementwise), HasSubstr("some ranks compute it otherwise"));
}

// With one slot for all microbatches the next one overwrites what this one reads.
TEST(InPlace, EachMicrobatchHasItsOwnSlot) {
  const auto plan = [](const std::string& op, int slots, const std::string& schedule) {
    return OneProgram(absl::StrCat(R"({"op": "add", "in": ["x", "x"], "out": "s", "phase": "F"}, )",
                                   op, R"(, {"op": "mul", "in": ["s2", "s2"], "out": "t"})"),
                      absl::StrCat(R"("buffers": {"s": {"name": "ring", "slots": )", slots,
                                   R"(}, "s2": {"name": "ring", "slots": )", slots,
                                   R"(}}, "schedule": )", schedule));
  };
  const std::string copy = R"({"op": "identity", "in": "s", "out": "s2", "phase": "G"})";
  const std::string flips = R"({"op": "flip", "in": "s", "out": "u", "attrs": {"dims": [1]},
      "phase": "G"}, {"op": "flip", "in": "u", "out": "s2", "attrs": {"dims": [1]}})";
  const std::string turns = R"([{"for": "i", "from": 0, "to": 4, "do": ["F:i", "G:i"]}])";
  EXPECT_EQ(Said(plan(copy, 1, turns)), "PROVED");
  EXPECT_EQ(Said(plan(copy, 4, R"(["F:0..4", "G"])")), "PROVED");
  EXPECT_THAT(Said(plan(copy, 2, R"(["F:0..4", "G"])")),
              StartsWith("MALFORMED: buffer overwritten"));
  EXPECT_EQ(Said(plan(flips, 1, turns)), "PROVED");
}

}  // namespace
}  // namespace planproof::schedules
