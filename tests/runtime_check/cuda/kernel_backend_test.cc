// Kernels, compiled as C++, against the executor: every operator and its derivative, element by
// element and bit by bit; rounding; whole plans.
#include "runtime_check/cuda/kernel_backend.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/load_problem.h"
#include "runtime_check/executor.h"
#include "runtime_check/replay.h"
#include "runtime_check/rounding.h"
#include "tests/runtime_check/cuda/backend_cases.h"
#include "tests/runtime_check/cuda/backend_tolerance.h"
#include "tests/runtime_check/cuda/cpu_accelerator.h"

namespace planproof::runtime_check::cuda {
namespace {

using sdfg::DType;

constexpr KernelBackendOptions kKernelsOnly = {.least_multiplications = HUGE_VAL};

TEST(KernelBackend, EveryOperatorAndDerivativeIsTheExecutorsBitForBit) {
  const std::vector<OperatorCase> cases = BackendCases();
  const std::vector<DType> types = {DType::kFloat64, DType::kFloat32};
  std::vector<std::unique_ptr<Tape>> tapes;
  {
    KernelBackend backend(std::make_unique<CpuAccelerator>(), kKernelsOnly);
    const absl::Status status = backend.Prepare(ApplicationsOf(cases, types, &tapes));
    ASSERT_TRUE(status.ok()) << status;
    int compared = 0;
    for (const OperatorCase& c : cases) {
      for (const DType type : types) {
        SCOPED_TRACE(c.name + " in " + sdfg::DTypeName(type));
        compared += ExpectTheExecutorsValues(c, type, 0, false, &backend);
        compared += ExpectTheExecutorsValues(c, type, 0, true, &backend);
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(compared, 1200);
    EXPECT_EQ(backend.product_runs(), 0);
  }
  EXPECT_EQ(CpuAccelerator::allocations(), 0u) << "memory is not freed";
}

TEST(KernelBackend, ProductsOfMatricesAreTheExecutorsUpToRounding) {
  std::vector<OperatorCase> products;
  for (OperatorCase& c : BackendCases()) {
    bool any = false;
    for (size_t o = 0; o < c.function.outputs.size(); ++o) {
      const absl::StatusOr<Tape> tape = Compile(c.function, static_cast<int>(o));
      any |= tape.ok() && AsMatrixProduct(*tape).has_value();
    }
    if (any) products.push_back(std::move(c));
  }
  std::vector<std::unique_ptr<Tape>> tapes;
  KernelBackend backend(std::make_unique<CpuAccelerator>(), {.least_multiplications = 0});
  const std::vector<DType> types = {DType::kFloat64, DType::kFloat32};
  const absl::Status status = backend.Prepare(ApplicationsOf(products, types, &tapes));
  ASSERT_TRUE(status.ok()) << status;
  for (const OperatorCase& c : products) {
    SCOPED_TRACE(c.name);
    ExpectTheExecutorsValues(c, DType::kFloat64, 1e-13, false, &backend);
    ExpectTheExecutorsValues(c, DType::kFloat32, 1e-5, false, &backend);
    if (HasFailure()) return;
  }
  EXPECT_GT(backend.product_runs(), 50);
}

// All ties and their neighbours of bfloat16 and float16, and of 8 bits at many scales.
TEST(KernelBackend, RoundsAsTheProcessorDoesBitForBit) {
  KernelBackend backend(std::make_unique<CpuAccelerator>());
  Values values = Values::Zeros({int64_t{3} << 20}, DType::kFloat32, DType::kFloat32);
  for (uint32_t i = 0; i < 1u << 20; ++i) {
    for (uint32_t by = 0; by < 3; ++by)
      values.floats[3 * i + by] = std::bit_cast<float>((i << 12) + by - 1);
  }
  std::mt19937_64 random(1);
  std::shuffle(values.floats.begin() + values.size() / 2, values.floats.end(), random);
  for (const DType type : {DType::kBFloat16, DType::kFloat16, DType::kFloat8E4M3,
                           DType::kFloat8E5M2, DType::kFloat32}) {
    for (const int64_t local : {int64_t{3}, int64_t{96}, int64_t{3} << 16}) {
      auto buffer = backend.Upload(values);
      ASSERT_TRUE(buffer.ok()) << buffer.status();
      ASSERT_TRUE(backend.Round(buffer->get(), type, local).ok());
      Values found = values, expected = values;
      ASSERT_TRUE(backend.Download(**buffer, &found).ok());
      for (int64_t begin = 0; begin < expected.size(); begin += local)
        RoundTensor(type, std::span<float>(expected.floats.data() + begin, local));
      for (size_t i = 0; i < found.floats.size(); ++i) {
        const float a = found.floats[i], b = expected.floats[i];
        ASSERT_TRUE(std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
                    (std::isnan(a) && std::isnan(b)))
            << sdfg::DTypeName(type) << ": " << values.floats[i] << " is rounded to " << a
            << ", not to " << b;
      }
    }
  }
}

TEST(KernelBackend, AnOperandReadOutsideOfItsExtentsIsAnError) {
  sdfg::IndexFunctionBuilder builder("gather");
  const int x = builder.AddInput("x", {3}, DType::kFloat32);
  const int id = builder.AddInput("id", {4}, DType::kInt64);
  const int y = builder.AddOutput("y", sdfg::Shape{4}, DType::kFloat32);
  builder.SetBody(
      y, builder.Element(x, {builder.IntElement(id, {builder.Index(builder.OutputDims(y)[0])})}));
  sdfg::IndexFunction function;
  ASSERT_TRUE(builder.Finish(&function).ok());
  KernelBackend backend(std::make_unique<CpuAccelerator>());
  Values numbers = Values::Zeros({3}, DType::kFloat32, DType::kFloat64);
  Values ids = Values::Zeros({4}, DType::kInt64, DType::kFloat64);
  ids.integers = {0, 2, 1, 2};
  EXPECT_TRUE(RunFunction(function, DType::kFloat64, {numbers, ids}, &backend).ok());
  ids.integers = {0, 3, 1, 2};
  const auto beyond = RunFunction(function, DType::kFloat64, {numbers, ids}, &backend);
  EXPECT_EQ(beyond.status(), RunFunction(function, DType::kFloat64, {numbers, ids}).status());
  EXPECT_TRUE(absl::IsInvalidArgument(beyond.status())) << beyond.status();
  ids.integers = {0, 2, 1, 2};
  EXPECT_TRUE(RunFunction(function, DType::kFloat64, {numbers, ids}, &backend).ok());
}

TEST(KernelBackend, PlansComputeTheExecutorsFloat64WithinTheTolerance) {
  KernelBackend backend(std::make_unique<CpuAccelerator>(), kKernelsOnly);
  for (const char* file : {"llama_dp2_pp2_tp2_mb2.json", "moe_dp2_ep2.json", "pipeline_1f1b.json",
                           "rotary_sp2.json"}) {
    const auto problem = frontend::LoadProblem(
        {std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + file}, frontend::LoadOptions());
    ASSERT_TRUE(problem.ok()) << problem.status();
    for (const DType type : {DType::kFloat32, DType::kBFloat16, DType::kFloat8E4M3}) {
      SCOPED_TRACE(std::string(file) + " in " + sdfg::DTypeName(type));
      const ToleranceUse use = ExpectWithinTolerance(*problem, type, &backend);
      EXPECT_GE(use.tensors, 2);
      EXPECT_GT(use.worst, 0);  // something was rounded
    }
  }
}

// Collectives, devices, microbatches: what a replay finds is the same, number by number.
TEST(KernelBackend, ReplaysOfPlansAreTheProcessorsBitForBit) {
  KernelBackend backend(std::make_unique<CpuAccelerator>(), kKernelsOnly);
  for (const char* file : {"llama_dp2_pp2_tp2_mb2.json", "moe_dp2_ep2.json", "pipeline_1f1b.json",
                           "rotary_sp2.json", "first_plan/missing_sum.json"}) {
    const auto problem = frontend::LoadProblem(
        {std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + file}, frontend::LoadOptions());
    ASSERT_TRUE(problem.ok()) << problem.status();
    for (const DType type : {DType::kFloat64, DType::kFloat8E4M3, DType::kBFloat16}) {
      SCOPED_TRACE(std::string(file) + " in " + sdfg::DTypeName(type));
      const auto inputs = RandomInputs(*problem, type, 0);
      ASSERT_TRUE(inputs.ok()) << inputs.status();
      // By stage, tensors are changed after they were computed there.
      for (const bool by_stage : {false, true}) {
        ReplayOptions options{
            .arithmetic = type, .by_stage = by_stage, .exact = true, .samples = 1};
        Programs programs;
        const auto expected = Replay(*problem, *inputs, options, &programs);
        options.backend = &backend;
        const auto found = Replay(*problem, *inputs, options, &programs);
        ASSERT_EQ(expected.ok(), found.ok()) << expected.status() << found.status();
        if (!expected.ok()) continue;
        ASSERT_EQ(expected->tensors.size(), found->tensors.size());
        EXPECT_EQ(expected->alarms, found->alarms);
        for (size_t t = 0; t < found->tensors.size(); ++t) {
          const Measure &a = found->tensors[t].measure, &b = expected->tensors[t].measure;
          EXPECT_EQ(a.error, b.error);
          EXPECT_EQ(a.scale, b.scale);
          EXPECT_EQ(a.expectation, b.expectation);
          ASSERT_EQ(found->tensors[t].exact.has_value(), type != DType::kFloat64);
          if (!found->tensors[t].exact) continue;
          EXPECT_EQ(found->tensors[t].exact->measure.error,
                    expected->tensors[t].exact->measure.error);
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(backend.kernel_runs(), 500);
}

}  // namespace
}  // namespace planproof::runtime_check::cuda
