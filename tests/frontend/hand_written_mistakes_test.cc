// What somebody who writes a plan by hand gets wrong, and what the reader says about it: what is
// wrong in the words of the file, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

struct Mistake {
  std::string from, to;  // pieces of an example
  std::string says;
};

std::string Example(const std::string& name) {
  std::ifstream stream(std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + name);
  std::stringstream content;
  content << stream.rdbuf();
  return content.str();
}

void ExpectMessages(const std::string& example, const std::vector<Mistake>& mistakes) {
  const std::string text = Example(example);
  ASSERT_EQ(Said(text), "read");
  for (const Mistake& mistake : mistakes) {
    const std::string said = Said(Replaced(text, mistake.from, mistake.to));
    EXPECT_THAT(said, HasSubstr(mistake.says)) << mistake.to;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_LT(said.size(), 320) << said;
  }
}

constexpr char kFirst[] = "first_plan/plan.json";
constexpr char kSum[] = R"({"op": "sum", "in": "sq", "out": "loss"},)";
constexpr char kSub[] = R"({"op": "sub", "in": ["y", "t"], "out": "d"},)";
constexpr char kReduce[] = R"({"op": "all_reduce", "over": "tp", "in": "part", "out": "y"})";
constexpr char kLast[] = R"({"backward": "part", "grad": {"part": "grad.y"}})";

TEST(HandWrittenMistakes, TheVersion) {
  ExpectMessages(kFirst, {{R"("planproof": 1)", R"("planproof": "1")",
                           "plan.json:2: /planproof: the version is a string; write the number 1"},
                          {R"("planproof": 1)", R"("planproof": 1.0)", "write the number 1"},
                          {R"("planproof": 1)", R"("planproof": 2)",
                           "version 2 is not known; this program reads version 1"},
                          {R"("planproof": 1,)", "", R"(begin with "planproof": 1)"}});
}

TEST(HandWrittenMistakes, AttributesOutsideAttrs) {
  ExpectMessages(
      kFirst,
      {{kSum, R"({"op": "sum", "dim": 0, "in": "sq", "out": "loss"},)",
        R"(plan.json:25: /plan/programs/0/operators/4: "dim" is an attribute of sum: write )"
        R"("attrs": {"dim": 0})"},
       {kSum, R"({"op": "sum", "keepdim": true, "in": "sq", "out": "loss"},)",
        R"(key "keepdim" is not known; attributes of the operator stand under "attrs")"},
       {kSum, R"({"op": "sum", "in": "sq", "out": "loss", "attrs": {"dim": "0"}},)",
        "a number stands without quotes"},
       {R"({"op": "linear", "in": ["x", "w"], "out": "part"})",
        R"({"op": "narrow", "in": "x", "out": "xs", "attrs": {"dim": 1, "start": "tp*8",
           "length": 8}})",
        R"(an expression over coordinates begins with =, "=tp*8")"}});
}

TEST(HandWrittenMistakes, KeysByOtherWords) {
  ExpectMessages(
      kFirst,
      {{kSub, R"({"op": "sub", "inputs": ["y", "t"], "out": "d"},)",
        R"(key "inputs" is not known; did you mean "in"?)"},
       {kSub, R"({"op": "sub", "in": ["y", "t"], "output": "d"},)", R"(did you mean "out"?)"},
       {R"("over": "tp")", R"("axis": "tp")", R"(did you mean "over"?)"},
       {R"("over": "tp")", R"("group": "tp")", R"(did you mean "over"?)"},
       {R"("of": ["w"])", R"("wrt": ["w"])", R"(did you mean "of"?)"},
       {R"("specification")", R"("model")", R"(did you mean "specification"?)"},
       {kSub, R"({"op": "sub", "in": ["y", "t"]},)", R"(name the result: "out": "NAME")"}});
}

