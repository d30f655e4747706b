// Operators that overwrite their operand ("inplace"): who reads it afterwards gets the new value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/plan/raw_form.h"
#include "tests/schedules/pipeline_plan.h"

namespace planproof::schedules {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kRelu[] =
    R"({"op": "relu", "in": "h", "out": "r", "attrs": {"inplace": true}, "phase": "R"})";

// y = relu(h) + exp(h) of h = x w and other things, 4 microbatches; `operators` make y of h.
std::string OfH(const std::string& operators, const std::string& keys = "") {
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 8]},
      "parameters": {"w": [8, 8]}, "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h"}, {"op": "relu", "in": "h", "out": "r"},
        {"op": "exp", "in": "h", "out": "e"}, {"op": "add", "in": ["r", "e"], "out": "y"}],
      "outputs": {"y": {"0": "microbatch"}}},
      "plan": {"mesh": {"tp": 2}, "microbatches": 4, "programs": [{
        "inputs": {"x": {"0": "microbatch"}, "w": {}}, )",
                      keys, keys.empty() ? "" : ", ", R"("operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h", "phase": "H"}, )",
                      operators,
                      R"(, {"op": "add", "in": ["r", "e"], "out": "y", "phase": "Y"}]}]}})");
}
constexpr char kExp[] = R"({"op": "exp", "in": "h", "out": "e", "phase": "E"})";

TEST(InplaceAttribute, ALaterReadOfTheOperandIsRefusedWithBothPlaces) {
  EXPECT_EQ(Said(OfH(absl::StrCat(kExp, ", ", kRelu))), "PROVED");
  EXPECT_THAT(Said(OfH(absl::StrCat(kRelu, ", ", kExp))),
              AllOf(StartsWith("MALFORMED: buffer overwritten: h of microbatch 0 is read after the "
                               "memory of h got r of microbatch 0"),
                    HasSubstr("exp (e) at plan.json:8 in its only step reads h of microbatch 0"),
                    HasSubstr("into which relu (r) at plan.json:8 in its only step has written"),
                    HasSubstr("relu computes in place (\"inplace\"): read r instead, or leave "
                              "\"inplace\" out")));
  // Not in place: the order does not matter.
  EXPECT_EQ(Said(OfH(absl::StrCat(Replaced(kRelu, "true", "false"), ", ", kExp))), "PROVED");
  for (const std::string value : {"0", "1", "null", "\"false\""}) {
    EXPECT_THAT(Said(OfH(absl::StrCat(Replaced(kRelu, "true", value), ", ", kExp))),
                AllOf(StartsWith("MALFORMED"), HasSubstr("inplace"), HasSubstr("bool")));
  }
}

TEST(InplaceAttribute, TheOrderIsThatOfTheSteps) {
  const std::string listed = absl::StrCat(kRelu, ", ", kExp);
  EXPECT_EQ(Said(OfH(listed, R"("schedule": ["H:0..4", "E:0..4", "R:0..4", "Y:0..4"])")), "PROVED");
  EXPECT_EQ(Said(OfH(listed, R"("schedule": [{"for": "i", "from": 0, "to": 4,
                                              "do": ["H:i", "E:i", "R:i", "Y:i"]}])")),
            "PROVED");
  EXPECT_THAT(Said(OfH(listed, R"("schedule": ["H:0..4", "E:0..3", "R:0..4", "E:3", "Y:0..4"])")),
              HasSubstr("h of microbatch 3 is read after the memory of h got r of microbatch 3"));
}

