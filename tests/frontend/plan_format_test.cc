// The plan format: what is read, what is refused with which message, and round trips.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/index_expression.h"
#include "frontend/plan/json_tree.h"
#include "frontend/plan/raw_form.h"
#include "frontend/plan/read_plan.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

absl::StatusOr<lineage::Problem> ReadExample(const std::string& text) {
  absl::StatusOr<PlanFile> file = ParsePlanFile(text, "test.json");
  if (!file.ok()) return file.status();
  std::vector<std::pair<std::string, PlanFile>> files;
  files.emplace_back("test.json", *std::move(file));
  return BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

std::string Example(const std::string& name) {
  std::ifstream stream(std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + name);
  std::stringstream content;
  content << stream.rdbuf();
  return content.str();
}

constexpr char kSmall[] = R"({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [4, 6]},
    "parameters": {"w": [8, 6]},
    "operators": [
      {"op": "linear", "in": ["x", "w"], "out": "h"},
      {"op": "relu", "in": "h", "out": "y"}
    ],
    "outputs": ["y"]
  },
  "plan": {
    "mesh": {"tp": 2},
    "programs": [{
      "inputs": {"x": {}, "w": {"0": "tp"}},
      "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h"},
        {"op": "relu", "in": "h", "out": "a"},
        {"op": "all_gather", "over": "tp", "dim": 1, "in": "a", "out": "y"}
      ]
    }]
  }
})";

TEST(PlanFormat, ReadsASmallPlanIntoGraphsAndRelations) {
  const absl::StatusOr<lineage::Problem> problem = ReadExample(kSmall);
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->logical.operators.size(), 2);
  EXPECT_EQ(problem->parallel.operators.size(), 3);
  ASSERT_EQ(problem->required.size(), 1);
  const sdfg::Tensor& y = problem->parallel.tensors[problem->required[0].parallel];
  EXPECT_EQ(y.shape, (sdfg::Shape{4, 8}));
  EXPECT_TRUE(y.axes.empty());
}

TEST(PlanFormat, ErrorsNameLinePositionAndRemedy) {
  struct Fault {
    std::string from, to, says;
  };
  const std::vector<Fault> faults = {
      {R"("in": ["x", "w"], "out": "h"},
      {"op": "relu")",
       R"("in": ["x", "v"], "out": "h"},
      {"op": "relu")",
       "test.json:7: /specification/operators/0: \"v\" is not defined"},
      {R"("out": "y"}
    ])",
       R"("out": "h"}
    ])",
       "\"h\" has two producers"},
      {R"("w": [8, 6])", R"("w": [8, 5])", "6"},
      {R"("0": "tp")", R"("0": "dp")", "axis \"dp\" is not in the mesh"},
      {R"("w": [8, 6])", R"("w": [9, 6])", "does not divide into 2"},
      {R"("out": "a"})", R"("out": "h"})", "single assignment"},
      {R"("over": "tp", "dim": 1)", R"("over": "tp", "dim": 2)", "dimension 2"},
      {R"("over": "tp", "dim": 1, "in": "a", "out": "y")",
       R"("over": "tp", "dim": 0, "in": "a", "out": "y")", "shape mismatch"},
      {R"("outputs": ["y"])", R"("outputs": ["z"])", "\"z\" is not defined"},
      {R"("outputs": ["y"])", R"("outputs": ["h", "y"])", "shape mismatch"},
      {R"("mesh": {"tp": 2},)", R"("mesh": {"tp": 2}, "mush": 1,)", "key \"mush\" is not known"},
      {R"("planproof": 1)", R"("planproof": 2)", "version 2"},
      {R"("out": "y"}
      ])",
       R"("out": "y", "out": "z"}
      ])",
       "stands twice"},
  };
  for (const Fault& fault : faults) {
    const absl::Status status = ReadExample(Replaced(kSmall, fault.from, fault.to)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << fault.says << ": " << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(fault.says));
    EXPECT_EQ(MessageOf(status).find('\n'), std::string::npos) << "one line: " << status;
  }
}

TEST(PlanFormat, AnUndeclaredOperatorIsUnknownNotMalformed) {
  const absl::Status status =
      ReadExample(Replaced(kSmall, R"({"op": "relu", "in": "h", "out": "y"})",
                           R"({"op": "relux", "in": "h", "out": "y"})"))
          .status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("relux"));
}

TEST(PlanFormat, TheOrderOfLogicalOperatorsDoesNotMatter) {
  const std::string linear = R"({"op": "linear", "in": ["x", "w"], "out": "h"},)";
  const std::string relu = R"({"op": "relu", "in": "h", "out": "y"})";
  std::string shuffled = Replaced(kSmall, linear, "");
  shuffled = Replaced(shuffled, relu, relu + ", " + linear.substr(0, linear.size() - 1));
  const absl::StatusOr<lineage::Problem> problem = ReadExample(shuffled);
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->logical.operators.size(), 2);
}

