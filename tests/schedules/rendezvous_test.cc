// Programs that wait for each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/collectives.h"
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
                      "it, by linear (h) at plan.json:21 in step 1 (F:0) and linear (h) at "
                      "plan.json:21 in step 0 (F:1)")));
}

// Two programs without schedule: a computes `made` in this order, b receives `received`.
std::string InOneStep(const std::vector<std::string>& made,
                      const std::vector<std::string>& received, const std::string& keys = "") {
  const std::map<std::string, std::string> text = {
      {"h", R"({"op": "exp", "in": "x", "out": "h"})"},
      {"k", R"({"op": "neg", "in": "x", "out": "k"})"},
      {"h,k",
       R"({"op": "chunk", "in": "x2", "out": ["h", "k"], "attrs": {"chunks": 2, "dim": 0}})"}};
  std::vector<std::string> make;
  for (const std::string& name : made) make.push_back(text.at(name));
  std::vector<std::string> receive;
  for (const std::string& name : received) {
    receive.push_back(absl::StrCat(R"({"op": "move", "in": "a:)", name, R"(", "out": "b.)", name,
                                   "\"", name == received[0] ? keys : "", "}"));
  }
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4], "x2": [8]},
      "operators": [{"op": "exp", "in": "x", "out": "y"}], "outputs": {"y": {"on": {"r": 1}}}},
      "plan": {"mesh": {"r": 2}, "programs": [
        {"name": "a", "devices": {"r": 0}, "inputs": ["x", "x2"], "operators": [)",
                      absl::StrJoin(make, ", "), R"(]},
        {"name": "b", "devices": {"r": 1}, "inputs": ["x"], "operators": [)",
                      absl::StrJoin(receive, ", "), R"(, {"op": "exp", "in": "x", "out": "y"}],
         "outputs": ["y"]}]}})");
}

// A queue does not know what a step is.
TEST(Rendezvous, MessagesOfOneStepArriveInTheOrderOfTheOperatorsThatMakeThem) {
  EXPECT_THAT(Said(InOneStep({"h", "k"}, {"k", "h"})),
              AllOf(StartsWith("MALFORMED: messages cross"), HasSubstr("move (b.k) at plan.json"),
                    HasSubstr("is received before move (b.h)"),
                    HasSubstr("but sent after it, by neg (k) at plan.json"),
                    HasSubstr("give the moves different channels")));
  // The results of one operator, in the order in which it names them.
  EXPECT_THAT(Said(InOneStep({"h,k"}, {"k", "h"})), StartsWith("MALFORMED: messages cross"));
  // The same tensor twice is the same message twice.
  for (const auto& [made, received] :
       std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>{
           {{"h", "k"}, {"h", "k"}}, {{"k", "h"}, {"k", "h"}}, {{"h,k"}, {"h", "k"}}}) {
    EXPECT_THAT(Said(InOneStep(made, received)), testing::Not(HasSubstr("messages cross")));
  }
  EXPECT_THAT(Said(InOneStep({"h", "k"}, {"k", "h"}, R"(, "channel": "late")")),
              testing::Not(HasSubstr("messages cross")));
}

// Nothing says when an input is sent.
TEST(Rendezvous, ThatInputsAreSentAsTheyAreReceivedIsAnAssumption) {
  const auto plan = [](const std::string& first, const std::string& second,
                       const std::string& buffers) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4], "t": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "h"}, {"op": "mul", "in": ["h", "t"], "out": "y"}],
      "outputs": {"y": {}}}, "plan": {"mesh": {"r": 2}, "programs": [
        {"name": "a", "devices": {"r": 0}, "inputs": ["x", "t"], "operators": [
          {"op": "exp", "in": "x", "out": "h"}, {"op": "neg", "in": "h", "out": "z"}],
         "buffers": )",
                        buffers, R"(},
        {"name": "b", "devices": {"r": 1}, "operators": [
          {"op": "move", "in": "a:)",
                        first, R"(", "out": ")", first, R"("}, {"op": "move", "in": "a:)", second,
                        R"(", "out": ")", second,
                        R"("}, {"op": "mul", "in": ["h", "t"], "out": "y"}]}]}})");
  };
  const std::string assumed =
      "inputs that a program sends to another one are sent in the order in which they are received";
  for (const auto& [first, second] : {std::pair("h", "t"), std::pair("t", "h")}) {
    EXPECT_EQ(Said(plan(first, second, "{}")), "PROVED");
    EXPECT_THAT(Verified(plan(first, second, "{}")).assumptions, testing::Contains(assumed));
  }
  // One that is overwritten is sent before.
  const std::string overwritten = R"({"t": "b", "z": "b"})";
  EXPECT_EQ(Said(plan("t", "h", overwritten)), "PROVED");
  EXPECT_THAT(Said(plan("h", "t", overwritten)),
              AllOf(StartsWith("MALFORMED: messages cross"), HasSubstr("the start (an input)")));
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
              HasSubstr("call all_reduce over tp (s) with another \"in\" than the others"));
  EXPECT_THAT(said("t", R"({"op": "broadcast", "over": "tp", "root": 1, "in": "s", "out": "t"})"),
              HasSubstr("call broadcast over tp (t) with another \"root\""));
  EXPECT_THAT(
      said("h", R"({"op": "permute", "over": "tp", "pairs": [[1, 0]], "in": "t", "out": "h"})"),
      HasSubstr("call permute over tp (h) with another \"shift\""));
  EXPECT_EQ(said("s", R"([{"op": "all_reduce", "over": "tp", "in": "part", "out": "q"},
                          {"op": "identity", "in": "q", "out": "s"}])"),
            "PROVED");
  // Numbers of two types are no operands of one collective, directly or through what computes from
  // them.
  const std::string half =
      R"([{"op": "linear", "in": ["x", "w"], "out": "q"}, {"op": "half", "in": "q", "out": "r"})";
  EXPECT_THAT(said("part", half + R"(, {"op": "identity", "in": "r", "out": "part"}])"),
              HasSubstr("element types differ: part holds float32, in the exception float16"));
  EXPECT_THAT(said("part", half + R"(, {"op": "float", "in": "r", "out": "part"}])"), "PROVED");
}

