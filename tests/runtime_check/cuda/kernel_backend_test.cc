// Kernels, compiled as C++, against the executor: every operator and its derivative, element by
// element and bit by bit.
#include "runtime_check/cuda/kernel_backend.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/load_problem.h"
#include "runtime_check/executor.h"
#include "runtime_check/replay.h"
#include "sdfg/operator_library.h"
#include "tests/runtime_check/cuda/cpu_accelerator.h"
#include "tests/runtime_check/operator_cases.h"

namespace planproof::runtime_check::cuda {
namespace {

using sdfg::DType;

std::vector<OperatorCase> AllCases() {
  std::vector<OperatorCase> cases = OperatorCases();
  for (OperatorCase& derivative : DerivativesOf(cases)) cases.push_back(std::move(derivative));
  return cases;
}

// A backend whose kernels were compiled together.
class Prepared {
 public:
  Prepared(const std::vector<OperatorCase>& cases, const std::vector<DType>& types,
           KernelBackendOptions options)
      : backend_(std::make_unique<CpuAccelerator>(), options) {
    std::vector<Backend::Application> applications;
    for (const OperatorCase& c : cases) {
      for (size_t o = 0; o < c.function.outputs.size(); ++o) {
        absl::StatusOr<Tape> tape = Compile(c.function, static_cast<int>(o));
        EXPECT_TRUE(tape.ok()) << tape.status();
        if (!tape.ok()) continue;
        tapes_.push_back(std::make_unique<Tape>(*std::move(tape)));
        for (const DType type : types) {
          Backend::Application application;
          application.tape = tapes_.back().get();
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
    const absl::Status status = backend_.Prepare(applications);
    EXPECT_TRUE(status.ok()) << status;
  }

  KernelBackend& backend() { return backend_; }

 private:
  std::vector<std::unique_ptr<Tape>> tapes_;
  KernelBackend backend_;
};

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// False if both refuse the operands.
bool ExpectTheExecutorsValues(const OperatorCase& c, DType type, double tolerance,
                              Backend* backend) {
  const std::vector<Values> inputs = RandomOperands(c, type, 1);
  const auto expected = RunFunction(c.function, type, inputs);
  const auto found = RunFunction(c.function, type, inputs, backend);
  EXPECT_EQ(expected.status().message(), found.status().message());
  if (!expected.ok() || !found.ok()) return false;
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

TEST(KernelBackend, EveryOperatorAndDerivativeIsTheExecutorsBitForBit) {
  const std::vector<OperatorCase> cases = AllCases();
  const std::vector<DType> types = {DType::kFloat64, DType::kFloat32};
  Prepared prepared(cases, types, {.least_multiplications = HUGE_VAL});
  int compared = 0;
  for (const OperatorCase& c : cases) {
    for (const DType type : types) {
      SCOPED_TRACE(c.name + " in " + sdfg::DTypeName(type));
      compared += ExpectTheExecutorsValues(c, type, 0, &prepared.backend());
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 300);
  EXPECT_EQ(prepared.backend().product_runs(), 0);
}

}  // namespace
}  // namespace planproof::runtime_check::cuda
