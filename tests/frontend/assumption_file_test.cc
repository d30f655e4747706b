// Files of assumptions: what they mean, and what is said of those that are wrong.
#include "frontend/assumption_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/load_problem.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::frontend {
namespace {

using testing::HasSubstr;

// Two layers; the plan cuts rows over dp. `h1` has no lineage.
constexpr char kAssumedPlan[] = R"({"planproof": 1,
  "specification": {"inputs": {"x": [8, 4]}, "operators": [
    {"op": "exp", "in": "x", "out": "l0.h"}, {"op": "neg", "in": "l0.h", "out": "l0.y"},
    {"op": "exp", "in": "l0.y", "out": "l1.h"}, {"op": "sum", "in": "l1.h", "out": "y"}],
    "outputs": {"y": {}}},
  "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": {"x": {"0": "dp"}}, "operators": [
    {"op": "abs", "in": "x", "out": "l0.h"}, {"op": "neg", "in": "l0.h", "out": "l0.y"},
    {"op": "exp", "in": "l0.y", "out": "l1.h"}, {"op": "sum", "in": "l1.h", "out": "part"},
    {"op": "all_reduce", "over": "dp", "in": "part", "out": "y"}],
    "lineage": {"l0.h": {"0": "dp"}, "l0.y": {"0": "dp"}, "part": {"of": "y", "partial": "dp"}}}]}})";

class AssumptionFile : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<lineage::Problem> read = plan::ReadText(kAssumedPlan);
    ASSERT_TRUE(read.ok()) << read.status();
    problem_ = *std::move(read);
  }
  // Of one entry, without its reason and braces.
  static std::string Entry(const std::string& members) {
    return absl::StrCat("{\"assumptions\": [\n{", members, ", \"reason\": \"meant\"}]}");
  }
  absl::StatusOr<std::vector<lineage::Assumption>> Read(const std::string& text) {
    return AssumptionsOf(text, "a.json", problem_);
  }
  std::string Said(const std::string& text) {
    const auto read = Read(text);
    return read.ok() ? absl::StrCat("assumed ", read->size())
                     : std::string(read.status().message());
  }
  const std::string& NameOf(const lineage::Assumption& assumption) {
    return problem_.parallel.tensors[assumption.tensor].name;
  }

  lineage::Problem problem_;
};

TEST_F(AssumptionFile, ATensorStandsForWhatItsLineageSays) {
  const auto read = Read(Entry(R"("tensor": "l0.h")"));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 1u);
  const lineage::Assumption& assumption = (*read)[0];
  EXPECT_EQ(NameOf(assumption), "l0.h");
  EXPECT_EQ(assumption.lineage.map, problem_.lineage[assumption.tensor].map);
  EXPECT_EQ(assumption.reason, "meant");
  EXPECT_EQ(assumption.place, "a.json:2");
}

TEST_F(AssumptionFile, StandsForIsARelationOfThePlanFormat) {
  const auto read = Read(Entry(R"("tensor": "l1.h", "stands_for": {"of": "l1.h", "0": "dp"})"));
  ASSERT_TRUE(read.ok()) << read.status();
  const lineage::Lineage& l = (*read)[0].lineage;
  EXPECT_EQ(problem_.logical.tensors[l.logical].name, "l1.h");
  ASSERT_EQ(l.map.size(), 2u);
  EXPECT_EQ(l.map[0].terms.size(), 2u) << "4 dp + i0";
  EXPECT_THAT(Said(Entry(R"("tensor": "l1.h", "stands_for": "l1.h")")),
              HasSubstr("a.json:2: /assumptions/0: \"l1.h\": shape mismatch"));
}

TEST_F(AssumptionFile, AStarStandsForTheSameInTheModel) {
  const auto read = Read(Entry(R"("tensor": "l*.h", "stands_for": {"of": "l*.h", "0": "dp"})"));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  for (const lineage::Assumption& assumption : *read) {
    EXPECT_EQ(problem_.logical.tensors[assumption.lineage.logical].name, NameOf(assumption));
  }
  EXPECT_THAT(Said(Entry(R"("tensor": "*.*", "stands_for": {"of": "l*.h"})")),
              HasSubstr("its * is what the * of \"*.*\" stands for"));
}

