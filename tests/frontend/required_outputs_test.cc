// Who must hold what the specification requires.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Two programs of two devices each; the second computes `second`.
std::string TwoPrograms(const std::string& outputs, const std::string& second) {
  return absl::StrCat(R"({"planproof": 1,
    "specification": {"inputs": {"x": [8, 4]},
      "operators": [{"op": "mul", "in": ["x", 2], "out": "y"}], "outputs": )",
                      outputs, R"(},
    "plan": {"mesh": {"dp": 2, "tp": 2}, "programs": [
      {"name": "a", "devices": {"dp": 0}, "inputs": ["x"],
       "operators": [{"op": "mul", "in": ["x", 2], "out": "y"}]},
      {"name": "b", "devices": {"dp": 1}, "inputs": ["x"], "operators": [)",
                      second, "]}]}}");
}

constexpr char kOther[] = R"({"op": "mul", "in": ["x", 3], "out": "z"})";
constexpr char kSame[] = R"({"op": "mul", "in": ["x", 2], "out": "y"})";

TEST(RequiredOutputs, AListAsksEveryDevice) {
  EXPECT_EQ(Said(TwoPrograms(R"(["y"])", kSame)), "read");
  EXPECT_THAT(Said(TwoPrograms(R"(["y"])", kOther)),
              testing::AllOf(HasSubstr("plan.json:7: /plan/programs/1: program \"b\" claims no "
                                       "\"y\", but a list of outputs asks every device for it"),
                             HasSubstr(R"({"y": {"on": {"AXIS": 0}}})")));
  EXPECT_THAT(Said(TwoPrograms(R"(["y"])", "")), HasSubstr("claims no \"y\"")) << "no operators";
}

TEST(RequiredOutputs, AListAsksEveryDeviceInTheBinaryFormToo) {
  for (const char* second : {kSame, kOther}) {
    const absl::StatusOr<PlanFile> file =
        ParsePlanFile(TwoPrograms(R"(["y"])", second), "plan.json");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(Said(file->SerializeAsString()), Said(TwoPrograms(R"(["y"])", second)));
  }
}

TEST(RequiredOutputs, OnNamesTheDevicesThatHoldAnOutput) {
  for (const char* devices : {R"({"dp": 0})", R"({"dp": [0]})", R"({"dp": 0, "tp": 1})"}) {
    EXPECT_EQ(Said(TwoPrograms(absl::StrCat(R"({"y": {"on": )", devices, "}}"), kOther)), "read")
        << devices;
  }
  for (const char* devices :
       {R"({"dp": 1})", R"({"dp": [0, 1]})", R"({"tp": 0})", R"({"dp": 1, "tp": [1]})", "{}"}) {
    const std::string outputs = absl::StrCat(R"({"y": {"on": )", devices, "}}");
    EXPECT_THAT(Said(TwoPrograms(outputs, kOther)),
                HasSubstr(R"(claims no "y", but the specification has it "on" these devices)"))
        << devices;
    EXPECT_EQ(Said(TwoPrograms(outputs, kSame)), "read") << devices;
  }
}

TEST(RequiredOutputs, OnNamesAxesOfTheMesh) {
  for (const auto& [devices, says] : {std::pair{R"({"pp": 0})", "\"pp\" is none"},
                                      {R"({"microbatch": 0})", "\"microbatch\" is none"},
                                      {R"({"dp": 2})", "coordinate 2 of axis dp of extent 2"},
                                      {R"({"dp": []})", "at least one coordinate"}}) {
    EXPECT_THAT(Said(TwoPrograms(absl::StrCat(R"({"y": {"on": )", devices, "}}"), kSame)),
                HasSubstr(says));
  }
  EXPECT_THAT(Said(Replaced(TwoPrograms(R"(["y"])", kSame), R"("inputs": ["x"])",
                            R"("inputs": {"x": {"on": {"dp": 0}}})")),
              HasSubstr("stands under \"outputs\" of the specification"));
}

// Which JSON cannot say, and which would ask nobody.
TEST(RequiredOutputs, OnNamesACoordinateInTheBinaryForm) {
  PlanFile file = *ParsePlanFile(TwoPrograms(R"({"y": {"on": {"dp": 0}}})", kOther), "plan.json");
  EXPECT_EQ(Said(file.SerializeAsString()), "read");
  file.mutable_specification()->mutable_outputs(0)->mutable_on()->mutable_at(0)->clear_values();
  EXPECT_THAT(Said(file.SerializeAsString()), HasSubstr("\"on\" names no coordinate of dp"));
}

TEST(RequiredOutputs, ARelationAsksThoseWhoClaimAndTheVerdictSaysSo) {
  const absl::StatusOr<lineage::Problem> some = ReadText(TwoPrograms(R"({"y": {}})", kOther));
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_THAT(some->assumptions,
              Contains("outputs are needed only where a program claims them: y (a)"));
  const absl::StatusOr<lineage::Problem> all = ReadText(TwoPrograms(R"({"y": {}})", kSame));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->required.size(), 2);
  EXPECT_THAT(all->assumptions, testing::IsEmpty());
}

// Three stages; only the second trains `w`.
std::string Stages(const std::string& outputs, const std::string& third) {
  return absl::StrCat(R"({"planproof": 1,
    "specification": {"inputs": {"x": [4, 4]}, "parameters": {"w": [4, 4]},
      "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"},
                    {"op": "sum", "in": "y", "out": "loss"},
                    {"op": "sub", "in": ["w", "grad.w"], "out": "w.new"}],
      "gradients": {"loss": "loss", "of": ["w"]}, )",
                      outputs, R"(},
    "plan": {"mesh": {"pp": 3}, "programs": [
      {"name": "a", "devices": {"pp": 0}, "inputs": ["x"],
       "operators": [{"op": "exp", "in": "x", "out": "unused"}]},
      {"name": "b", "devices": {"pp": 1}, "inputs": ["x", "w", "grad.loss"],
       "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"},
                     {"op": "sum", "in": "y", "out": "loss"},
                     {"backward": "loss"}, {"backward": "y"},
                     {"op": "sub", "in": ["w", "grad.w"], "out": "w.new"}]},
      {"name": "c", "devices": {"pp": 2}, )",
                      third, "}]}}");
}

