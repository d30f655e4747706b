// Programs that wait for each other.
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

TEST(Rendezvous, AWaitCycleNamesProgramsOperatorsAndMicrobatches) {
  // Stage 0 wants the gradient of microbatch 0 before it runs forward pass 2, stage 1 the other way
  // round.
  EXPECT_THAT(
      Said(PipelinePlan(R"(["F:0..2", "B:0..2", "F:2..4", "B:2..4", "end"])",
                        R"(["F:0..3", "B:0..3", "F:3", "B:3", "end"])")),
      AllOf(StartsWith("MALFORMED: wait cycle: wait cycle of programs \"stage0\", \"stage1\""),
            HasSubstr("program \"stage0\" waits in move (grad.h) at plan.json:"),
            HasSubstr("of microbatch 0 in step 2 (B:0) for \"stage1\""),
            HasSubstr("program \"stage1\" waits in move (h) at plan.json:"),
            HasSubstr("of microbatch 2 in step 2 (F:2) for \"stage0\"")));
}

TEST(Rendezvous, AStageWithoutScheduleRunsEachOperatorForAllMicrobatches) {
  EXPECT_THAT(Said(PipelinePlan(R"(["F:0", "B:0", "F:1..4", "B:1..4", "end"])", "")),
              AllOf(StartsWith("MALFORMED: wait cycle"), HasSubstr("in its only step for")));
}

TEST(Rendezvous, MessagesArriveInTheOrderInWhichTheyAreSent) {
  EXPECT_THAT(
      Said(PipelinePlan(R"(["F:1", "F:0", "F:2..4", "B:0..4", "end"])",
                        R"(["F:0..4", "B:0..4", "end"])")),
      AllOf(StartsWith("MALFORMED: messages cross"),
            HasSubstr("move (h) at plan.json:28 of microbatch 0 in step 0 (F:0) is received before "
                      "move (h) at plan.json:28 of microbatch 1 in step 1 (F:1), but sent after "
                      "it, in step 1 (F:0) and step 0 (F:1)")));
}

// Two tensors, a and b, from stage 0; each comes over a channel of its own if `channel` says so.
std::string TwoMessages(const std::string& channel) {
  return absl::StrCat(R"json({"planproof": 1,
    "specification": {"inputs": {"x": [4]}, "operators": [
      {"op": "exp", "in": "x", "out": "a"}, {"op": "neg", "in": "x", "out": "b"},
      {"op": "add", "in": ["a", "b"], "out": "y"}], "outputs": {"y": {}}},
    "plan": {"mesh": {"pp": 2}, "programs": [
      {"name": "s0", "devices": {"pp": 0}, "inputs": ["x"], "schedule": ["A", "B"], "operators": [
        {"op": "exp", "in": "x", "out": "a", "phase": "A"},
        {"op": "neg", "in": "x", "out": "b", "phase": "B"}]},
      {"name": "s1", "devices": {"pp": 1}, "operators": [
        {"op": "move", "in": "s0:b", "out": "b")json",
                      channel, R"json(},
        {"op": "move", "in": "s0:a", "out": "a"},
        {"op": "add", "in": ["a", "b"], "out": "y"}]}]}})json");
}

TEST(Rendezvous, ChannelsKeepMessagesApart) {
  EXPECT_THAT(Said(TwoMessages("")), StartsWith("MALFORMED: messages cross"));
  EXPECT_EQ(Said(TwoMessages(R"(, "channel": "late")")), "PROVED");
}