// Every object of the format: a letter too many in each of its keys.
TEST(HandWrittenMistakes, AMistypedKeyIsMatchedWithTheNearestOne) {
  const std::string text = R"({"planproof": 1, "specification": {
    "inputs": {"x": {"shape": [8], "dtype": "float32"}}, "parameters": {}, "buffers": {},
    "ones": {}, "zeros": {}, "operators": [], "gradients": {"loss": "x", "of": ["x"]},
    "premises": {}, "literals": {}, "outputs": {"x": {"on": {}}}, "updates": {}, "relations": {}},
    "plan": {"mesh": {"tp": 2}, "microbatches": 2, "programs": [{"name": "a", "devices": {},
      "inputs": {"x": {"map": ["i0"], "shape": [8], "overlap": true, "of": "x"},
                 "z": {"0": {"over": "tp", "sizes": [8, 0]}, "partial": {"sum": "tp"}},
                 "y": {"partial": {"max": "tp"}, "factor": 2}},
      "lineage": {}, "outputs": {}, "buffers": {"x": {"name": "b", "slots": 2}},
      "schedule": [{"for": "i", "from": 0, "to": 2, "do": ["F:i"]}],
      "exceptions": [{"at": {"tp": 1}, "replace": "y", "with": []}],
      "operators": [{"op": "exp", "name": "y", "in": [{"literal": "1/3"}], "out": "y", "phase": "F",
                     "attrs": {"a": {"real": 2}}, "source": "a.py:1"},
                    {"backward": "y", "grad": {}, "channel": "c", "async": "h"},
                    {"op": "all_to_all", "over": "tp", "split_dim": 0, "concat_dim": 0, "dim": 0,
                     "root": 0, "reduce": "sum", "shift": 1, "pairs": [[0, 1]], "in": "x", "out": "y"}]}]}})";
  const absl::StatusOr<PlanFile> whole = ParsePlanFile(text, "plan.json");
  ASSERT_TRUE(whole.ok()) << whole.status();
  int keys = 0;
  for (const char* key :
       {"planproof", "specification", "inputs",   "shape",     "dtype",     "parameters",
        "buffers",   "ones",          "zeros",    "operators", "gradients", "loss",
        "premises",  "literals",      "outputs",  "updates",   "relations", "plan",
        "mesh",      "microbatches",  "programs", "name",      "devices",   "map",
        "overlap",   "sizes",         "partial",  "factor",    "lineage",   "slots",
        "schedule",  "exceptions",    "replace",  "with",      "attrs",     "phase",
        "source",    "backward",      "grad",     "channel",   "async",     "over",
        "split_dim", "concat_dim",    "root",     "reduce",    "shift",     "pairs",
        "from"}) {
    const std::string quoted = absl::StrCat("\"", key, "\": ");
    for (size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + 1)) {
      const std::string longer = absl::StrCat("\"", key, "q\": ");
      const std::string mistyped = std::string(text).replace(at, quoted.size(), longer);
      const absl::StatusOr<PlanFile> file = ParsePlanFile(mistyped, "plan.json");
      EXPECT_THAT(
          std::string(file.status().message()),
          HasSubstr(absl::StrCat("key \"", key, "q\" is not known; did you mean \"", key, "\"?")));
      ++keys;
    }
  }
  EXPECT_GT(keys, 55);
}

TEST(HandWrittenMistakes, AnUnknownKeyOfTheRawFormIsAnError) {
  const absl::StatusOr<lineage::Problem> problem = ReadText(Example(kFirst));
  ASSERT_TRUE(problem.ok()) << problem.status();
  const std::string raw = *SerializePlan(*problem, PlanFormat::kJson);
  EXPECT_EQ(Said(raw), "read");
  EXPECT_EQ(Said(Replaced(raw, "{", R"({"note": "text", )")), "read");
  EXPECT_THAT(Said(Replaced(raw, "\"required\"", "\"requierd\"")), HasSubstr("requierd"));
  EXPECT_THAT(Said(Replaced(raw, "{", R"({"operators": "op f(x) -> y = x", )")),
              HasSubstr("a raw problem is complete and stands alone; take \"operators\" out"));
}

TEST(HandWrittenMistakes, ANoteMayStandInEveryObject) {
  EXPECT_EQ(Said(Replaced(Example(kFirst), R"("x": {"1": "tp"}, "w")",
                          R"("x": {"1": "tp", "note": "columns"}, "w")")),
            "read");
  EXPECT_EQ(Said(Replaced(Example(kFirst), R"({"loss": "loss", "of")",
                          R"({"note": "by w", "loss": "loss", "of")")),
            "read");
}