TEST_F(AssumptionFile, AnOperatorIsNamedByItsLabel) {
  EXPECT_EQ(Said(Entry(R"("operator": "l0.h")")), "assumed 1");
}

TEST_F(AssumptionFile, WhatNamesNothingIsAnError) {
  EXPECT_THAT(Said(Entry(R"("tensor": "l0.hh")")),
              HasSubstr("a.json:2: /assumptions/0: no tensor of the plan is called \"l0.hh\"; did "
                        "you mean \"l0.h\"?"));
  EXPECT_THAT(Said(Entry(R"("tensor": "q*")")), HasSubstr("planproof show --operators lists them"));
  EXPECT_THAT(Said(Entry(R"("operator": "q*")")), HasSubstr("no operator of the plan is called"));
  EXPECT_THAT(Said(Entry(R"("tensor": "l0.h", "stands_for": "q")")),
              HasSubstr("the specification has no tensor \"q\""));
  EXPECT_THAT(Said(Entry(R"("tensor": "l0.h", "devices": [7])")),
              HasSubstr("is not computed on device 7"));
}

TEST_F(AssumptionFile, WhatIsGivenOrRequiredIsRefused) {
  EXPECT_THAT(Said(Entry(R"("tensor": "x")")), HasSubstr("x is an input of the plan"));
  EXPECT_THAT(Said(Entry(R"("tensor": "y", "stands_for": "y")")),
              HasSubstr("a.json:2: /assumptions/0: y is a required output: assumed"));
  EXPECT_THAT(Said(Entry(R"("tensor": "*")")), HasSubstr("say for which tensor of the model"));
}

TEST_F(AssumptionFile, WhatStandsForNothingKnownIsRefused) {
  EXPECT_THAT(Said(Entry(R"("tensor": "l1.h")")),
              HasSubstr("the plan does not say what \"l1.h\" is; say"));
  EXPECT_THAT(Said(Entry(R"("tensor": "part")")), HasSubstr("\"part\" is a term of a sum"));
  EXPECT_THAT(Said(Entry(R"("tensor": "part", "stands_for": {"of": "y", "partial": "dp"})")),
              HasSubstr("an assumed tensor has the model's values"));
  EXPECT_THAT(Said(Entry(R"("tensor": "part", "stands_for": {"of": "y", "factor": 2})")),
              HasSubstr("an assumed tensor has the model's values"));
}

TEST_F(AssumptionFile, TwoEntriesOfOneTensorAreRefused) {
  EXPECT_THAT(Said("{\"assumptions\": [{\"tensor\": \"l0.h\", \"reason\": \"a\"},\n"
                   "{\"tensor\": \"l0.*\", \"reason\": \"b\"}]}"),
              HasSubstr("a.json:2: /assumptions/1: \"l0.h\" is assumed at line 1, too"));
}