// A view may be the same memory under another name.
TEST(InplaceAttribute, ViewsOfTheOperandAreOverwrittenWithIt) {
  const std::string late = R"({"op": "exp", "in": "v", "out": "e"})";
  for (
      const std::string view :
      {R"({"op": "identity", "in": "h", "out": "v"})",
       R"({"op": "contiguous", "in": "h", "out": "v"})",
       R"({"op": "view", "in": "h", "out": "u", "attrs": {"size": [8]}},
           {"op": "view", "in": "u", "out": "v", "attrs": {"size": [1, 8]}})",
       R"({"op": "transpose", "in": "h", "out": "u", "attrs": {"dim0": 0, "dim1": 1}},
           {"op": "transpose", "in": "u", "out": "v", "attrs": {"dim0": 0, "dim1": 1}})",
       R"({"op": "narrow", "in": "h", "out": "v", "attrs": {"dim": 1, "start": 0, "length": 8}})"}) {
    EXPECT_EQ(Said(OfH(absl::StrCat(view, ", ", late, ", ", kRelu))), "PROVED") << view;
    EXPECT_THAT(Said(OfH(absl::StrCat(view, ", ", kRelu, ", ", late))),
                AllOf(StartsWith("MALFORMED: buffer overwritten"), HasSubstr("is read after")))
        << view;
  }
  // The view is overwritten, and with it what it is a view of.
  EXPECT_THAT(Said(OfH(R"({"op": "identity", "in": "h", "out": "v"},
                          {"op": "relu", "in": "v", "out": "r", "attrs": {"inplace": true}},
                          {"op": "exp", "in": "h", "out": "e"})")),
              HasSubstr("h of microbatch 0 is read after"));
  // A copy is not.
  const std::string copy = R"({"op": "clone", "in": "h", "out": "v"}, )";
  EXPECT_EQ(Said(OfH(absl::StrCat(copy, kRelu, ", ", late))), "PROVED");
  EXPECT_EQ(
      Said(OfH(absl::StrCat(R"({"op": "identity", "in": "h", "out": "v"}, )", kRelu, ", ", late),
               R"("buffers": {"v": {"name": "copy", "slots": 4}})")),
      "PROVED");
}

TEST(InplaceAttribute, OperandAndResultAreOneBuffer) {
  const std::string operators = absl::StrCat(kExp, ", ", kRelu);
  EXPECT_EQ(Said(OfH(operators, R"("buffers": {"r": {"name": "b", "slots": 4}})")), "PROVED");
  EXPECT_THAT(
      Said(OfH(operators, R"("buffers": {"r": {"name": "b", "slots": 2}})")),
      HasSubstr("h of microbatch 0 is read after buffer \"b\" of program \"program0\" got h of "
                "microbatch 2"));
  const std::string turns = R"(, "schedule": [{"for": "i", "from": 0, "to": 4,
                                                "do": ["H:i", "E:i", "R:i", "Y:i"]}])";
  EXPECT_EQ(Said(OfH(operators, R"("buffers": {"h": "b"})" + turns)), "PROVED");
  EXPECT_THAT(Said(OfH(operators, R"("buffers": {"h": "a", "r": "b"})" + turns)),
              AllOf(StartsWith("MALFORMED: two buffers for one memory"),
                    HasSubstr("name one buffer, or leave \"inplace\" out")));
  // What shares the buffer is overwritten, too, although only h names it.
  EXPECT_THAT(Said(OfH(absl::StrCat(R"({"op": "neg", "in": "h", "out": "n", "phase": "H"}, )",
                                    operators, R"(, {"op": "exp", "in": "n", "out": "e2"})"),
                       R"("buffers": {"r": "b", "n": "b"})" + turns)),
              StartsWith("MALFORMED"));
}

TEST(InplaceAttribute, WhatIsRequiredIsStillThereAtTheEnd) {
  const auto plan = [](const std::string& inplace) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "h"}, {"op": "relu", "in": "h", "out": "y"}],
      "outputs": ["h", "y"]}, "plan": {"mesh": {}, "programs": [{"inputs": ["x"], "operators": [
        {"op": "exp", "in": "x", "out": "h"},
        {"op": "relu", "in": "h", "out": "y", "attrs": {"inplace": )",
                        inplace, "}}]}]}}");
  };
  EXPECT_EQ(Said(plan("false")), "PROVED");
  EXPECT_THAT(Said(plan("true")),
              HasSubstr("the required output h is overwritten in the memory of h"));
}

// The derivative of relu may be computed from its result as well, which is then there.
TEST(InplaceAttribute, ABackwardOperatorIsAReader) {
  const auto plan = [](const std::string& backward) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 8]},
      "parameters": {"w": [8, 8]}, "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h"},
        {"op": "relu", "in": "h", "out": "y", "attrs": {"inplace": true}},
        {"op": "sum", "in": "y", "out": "loss"}],
      "gradients": {"loss": "loss", "of": ["w"]}, "outputs": ["grad.w"]},
      "plan": {"mesh": {}, "programs": [{"inputs": ["x", "w", "grad.loss"], "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h"},
        {"op": "relu", "in": "h", "out": "y", "attrs": {"inplace": true}},
        {"op": "sum", "in": "y", "out": "loss"}, {"backward": "loss"}, )",
                        backward, R"(, {"backward": "h"}]}]}})");
  };
  EXPECT_THAT(Said(plan(R"({"backward": "y"})")),
              AllOf(HasSubstr("relu.backward (y.backward)"), HasSubstr("read y instead")));
  EXPECT_EQ(Said(plan(R"({"backward": "y", "in": ["y"]})")), "PROVED");
}

