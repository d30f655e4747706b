// Every built-in operator against results that were computed independently
// (goldens/make_goldens.py, goldens/make_model_goldens.py). PLANPROOF_MORE_GOLDENS names a further
// file.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {
namespace {

using nlohmann::json;

const json& Goldens() {
  static const json* const goldens = [] {
    const std::string directory = std::string(PLANPROOF_SOURCE_DIR) + "/tests/sdfg/goldens/";
    std::vector<std::string> files = {directory + "operators.json", directory + "models.json"};
    if (const char* more = std::getenv("PLANPROOF_MORE_GOLDENS")) files.emplace_back(more);
    auto* all = new json(json::array());
    for (const std::string& file : files) {
      std::ifstream in(file);
      for (json& golden : json::parse(in)) all->push_back(std::move(golden));
    }
    return all;
  }();
  return *goldens;
}

double Number(const json& value) {
  return value.is_string() ? -std::numeric_limits<double>::infinity() : value.get<double>();
}

DenseTensor ReadTensor(const json& value) {
  DenseTensor tensor;
  tensor.shape = value["shape"].get<Shape>();
  for (const json& element : value["data"]) tensor.data.push_back(Number(element));
  return tensor;
}

solver::Rational Exact(const std::string& text) {
  solver::Rational value;
  EXPECT_TRUE(solver::Rational::Parse(text, &value)) << text;
  return value;
}

std::vector<Operand> ReadOperands(const json& golden, std::vector<DenseTensor>* tensors) {
  std::vector<Operand> operands;
  for (const json& value : golden["operands"]) {
    Operand operand;
    if (value.is_null()) {
      operand.kind = Operand::Kind::kAbsent;
    } else if (value.contains("literal")) {
      operand.kind = Operand::Kind::kLiteral;
      operand.literal = Exact(value["literal"].get<std::string>());
    } else {
      operand.shape = value["shape"].get<Shape>();
      operand.dtype = DTypeFromName(value["dtype"].get<std::string>());
      tensors->push_back(ReadTensor(value));
    }
    operands.push_back(operand);
  }
  return operands;
}

Attributes ReadAttributes(const json& golden) {
  Attributes attributes;
  for (const auto& [name, value] : golden["attributes"].items()) {
    if (value.is_null()) attributes[name] = std::monostate();
    if (value.is_boolean()) attributes[name] = value.get<bool>();
    if (value.is_number_integer()) attributes[name] = value.get<int64_t>();
    if (value.is_string()) attributes[name] = value.get<std::string>();
    if (value.is_array()) attributes[name] = value.get<std::vector<int64_t>>();
    if (value.is_object()) attributes[name] = Exact(value["real"].get<std::string>());
  }
  return attributes;
}

std::string Describe(const json& golden) {
  return golden["name"].get<std::string>() + " " + golden["label"].get<std::string>();
}

int64_t Parameter(const std::string& name, const std::string& key, int64_t fallback) {
  size_t at = name.find(key + "=");
  return at == std::string::npos ? fallback : std::stoll(name.substr(at + key.size() + 1));
}

// The meaning of topk_index(...) and of truncations, which proofs leave open.
absl::StatusOr<double> TopK(const OpaqueCall& call) {
  if (call.name.rfind("truncate_to_", 0) == 0) return std::trunc(call.scalars.at(0));
  std::vector<double> score = call.row;
  int64_t groups = Parameter(call.name, "groups", 1);
  int64_t size = static_cast<int64_t>(score.size()) / groups;
  auto best_first = [](const std::vector<double>& values) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return values[a] > values[b]; });
    return order;
  };
  if (groups > 1) {
    std::vector<double> value;
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<double> members(score.begin() + g * size, score.begin() + (g + 1) * size);
      std::sort(members.rbegin(), members.rend());
      bool two = call.name.find("group_score=top2_sum") != std::string::npos;
      value.push_back(members[0] + (two ? members[1] : 0));
    }
    std::vector<size_t> order = best_first(value);
    for (size_t k = Parameter(call.name, "topk_groups", 1); k < order.size(); ++k) {
      for (int64_t e = 0; e < size; ++e) {
        score[order[k] * size + e] = -std::numeric_limits<double>::infinity();
      }
    }
  }
  return static_cast<double>(best_first(score)[static_cast<size_t>(call.scalars.at(0))]);
}

void ExpectNear(const DenseTensor& actual, const json& golden, const std::string& what) {
  DenseTensor expected = ReadTensor(golden);
  ASSERT_EQ(actual.shape, expected.shape) << what;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    double a = actual.data[i];
    double b = expected.data[i];
    if (a == b) continue;  // infinities
    EXPECT_NEAR(a, b, 1e-9 * (1 + std::abs(b))) << what << ", element " << i;
  }
}

TEST(OperatorGoldens, OutputsAndTheirTypesEqualTheReference) {
  for (const json& golden : Goldens()) {
    std::vector<DenseTensor> inputs;
    std::vector<Operand> operands = ReadOperands(golden, &inputs);
    absl::StatusOr<IndexFunction> function =
        OperatorLibrary::BuiltIn().Instantiate(golden["name"], operands, ReadAttributes(golden));
    ASSERT_TRUE(function.ok()) << Describe(golden) << ": " << function.status().message();
    absl::StatusOr<std::vector<DenseTensor>> outputs = EvaluateDense(*function, inputs, TopK);
    ASSERT_TRUE(outputs.ok()) << Describe(golden) << ": " << outputs.status().message();
    ASSERT_EQ(outputs->size(), golden["outputs"].size()) << Describe(golden);
    for (size_t o = 0; o < outputs->size(); ++o) {
      ExpectNear((*outputs)[o], golden["outputs"][o],
                 Describe(golden) + ", output " + std::to_string(o));
      EXPECT_EQ(IsInteger(function->outputs[o].dtype), golden["outputs"][o]["dtype"] == "int64")
          << Describe(golden);
    }
  }
}

