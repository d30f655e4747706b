#include "tests/runtime_check/operator_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "sdfg/differentiate.h"
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

std::vector<OperatorCase> DerivativesOf(const std::vector<OperatorCase>& cases) {
  std::vector<OperatorCase> derivatives;
  for (const OperatorCase& c : cases) {
    std::vector<int> wrt, gradients;
    for (size_t i = 0; i < c.function.inputs.size(); ++i) {
      if (!sdfg::IsInteger(c.function.inputs[i].dtype)) wrt.push_back(static_cast<int>(i));
    }
    for (size_t o = 0; o < c.function.outputs.size(); ++o) {
      if (!sdfg::IsInteger(c.function.outputs[o].dtype)) gradients.push_back(static_cast<int>(o));
    }
    auto backward = sdfg::Differentiate(c.function, wrt, gradients);
    if (!backward.ok()) continue;
    derivatives.push_back({c.name + ".backward", *std::move(backward), c.id_range});
  }
  return derivatives;
}

namespace {

// A number as operators rarely see it.
double Hostile(uint64_t draw) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNumbers[] = {0, -0.0, -kInfinity, kInfinity, 1e300, 1e-310, -2.5};
  if (draw % 16 < std::size(kNumbers)) return kNumbers[draw % 16];
  return draw % 16 == 7 ? std::nan("") : static_cast<double>(draw) / 1024 - 2;
}

}  // namespace

std::vector<Values> RandomOperands(const sdfg::IndexFunction& function, int64_t id_range,
                                   sdfg::DType arithmetic, uint64_t seed, bool hostile) {
  std::mt19937_64 random(seed);
  std::vector<Values> inputs;
  for (const sdfg::FunctionInput& input : function.inputs) {
    Values values = Values::Zeros(input.shape, input.dtype, arithmetic);
    for (int64_t i = 0; i < values.size(); ++i) {
      const auto draw = static_cast<int64_t>(random() % 4096);
      values.Set(i, sdfg::IsInteger(input.dtype)        ? static_cast<double>(draw % id_range)
                    : input.dtype == sdfg::DType::kBool ? static_cast<double>(draw % 2)
                    : hostile                           ? Hostile(draw)
                                                        : static_cast<double>(draw + 1) / 2048);
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

}  // namespace planproof::runtime_check