TEST(InplaceAttribute, ACollectiveInFlightReadsUntilItsWait) {
  const auto plan = [](const std::string& operators) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "h"}, {"op": "relu", "in": "h", "out": "r"},
        {"op": "add", "in": ["h", "r"], "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"tp": 2}, "programs": [{"inputs": ["x"], "operators": [
        {"op": "exp", "in": "x", "out": "h"},
        {"op": "all_reduce", "over": "tp", "reduce": "avg", "in": "h", "out": "s", "async": "a"}, )",
                        operators, R"(, {"op": "add", "in": ["s", "r"], "out": "y"}]}]}})");
  };
  const std::string wait = R"({"op": "wait", "in": "a"})";
  const std::string relu = R"({"op": "relu", "in": "h", "out": "r", "attrs": {"inplace": true}})";
  EXPECT_EQ(Said(plan(absl::StrCat(wait, ", ", relu))), "PROVED");
  EXPECT_THAT(Said(plan(absl::StrCat(relu, ", ", wait))),
              StartsWith("MALFORMED: buffer in flight: the memory of h is written while"));
}

// What is one for all microbatches is overwritten for all of them.
TEST(InplaceAttribute, WhatDoesNotVaryIsOverwrittenForLaterMicrobatches) {
  const auto plan = [](const std::string& steps) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 8]},
      "parameters": {"w": [8]}, "operators": [{"op": "exp", "in": "w", "out": "c"},
        {"op": "mul", "in": ["x", "c"], "out": "y"}, {"op": "relu", "in": "c", "out": "z"}],
      "outputs": {"y": {"0": "microbatch"}, "z": {}}},
      "plan": {"mesh": {}, "microbatches": 4, "programs": [{
        "inputs": {"x": {"0": "microbatch"}, "w": {}}, "operators": [
          {"op": "exp", "in": "w", "out": "c", "phase": "C"},
          {"op": "mul", "in": ["x", "c"], "out": "y", "phase": "F"},
          {"op": "relu", "in": "c", "out": "z", "attrs": {"inplace": true}, "phase": "R"}],
        "schedule": )",
                        steps, "}]}}");
  };
  EXPECT_EQ(Said(plan(R"(["C", "F:0..4", "R"])")), "PROVED");
  EXPECT_THAT(Said(plan(R"(["C", "F:0..2", "R", "F:2..4"])")),
              HasSubstr("mul (y) at plan.json:8 in step 4 (F:2) reads c from the memory of c"));
  // The relu runs with the first step of its phase.
  EXPECT_THAT(Said(plan(R"(["C", "F:0", "R:0..4", "F:1..4"])")), HasSubstr("c is read after"));
}

