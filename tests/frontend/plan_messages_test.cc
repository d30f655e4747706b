// What the reader says to somebody who writes a plan by hand: which name was meant, what is
// missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "frontend/plan/remedies.h"

namespace planproof::plan {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

absl::Status StatusOf(const std::string& text) {
  absl::StatusOr<PlanFile> file = ParsePlanFile(text, "plan.json");
  if (!file.ok()) return file.status();
  std::vector<std::pair<std::string, PlanFile>> files;
  files.emplace_back("plan.json", *std::move(file));
  return BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn()).status();
}

std::string FirstPlan() {
  std::ifstream stream(std::string(PLANPROOF_SOURCE_DIR) + "/examples/first_plan/plan.json");
  std::stringstream content;
  content << stream.rdbuf();
  return content.str();
}

// The message about the first plan with one piece of its text replaced.
std::string MessageAbout(const std::string& from, const std::string& to) {
  std::string text = FirstPlan();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  const absl::Status status = StatusOf(text);
  EXPECT_FALSE(status.ok()) << to;
  EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos);
  return std::string(status.message());
}

TEST(PlanMessages, TheFirstPlanIsRight) { EXPECT_TRUE(StatusOf(FirstPlan()).ok()); }

TEST(PlanMessages, AMistypedNameIsMatchedWithANearOne) {
  EXPECT_THAT(MessageAbout(R"("in": "part", "out": "y"})", R"("in": "prat", "out": "y"})"),
              HasSubstr(R"("prat" is not defined in program "program0"; did you mean "part"?)"));
  EXPECT_THAT(MessageAbout(R"({"backward": "part")", R"({"backward": "prat")"),
              EndsWith(R"(did you mean "part"?)"));
  EXPECT_THAT(MessageAbout(R"("lineage": {"part")", R"("lineage": {"parts")"),
              EndsWith(R"(defines no "parts"; did you mean "part"?)"));
  EXPECT_THAT(MessageAbout(R"("in": "sq", "out": "loss", "source")",
                           R"("in": "sqq", "out": "loss", "source")"),
              EndsWith(R"(did you mean "sq"?)"));
  EXPECT_THAT(MessageAbout(R"("grad.w": {"1": "tp"}})", R"("grad.ww": {"1": "tp"}})"),
              EndsWith(R"(is not defined in the specification; did you mean "grad.w"?)"));
  EXPECT_THAT(MessageAbout(R"("loss": "loss")", R"("loss": "losss")"),
              EndsWith(R"(did you mean "loss"?)"));
}

TEST(PlanMessages, AnInputThatIsNotListedIsNamedAsOne) {
  EXPECT_THAT(
      MessageAbout(R"(, "grad.loss": {})", ""),
      HasSubstr(R"(backward of loss: "grad.loss" is not defined in program "program0"; the )"
                R"(specification has it: list it under "inputs")"));
  EXPECT_THAT(MessageAbout(R"("t": {}, )", ""), EndsWith(R"(list it under "inputs")"));
}

TEST(PlanMessages, AMissingGradientIsComparedWithThoseThatAreThere) {
  EXPECT_THAT(MessageAbout(R"({"part": "grad.y"})", R"({"part": "grad.from_elsewhere"})"),
              EndsWith("; gradients so far are grad.d, grad.loss, grad.sq, grad.y"));
}

TEST(PlanMessages, AnUnknownAxisIsComparedWithTheMesh) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("over": "tp")", R"("over": "pt")"},
           {R"("w": {"1": "tp"})", R"("w": {"1": "pt"})"},
           {R"("partial": "tp")", R"("partial": "pt")"}}) {
    EXPECT_THAT(MessageAbout(from, to),
                EndsWith(R"(axis "pt" is not in the mesh; axes are microbatch, tp)"))
        << from;
  }
}

TEST(PlanMessages, ShapesAreGivenWithTheNamesOfTheFile) {
  EXPECT_THAT(MessageAbout(R"("t": [8, 32])", R"("t": [8, 31])"),
              HasSubstr("plan.json:9: /specification/operators/1: operator sub: operand y has "
                        "extent 31"));
  EXPECT_THAT(MessageAbout(R"("t": [8, 32])", R"("t": [8, 31])"),
              EndsWith("; given sub(y[8, 32], t[8, 31])"));
  EXPECT_THAT(MessageAbout(R"("x": {"1": "tp"})", R"("x": {})"),
              EndsWith("; given linear(x[8, 16], w[32, 8])"));
}

TEST(PlanMessages, ALongListOfOperandsIsCut) {
  const std::vector<std::string> names(9, std::string(1000, 'n'));
  const std::vector<sdfg::Shape> shapes(9, sdfg::Shape{1});
  const absl::Status status = WithGiven(absl::InvalidArgumentError("no"), "cat", names, shapes);
  EXPECT_LT(status.message().size(), 600);
  EXPECT_THAT(std::string(status.message()), EndsWith("...[1], ...)"));
}

TEST(PlanMessages, ARequiredShapeSaysWhoRequiresIt) {
  EXPECT_THAT(
      MessageAbout(R"("grad.w": {"1": "tp"}})", R"("grad.w": {}})"),
      EndsWith("grad.w: shape mismatch: the tensor has local shape [32, 8], its relation to "
               "grad.w[32, 16] asks for [32, 16]; the specification requires this relation"));
}

TEST(PlanMessages, AHoleNamesTheInputAndItsLine) {
  EXPECT_THAT(MessageAbout(R"("w": {"1": "tp"})", R"("w": {"1": [0, 8]})"),
              testing::StartsWith("plan.json:19: /plan/programs/0/inputs/w: input w[32, 16]: hole: "
                                  "nobody holds [8, 16) of dimension 1; a range is the same on "
                                  "every device"));
}

TEST(PlanMessages, ACollectiveInAnotherSpellingIsRecognised) {
  EXPECT_THAT(MessageAbout(R"("op": "all_reduce")", R"("op": "AllReduce")"),
              EndsWith("did you mean the collective 'all_reduce'?"));
  EXPECT_EQ(CollectiveLike("reducescatter"), "reduce_scatter");
  EXPECT_EQ(CollectiveLike("linear"), "");
}

TEST(PlanMessages, SlipsOfJsonAreNamed) {
  const std::vector<std::vector<std::string>> slips = {
      {R"("out": "y"},
        {"op": "sub")",
       R"("out": "y"}
        {"op": "sub")",
       "plan.json:23: not valid JSON near `\"y\"} {`: a comma is missing before the last of these"},
      {R"("mesh": {"tp": 2})", R"("mesh": {"tp": 2,})", "a comma too many before '}'"},
      {R"("t": [8, 32]})", R"("t": [8, 32,]})", "a comma too many before ']'"},
      {R"("mesh": {"tp": 2})", R"("mesh": {"tp": 2])", "another bracket is closed"},
      {R"("in": ["y", "t"], "out": "d", "source")", R"("in": ['y', 't'], "out": "d", "source")",
       "double quotes"},
      {R"("mesh")", R"(// the devices
       "mesh")",
       "JSON has no comments"},
      {"    }]\n  }\n}\n", "    }]\n  }\n", "the file ends before every bracket is closed"},
  };
  for (const std::vector<std::string>& slip : slips) {
    EXPECT_THAT(MessageAbout(slip[0], slip[1]), HasSubstr(slip[2]));
  }
}

}  // namespace
}  // namespace planproof::plan