// Three programs; each all-reduces with both others. `first` and `second` of each program are the
// collectives in the order of issue.
std::string Ring(const std::string& a, const std::string& b, const std::string& c) {
  const auto reduce = [](char p, char q) {
    return absl::StrCat(R"({"op": "all_reduce", "in": [")", std::string(1, p), ":x\", \"",
                        std::string(1, q), ":x\"], \"out\": \"", std::string(1, p),
                        std::string(1, q), "\"}");
  };
  const auto program = [&](const std::string& name, int rank, const std::string& order) {
    std::string operators = R"({"op": "exp", "in": "u", "out": "x"})";
    for (size_t i = 0; i < order.size(); i += 2) {
      absl::StrAppend(&operators, ", ", reduce(order[i], order[i + 1]));
    }
    return absl::StrCat("{\"name\": \"", name, "\", \"devices\": {\"r\": ", rank,
                        "}, \"inputs\": [\"u\"], \"operators\": [", operators, "]}");
  };
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"u": [4]}, "operators": [
      {"op": "exp", "in": "u", "out": "x"}], "outputs": ["x"]},
      "plan": {"mesh": {"r": 3}, "programs": [)",
                      program("a", 0, a), ", ", program("b", 1, b), ", ", program("c", 2, c),
                      "]}}");
}

TEST(Rendezvous, CollectivesBetweenProgramsWaitForAllParticipants) {
  EXPECT_EQ(Said(Ring("abac", "abbc", "acbc")), "PROVED");
  // Every two programs agree, and still a waits for b, b for c, and c for a.
  EXPECT_THAT(
      Said(Ring("abac", "bcab", "acbc")),
      AllOf(StartsWith("MALFORMED: wait cycle"), HasSubstr("\"a\" waits in all_reduce (ab)"),
            HasSubstr("\"b\" waits in all_reduce (bc)"),
            HasSubstr("\"c\" waits in all_reduce (ac)")));
}

TEST(Rendezvous, AnExceptionLeavesNoRankWaiting) {
  const std::string text = R"json({"planproof": 1,
    "specification": {"inputs": {"x": [8]}, "operators": [
      {"op": "exp", "in": "x", "out": "y"}], "outputs": {"y": {"0": "tp"}}},
    "plan": {"mesh": {"tp": 2, "dp": 2}, "programs": [{
      "inputs": {"x": {"0": "tp"}}, "operators": [
        {"op": "exp", "in": "x", "out": "y"},
        {"op": "all_reduce", "over": "tp", "in": "y", "out": "z"}],
      "exceptions": [{"at": {"AXIS": 1}, "replace": "z", "with": WITH}]}]}})json";
  const auto said = [&](const std::string& axis, const std::string& with) {
    return Said(Replaced(Replaced(text, "AXIS", axis), "WITH", with));
  };
  EXPECT_THAT(said("tp", R"({"op": "neg", "in": "y", "out": "z"})"),
              HasSubstr("take no part in all_reduce over tp, whose result \"z\" they replace; the "
                        "others would wait for them"));
  EXPECT_THAT(said("tp", R"([{"op": "all_gather", "over": "tp", "dim": 0, "in": "y", "out": "q"},
                             {"op": "neg", "in": "y", "out": "z"}])"),
              HasSubstr("in place of \"z\", only the ranks that \"at\" names issue all_gather over "
                        "tp"));
  EXPECT_THAT(Said(Replaced(Replaced(Replaced(text, R"("in": "y", "out": "z"}],)",
                                              R"("in": "y", "out": "z", "async": "h"},
                                                 {"op": "wait", "in": "h"}],)"),
                                     "AXIS", "tp"),
                            "WITH", R"({"op": "neg", "in": "y", "out": "z"})")),
              HasSubstr("take no part in all_reduce over tp"));
  EXPECT_THAT(said("dp", R"({"op": "neg", "in": "y", "out": "z", "phase": "F"})"),
              HasSubstr("an exception runs in the phase of what it replaces"));
  EXPECT_THAT(said("dp", R"([{"op": "all_reduce", "over": "tp", "in": "y", "out": "q",
                              "async": "h"}, {"op": "neg", "in": "y", "out": "z"}])"),
              HasSubstr("an exception starts nothing"));
  // All ranks of one group leave it out, or all take part.
  EXPECT_EQ(said("dp", R"({"op": "neg", "in": "y", "out": "z"})"), "PROVED");
  EXPECT_EQ(said("tp", R"([{"op": "all_reduce", "over": "tp", "in": "y", "out": "q"},
                           {"op": "neg", "in": "q", "out": "z"}])"),
            "PROVED");
}