TEST(InplaceAttribute, RanksThatComputeOtherwiseDoNotMixWithIt) {
  const std::string text = R"json({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "h"}, {"op": "relu", "in": "h", "out": "y"}],
      "outputs": ["y"]}, "plan": {"mesh": {"tp": 2}, "programs": [{"inputs": ["x"], "operators": [
        {"op": "exp", "in": "x", "out": "h"},
        {"op": "relu", "in": "h", "out": "y", "attrs": {"inplace": FIRST}}],
        "exceptions": [{"at": {"tp": 0}, "replace": "y",
          "with": {"op": "relu", "in": "h", "out": "y", "attrs": {"inplace": SECOND}}}]}]}})json";
  const auto said = [&](const std::string& first, const std::string& second) {
    return Said(Replaced(Replaced(text, "FIRST", first), "SECOND", second));
  };
  EXPECT_EQ(said("false", "false"), "PROVED");
  EXPECT_THAT(said("true", "false"), HasSubstr("on some of its ranks only; leave \"inplace\" out"));
  EXPECT_THAT(said("false", "true"), HasSubstr("on some of its ranks only; leave \"inplace\" out"));
}

// A specification has no order, so that nobody else may read what is overwritten.
TEST(InplaceAttribute, InASpecificationNothingElseReadsTheOperand) {
  const auto said = [](const std::string& operators, const std::string& output = "y") {
    const std::string plan = Replaced(operators, R"(, "attrs": {"inplace": true})", "");
    return Said(absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4]},
      "operators": [{"op": "exp", "in": "x", "out": "h"}, )",
                             operators, R"(], "outputs": [")", output,
                             R"("]}, "plan": {"mesh": {}, "programs": [{"inputs": ["x"],
      "operators": [{"op": "exp", "in": "x", "out": "h"}, )",
                             plan, "]}]}}"));
  };
  const std::string relu = R"({"op": "relu", "in": "h", "out": "r", "attrs": {"inplace": true}})";
  const std::string both = R"({"op": "add", "in": ["r", "h"], "out": "y"})";
  const std::string alone = R"({"op": "neg", "in": "r", "out": "y"})";
  EXPECT_EQ(said(absl::StrCat(relu, ", ", alone)), "PROVED");
  EXPECT_THAT(
      said(absl::StrCat(relu, ", ", both)),
      AllOf(HasSubstr("/specification/operators/1: relu (r) overwrites h (\"inplace\"), but "
                      "add at plan.json"),
            HasSubstr("/specification/operators/2 reads it or a view of it, and a "
                      "specification does not say which comes first; leave \"inplace\" out")));
  EXPECT_THAT(said(absl::StrCat(R"({"op": "neg", "in": "h", "out": "n"}, )", relu,
                                R"(, {"op": "add", "in": ["r", "n"], "out": "y"})")),
              HasSubstr("relu (r) overwrites h"));
  EXPECT_THAT(
      said(absl::StrCat(R"({"op": "view", "in": "h", "out": "v", "attrs": {"size": [2, 2]}}, )",
                        relu, R"(, {"op": "sum", "in": "v", "out": "t"},
                                {"op": "add", "in": ["r", "t"], "out": "y"})")),
      HasSubstr("reads it or a view of it"));
  EXPECT_THAT(said(relu, "h"), HasSubstr("\"h\" is required"));
  // Reading through a view only is no second reader.
  EXPECT_EQ(said(R"({"op": "view", "in": "h", "out": "v", "attrs": {"size": [2, 2]}},
                    {"op": "relu", "in": "v", "out": "r", "attrs": {"inplace": true}},
                    {"op": "neg", "in": "r", "out": "y"})"),
            "PROVED");
}

// The raw form keeps what overwrites what.
TEST(InplaceAttribute, TheRawFormKeepsIt) {
  const auto verdict = [](const std::string& text) {
    const auto problem = ReadText(text);
    EXPECT_TRUE(problem.ok()) << problem.status();
    plan::RawProblem raw;
    EXPECT_TRUE(plan::WriteRawProblem(*problem, &raw).ok());
    const auto again = plan::ReadRawProblem(raw);
    EXPECT_TRUE(again.ok()) << again.status();
    stages::VerifyOptions options;
    options.jobs = 1;
    return again.ok() ? strategy::Verify(*again, options).verdict : stages::Verdict::kUnknown;
  };
  EXPECT_EQ(verdict(OfH(absl::StrCat(kExp, ", ", kRelu))), stages::Verdict::kProved);
  EXPECT_EQ(verdict(OfH(absl::StrCat(kRelu, ", ", kExp))), stages::Verdict::kMalformed);
}

}  // namespace
}  // namespace planproof::schedules