// Who reduces in another way than the rest of its group gets something that no library defines,
// even if what follows would make it right.
TEST(Rendezvous, TheRanksOfAGroupAgreeInEveryKey) {
  const auto said = [](const std::string& regular, const std::string& with,
                       const std::string& axis = "tp", const std::string& values = "0") {
    return Said(absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 4]},
      "operators": [{"op": "identity", "in": "x", "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"dp": 2, "tp": 2}, "programs": [{"inputs": {"x": {}},
        "operators": [{"op": "identity", "in": "x", "out": "p"}, )",
                             regular, R"(, {"op": "identity", "in": "x", "out": "y"}],
        "exceptions": [{"at": {")",
                             axis, "\": ", values, R"(}, "replace": "z", "with": )", with,
                             "}]}]}}"));
  };
  const auto collective = [](const std::string& op, const std::string& keys,
                             const std::string& out = "z") {
    return absl::StrCat(R"({"op": ")", op, R"(", "over": "tp", "in": "p", "out": ")", out, "\", ",
                        keys, "}");
  };
  const std::string sum = collective("all_reduce", R"("reduce": "sum")");
  const std::string half = absl::StrCat("[", collective("all_reduce", R"("reduce": "avg")", "q"),
                                        R"(, {"op": "mul", "in": ["q", 2], "out": "z"}])");
  EXPECT_THAT(
      said(sum, half),
      AllOf(StartsWith("MALFORMED: plan.json:5: /plan/programs/0/exceptions/0"),
            HasSubstr("the ranks that \"at\" names call all_reduce over tp (z) with another "
                      "\"reduce\" than the others of their group")));
  // All ranks of one group do: what runs there is another collective.
  EXPECT_EQ(said(sum, half, "dp"), "PROVED");
  EXPECT_EQ(said(sum, half, "tp", "[0, 1]"), "PROVED");
  // The default is a sum.
  EXPECT_EQ(said(R"({"op": "all_reduce", "over": "tp", "in": "p", "out": "z"})", sum), "PROVED");
  EXPECT_THAT(said(collective("reduce_scatter", R"("dim": 0)"),
                   collective("reduce_scatter", R"("dim": 0, "reduce": "max")")),
              HasSubstr("another \"reduce\""));
  EXPECT_THAT(said(collective("reduce_scatter", R"("dim": 0)"),
                   collective("reduce_scatter", R"("dim": 1)")),
              HasSubstr("another \"dim\""));
  EXPECT_THAT(
      said(collective("all_gather", R"("dim": 0)"), collective("all_gather", R"("dim": 1)")),
      HasSubstr("another \"dim\""));
  EXPECT_THAT(said(collective("all_to_all", R"("split_dim": 0, "concat_dim": 0)"),
                   collective("all_to_all", R"("split_dim": 1, "concat_dim": 0)")),
              HasSubstr("another \"split_dim\""));
  EXPECT_THAT(said(collective("all_to_all", R"("split_dim": 0, "concat_dim": 0)"),
                   collective("all_to_all", R"("split_dim": 0, "concat_dim": 1)")),
              HasSubstr("another \"concat_dim\""));
  EXPECT_THAT(said(collective("permute", R"("shift": 1)"), collective("permute", R"("shift": -1)")),
              HasSubstr("another \"shift\""));
  EXPECT_THAT(said(collective("permute", R"("pairs": [[0, 1]])"),
                   collective("permute", R"("pairs": [[1, 0]])")),
              HasSubstr("another \"pairs\""));
}

// Two collectives of the same tensors: the first of one program meets the first of the other.
TEST(Rendezvous, CollectivesOfTheSameTensorsAreListedInTheSameOrder) {
  const auto plan = [](const std::string& a, const std::string& b) {
    std::vector<std::string> programs;
    for (const auto& [r, order] : {std::pair("0", a), std::pair("1", b)}) {
      std::string operators = R"({"op": "identity", "in": "x", "out": "p"})";
      for (char which : order) {
        absl::StrAppend(&operators, R"(, {"op": "all_reduce", "in": ["r0:p", "r1:p"], "reduce": ")",
                        which == 's' ? "sum" : "max", R"(", "out": ")", std::string(1, which),
                        "\"}");
      }
      programs.push_back(absl::StrCat(R"({"name": "r)", r, R"(", "devices": {"r": )", r,
                                      R"(}, "inputs": ["x"], "operators": [)", operators,
                                      R"(, {"op": "sub", "in": ["s", "m"], "out": "y"}]})"));
    }
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "identity", "in": "x", "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"r": 2}, "programs": [)",
                        absl::StrJoin(programs, ", "), "]}}");
  };
  EXPECT_EQ(Said(plan("sm", "sm")), "PROVED");
  EXPECT_THAT(
      Said(plan("sm", "ms")),
      HasSubstr("programs \"r0\" and \"r1\" issue all_reduce (sum) and all_reduce (max) of the "
                "same tensors in different order"));
}

