// Collectives that are started and waited for, and the buffers that they use meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/schedules/pipeline_plan.h"

namespace planproof::schedules {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kStart[] =
    R"({"op": "all_reduce", "over": "tp", "in": "p", "out": "h", "async": "sum of p"})";
constexpr char kWait[] = R"({"op": "wait", "in": "sum of p"})";
constexpr char kOther[] = R"({"op": "neg", "in": "p", "out": "other"})";
constexpr char kRead[] = R"({"op": "silu", "in": "h", "out": "y"})";

// A row-parallel product on two devices and silu; `operators` stand after the product p.
std::string RowParallel(const std::string& operators, const std::string& keys = "") {
  const std::string text = R"json({"planproof": 1,
    "specification": {"inputs": {"x": [8, 64]}, "parameters": {"w": [32, 64]}, "operators": [
      {"op": "linear", "in": ["x", "w"], "out": "h"}, {"op": "silu", "in": "h", "out": "y"}],
      "outputs": ["y"]},
    "plan": {"mesh": {"tp": 2}, "programs": [{
      "inputs": {"x": {"1": "tp"}, "w": {"1": "tp"}}, KEYS
      "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "p"},
        OPERATORS]}]}})json";
  return Replaced(Replaced(text, "OPERATORS", operators), "KEYS", keys.empty() ? "" : keys + ",");
}

std::string List(std::initializer_list<std::string> operators) {
  std::string list;
  for (const std::string& op : operators) absl::StrAppend(&list, list.empty() ? "" : ",\n", op);
  return list;
}

TEST(Asynchronous, HasTheValuesOfTheCollective) {
  EXPECT_EQ(Said(RowParallel(List({kStart, kOther, kWait, kRead}))), "PROVED");
  // The same fault is refuted in the same way.
  const std::string start = Replaced(kStart, R"("tp",)", R"("tp", "reduce": "max",)");
  EXPECT_THAT(Said(RowParallel(List({start, kWait, kRead}))), StartsWith("REFUTED"));
}

TEST(Asynchronous, AReadBeforeTheWaitNamesStartAndWait) {
  EXPECT_THAT(Said(RowParallel(List({kStart, kRead, kWait}))),
              AllOf(StartsWith("MALFORMED: plan.json:10: /plan/programs/0/operators/2"),
                    HasSubstr("\"h\" is read before the wait for its handle \"sum of p\": "
                              "plan.json:9: /plan/programs/0/operators/1 starts it, "
                              "plan.json:11: /plan/programs/0/operators/3 waits for it")));
}

TEST(Asynchronous, EveryHandleIsWaitedForOnce) {
  EXPECT_THAT(Said(RowParallel(List({kStart, kOther}))),
              AllOf(HasSubstr("plan.json:9"), HasSubstr("never waited for"),
                    HasSubstr("plan.json:10: /plan/programs/0/operators/2")));
  EXPECT_THAT(Said(RowParallel(List({kStart, kWait, kWait, kRead}))),
              HasSubstr("plan.json:11: /plan/programs/0/operators/3: handle \"sum of p\" is waited "
                        "for twice, here and at plan.json:10: /plan/programs/0/operators/2"));
  EXPECT_THAT(Said(RowParallel(List({kWait, kStart, kRead}))),
              HasSubstr("waits for \"sum of p\", which no operator before it starts"));
  const std::string again = Replaced(kStart, R"("out": "h")", R"("out": "h2")");
  EXPECT_THAT(Said(RowParallel(List({kStart, again, kWait, kRead}))),
              HasSubstr("handle \"sum of p\" is started twice, here and at plan.json:9"));
}

TEST(Asynchronous, OnlyCommunicationIsStarted) {
  EXPECT_THAT(Said(RowParallel(List({R"({"op": "neg", "in": "p", "out": "n", "async": "a"})",
                                     R"({"op": "wait", "in": "a"})"}))),
              HasSubstr("\"async\" is for collectives and moves"));
  EXPECT_THAT(
      Said(RowParallel(List({R"({"op": "chunk", "over": "tp", "dim": 0, "in": "p", "out": "c",
                                 "async": "a"})",
                             R"({"op": "wait", "in": "a"})"}))),
      HasSubstr("communicates nothing"));
  EXPECT_THAT(Said(RowParallel(List({kStart, R"({"op": "wait", "in": "sum of p", "out": "q"})"}))),
              HasSubstr("a wait has no \"out\""));
}