TEST(OperatorGoldens, DerivedGradientsEqualTheReference) {
  int compared = 0;
  for (const json& golden : Goldens()) {
    if (!golden.contains("gradients")) continue;
    std::vector<DenseTensor> inputs;
    std::vector<Operand> operands = ReadOperands(golden, &inputs);
    absl::StatusOr<IndexFunction> function =
        OperatorLibrary::BuiltIn().Instantiate(golden["name"], operands, ReadAttributes(golden));
    ASSERT_TRUE(function.ok()) << Describe(golden) << ": " << function.status().message();
    absl::StatusOr<IndexFunction> backward =
        Differentiate(*function, golden["wrt"].get<std::vector<int>>(),
                      golden["differentiated_outputs"].get<std::vector<int>>());
    ASSERT_TRUE(backward.ok()) << Describe(golden) << ": " << backward.status().message();
    for (const json& seed : golden["seeds"]) inputs.push_back(ReadTensor(seed));
    absl::StatusOr<std::vector<DenseTensor>> gradients = EvaluateDense(*backward, inputs, TopK);
    ASSERT_TRUE(gradients.ok()) << Describe(golden) << ": " << gradients.status().message();
    for (size_t k = 0; k < gradients->size(); ++k) {
      ExpectNear((*gradients)[k], golden["gradients"][k],
                 Describe(golden) + ", gradient " + std::to_string(k));
    }
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(OperatorGoldens, EveryBuiltInOperatorHasOne) {
  std::set<std::string> covered;
  for (const json& golden : Goldens()) covered.insert(golden["name"].get<std::string>());
  for (const std::string& name : OperatorLibrary::BuiltIn().Names()) {
    if (name.starts_with("aten_")) continue;  // tests/frontend/torch/aten_operators_test.cc
    EXPECT_TRUE(covered.count(name)) << name << " has no golden";
  }
}

// The reference page with an example: the index functions of the operator and of its derivative.
std::string PageWithExample(const std::string& name) {
  constexpr size_t kLongest = 400;
  std::string page = OperatorLibrary::BuiltIn().Page(name);
  for (const json& golden : Goldens()) {
    if (golden["name"] != name) continue;
    std::vector<DenseTensor> inputs;
    std::vector<Operand> operands = ReadOperands(golden, &inputs);
    absl::StatusOr<IndexFunction> function =
        OperatorLibrary::BuiltIn().Instantiate(name, operands, ReadAttributes(golden));
    if (!function.ok()) continue;
    std::string shown = ToString(*function);
    if (golden.contains("gradients")) {
      absl::StatusOr<IndexFunction> backward =
          Differentiate(*function, golden["wrt"].get<std::vector<int>>(),
                        golden["differentiated_outputs"].get<std::vector<int>>());
      if (backward.ok()) shown += "\n" + ToString(*backward);
    }
    while (shown.find("\n\n") != std::string::npos) shown.replace(shown.find("\n\n"), 2, "\n");
    if (shown.size() > kLongest) break;
    return page + "\nExample, with its derivative:\n\n```\n" + shown +
           (shown.back() == '\n' ? "" : "\n") + "```\n";
  }
  return page;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(std::string(PLANPROOF_SOURCE_DIR) + "/" + path);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// Without the examples, whose form follows the simplifications of derivatives.
std::string WithoutExamples(std::string document) {
  size_t begin = 0;
  while ((begin = document.find("\nExample, with", begin)) != std::string::npos) {
    size_t end = document.find("```\n", document.find("```\n", begin) + 4) + 4;
    document.erase(begin, end - begin);
  }
  return document;
}

// PLANPROOF_WRITE_DOCS=1 sdfg_tests --gtest_filter='*ReferenceDocument*' writes it anew.
TEST(OperatorPages, TheReferenceDocumentIsCurrent) {
  std::string document =
      "# Operators\n\nGenerated from the declarations; the language is described in "
      "operator-language.md.\n";
  for (const std::string& name : OperatorLibrary::BuiltIn().Names()) {
    document += "\n" + PageWithExample(name);
  }
  if (std::getenv("PLANPROOF_WRITE_DOCS") != nullptr) {
    std::ofstream(std::string(PLANPROOF_SOURCE_DIR) + "/docs/operators.md") << document;
  }
  EXPECT_TRUE(WithoutExamples(ReadFile("docs/operators.md")) == WithoutExamples(document))
      << "docs/operators.md is out of date; run with PLANPROOF_WRITE_DOCS=1";
}

TEST(OperatorPages, EveryPageNamesDerivativeAndSource) {
  for (const std::string& name : OperatorLibrary::BuiltIn().Names()) {
    std::string page = OperatorLibrary::BuiltIn().Page(name);
    EXPECT_NE(page.find("## " + name + "\n"), std::string::npos) << name;
    EXPECT_NE(page.find("Derivative: "), std::string::npos) << name;
  }
  EXPECT_EQ(OperatorLibrary::BuiltIn().Page("no such operator"), "");
}

TEST(OperatorPages, ExamplesOfTheLanguageDocumentAreDeclarations) {
  std::string document = ReadFile("docs/operator-language.md");
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  int examples = 0;
  size_t at = 0;
  while ((at = document.find("```op\n", at)) != std::string::npos) {
    size_t begin = at + 6;
    at = document.find("```", begin);
    absl::Status status = library.AddDeclarations(document.substr(begin, at - begin), "example");
    EXPECT_TRUE(status.ok()) << status.message();
    ++examples;
  }
  EXPECT_GE(examples, 8);
}

}  // namespace
}  // namespace planproof::sdfg