TEST(HandWrittenMistakes, Relations) {
  ExpectMessages(
      kFirst,
      {{R"("x": {"1": "tp"}, "w")", R"("x": "tp", "w")",
        R"(is a string; a relation, {} for the whole tensor or {"0": "AXIS"} for one that is cut)"},
       {R"("x": {"1": "tp"}, "w")", R"("x": {"1": 2}, "w")",
        "is an integer; the name of an axis, a list of axes or a range [start, stop] is expected"},
       {R"("x": {"1": "tp"}, "w")", R"("x": {"dim1": "tp"}, "w")",
        R"(key "dim1" is not known; keys here are dimensions "0", "1", ...)"},
       {R"("parameters": {"w": [32, 16]})", R"("parameters": {"w": {"1": "tp"}})",
        R"(how devices hold a tensor stands under "inputs" of the plan's programs)"}});
}

TEST(HandWrittenMistakes, ObjectsWhereListsAreMeantAndTheOtherWayRound) {
  ExpectMessages(
      kFirst,
      {{R"("mesh": {"tp": 2})", R"("mesh": [2])", R"(an object {axis: extent}, such as {"dp": 2)"},
       {R"({"loss": "loss", "of": ["w"]})", R"(["w"])", R"({"loss": NAME, "of": [NAMES]})"},
       {R"("outputs": {"loss")", R"("updates": ["w"], "outputs": {"loss")",
        "an object {parameter: its new value} is expected"},
       {R"("outputs": {"loss")", R"("literals": {"0.3": 0.3}, "outputs": {"loss")",
        R"(an exact number as a string, such as "1/3")"},
       {R"("grad": {"part": "grad.y"})", R"("grad": "grad.y")",
        R"(an object {output: its gradient}, such as {"y": "grad.y"})"},
       {kLast, R"({"backward": "part", "grad": {"part": "grad.y"}, "out": ["grad.w"]})",
        R"(an object {operand: its gradient}, such as {"w": "grad.w"})"},
       {R"("in": ["y", "t"], "out": "d"},)", R"("in": {"a": "y", "b": "t"}, "out": "d"},)",
        "operands are a list in the order of the operator's declaration"}});
  ExpectMessages("pipeline_1f1b.json", {{R"("devices": {"pp": 0})", R"("devices": [0, 1])",
                                         R"(an object of coordinates, such as {"pp": 0})"}});
}

TEST(HandWrittenMistakes, Collectives) {
  ExpectMessages(kFirst,
                 {{kReduce, R"({"op": "all_gather", "over": "tp", "in": "part", "out": "y"})",
                   R"(all_gather needs the key "dim": a dimension of its tensor, as in "dim": 0)"},
                  {R"("op": "all_reduce")", R"("op": "allreduce")",
                   "did you mean the collective 'all_reduce'?"},
                  {R"("in": "part", "out": "y"})", R"("reduce": "mean", "in": "part", "out": "y"})",
                   R"("mean"; sum, max, min or avg is expected)"}});
}

TEST(HandWrittenMistakes, BackwardOperators) {
  ExpectMessages(
      kFirst,
      {{kLast, R"({"backward": "y"})",
        R"("y" comes from all_reduce: the backward of a collective is not derived; write the )"
        R"(collective that it runs, or none where all ranks use "y" alike)"},
       {kLast, R"({"backward": "part"})",
        R"(gradients so far are grad.d, grad.loss, grad.sq, grad.y; another is named by "grad": )"
        R"({"part": "NAME"})"},
       {R"({"backward": "sq"},
        {"backward": "d"},)",
        R"({"backward": "d"},
        {"backward": "sq"},)",
        R"(operator 7, the backward of sq, makes it and must come first)"},
       {R"("gradients": {"loss": "loss", "of": ["w"]},)", "",
        R"(the specification has no tensor "grad.loss"; it derives gradients by its "gradients")"}});
}

TEST(HandWrittenMistakes, OtherPrograms) {
  ExpectMessages(
      "pipeline_1f1b.json",
      {{R"("in": "stage1:grad.h")", R"("in": "grad.h")",
        R"(move receives another program's tensor: "PROGRAM:grad.h"; programs are stage0, stage1)"},
       {R"("in": "stage1:grad.h")", R"("in": "stage2:grad.h")",
        R"(no program is named "stage2"; programs are stage0, stage1)"},
       {R"({"op": "linear", "in": ["h", "v"], "out": "y"})",
        R"({"op": "linear", "in": ["stage0:h", "v"], "out": "y"})",
        R"({"op": "move", "in": "stage0:h", "out": "h"})"},
       {R"("outputs": ["grad.w", "grad.v"])", R"("outputs": ["loss", "grad.w", "grad.v"])",
        R"(no program claims the required output "loss"; name the tensor that holds it under )"
        R"("outputs" of its program)"}});
}