TEST(PlanFormat, AnOperatorReadsOnlyItsOwnDevices) {
  const std::string two = R"({
    "planproof": 1,
    "specification": {"inputs": {"x": [4]}, "operators": [
      {"op": "exp", "in": "x", "out": "h"}, {"op": "neg", "in": "h", "out": "y"}],
      "outputs": {"y": {"on": {"pp": 1}}}},
    "plan": {"mesh": {"pp": 2}, "programs": [
      {"name": "a", "devices": {"pp": 0}, "inputs": ["x"],
       "operators": [{"op": "exp", "in": "x", "out": "h"}]},
      {"name": "b", "devices": {"pp": 1}, "operators": [
       {"op": "move", "in": "a:h", "out": "r"}, {"op": "neg", "in": "r", "out": "y"}]}]}})";
  EXPECT_TRUE(ReadExample(two).ok()) << ReadExample(two).status();
  EXPECT_THAT(MessageOf(ReadExample(Replaced(two, R"("in": "r")", R"("in": "h")")).status()),
              HasSubstr("is not on these devices: program \"a\" holds it"));
  EXPECT_THAT(MessageOf(ReadExample(Replaced(two, R"("in": "r")", R"("in": "a:h")")).status()),
              HasSubstr("on other devices"));
  EXPECT_THAT(MessageOf(ReadExample(Replaced(two, R"({"op": "exp", "in": "x", "out": "h"}]})",
                                             R"({"op": "move", "in": "b:y", "out": "q"},
                                             {"op": "exp", "in": "x", "out": "h"}]})"))
                            .status()),
              HasSubstr("wait cycle"));
}

TEST(PlanFormat, AnExceptionChangesOneRank) {
  const std::string text = Replaced(kSmall, R"(]
    }]
  })",
                                    R"(],
      "exceptions": [{"at": {"tp": 1}, "replace": "a",
                      "with": {"op": "sigmoid", "in": "h", "out": "a"}}]
    }]
  })");
  const absl::StatusOr<lineage::Problem> problem = ReadExample(text);
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->parallel.operators.size(), 5);  // variant and selection
  EXPECT_THAT(
      MessageOf(ReadExample(Replaced(text, R"("replace": "a")", R"("replace": "b")")).status()),
      HasSubstr("names an output \"b\""));
}

TEST(PlanFormat, RawFormGivesBackTheSameProblem) {
  for (const char* name : {"mlp_tp2.json", "moe_dp2_ep2.json", "llama_dp2_pp2_tp2_mb2.json"}) {
    const absl::StatusOr<lineage::Problem> problem = ReadExample(Example(name));
    ASSERT_TRUE(problem.ok()) << problem.status();
    RawProblem expected;
    ASSERT_TRUE(WriteRawProblem(*problem, &expected).ok());
    for (PlanFormat format : {PlanFormat::kBinary, PlanFormat::kJson}) {
      const absl::StatusOr<std::string> written = SerializePlan(*problem, format);
      ASSERT_TRUE(written.ok()) << written.status();
      EXPECT_TRUE(LooksLikePlanFile(*written));
      const absl::StatusOr<lineage::Problem> again = ReadExample(*written);
      ASSERT_TRUE(again.ok()) << again.status();
      RawProblem actual;
      ASSERT_TRUE(WriteRawProblem(*again, &actual).ok());
      EXPECT_EQ(actual.SerializeAsString(), expected.SerializeAsString()) << name;
    }
  }
}

TEST(PlanFormat, TruncatedAndCorruptedFilesAreRefusedInOneLine) {
  const std::string text = Example("moe_dp2_ep2.json");
  const absl::StatusOr<lineage::Problem> problem = ReadExample(text);
  ASSERT_TRUE(problem.ok()) << problem.status();
  const std::string binary = *SerializePlan(*problem, PlanFormat::kBinary);
  for (const std::string& whole : {text, binary}) {
    for (size_t length = 0; length + 3 < whole.size(); length += 1 + whole.size() / 200) {
      const absl::Status status = ReadExample(whole.substr(0, length)).status();
      EXPECT_FALSE(status.ok()) << length;
      EXPECT_EQ(MessageOf(status).find('\n'), std::string::npos);
    }
    for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 400) {
      std::string corrupt = whole;
      corrupt[at] = static_cast<char>(corrupt[at] ^ 0x15);
      (void)ReadExample(corrupt).ok();  // must not crash
    }
  }
}

