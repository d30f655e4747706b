// Every built-in operator and its derivative: reduced evaluation equals full evaluation.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"
#include "tests/shape_reduction/reduced_testing.h"

namespace planproof::shape_reduction {
namespace {

using nlohmann::json;

struct Case {
  std::string name;
  sdfg::IndexFunction function;
  int64_t id_range = 1;  // ids of the reference inputs lie below
};

solver::Rational Exact(const std::string& text) {
  solver::Rational value;
  EXPECT_TRUE(solver::Rational::Parse(text, &value)) << text;
  return value;
}

// The applications of operators for which the operator tests have reference results.
std::vector<Case> Cases() {
  std::ifstream in(std::string(PLANPROOF_SOURCE_DIR) + "/tests/sdfg/goldens/operators.json");
  std::vector<Case> cases;
  for (const json& golden : json::parse(in)) {
    Case result;
    result.name = golden["name"].get<std::string>() + " " + golden["label"].get<std::string>();
    std::vector<sdfg::Operand> operands;
    for (const json& value : golden["operands"]) {
      sdfg::Operand operand;
      if (value.is_null()) {
        operand.kind = sdfg::Operand::Kind::kAbsent;
      } else if (value.contains("literal")) {
        operand.kind = sdfg::Operand::Kind::kLiteral;
        operand.literal = Exact(value["literal"].get<std::string>());
      } else {
        operand.shape = value["shape"].get<sdfg::Shape>();
        operand.dtype = sdfg::DTypeFromName(value["dtype"].get<std::string>());
        if (sdfg::IsInteger(operand.dtype)) {
          for (const json& id : value["data"]) {
            result.id_range = std::max<int64_t>(result.id_range, id.get<int64_t>() + 1);
          }
        }
      }
      operands.push_back(operand);
    }
    sdfg::Attributes attributes;
    for (const auto& [name, value] : golden["attributes"].items()) {
      if (value.is_null()) attributes[name] = std::monostate();
      if (value.is_boolean()) attributes[name] = value.get<bool>();
      if (value.is_number_integer()) attributes[name] = value.get<int64_t>();
      if (value.is_string()) attributes[name] = value.get<std::string>();
      if (value.is_array()) attributes[name] = value.get<std::vector<int64_t>>();
      if (value.is_object()) attributes[name] = Exact(value["real"].get<std::string>());
    }
    auto function =
        sdfg::OperatorLibrary::BuiltIn().Instantiate(golden["name"], operands, attributes);
    EXPECT_TRUE(function.ok()) << result.name << ": " << function.status();
    if (!function.ok()) continue;
    result.function = *std::move(function);
    cases.push_back(std::move(result));
  }
  return cases;
}

TEST(ReducedOperatorsTest, EveryOperatorOnBlockConstantInputs) {
  int checked = 0;
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    if (ExpectReducedEqualsDense(c.function, 6, c.id_range, 5) >= 0) ++checked;
  }
  EXPECT_GT(checked, 50);
}

TEST(ReducedOperatorsTest, EveryDerivativeOnBlockConstantInputs) {
  int checked = 0;
  for (const Case& c : Cases()) {
    std::vector<int> wrt, gradients;
    for (size_t i = 0; i < c.function.inputs.size(); ++i) {
      if (!sdfg::IsInteger(c.function.inputs[i].dtype)) wrt.push_back(static_cast<int>(i));
    }
    for (size_t o = 0; o < c.function.outputs.size(); ++o) {
      if (!sdfg::IsInteger(c.function.outputs[o].dtype)) gradients.push_back(static_cast<int>(o));
    }
    const auto backward = sdfg::Differentiate(c.function, wrt, gradients);
    if (!backward.ok()) continue;  // no derivative is declared
    SCOPED_TRACE(c.name + ".backward");
    if (ExpectReducedEqualsDense(*backward, 6, c.id_range, 6) >= 0) ++checked;
  }
  EXPECT_GT(checked, 30);
}

}  // namespace
}  // namespace planproof::shape_reduction