TEST(HandWrittenMistakes, NamesAndNumbers) {
  ExpectMessages(
      kFirst,
      {{R"("in": ["d", "d"], "out": "sq"},
        {"op")",
        R"("in": ["d", "2"], "out": "sq"},
        {"op")",
        R"("2" is not defined in program "program0"; a number stands without quotes)"},
       {R"(, "t": [8, 32]})", "}", "no input, parameter or output of an operator has that "},
       {R"({"op": "linear", "in": ["x", "w"], "out": "part"})",
        R"({"op": "torch.nn.functional.linear", "in": ["x", "w"], "out": "part"})",
        "did you mean 'linear'?"},
       {R"("x": [8, 16])", R"("x": "fp32[8, 16]")",
        R"(plan.json:5: /specification/inputs/x: tensor x: "fp32" is no element type)"},
       {kSum, R"({"op": "sum", "in": "sq", "out": "loss", "attrs": {"keepdim": True}},)",
        "JSON writes true, false and null"}});
  EXPECT_THAT(Said(Replaced(Example(kFirst), R"(, "t": [8, 32]})", "}")), EndsWith("has that name"))
      << "any one-letter name would be near";
}

TEST(HandWrittenMistakes, SchedulesAndPrograms) {
  ExpectMessages(
      "pipeline_1f1b.json",
      {{R"("F0:i+1")", R"("F0:j+1")",
        R"("j" is not known here; names are coordinates, in a map also i0, i1, ..., in a schedule )"
        "variables of loops"},
       {R"("schedule": ["F0:0", {"for": "i", "from": 0, "to": 3, "do": ["F0:i+1", "B0:i"]}, )"
        R"("B0:3", "update"])",
        R"("schedule": "1f1b")", R"(a list of steps, such as ["F0:0", "B0:0"], is expected)"},
       {R"("devices": {"pp": 0})", R"("devices": {"ppp": 0})",
        R"(axis "ppp" is not in the mesh; axes are dp, microbatch, pp)"}});
}

// y = x w^T, w.new = w - 0.1 g; rows of x over dp.
constexpr char kUpdate[] = R"({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [8, 4], "g": [4, 4]}, "parameters": {"w": [4, 4]},
    "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"},
                  {"op": "mul", "in": ["g", 0.1], "out": "step"},
                  {"op": "sub", "in": ["w", "step"], "out": "w.new"}],
    "outputs": {"y": {"0": "dp"}}, "updates": {"w": "w.new"}, "relations": {"x": {"0": "dp"}}},
  "plan": {"mesh": {"dp": 2}, "programs": [{
    "inputs": {"x": {"0": "dp"}, "w": {}, "g": {}},
    "operators": [{"op": "linear", "in": ["x", "w"], "out": "out"},
                  {"op": "mul", "in": ["g", 0.100], "out": "step"},
                  {"op": "sub", "in": ["w", "step"], "out": "w.new"}],
    "exceptions": [{"at": {"dp": 1}, "replace": "step",
                    "with": {"op": "mul", "in": ["g", 0.1], "out": "step"}}],
    "outputs": {"y": "out"}}]}})";