TEST(PlanFormat, HostileFilesAreBounded) {
  const std::vector<std::string> hostile = {
      "",
      "{",
      "[]",
      std::string(100000, '['),
      "{\"planproof\": " + std::string(100000, '9') + "}",
      R"({"planproof": 1, "specification": {"inputs": {"x": [1099511627776, 1099511627776]}}})",
      Replaced(kSmall, R"("tp": 2)", R"("tp": 16777217)"),
      Replaced(kSmall, R"("op": "relu", "in": "h", "out": "a")",
               R"("op": "mul", "in": ["h", 1e999999999], "out": "a")"),
      Replaced(kSmall, R"("0": "tp")",
               R"("map": [")" + std::string(900, '(') + R"(", "i1"], "shape": [4, 6])")};
  for (const std::string& text : hostile) {
    const absl::Status status = ReadExample(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) << status;
    EXPECT_LT(MessageOf(status).size(), 600);
  }
}

TEST(JsonTree, KeepsLinesAndExactNumbers) {
  const absl::StatusOr<JsonValue> tree = ParseJson("{\n\"a\": 0.1,\n\"b\": [1,\n 2]}", "f");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Find("a")->text, "0.1");
  EXPECT_EQ(tree->Find("b")->line, 3);
  EXPECT_EQ(PointerOf(*tree, tree->Find("b")->items[1]), "/b/1");
}

TEST(IndexExpression, EvaluatesDigitsOfOneIndex) {
  const NameResolver resolve = [](const std::string& name) -> std::optional<NameMeaning> {
    if (name == "tp") return NameMeaning{0, 0};
    if (name == "i0") return NameMeaning{0, 1};
    if (name == "pp") return NameMeaning{3, -1};
    return std::nullopt;
  };
  const auto map = ParseIndexExpression("i0 / 4 * 8 + tp * 4 + i0 % 4 + (pp - 1) * 100", resolve);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->constant, 200);
  for (int64_t tp : {0, 1}) {
    for (int64_t i = 0; i < 16; ++i) {
      int64_t value = map->constant;
      for (const lineage::IndexTerm& term : map->terms) {
        int64_t digit = ((term.dim == 0 ? tp : i) + term.offset) / term.div;
        if (term.mod > 0) digit %= term.mod;
        value += term.scale * digit;
      }
      EXPECT_EQ(value, i / 4 * 8 + tp * 4 + i % 4 + 200);
    }
  }
  // Neighbours on a ring: remainders and quotients of a shifted index.
  const auto ring =
      ParseIndexExpression("((i0 + 7) % 8 + 3) % 4 * 5 + ((i0 / 2 - 1) % 4) / 2", resolve);
  ASSERT_TRUE(ring.ok()) << ring.status();
  for (int64_t i = 0; i < 16; ++i) {
    int64_t value = ring->constant;
    for (const lineage::IndexTerm& term : ring->terms) {
      value += term.scale * ((i + term.offset) / term.div % term.mod);
    }
    EXPECT_EQ(value, ((i + 7) % 8 + 3) % 4 * 5 + ((i / 2 + 3) % 4) / 2);
  }
  // In zigzag order; which factor of a product is the gate follows from the extents.
  for (const char* text : {"i0 % 8 + tp * 8 + i0 / 8 * (3 - 2 * tp) * 8",
                           "(tp * 8 + i0 % 8) + (24 - 16 * tp) * (i0 / 8)"}) {
    auto zigzag = ParseIndexExpression(text, resolve);
    ASSERT_TRUE(zigzag.ok()) << zigzag.status();
    ASSERT_TRUE(SettleGates({2, 16}, &*zigzag).ok());
    for (int64_t tp : {0, 1}) {
      for (int64_t i = 0; i < 16; ++i) {
        EXPECT_EQ(zigzag->ValueAt({tp, i}), i % 8 + 8 * (i < 8 ? tp : 3 - tp)) << text;
      }
    }
    EXPECT_TRUE(SettleGates({3, 16}, &*zigzag).ok());
    EXPECT_FALSE(SettleGates({3, 24}, &*zigzag).ok()) << "neither tp nor i0 / 8 is 0 or 1";
  }
  auto square = ParseIndexExpression("(tp + 1) * (tp + 2)", resolve);
  ASSERT_TRUE(square.ok() && SettleGates({2, 16}, &*square).ok());
  EXPECT_EQ(square->ValueAt({0, 0}), 2);
  EXPECT_EQ(square->ValueAt({1, 0}), 6);
  for (const char* bad : {"i0 * tp * tp", "(i0 * tp) / 2", "(i0 * tp) % 2", "i0 / 0", "i0 / tp",
                          "x", "i0 +", "(i0", "1 2", "(i0 + tp) % 4", "(2 * i0 + 1) % 4"}) {
    EXPECT_FALSE(ParseIndexExpression(bad, resolve).ok()) << bad;
  }
}

}  // namespace
}  // namespace planproof::plan