TEST(Buffers, AWriteIntoABufferInFlightNamesBothPlaces) {
  const std::string buffers = R"("buffers": {"p": "workspace", "other": "workspace"})";
  const std::string same = Replaced(kOther, R"("in": "p")", R"("in": "x")");
  EXPECT_EQ(Said(RowParallel(List({kStart, kWait, same, kRead}), buffers)), "PROVED");
  EXPECT_THAT(
      Said(RowParallel(List({kStart, same, kWait, kRead}), buffers)),
      AllOf(StartsWith("MALFORMED: buffer in flight: buffer \"workspace\" of program \"program0\" "
                       "is written while handle \"sum of p\" reads it"),
            HasSubstr("neg (other) at plan.json:10 in its only step writes other"),
            HasSubstr("which all_reduce (h) at plan.json:9 in its only step reads")));
  // The result's buffer.
  const std::string result = R"("buffers": {"h": "workspace", "other": "workspace"})";
  EXPECT_THAT(Said(RowParallel(List({kStart, kOther, kWait, kRead}), result)),
              HasSubstr("is written while handle \"sum of p\" writes it"));
}

// Operands of a collective between programs are named with their program.
TEST(Buffers, ACollectiveBetweenProgramsReadsItsOwnProgramsOperandUntilItsWait) {
  const auto plan = [](const std::string& last) {
    std::string programs;
    for (const std::string rank : {"0", "1"}) {
      absl::StrAppend(&programs, programs.empty() ? "" : ", ", R"({"name": "r)", rank,
                      R"(", "devices": {"r": )", rank, R"(}, "inputs": {"x": {"0": "r"}},
            "operators": [{"op": "sum", "in": "x", "attrs": {"dim": 0}, "out": "p"},
              {"op": "all_reduce", "in": ["r0:p", "r1:p"], "out": "y", "async": "h"}, )",
                      last, R"(], "buffers": {"p": "b", "q": "b"}})");
    }
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 8]},
      "operators": [{"op": "sum", "in": "x", "attrs": {"dim": 0}, "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"r": 2}, "programs": [)",
                        programs, "]}}");
  };
  const std::string other = R"({"op": "sum", "in": "x", "attrs": {"dim": 0}, "out": "q"})";
  EXPECT_EQ(Said(plan(absl::StrCat(R"({"op": "wait", "in": "h"}, )", other))), "PROVED");
  EXPECT_THAT(Said(plan(absl::StrCat(other, R"(, {"op": "wait", "in": "h"})"))),
              StartsWith("MALFORMED: buffer in flight: buffer \"b\" of program \"r0\" is written "
                         "while handle \"h\" reads it"));
}

TEST(Buffers, ACollectiveInPlaceIsNoConflict) {
  const std::string buffers = R"("buffers": {"p": "workspace", "h": "workspace"})";
  EXPECT_EQ(Said(RowParallel(List({kStart, kWait, kRead}), buffers)), "PROVED");
  // p is no longer there.
  EXPECT_THAT(Said(RowParallel(List({kStart, kOther, kWait, kRead}), buffers)),
              AllOf(StartsWith("MALFORMED: buffer overwritten: p is read after"),
                    HasSubstr("neg (other) at plan.json:10"), HasSubstr("all_reduce (h)")));
}

TEST(Buffers, ARequiredOutputIsStillThereAtTheEnd) {
  const std::string buffers = R"("buffers": {"y": "out", "other": "out"})";
  EXPECT_EQ(Said(RowParallel(List({kOther, kStart, kWait, kRead}), buffers)), "PROVED");
  EXPECT_THAT(Said(RowParallel(List({kStart, kWait, kRead, kOther}), buffers)),
              HasSubstr("the required output y is overwritten in buffer \"out\""));
}

// Each rank is to hold its part of y. What all ranks hold alike is written out per rank for that
// claim.
TEST(Buffers, WhatIsRequiredPerRankIsStillThereAtTheEnd) {
  const auto plan = [](const std::string& relation, const std::string& buffers) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "y"}], "outputs": {"y": )",
                        relation, R"(}}, "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": ["x"],
      "operators": [{"op": "exp", "in": "x", "out": "y"}, {"op": "neg", "in": "x", "out": "z"}],
      "buffers": )",
                        buffers, "}]}}");
  };
  const std::string whole = R"({"map": ["i0 + dp - dp"]})";
  EXPECT_EQ(Said(plan(whole, "{}")), "PROVED");
  EXPECT_EQ(Said(plan(whole, R"({"z": "b", "x": "b"})")), "PROVED");
  EXPECT_THAT(Said(plan(whole, R"({"y": "b", "z": "b"})")),
              StartsWith("MALFORMED: buffer overwritten"));
}