// The raw form has no keys; what the participants compute is told by their functions.
TEST(Rendezvous, ParticipantsReduceAlikeInAnyForm) {
  const std::string program = R"json({"name": "rRANK", "devices": {"r": RANK}, "inputs": ["x"],
      "operators": [{"op": "identity", "in": "x", "out": "p"},
        {"op": "all_reduce", "in": ["r0:p", "r1:p"], "reduce": "avg", "out": "y"}]})json";
  const auto of = [&program](const std::string& rank) {
    return Replaced(Replaced(program, "RANK", rank), "RANK", rank);
  };
  auto problem = ReadText(absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "identity", "in": "x", "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"r": 2}, "programs": [)",
                                       of("0"), ", ", of("1"), "]}}"));
  ASSERT_TRUE(problem.ok()) << problem.status();
  stages::VerifyOptions options;
  options.jobs = 1;
  EXPECT_EQ(strategy::Verify(*problem, options).verdict, stages::Verdict::kProved);
  for (sdfg::Operator& op : problem->parallel.operators) {
    if (op.name != "all_reduce" || problem->schedule.places[op.outputs[0]].program != 1) continue;
    auto sum = sdfg::AllReduce({4}, sdfg::DType::kFloat32, 2, sdfg::ReduceKind::kSum);
    ASSERT_TRUE(sum.ok());
    op.function = problem->parallel.Intern(*std::move(sum));
  }
  const stages::Result result = strategy::Verify(*problem, options);
  ASSERT_EQ(result.verdict, stages::Verdict::kMalformed);
  EXPECT_EQ(result.violations[0].kind, "participants disagree");
}

// What nobody would read is an error.
TEST(Rendezvous, ACollectiveHasNoAttributesAndBetweenProgramsNoAxis) {
  const auto said = [](const std::string& op) {
    return Said(absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"r": 2, "tp": 2}, "programs": [
        {"name": "a", "devices": {"r": 0}, "inputs": ["x"], "operators": [
          {"op": "exp", "in": "x", "out": "y"}]},
        {"name": "b", "devices": {"r": 1}, "inputs": ["x"], "operators": [
          {"op": "exp", "in": "x", "out": "y"}, )",
                             op, "]}]}}"));
  };
  EXPECT_THAT(said(R"({"op": "all_reduce", "over": "tp", "in": "y", "out": "z",
                       "attrs": {"reduce": "max"}})"),
              HasSubstr("all_reduce has no attribute \"reduce\""));
  EXPECT_THAT(said(R"({"op": "move", "in": "a:y", "out": "z", "attrs": {"tag": 1}})"),
              HasSubstr("move has no attribute \"tag\""));
  EXPECT_THAT(said(R"({"op": "move", "over": "tp", "in": "a:y", "out": "z"})"),
              HasSubstr("move reads tensors of other programs and has no \"over\""));
  EXPECT_THAT(said(R"({"op": "all_reduce", "over": "tp", "in": ["a:y", "b:y"], "out": "z"})"),
              HasSubstr("all_reduce reads tensors of other programs and has no \"over\""));
  EXPECT_THAT(said(R"({"op": "move", "in": "a:y", "out": "z", "async": "h"},
                      {"op": "wait", "in": "h", "attrs": {"timeout": 3}})"),
              HasSubstr("a wait has no attributes (\"timeout\")"));
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
