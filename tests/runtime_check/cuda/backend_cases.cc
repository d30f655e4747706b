#include "tests/runtime_check/cuda/backend_cases.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "sdfg/operator_library.h"

namespace planproof::runtime_check::cuda {
namespace {

using sdfg::DType;

sdfg::Operand Tensor(sdfg::Shape shape, DType dtype = DType::kFloat32) {
  sdfg::Operand operand;
  operand.shape = std::move(shape);
  operand.dtype = dtype;
  return operand;
}

// Rows, lanes that are many, and sums of several blocks.
std::vector<OperatorCase> LargeCases() {
  struct Call {
    const char* name;
    std::vector<sdfg::Operand> operands;
    sdfg::Attributes attributes;
  };
  const std::vector<Call> calls = {
      {"linear", {Tensor({3, 5, 70}), Tensor({150, 70})}, {}},
      {"softmax", {Tensor({2, 3, 130})}, {{"dim", int64_t{-1}}}},
      {"softmax", {Tensor({3, 130, 2})}, {{"dim", int64_t{1}}}},
      {"layer_norm",
       {Tensor({4, 200}), Tensor({200}), Tensor({200})},
       {{"normalized_shape", std::vector<int64_t>{200}}}},
      {"embedding", {Tensor({7, 3}, DType::kInt64), Tensor({11, 65})}, {}},
      {"sum", {Tensor({130, 70})}, {}},
      {"max", {Tensor({130, 70})}, {}},
      {"transpose", {Tensor({9, 31})}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}},
      {"add", {Tensor({3, 1, 65}), Tensor({4, 1})}, {}},
      {"sum", {Tensor({3, 300})}, {}},
      {"sum", {Tensor({3, 320})}, {}},
      {"softmax", {Tensor({40, 128})}, {{"dim", int64_t{-1}}}},
      {"einsum",
       {Tensor({2, 3, 9, 4, 8}), Tensor({2, 3, 10, 8})},
       {{"equation", std::string("bkqgd,bktd->bkgqt")}}},
      {"bmm", {Tensor({6, 33, 40}), Tensor({6, 40, 20})}, {}},
  };
  std::vector<OperatorCase> cases;
  for (const Call& call : calls) {
    auto function =
        sdfg::OperatorLibrary::BuiltIn().Instantiate(call.name, call.operands, call.attributes);
    EXPECT_TRUE(function.ok()) << function.status();
    if (function.ok()) cases.push_back({std::string("large ") + call.name, *function, 11});
  }
  return cases;
}

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

std::vector<OperatorCase> BackendCases() {
  std::vector<OperatorCase> cases = OperatorCases();
  for (OperatorCase& large : LargeCases()) cases.push_back(std::move(large));
  for (OperatorCase& derivative : DerivativesOf(cases)) cases.push_back(std::move(derivative));
  return cases;
}

std::vector<Backend::Application> ApplicationsOf(const std::vector<OperatorCase>& cases,
                                                 const std::vector<DType>& types,
                                                 std::vector<std::unique_ptr<Tape>>* tapes) {
  std::vector<Backend::Application> applications;
  for (const OperatorCase& c : cases) {
    for (size_t o = 0; o < c.function.outputs.size(); ++o) {
      absl::StatusOr<Tape> tape = Compile(c.function, static_cast<int>(o));
      EXPECT_TRUE(tape.ok()) << tape.status();
      if (!tape.ok()) continue;
      tapes->push_back(std::make_unique<Tape>(*std::move(tape)));
      for (const DType type : types) {
        Backend::Application application;
        application.tape = tapes->back().get();
        application.arithmetic = type;
        const auto storage = [&](DType dtype) { return Values::Zeros({0}, dtype, type).storage; };
        application.result = storage(c.function.outputs[o].dtype);
        application.elements = CountOf(c.function.outputs[o].shape(c.function.vars));
        for (const sdfg::FunctionInput& input : c.function.inputs)
          application.storages.push_back(storage(input.dtype));
        applications.push_back(std::move(application));
      }
    }
  }
  return applications;
}

// The root of the sum of squared differences; of the values where there is nothing to subtract.
double Norm(const Values& values, const Values* subtracted) {
  double squares = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = values.At(i), other = subtracted == nullptr ? 0 : subtracted->At(i);
    if (value != other) squares += (value - other) * (value - other);
  }
  return std::sqrt(squares);
}

void ExpectTheErrorsOfFloat32(const OperatorCase& c, const std::vector<Values>& inputs,
                              const std::vector<Values>& found, const std::vector<Values>& expected,
                              double tolerance) {
  const auto exact = RunFunction(c.function, sdfg::DType::kFloat64, InFloat64(inputs));
  ASSERT_TRUE(exact.ok()) << exact.status();
  for (size_t o = 0; o < exact->size(); ++o) {
    const Values& reference = (*exact)[o];
    EXPECT_LE(Norm(found[o], &reference),
              4 * Norm(expected[o], &reference) + tolerance * Norm(reference, nullptr))
        << "output " << o;
  }
}

bool ExpectTheExecutorsValues(const OperatorCase& c, DType type, double tolerance, bool hostile,
                              Backend* backend) {
  const std::vector<Values> inputs = RandomOperands(c.function, c.id_range, type, 1, hostile);
  const auto expected = RunFunction(c.function, type, inputs);
  const auto found = RunFunction(c.function, type, inputs, backend);
  EXPECT_EQ(expected.status().message(), found.status().message());
  if (!expected.ok() || !found.ok()) return false;
  if (tolerance != 0 && type == DType::kFloat32) {
    ExpectTheErrorsOfFloat32(c, inputs, *found, *expected, tolerance);
    return true;
  }
  for (size_t o = 0; o < expected->size(); ++o) {
    const Values &a = (*found)[o], &b = (*expected)[o];
    EXPECT_EQ(a.size(), b.size());
    for (int64_t i = 0; i < a.size(); ++i) {
      const bool same = tolerance == 0
                            ? SameBits(a.At(i), b.At(i))
                            : a.At(i) == b.At(i) || std::fabs(a.At(i) - b.At(i)) <=
                                                        tolerance * (1 + std::fabs(b.At(i)));
      EXPECT_TRUE(same) << "output " << o << " element " << i << ": " << a.At(i) << " is not "
                        << b.At(i);
      if (!same) return true;
    }
  }
  return true;
}

}  // namespace planproof::runtime_check::cuda