TEST(Buffers, SlotsAreReusedByMicrobatches) {
  // Doubles and squares 4 microbatches; `slots` instances of s are kept.
  const auto plan = [](int slots, const std::string& schedule) {
    return OneProgram(R"({"op": "add", "in": ["x", "x"], "out": "s", "phase": "F"},
                         {"op": "mul", "in": ["s", "s"], "out": "t", "phase": "G"})",
                      absl::StrCat(R"("buffers": {"s": {"name": "ring", "slots": )", slots,
                                   R"(}}, "schedule": )", schedule));
  };
  const std::string ahead = R"(["F:0..2", {"for": "i", "from": 0, "to": 2, "do": ["G:i", "F:i+2"]},
                                "G:2..4"])";
  EXPECT_EQ(Said(plan(2, ahead)), "PROVED");
  EXPECT_THAT(
      Said(plan(1, ahead)),
      HasSubstr("reads s of microbatch 0 from buffer \"ring\" of program \"program0\", into "
                "which add (s) at plan.json:18 in step 1 (F:1) has written s of microbatch "
                "1"));
  EXPECT_EQ(Said(plan(4, R"(["F:0..4", "G:0..4"])")), "PROVED");
  EXPECT_THAT(Said(plan(3, R"(["F:0..4", "G:0..4"])")),
              HasSubstr("s of microbatch 0 is read after"));
  // Without a schedule each operator runs for all microbatches.
  const std::string unordered = OneProgram(R"({"op": "add", "in": ["x", "x"], "out": "s"},
                    {"op": "mul", "in": ["s", "s"], "out": "t"})",
                                           R"("buffers": {"s": {"name": "ring", "slots": SLOTS}})");
  EXPECT_EQ(Said(Replaced(unordered, "SLOTS", "4")), "PROVED");
  EXPECT_THAT(Said(Replaced(unordered, "SLOTS", "3")), HasSubstr("is read after buffer \"ring\""));
}

TEST(Buffers, AreNamedRightly) {
  EXPECT_THAT(Said(RowParallel(List({kStart, kWait, kRead}), R"("buffers": {"hh": "b"})")),
              HasSubstr("/plan/programs/0/buffers/hh: program \"program0\" defines no \"hh\"; did "
                        "you mean \"h\"?"));
  EXPECT_THAT(Said(RowParallel(List({kStart, kWait, kRead}),
                               R"("buffers": {"h": "b", "y": {"name": "b", "slots": 2}})")),
              HasSubstr("buffer \"b\" has 2 slots here and 1 elsewhere"));
}

// The pipeline whose stage 1 receives ahead of time: phase R starts the receive of h.
std::string ReceiveAhead(const std::string& steps) {
  std::string text = PipelinePlan(R"(["F:0..4", "B:0..4", "end"])", steps);
  return Replaced(text, R"({"op": "move", "in": "stage0:h", "out": "h", "phase": "F"},)",
                  R"({"op": "move", "in": "stage0:h", "out": "h", "phase": "R", "async": "h"},
                     {"op": "wait", "in": "h", "phase": "F"},)");
}

TEST(Asynchronous, HandlesAreOfOneMicrobatchEach) {
  EXPECT_EQ(Said(ReceiveAhead(R"(["R:0", {"for": "i", "from": 0, "to": 3,
                                           "do": ["R:i+1", "F:i", "B:i"]}, "F:3", "B:3", "end"])")),
            "PROVED");
  EXPECT_THAT(Said(ReceiveAhead(R"(["R:0..2", "F:0..3", "R:2..4", "F:3", "B:0..4", "end"])")),
              AllOf(StartsWith("MALFORMED: read before it is computed"),
                    HasSubstr("step 4 (F:2) reads stage1:h@started of microbatch 2, which step 5 "
                              "(R:2) computes"),
                    HasSubstr("wait (h) at plan.json:"), HasSubstr("move (h) at plan.json:")));
}

