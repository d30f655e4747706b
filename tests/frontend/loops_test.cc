// Loops over operators stand for what their rounds say, and for nothing else.
#include "frontend/plan/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/plan/raw_form.h"
#include "frontend/plan/readable_form.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

// A recurrence h[t + 1] = tanh(h[t] + x[t]) over the rows of x, cut by columns.
std::string Recurrence(const std::string& in_model, const std::string& in_plan) {
  return absl::StrReplaceAll(R"({"planproof": 1,
"specification": {
  "inputs": {"x": [3, 4], "h[0]": [1, 4]},
  "operators": [MODEL],
  "outputs": {"h[3]": {"1": "tp"}}},
"plan": {"mesh": {"tp": 2}, "programs": [{
  "inputs": {"x": {"1": "tp"}, "h[0]": {"1": "tp"}},
  "operators": [PLAN],
  "outputs": ["h[3]"]}]}})",
                             {{"MODEL", in_model}, {"PLAN", in_plan}});
}

std::string Rounds() {
  std::string rounds;
  for (int t = 0; t < 3; ++t) {
    absl::StrAppend(&rounds, t == 0 ? "" : ",\n", R"({"op": "slice", "in": "x", "out": "x[)", t,
                    R"(]", "attrs": {"dim": 0, "start": )", t, R"(, "stop": )", t + 1,
                    R"(}}, {"op": "add", "in": ["h[)", t, R"(]", "x[)", t, R"(]"], "out": "a[)", t,
                    R"(]"}, {"op": "tanh", "in": "a[)", t, R"(]", "out": "h[)", t + 1, R"(]"})");
  }
  return rounds;
}

std::string Loop(const std::string& head = R"("for": "t", "from": 0, "to": 3)") {
  return absl::StrCat(
      "{", head,
      R"(, "do": [{"op": "slice", "in": "x", "out": "x[t]", "attrs": {"dim": 0, "start": "=t", "stop": "=t + 1"}},
  {"op": "add", "in": ["h[t]", "x[t]"], "out": "a[t]"},
  {"op": "tanh", "in": "a[t]", "out": "h[t + 1]"}]})");
}

// What graphs and relations a text has, without the places at which operators are written.
std::string Meaning(const std::string& text) {
  absl::StatusOr<lineage::Problem> problem = ReadText(text);
  EXPECT_TRUE(problem.ok()) << problem.status();
  if (!problem.ok()) return "";
  for (sdfg::Graph* graph : {&problem->logical, &problem->parallel}) {
    for (sdfg::Operator& op : graph->operators) op.source = {};
    for (sdfg::Tensor& tensor : graph->tensors) tensor.source = {};
  }
  RawProblem raw;
  EXPECT_TRUE(WriteRawProblem(*problem, &raw).ok());
  return raw.DebugString();
}

TEST(Loops, AreTheirRounds) {
  const std::string unrolled = Meaning(Recurrence(Rounds(), Rounds()));
  EXPECT_EQ(Meaning(Recurrence(Loop(), Rounds())), unrolled);
  EXPECT_EQ(Meaning(Recurrence(Rounds(), Loop())), unrolled);
  EXPECT_EQ(Meaning(Recurrence(Loop(), Loop())), unrolled);
}

TEST(Loops, ReadableFormKeepsThem) {
  const absl::StatusOr<PlanFile> file = ParsePlanFile(Recurrence(Loop(), Loop()), "plan.json");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<std::string> text = WriteReadableForm(*file);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\"for\": \"t\","));
  const absl::StatusOr<PlanFile> again = ParsePlanFile(*text, "plan.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(InJsonOrder(*again).SerializeAsString(), InJsonOrder(*file).SerializeAsString());
}

PlanFile Unrolled(const std::string& operators) {
  absl::StatusOr<PlanFile> file = ParsePlanFile(Recurrence(operators, Rounds()), "plan.json");
  EXPECT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(UnrollLoops("plan.json", &*file), absl::OkStatus());
  EXPECT_FALSE(HasLoops(*file));
  return *std::move(file);
}

std::vector<std::string> OutputsOf(const std::string& operators) {
  const PlanFile file = Unrolled(operators);
  std::vector<std::string> outputs;
  for (const Operator& op : file.specification().operators()) outputs.push_back(op.outputs(0));
  return outputs;
}

