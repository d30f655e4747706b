#include "tests/runtime_check/operator_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>
#include <variant>

#include "sdfg/operator_library.h"

namespace planproof::runtime_check {
namespace {

using nlohmann::json;

solver::Rational Exact(const std::string& text) {
  solver::Rational value;
  EXPECT_TRUE(solver::Rational::Parse(text, &value)) << text;
  return value;
}

sdfg::Attributes ReadAttributes(const json& golden) {
  sdfg::Attributes attributes;
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

}  // namespace

std::vector<OperatorCase> OperatorCases() {
  std::vector<OperatorCase> cases;
  for (const char* file : {"operators.json", "models.json"}) {
    std::ifstream in(std::string(PLANPROOF_SOURCE_DIR) + "/tests/sdfg/goldens/" + file);
    for (const json& golden : json::parse(in)) {
      OperatorCase result;
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
            for (const json& id : value["data"])
              result.id_range = std::max<int64_t>(result.id_range, id.get<int64_t>() + 1);
          }
        }
        operands.push_back(operand);
      }
      auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(golden["name"], operands,
                                                                   ReadAttributes(golden));
      EXPECT_TRUE(function.ok()) << result.name << ": " << function.status();
      if (!function.ok()) continue;
      result.function = *std::move(function);
      cases.push_back(std::move(result));
    }
  }
  return cases;
}

std::vector<Values> OperandsOf(const sdfg::IndexFunction& function, sdfg::DType arithmetic,
                               int64_t id_range, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Values> inputs;
  for (const sdfg::FunctionInput& input : function.inputs) {
    Values values = Values::Zeros(input.shape, input.dtype, arithmetic);
    for (int64_t i = 0; i < values.size(); ++i) {
      const auto draw = static_cast<int64_t>(random() % 4096);
      values.Set(i, sdfg::IsInteger(input.dtype)        ? static_cast<double>(draw % id_range)
                    : input.dtype == sdfg::DType::kBool ? static_cast<double>(draw % 2)
                                                        : static_cast<double>(draw + 1) / 2048);
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

}  // namespace planproof::runtime_check