TEST_F(AssumptionFile, KeysAreThoseThatAreDocumented) {
  EXPECT_THAT(Said(Entry(R"("tensor": "l0.h", "standsfor": "y")")),
              HasSubstr("key \"standsfor\" is not known; did you mean \"stands_for\"?"));
  EXPECT_THAT(Said(R"({"assumptions": [], "plan": {}})"), HasSubstr("key \"plan\" is not known"));
  EXPECT_THAT(Said(R"({"assumptions": []})"), HasSubstr("states no assumption"));
  EXPECT_THAT(Said("{}"), HasSubstr("a list \"assumptions\" is expected"));
  EXPECT_THAT(Said("[]"), HasSubstr("an object is expected"));
  EXPECT_THAT(Said(R"({"assumptions": [{"tensor": "l0.h"}]})"), HasSubstr("a \"reason\""));
  EXPECT_THAT(Said(R"({"assumptions": [{"tensor": "l0.h", "reason": " "}]})"),
              HasSubstr("is empty"));
  EXPECT_THAT(Said(R"({"assumptions": [{"tensor": "l0.h", "reason": "a\u001b[0m"}]})"),
              HasSubstr("contains a control character"));
  EXPECT_THAT(Said(Entry(R"("tensor": "l0.h", "operator": "l0.h")")),
              HasSubstr("either \"tensor\" or \"operator\""));
  EXPECT_THAT(Said(Entry(R"("tensor": "l0.h", "devices": "some")")),
              HasSubstr("\"all\" or a list of devices is expected"));
  EXPECT_THAT(Said("{\"assumptions\": [{}, {\"tensor\": \"a\", \"tensor\": \"b\"}]}"),
              HasSubstr("a.json:1: "));
}

TEST_F(AssumptionFile, SizesHaveLimits) {
  const auto many = [](int count, const std::string& entry) {
    std::string text = "{\"assumptions\": [" + entry;
    for (int i = 1; i < count; ++i) text += ", " + entry;
    return text + "]}";
  };
  const auto entries = Read(many(4097, R"({"tensor": "q", "reason": "a"})"));
  EXPECT_TRUE(absl::IsResourceExhausted(entries.status())) << entries.status();
  EXPECT_THAT(Said(many(1, R"({"tensor": "l0.h", "reason": ")" + std::string(1025, 'a') + "\"}")),
              HasSubstr("is longer than 1024 bytes"));
  EXPECT_THAT(Said(many(1, R"({"tensor": ")" + std::string(1025, 'a') + R"(", "reason": "a"})")),
              HasSubstr("longer than 1024 bytes"));
  // Stars that match in many ways are not tried in all of them.
  std::string stars, name(1000, 'a');
  for (int i = 0; i < 500; ++i) stars += "*a";
  problem_.parallel.tensors[0].name = name;
  EXPECT_THAT(Said(Entry("\"tensor\": \"" + stars + "b\"")), HasSubstr("no tensor of the plan"));
}

TEST_F(AssumptionFile, AFileIsReadUpToALimit) {
  const auto missing = ReadAssumptions("/nowhere/a.json", problem_);
  EXPECT_TRUE(IsUsageError(missing.status())) << missing.status();
}

// A plan of two ranks that are spelled out, whose tensors have the same names.
class SpelledOutRanks : public AssumptionFile {
 protected:
  void SetUp() override {
    AssumptionFile::SetUp();
    sdfg::Graph& plan = problem_.parallel;
    for (sdfg::Tensor& tensor : plan.tensors) {
      if (tensor.name == "l0.h" || tensor.name == "l0.y") {
        tensor.name = "same";
        tensor.device = device_++;
      }
    }
  }
  int device_ = 0;
};

TEST_F(SpelledOutRanks, ANameOnSeveralDevicesSaysOnWhich) {
  EXPECT_THAT(Said(Entry(R"("tensor": "same")")),
              HasSubstr("\"same\" is computed on 2 devices; say on which with \"devices\""));
  EXPECT_EQ(Said(Entry(R"("tensor": "same", "devices": "all")")), "assumed 2");
  EXPECT_EQ(Said(Entry(R"("tensor": "same", "devices": [1])")), "assumed 1");
  EXPECT_EQ(Said(Entry(R"("tensor": "sam*")")), "assumed 2");
}

TEST_F(SpelledOutRanks, ANameTwiceOnOneDeviceIsAmbiguous) {
  for (sdfg::Tensor& tensor : problem_.parallel.tensors) {
    if (tensor.name == "same") tensor.device = 0;
  }
  EXPECT_THAT(Said(Entry(R"("tensor": "same", "devices": "all")")),
              HasSubstr("several tensors of one device are called \"same\""));
}

}  // namespace
}  // namespace planproof::frontend
