// Plans as JSON for people: what is written reads back to what was meant.
#include "frontend/plan/readable_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/plan/raw_form.h"
#include "generator/generate.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

std::string Content(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::stringstream content;
  content << stream.rdbuf();
  return content.str();
}

std::string Readable(const PlanFile& file) {
  const absl::StatusOr<std::string> text = WriteReadableForm(file);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

std::string Rewritten(const std::string& text) {
  const absl::StatusOr<PlanFile> file = ParsePlanFile(text, "plan.json");
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? Readable(*file) : "";
}

std::string RawOf(const std::string& text) {
  const absl::StatusOr<lineage::Problem> problem = ReadText(text);
  if (!problem.ok()) return std::string(problem.status().message());
  RawProblem raw;
  EXPECT_TRUE(WriteRawProblem(*problem, &raw).ok());
  return raw.SerializeAsString();
}

TEST(ReadableForm, ExamplesReadBackToTheSameMessage) {
  int files = 0;
  for (const char* directory :
       {"examples", "examples/first_plan", "examples/bugs", "tests/soundness_cases/cases"}) {
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(PLANPROOF_SOURCE_DIR) / directory)) {
      if (entry.path().extension() != ".json") continue;
      const absl::StatusOr<PlanFile> file = ParsePlanFile(Content(entry.path()), "plan.json");
      if (!file.ok()) continue;  // a slip of JSON, on purpose
      const absl::StatusOr<PlanFile> again = ParsePlanFile(Readable(*file), "plan.json");
      ASSERT_TRUE(again.ok()) << entry.path() << again.status();
      EXPECT_EQ(InJsonOrder(*again).SerializeAsString(), InJsonOrder(*file).SerializeAsString())
          << entry.path();
      ++files;
    }
  }
  EXPECT_GT(files, 200);
}

TEST(ReadableForm, IsItsOwnReadableForm) {
  for (const char* name :
       {"pipeline_1f1b.json", "moe_dp2_ep2.json", "llama_dp2_pp2_tp2_mb2.json"}) {
    const std::string once =
        Rewritten(Content(std::filesystem::path(PLANPROOF_SOURCE_DIR) / "examples" / name));
    EXPECT_EQ(Rewritten(once), once) << name;
    EXPECT_EQ(RawOf(Rewritten(once)), RawOf(once)) << name;
  }
}

generator::GeneratedPlans Generated(const std::string& model, const generator::Strategy& strategy) {
  absl::StatusOr<generator::GeneratedPlans> plans =
      generator::Generate(*generator::NamedModel(model), {}, strategy);
  EXPECT_TRUE(plans.ok()) << plans.status();
  return *std::move(plans);
}

TEST(ReadableForm, GeneratedPlansReadBackToTheSameMessage) {
  generator::Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.pipeline_parallel = 2;
  strategy.microbatches = 4;
  strategy.zero = 1;
  strategy.recompute = true;
  strategy.loss_scale = "1024";
  strategy.schedule = lineage::PipelineSchedule::k1F1B;
  generator::Strategy ring;
  ring.context_parallel = 2;
  ring.ring = true;
  ring.zigzag = true;
  for (const auto& [model, how] : {std::pair{"llama-tiny", strategy},
                                   {"gpt-tiny", strategy},
                                   {"qwen-tiny", ring},
                                   {"deepseek-tiny", generator::Strategy()}}) {
    const generator::GeneratedPlans plans = Generated(model, how);
    for (const PlanFile& file : {plans.logical, plans.parallel}) {
      const absl::StatusOr<PlanFile> again = ParsePlanFile(Readable(file), "plan.json");
      ASSERT_TRUE(again.ok()) << model << again.status();
      EXPECT_EQ(InJsonOrder(*again).SerializeAsString(), InJsonOrder(file).SerializeAsString())
          << model;
    }
    const absl::StatusOr<PlanFile> whole =
        MergePlanFiles({{"logical", plans.logical}, {"parallel", plans.parallel}});
    ASSERT_TRUE(whole.ok()) << whole.status();
    const auto direct = ReadTexts({{"plan.json", InJsonOrder(*whole).SerializeAsString()}});
    const auto readable = ReadText(Readable(*whole));
    ASSERT_TRUE(direct.ok() && readable.ok()) << direct.status() << readable.status();
    EXPECT_EQ(direct->parallel.operators.size(), readable->parallel.operators.size());
    EXPECT_EQ(direct->assumptions, readable->assumptions);
    EXPECT_EQ(direct->required.size(), readable->required.size());
  }
}

