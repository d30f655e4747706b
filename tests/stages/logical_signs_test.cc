// Signs are inferred once for equal definitions, and apart for all others.
#include "stages/logical_signs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"

namespace planproof::stages {
namespace {

struct Definition {
  std::string name;
  std::string operators;
  std::string sign;
};

// b is positive. Each definition reads like the one before it, but for one thing.
const std::vector<Definition>& Definitions() {
  static const auto* const list = new std::vector<Definition>{
      {"square", R"({"op": "mul", "in": ["a", "a"], "out": "square"})", "nonnegative"},
      {"product", R"({"op": "mul", "in": ["a", "c"], "out": "product"})", "unknown"},
      {"positive", R"({"op": "mul", "in": ["b", "b"], "out": "positive"})", "positive"},
      {"half", R"({"op": "mul", "in": ["b", "c"], "out": "half"})", "unknown"},
      {"other", R"({"op": "mul", "in": ["b", "d"], "out": "other"})", "positive"},
      {"sum", R"({"op": "add", "in": ["b", "d"], "out": "sum"})", "positive"},
      {"difference", R"({"op": "sub", "in": ["b", "d"], "out": "difference"})", "unknown"},
      {"scaled", R"({"op": "mul", "in": ["b", 2], "out": "scaled"})", "positive"},
      {"negated", R"({"op": "mul", "in": ["b", -2], "out": "negated"})", "unknown"},
      {"through", R"({"op": "sub", "in": ["b", "d"], "out": "inner"},
        {"op": "exp", "in": "inner", "out": "through"})",
       "positive"},
      {"beside", R"({"op": "sub", "in": ["b", "a"], "out": "inner"},
        {"op": "mul", "in": ["inner", "b"], "out": "beside"})",
       "unknown"},
      {"twice",
       R"({"op": "neg", "in": "a", "out": "left"}, {"op": "neg", "in": "a", "out": "right"},
        {"op": "mul", "in": ["left", "right"], "out": "twice"})",
       "nonnegative"},
      {"apart", R"({"op": "neg", "in": "a", "out": "this"}, {"op": "neg", "in": "c", "out": "that"},
        {"op": "mul", "in": ["this", "that"], "out": "apart"})",
       "unknown"},
  };
  return *list;
}

// Each definition is the operand of a logarithm, so that its sign is asked for.
lineage::Problem Read(const std::vector<Definition>& definitions) {
  std::string operators;
  std::string outputs;
  for (const Definition& d : definitions) {
    std::string text = d.operators;
    for (size_t at; (at = text.find("\"inner\"")) != std::string::npos;)
      text.replace(at, 7, absl::StrCat("\"inner of ", d.name, "\""));
    absl::StrAppend(&operators, operators.empty() ? "" : ", ", text, R"(, {"op": "log", "in": ")",
                    d.name, R"(", "out": "log of )", d.name, "\"}");
    absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", "\"log of ", d.name, "\"");
  }
  const std::string text = absl::StrCat(
      R"({"planproof": 1, "specification": {
        "inputs": {"a": [4], "b": [4], "c": [4], "d": [4]},
        "premises": {"b": "positive", "d": "positive"},
        "operators": [)",
      operators, R"(], "outputs": [)", outputs,
      R"(]}, "plan": {"mesh": {}, "programs": [{
        "inputs": {"a": {}, "b": {}, "c": {}, "d": {}}, "operators": [)",
      operators, "]}]}}");
  const auto file = plan::ParsePlanFile(text, "plan.json");
  EXPECT_TRUE(file.ok()) << file.status();
  auto problem =
      plan::BuildProblemFromFiles({{"plan.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return *std::move(problem);
}

std::string SignOf(const lineage::Problem& problem, const std::string& name) {
  Relations relations(problem);
  InferLogicalSigns(problem, &relations);
  for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
    if (problem.logical.tensors[t].name != name) continue;
    const auto tensor = static_cast<sdfg::TensorId>(t);
    return relations.Positive(tensor)      ? "positive"
           : relations.NonNegative(tensor) ? "nonnegative"
                                           : "unknown";
  }
  return "no such tensor";
}

TEST(LogicalSigns, ADefinitionHasTheSignThatItHasByItself) {
  std::vector<Definition> backwards(Definitions().rbegin(), Definitions().rend());
  const lineage::Problem all = Read(Definitions()), reversed = Read(backwards);
  for (const Definition& d : Definitions()) {
    EXPECT_EQ(SignOf(Read({d}), d.name), d.sign) << d.name;
    EXPECT_EQ(SignOf(all, d.name), d.sign) << d.name;
    EXPECT_EQ(SignOf(reversed, d.name), d.sign) << d.name;
  }
}

TEST(LogicalSigns, LayersThatAreAlikeHaveEqualSigns) {
  std::vector<Definition> layers;
  for (int layer = 0; layer < 20; ++layer) {
    Definition d = Definitions()[layer % Definitions().size()];
    const size_t at = d.operators.rfind(absl::StrCat("\"", d.name, "\""));
    d.operators.replace(at, d.name.size() + 2, absl::StrCat("\"", d.name, layer, "\""));
    d.name = absl::StrCat(d.name, layer);
    layers.push_back(std::move(d));
  }
  const lineage::Problem problem = Read(layers);
  for (const Definition& d : layers) EXPECT_EQ(SignOf(problem, d.name), d.sign) << d.name;
}

}  // namespace
}  // namespace planproof::stages