TEST(HandWrittenMistakes, OutputsUpdatesAndExceptions) {
  EXPECT_EQ(Said(kUpdate), "read");
  for (const Mistake& mistake : std::vector<Mistake>{
           {R"("outputs": {"y": "out"})", R"("outputs": {"out": "y"})",
            R"(the specification requires no output "out"; the required one comes first, )"
            R"({"y": "out"})"},
           {R"("updates": {"w": "w.new"})", R"("updates": {"w": "w_new"})",
            R"(/specification/updates/w: "w_new" is not defined; did you mean "w.new"?)"},
           {R"("updates": {"w": "w.new"})", R"("updates": {"w.new": "w"})",
            R"("w.new" is computed; "updates" maps what is read to its new value, {"w": "w.new"})"},
           {R"("x": {"0": "dp"}, "w")", R"("x": {}, "w")",
            "reads x in another relation than the specification prescribes; list the name alone"},
           {R"("replace": "step")", R"("replace": "stpe")",
            R"(names an output "stpe"; did you mean "step"?)"},
           {R"(["g", 0.100])", R"(["g", "1/10"])",
            R"(an exact number is written {"literal": "1/10"})"},
           {R"("updates")", R"("premises": {"y": "positive"}, "updates")",
            R"(/specification/premises/y: "y" is computed; a premise restricts an input)"}}) {
    EXPECT_THAT(Said(Replaced(kUpdate, mistake.from, mistake.to)), HasSubstr(mistake.says));
  }
}

std::vector<std::string> Warnings(const std::string& text) {
  const absl::StatusOr<lineage::Problem> problem = ReadText(text);
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? problem->warnings : std::vector<std::string>();
}

TEST(HandWrittenMistakes, Declarations) {
  ExpectMessages(
      "daily/muon.json",
      {{"sum(l: g[i, l]", "sum(l < extent(k): g[i, l]",
        "found ':'; expected ')' or ',' after an argument of 'sum'; the extent of a reduction's "
        "index is a number or a name, or stands in parentheses"}});
  EXPECT_THAT(Said(R"plan({"planproof": 1,
                "operators": "op center(x[(g c)], m[g]) -> y[(g c)] = x[(g c)] - m[g]",
                "specification": {"inputs": {"x": [8], "m": [2]}, "operators": [
                  {"op": "center", "in": ["x", "m"], "out": "y"}], "outputs": ["y"]},
                "plan": {"mesh": {}, "programs": [{"inputs": ["x", "m"], "operators": [
                  {"op": "center", "in": ["x", "m"], "out": "y"}]}]}})plan"),
              HasSubstr("operand x: the extents of g and c in dimension 0 are both unknown; one is "
                        "given, as (g:4 c) or by an attribute, or by an operand before this one"));
}

TEST(HandWrittenMistakes, WhatNothingReadsIsWarnedOf) {
  const std::string text = Example(kFirst);
  EXPECT_THAT(Warnings(text), IsEmpty());
  EXPECT_THAT(Warnings(Replaced(text, R"({"w": [32, 16]})", R"({"w": [32, 16], "b": [32]})")),
              Contains("no operator of the specification reads b"));
  const std::string listed = Replaced(
      Replaced(text, R"({"w": [32, 16]})", R"({"w": [32, 16]}, "buffers": {"b": [32], "c": [8]})"),
      R"("t": {}, "grad)", R"("t": {}, "b": {}, "c": {}, "grad)");
  EXPECT_THAT(Warnings(listed),
              testing::ElementsAre("no operator of the specification reads b, c",
                                   R"(no operator of program "program0" reads b, c)"));
}

TEST(HandWrittenMistakes, WhatIsRequiredOrUpdatedOrSentIsRead) {
  EXPECT_THAT(Warnings(R"({"planproof": 1, "specification": {"inputs": {"x": [4], "y": [4]},
    "operators": [], "outputs": {"x": {}, "y": {"on": {"pp": 1}}}}, "plan": {"mesh": {"pp": 2},
    "programs": [{"name": "a", "devices": {"pp": 0}, "inputs": ["x", "y"], "operators": []},
                 {"name": "b", "devices": {"pp": 1}, "operators": [
                   {"op": "move", "in": "a:y", "out": "y"}]}]}})"),
              IsEmpty());
  EXPECT_THAT(Warnings(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
    "zeros": {"nothing": [4]}, "operators": [{"op": "exp", "in": "x", "out": "y"}],
    "outputs": ["y"]}, "plan": {"mesh": {"tp": 2}, "programs": [{"inputs": ["x", "nothing"],
      "operators": [{"op": "exp", "in": "x", "out": "y"}],
      "exceptions": [{"at": {"tp": 1}, "replace": "y", "with": [
        {"op": "exp", "in": "x", "out": "e"},
        {"op": "add", "in": ["e", "nothing"], "out": "y"}]}]}]}})"),
              IsEmpty())
      << "an exception reads it";
}

}  // namespace
}  // namespace planproof::plan