TEST(ReadableForm, HasOneOperatorPerLine) {
  const generator::GeneratedPlans plans = Generated("llama-tiny", generator::Strategy());
  std::istringstream lines(Readable(plans.parallel));
  int operators = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto begins = [&](const char* text) {
      return line.find(absl::StrCat("{\"", text, "\": ")) != std::string::npos;
    };
    EXPECT_EQ(line.find("{\"op\": "), line.rfind("{\"op\": ")) << line;
    operators += begins("op") || begins("backward") ? 1 : 0;
  }
  EXPECT_EQ(operators, plans.parallel.plan().programs(0).operators_size());
}

constexpr char kEverything[] = R"({"planproof": 1, "operators": ["op f(x) -> y = 2 * x"],
  "specification": {
    "inputs": {"x": [8, 6], "ids": "int64[8]", "scalar": []}, "parameters": {"w": [4, 6]},
    "buffers": {"b": "bfloat16[4]"}, "ones": {"one": [8]}, "zeros": {"zero": [8, 6]},
    "operators": [
      {"op": "linear", "name": "first", "in": ["x", "w", null], "out": "h", "source": "m.py:3"},
      {"op": "mul", "in": ["h", {"literal": "1/3"}], "out": "k", "source": "m.py: no line"},
      {"op": "f", "in": "k", "out": ["y"], "attrs": {"eps": 1e-5, "r": {"real": "1/3"}, "n": null,
       "keep": true, "dim": [0, -1], "mode": "same", "two": {"real": "2"}}},
      {"op": "add", "in": [2, 0.5, -3, 1.50, 12345678901234567890], "out": "z"}],
    "gradients": [{"loss": "k", "of": ["w"]}, {"loss": "y", "of": ["x", "w"]}],
    "premises": {"ids": [0, 48], "x": ["nonzero", "no tie", [-3, 4]], "b": "positive",
                 "w": ["row unmasked", "nonnegative"]},
    "literals": {"0.333333343": "1/3"},
    "outputs": {"y": {"1": "tp", "on": {"pp": [0, 1]}}, "z": {"on": {}}, "k": {}},
    "updates": {"w": "w.new"}, "relations": {"x": {"0": "dp"}}},
  "plan": {"mesh": {"pp": 2, "dp": 2, "tp": 2}, "microbatches": 8,
    "declarations": "op g(x) -> y = 3 * x", "programs": [
    {"name": "s0", "devices": {"pp": 0},
     "inputs": {"x": {"0": ["dp", "microbatch"], "1": [0, 3]}, "v": {"of": "w", "0":
       {"over": "tp", "sizes": [3, 1]}, "overlap": true},
       "m": {"of": "x", "map": ["i0 / 4 * 8 + tp", "i1"], "shape": [4, 6]}, "w": {}},
     "operators": [
       {"op": "linear", "in": ["x", "w"], "out": "h", "phase": "F0", "attrs": {"start": "=tp * 64",
        "size": ["=dp", 4]}},
       {"op": "all_gather", "over": ["dp", "tp"], "dim": -1, "in": "h", "out": "a", "async": "one"},
       {"op": "wait", "in": ["one"]},
       {"op": "all_to_all", "over": "tp", "split_dim": 0, "concat_dim": 1, "in": "a", "out": "b"},
       {"op": "permute", "over": "tp", "shift": -1, "in": "b", "out": "c"},
       {"op": "permute", "over": "tp", "pairs": [[0, 1], [1, 0]], "in": "b", "out": "d"},
       {"op": "reduce", "over": "tp", "root": 1, "reduce": "sum", "in": "b", "out": "e"},
       {"op": "move", "in": "s1:q", "out": "q", "channel": "late"},
       {"backward": "h", "in": ["x", "w"], "grad": {"h": "g.h"}, "out": {"w": "g.w", "0": "g.x"}}],
     "lineage": {"h": {"partial": {"max": ["tp", "dp"]}}, "b": {"partial": "tp", "factor": "1/2"},
                 "c": {"factor": 1024}, "d": {"factor": 0.25}},
     "outputs": {"y": "h"}, "buffers": {"h": "pool", "a": {"name": "ring", "slots": 2}},
     "exceptions": [
       {"at": {"tp": 0, "dp": [0, 1]}, "replace": "h", "with": {"op": "exp", "in": "x", "out": "h"}},
       {"at": {"tp": 1}, "replace": "d", "with": [{"op": "exp", "in": "x", "out": "t"},
                                                  {"op": "exp", "in": "t", "out": "d"}]}],
     "schedule": ["F0:0", "F0:1..4", {"for": "i", "from": "microbatches - 4", "to": 8,
                                      "do": ["F0:i", {"for": "j", "from": 0, "to": "i", "do": ["B"]}]}]},
    {"name": "s1", "devices": {"pp": 1}, "inputs": ["x", "w"], "outputs": ["y", "z"],
     "operators": []}]}})";