TEST(Asynchronous, AStartedReceiveDoesNotWaitAndItsWaitDoes) {
  // Starting to receive all of h before anything is sent is no cycle; waiting for it is.
  const std::string crossed = R"({"op": "wait", "in": "g", "phase": "W"})";
  std::string text = ReceiveAhead(R"(["R:0..4", "F:0..4", "B:0..4", "end"])");
  EXPECT_EQ(Said(text), "PROVED");
  text = PipelinePlan(R"(["B:0..4", "F:0..4", "W:0..4", "end"])", R"(["F:0..4", "B:0..4", "end"])");
  text = Replaced(text, R"({"op": "move", "in": "stage1:grad.h", "out": "grad.h", "phase": "B"},)",
                  R"({"op": "move", "in": "stage1:grad.h", "out": "grad.h", "phase": "B",
                      "async": "g"},)" +
                      crossed + ",");
  EXPECT_EQ(Said(text), "PROVED");
  EXPECT_THAT(Said(Replaced(text, R"(["B:0..4", "F:0..4", "W:0..4", "end"])",
                            R"(["B:0..4", "F:0", "W:0", "F:1..4", "W:1..4", "end"])")),
              StartsWith("MALFORMED: wait cycle"));
}

TEST(Asynchronous, CollectivesOfTheSameProgramsAreIssuedInOneOrder) {
  // Both are in flight at once, so that nobody waits; a communicator still pairs them by order.
  const auto program = [](int rank, const std::string& first, const std::string& second) {
    const auto start = [](const std::string& name) {
      return absl::StrCat(R"({"op": "all_reduce", "in": ["r0:)", name, R"(", "r1:)", name,
                          R"("], "out": "sum.)", name, R"(", "async": ")", name, "\"}");
    };
    return absl::StrCat(R"({"name": "r)", rank, R"(", "devices": {"r": )", rank,
                        R"(}, "inputs": ["u"], "operators": [
                           {"op": "exp", "in": "u", "out": "a"},
                           {"op": "neg", "in": "u", "out": "b"}, )",
                        start(first), ", ", start(second), R"(,
                           {"op": "wait", "in": ["a", "b"]},
                           {"op": "add", "in": ["sum.a", "sum.b"], "out": "y2"},
                           {"op": "div", "in": ["y2", 2], "out": "y"}]})");
  };
  const auto said = [&](const std::string& first, const std::string& second) {
    return Said(absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"u": [4]},
      "operators": [{"op": "exp", "in": "u", "out": "a"}, {"op": "neg", "in": "u", "out": "b"},
                    {"op": "add", "in": ["a", "b"], "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"r": 2}, "programs": [)",
                             program(0, "a", "b"), ", ", program(1, first, second), "]}}"));
  };
  EXPECT_EQ(said("a", "b"), "PROVED");
  EXPECT_THAT(
      said("b", "a"),
      AllOf(StartsWith("MALFORMED: wait cycle: wait cycle: programs \"r0\" and \"r1\" issue "
                       "collectives in different order"),
            HasSubstr("all_reduce (sum.a)"), HasSubstr("all_reduce (sum.b)")));
}

// Without a schedule, too: the sender's buffer may be written before the receiver has come.
TEST(Buffers, ThatSendsKeepACopyIsAnAssumptionWhereTheyAreReused) {
  const auto assumptions = [](const std::string& buffers) {
    return Verified(absl::StrCat(
                        R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "h"}, {"op": "neg", "in": "h", "out": "y"}],
      "outputs": {"y": {}}}, "plan": {"mesh": {"pp": 2}, "programs": [
      {"name": "a", "devices": {"pp": 0}, "inputs": ["x"], "operators": [
        {"op": "exp", "in": "x", "out": "h"}, {"op": "neg", "in": "x", "out": "z"}],
        "buffers": )",
                        buffers, R"(},
      {"name": "b", "devices": {"pp": 1}, "operators": [
        {"op": "move", "in": "a:h", "out": "h"}, {"op": "neg", "in": "h", "out": "y"}]}]}})"),
                    stages::PipelineSchedule::kAny)
        .assumptions;
  };
  const std::string copies =
      "sends between programs copy what they send, and do not wait for their receivers";
  EXPECT_THAT(assumptions(R"({"h": "b", "z": "b"})"), testing::Contains(copies));
  EXPECT_THAT(assumptions("{}"), testing::Not(testing::Contains(copies)));
}

}  // namespace
}  // namespace planproof::schedules