TEST(Loops, GoBackwardsAndByOtherSteps) {
  const std::string body = R"(, "do": [{"op": "neg", "in": "x", "out": "y[t]"}]})";
  EXPECT_THAT(OutputsOf(R"({"for": "t", "from": 2, "to": -1, "step": -1)" + body),
              testing::ElementsAre("y[2]", "y[1]", "y[0]"));
  EXPECT_THAT(OutputsOf(R"({"for": "t", "from": 0, "to": 5, "step": 2)" + body),
              testing::ElementsAre("y[0]", "y[2]", "y[4]"));
  EXPECT_THAT(OutputsOf(R"({"for": "t", "from": 5, "to": 5)" + body), testing::IsEmpty());
}

TEST(Loops, StandInEachOther) {
  EXPECT_THAT(
      OutputsOf(
          R"({"for": "i", "from": 0, "to": 2, "do": [{"for": "j", "from": "i", "to": 2, "do": [
        {"op": "neg", "in": "x", "out": "y[i][2 * j]"}]}]})"),
      testing::ElementsAre("y[0][0]", "y[0][2]", "y[1][2]"));
}

TEST(Loops, ReplaceVariablesInAttributes) {
  const PlanFile file =
      Unrolled(R"({"for": "t", "from": -1, "to": 0, "do": [{"op": "view", "in": "x", "out": "y[t]",
        "attrs": {"a": "=t * 4", "b": "=tp * 2 + t", "c": ["=3 - t", 1], "d": "t", "e": "=t2"}}]})");
  const auto& attributes = file.specification().operators(0).attributes();
  ASSERT_EQ(attributes.size(), 5);
  EXPECT_EQ(attributes[0].value().integer(), -4);
  EXPECT_EQ(attributes[1].value().expression(), "tp * 2 + (0 - 1)");
  EXPECT_EQ(attributes[2].value().list().elements(0).integer(), 4);
  EXPECT_EQ(attributes[3].value().text(), "t");
  EXPECT_EQ(attributes[4].value().expression(), "t2");
}

TEST(Loops, NamesOutsideAreAsTheyAreWritten) {
  EXPECT_THAT(OutputsOf(R"({"op": "neg", "in": "x", "out": "y[t]"},
    {"for": "t", "from": 0, "to": 1, "do": [{"op": "neg", "in": "x", "out": "z"}]})"),
              testing::ElementsAre("y[t]", "z"));
}

TEST(Loops, MistakesAreNamedWhereTheyAreWritten) {
  const auto said = [](const std::string& model) { return Said(Recurrence(model, Rounds())); };
  EXPECT_THAT(said(absl::StrReplaceAll(Loop(), {{"h[t]", "h[u]"}})),
              testing::AllOf(HasSubstr("/specification/operators/0/do/1"), HasSubstr("\"u\"")));
  EXPECT_THAT(said(absl::StrReplaceAll(Loop(), {{"h[t]", "h[t"}})), HasSubstr("is not closed"));
  EXPECT_THAT(said(absl::StrReplaceAll(Loop(), {{"a[t]", "a"}})),
              testing::AllOf(HasSubstr("/operators/0/do/1, t = 1"), HasSubstr("\"a\"")));
  EXPECT_THAT(said(Loop(R"("for": "3", "from": 0, "to": 3)")), HasSubstr("loop variable"));
  EXPECT_THAT(said(Loop(R"("for": "t", "from": "n", "to": 3)")), HasSubstr("\"n\""));
  EXPECT_THAT(said(Loop(R"("for": "t", "from": 0)")), HasSubstr("a loop is {\"for\""));
  EXPECT_THAT(said(Loop(R"("for": "t", "from": 0, "to": 3, "step": 0)")), HasSubstr("step not 0"));
  EXPECT_THAT(said(Loop(R"("for": "t", "from": 0, "to": 3, "op": "add")")), HasSubstr("\"op\""));
  EXPECT_THAT(said(R"({"for": "t", "from": 0, "to": 3, "do": []})"), HasSubstr("is empty"));
  EXPECT_THAT(said(R"({"for": "t", "from": 0, "to": 3, "do": [)" + Loop() + "]}"),
              HasSubstr("loop around this one"));
  EXPECT_THAT(said(Loop(R"("for": "t", "from": 0, "to": 1000000000000)")), HasSubstr("2000000"));
}

TEST(Loops, AnOperatorWithALoopIsNeither) {
  absl::StatusOr<PlanFile> file = ParsePlanFile(Recurrence(Loop(), Rounds()), "plan.json");
  ASSERT_TRUE(file.ok()) << file.status();
  file->mutable_specification()->mutable_operators(0)->set_op("add");
  EXPECT_THAT(std::string(UnrollLoops("plan.json", &*file).message()), HasSubstr("no operands"));
}

}  // namespace
}  // namespace planproof::plan
