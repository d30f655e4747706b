// The executor against the dense evaluator, which shares no code with it.
#include "runtime_check/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "runtime_check/opaque_values.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"

namespace planproof::runtime_check {
namespace {

using nlohmann::json;
using sdfg::DType;

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

// The applications of operators for which the operator tests have reference results.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* file : {"operators.json", "models.json"}) {
    std::ifstream in(std::string(PLANPROOF_SOURCE_DIR) + "/tests/sdfg/goldens/" + file);
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

absl::StatusOr<double> Concrete(const sdfg::OpaqueCall& call) {
  return OpaqueValue(OpaqueNamed(call.name), call.int_valued, call.row, call.scalars);
}

// Runs the function on random inputs both ways; `tolerance` is relative to 1 + |value|. False if
// the dense evaluator refuses the inputs, and then so must the executor.
bool ExpectSame(const sdfg::IndexFunction& function, DType arithmetic, int64_t id_range,
                double tolerance, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<sdfg::DenseTensor> dense;
  std::vector<Values> inputs;
  for (const sdfg::FunctionInput& input : function.inputs) {
    Values values = Values::Zeros(input.shape, input.dtype, arithmetic);
    sdfg::DenseTensor same{input.shape, {}};
    for (int64_t i = 0; i < values.size(); ++i) {
      const auto draw = static_cast<int64_t>(random() % 4096);
      const double value = sdfg::IsInteger(input.dtype)  ? static_cast<double>(draw % id_range)
                           : input.dtype == DType::kBool ? static_cast<double>(draw % 2)
                                                         : static_cast<double>(draw + 1) / 2048;
      values.Set(i, value);
      same.data.push_back(value);
    }
    inputs.push_back(std::move(values));
    dense.push_back(std::move(same));
  }
  const auto expected = sdfg::EvaluateDense(function, dense, Concrete);
  const auto actual = RunFunction(function, arithmetic, inputs);
  EXPECT_EQ(expected.ok(), actual.ok()) << expected.status() << "\n" << actual.status();
  if (!expected.ok() || !actual.ok()) return false;
  for (size_t o = 0; o < expected->size(); ++o) {
    const sdfg::DenseTensor& wanted = (*expected)[o];
    const Values& found = (*actual)[o];
    EXPECT_EQ(found.shape, wanted.shape);
    EXPECT_EQ(found.size(), static_cast<int64_t>(wanted.data.size()));
    for (int64_t i = 0; i < found.size(); ++i) {
      const double a = found.At(i), b = wanted.data[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      EXPECT_NEAR(a, b, tolerance * (1 + std::fabs(b))) << "element " << i << " of output " << o;
      if (testing::Test::HasFailure()) return false;
    }
  }
  return true;
}

TEST(Executor, EveryOperatorEqualsTheDenseEvaluation) {
  int checked = 0;
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    for (uint64_t seed = 0; seed < 3; ++seed)
      checked += ExpectSame(c.function, DType::kFloat64, c.id_range, 1e-12, seed) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, 300);
}

TEST(Executor, EveryDerivativeEqualsTheDenseEvaluation) {
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
    checked += ExpectSame(*backward, DType::kFloat64, c.id_range, 1e-11, 1) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, 60);
}

// Rows, whole strips and a strip that is not full.
TEST(Executor, LargeOperandsEqualTheDenseEvaluation) {
  const auto tensor = [](sdfg::Shape shape, DType dtype = DType::kFloat32) {
    sdfg::Operand operand;
    operand.shape = std::move(shape);
    operand.dtype = dtype;
    return operand;
  };
  struct Call {
    const char* name;
    std::vector<sdfg::Operand> operands;
    sdfg::Attributes attributes;
  };
  const std::vector<Call> calls = {
      {"linear", {tensor({3, 5, 70}), tensor({150, 70})}, {}},
      {"softmax", {tensor({2, 3, 130})}, {{"dim", int64_t{-1}}}},
      {"layer_norm",
       {tensor({4, 200}), tensor({200}), tensor({200})},
       {{"normalized_shape", std::vector<int64_t>{200}}}},
      {"layer_norm",
       {tensor({9, 20}), tensor({20}), tensor({20})},
       {{"normalized_shape", std::vector<int64_t>{20}}}},
      {"embedding", {tensor({7, 3}, DType::kInt64), tensor({11, 65})}, {}},
      {"transpose", {tensor({9, 31})}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}},
      {"add", {tensor({3, 1, 65}), tensor({4, 1})}, {}},
      {"sum", {tensor({3, 300})}, {}},
  };
  int checked = 0;
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    const auto function =
        sdfg::OperatorLibrary::BuiltIn().Instantiate(call.name, call.operands, call.attributes);
    ASSERT_TRUE(function.ok()) << function.status();
    EXPECT_TRUE(ExpectSame(*function, DType::kFloat64, 11, 1e-12, 1));
    EXPECT_TRUE(ExpectSame(*function, DType::kFloat32, 11, 1e-5, 1));
    std::vector<int> wrt;
    for (size_t i = 0; i < function->inputs.size(); ++i) {
      if (!sdfg::IsInteger(function->inputs[i].dtype)) wrt.push_back(static_cast<int>(i));
    }
    const auto backward = sdfg::Differentiate(*function, wrt, {0});
    ASSERT_TRUE(backward.ok()) << backward.status();
    EXPECT_TRUE(ExpectSame(*backward, DType::kFloat64, 11, 1e-12, 1));
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

}  // namespace
}  // namespace planproof::runtime_check