TEST(ReadableForm, HasWordsForAllOfTheFormat) {
  const absl::StatusOr<PlanFile> file = ParsePlanFile(kEverything, "plan.json");
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string text = Readable(*file);
  const absl::StatusOr<PlanFile> again = ParsePlanFile(text, "plan.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(InJsonOrder(*again).DebugString(), InJsonOrder(*file).DebugString());
  EXPECT_EQ(Rewritten(text), text);
  EXPECT_THAT(text, HasSubstr(R"("in": [2, 0.5, -3, 1.50, 12345678901234567890])"));
  EXPECT_THAT(text, HasSubstr(R"("inputs": {"x": [8, 6], "ids": "int64[8]", "scalar": []})"));
  EXPECT_THAT(text, HasSubstr(R"("on": {"pp": [0, 1]})"));
}

TEST(ReadableForm, ARawProblemHasNone) {
  PlanFile raw;
  raw.set_version(1);
  raw.mutable_problem();
  EXPECT_THAT(std::string(WriteReadableForm(raw).status().message()),
              HasSubstr("a raw problem has no readable form"));
}

// The binary form can say what JSON cannot.
TEST(ReadableForm, WhatJsonHasNoWordsForIsRefused) {
  const PlanFile file = *ParsePlanFile(kEverything, "plan.json");
  PlanFile mixed = file;
  mixed.mutable_plan()->mutable_programs(0)->mutable_inputs(0)->clear_relation();
  EXPECT_THAT(std::string(WriteReadableForm(mixed).status().message()),
              HasSubstr("the JSON form has no words for all that the file says ("));
  PlanFile twice = file;
  *twice.mutable_specification()->add_updates() = twice.specification().updates(0);
  EXPECT_FALSE(WriteReadableForm(twice).ok());
  PlanFile text = file;
  text.mutable_specification()->mutable_operators(0)->mutable_source()->set_file("a:1");
  EXPECT_FALSE(WriteReadableForm(text).ok());
  PlanFile bytes = file;
  bytes.mutable_plan()->mutable_programs(0)->set_name("\xff");
  EXPECT_FALSE(WriteReadableForm(bytes).ok());
}

}  // namespace
}  // namespace planproof::plan