constexpr char kNothing[] = R"("operators": [])";

TEST(RequiredOutputs, TheGradientOfAParameterIsAskedOfThoseWhoHoldTheParameter) {
  for (const char* outputs : {R"("outputs": ["grad.w"])", R"("outputs": {"grad.w": {}})"}) {
    EXPECT_EQ(Said(Stages(outputs, kNothing)), "read") << outputs;
    for (const char* holder :
         {R"("inputs": ["w"], "operators": [])", R"("inputs": {"v": {"of": "w"}}, "operators": [])",
          R"("inputs": {"v": {"of": "w", "0": [0, 4]}}, "operators": [])"}) {
      EXPECT_THAT(Said(Stages(outputs, holder)),
                  HasSubstr("program \"c\" claims no \"grad.w\", but reads the parameter"))
          << holder;
    }
  }
}

TEST(RequiredOutputs, AnUpdatedParameterIsAskedOfThoseWhoHoldTheParameter) {
  const std::string updates =
      R"("outputs": {"loss": {"on": {"pp": 1}}}, "updates": {"w": "w.new"})";
  EXPECT_EQ(Said(Stages(updates, kNothing)), "read");
  for (const char* holder : {R"("inputs": ["w"], "operators": [])",
                             R"("inputs": {"v": {"of": "w"}}, "operators": [])"}) {
    EXPECT_THAT(Said(Stages(updates, holder)),
                HasSubstr("program \"c\" reads parameter w but holds no updated value"));
  }
  EXPECT_THAT(Said(Stages(updates, R"("inputs": ["x"], "outputs": {"w.new": "x"},
                                      "operators": [])")),
              HasSubstr("program \"c\" claims \"w.new\", but does not read w"));
}

TEST(RequiredOutputs, AnUpdatedParameterInAListIsAskedOfEveryDevice) {
  EXPECT_THAT(Said(Stages(R"("outputs": ["w.new"], "updates": {"w": "w.new"})", kNothing)),
              HasSubstr("claims no \"w.new\", but a list of outputs asks every device for it"));
}

}  // namespace
}  // namespace planproof::plan