// All ranks of a group contribute the same tensor of theirs: who calls a collective with another
// one changes what the others get.
TEST(Rendezvous, AnExceptionContributesWhatTheOthersDo) {
  const std::string text = R"json({"planproof": 1,
    "specification": {"inputs": {"x": [8, 16]}, "parameters": {"w": [32, 16]}, "operators": [
      {"op": "linear", "in": ["x", "w"], "out": "h"}], "outputs": ["h"]},
    "plan": {"mesh": {"tp": 2}, "programs": [{
      "inputs": {"x": {"1": "tp"}, "w": {"1": "tp"}}, "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "part"},
        {"op": "permute", "over": "tp", "shift": 1, "in": "part", "out": "other"},
        {"op": "all_reduce", "over": "tp", "in": "part", "out": "s"},
        {"op": "broadcast", "over": "tp", "root": 0, "in": "s", "out": "t"},
        {"op": "permute", "over": "tp", "shift": 1, "in": "t", "out": "h"}],
      "exceptions": [{"at": {"tp": 0}, "replace": "NAME", "with": WITH}]}]}})json";
  const auto said = [&](const std::string& name, const std::string& with) {
    return Said(Replaced(Replaced(text, "NAME", name), "WITH", with));
  };
  // The parts of all ranks exchanged have the same sum; that of one rank alone has not.
  EXPECT_THAT(said("s", R"({"op": "all_reduce", "over": "tp", "in": "other", "out": "s"})"),
              HasSubstr("call all_reduce over tp (s) with other operands, root or partners than"));
  EXPECT_THAT(said("t", R"({"op": "broadcast", "over": "tp", "root": 1, "in": "s", "out": "t"})"),
              HasSubstr("call broadcast over tp (t) with other operands"));
  EXPECT_THAT(
      said("h", R"({"op": "permute", "over": "tp", "pairs": [[1, 0]], "in": "t", "out": "h"})"),
      HasSubstr("call permute over tp (h) with other operands"));
  EXPECT_EQ(said("s", R"([{"op": "all_reduce", "over": "tp", "in": "part", "out": "q"},
                          {"op": "identity", "in": "q", "out": "s"}])"),
            "PROVED");
}

// The other programs wait for every rank, whatever it runs instead.
TEST(Rendezvous, AnExceptionOfAllRanksLeavesNoOtherProgramWaiting) {
  const std::string text = R"json({"planproof": 1,
    "specification": {"inputs": {"x": [8]}, "operators": [
      {"op": "mul", "in": ["x", 2], "out": "y"}], "outputs": ["y"]},
    "plan": {"mesh": {"pp": 2, "tp": 2}, "microbatches": 2, "programs": [
      {"name": "a", "devices": {"pp": 0}, "inputs": {"x": {}}, "operators": [
        {"op": "identity", "in": "x", "out": "p"},
        {"op": "all_reduce", "in": ["a:p", "b:p"], "out": "y"}],
       "exceptions": [{"at": AT, "replace": "y", "with": {"op": "mul", "in": ["x", 2], "out": "y"}}]},
      {"name": "b", "devices": {"pp": 1}, "inputs": {"x": {}}, "operators": [
        {"op": "identity", "in": "x", "out": "p"},
        {"op": "all_reduce", "in": ["a:p", "b:p"], "out": "y"}]}]}})json";
  for (const std::string at : {R"({"tp": 0})", R"({"tp": [0, 1]})", R"({"microbatch": 0})"}) {
    EXPECT_THAT(
        Said(Replaced(text, "AT", at)),
        HasSubstr("take no part in all_reduce between programs, whose result \"y\" they replace"))
        << at;
  }
}

}  // namespace
}  // namespace planproof::schedules
