// What only a GPU can show; skipped where there is none. `make cuda-check` runs it with what
// scripts/cuda_check.py does.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/load_problem.h"
#include "runtime_check/cuda/kernel_backend.h"
#include "runtime_check/cuda/open_cuda.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"
#include "runtime_check/rounding.h"
#include "sdfg/operator_library.h"
#include "tests/runtime_check/cuda/backend_cases.h"
#include "tests/runtime_check/cuda/backend_tolerance.h"

namespace planproof::runtime_check::cuda {
namespace {

using sdfg::DType;
using Clock = std::chrono::steady_clock;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Accelerator>> opened = OpenCudaAccelerator();
    if (!opened.ok()) GTEST_SKIP() << "SKIPPED: " << opened.status().message();
    accelerator_ = *std::move(opened);
  }
  KernelBackend BackendOf(double least_multiplications) {
    return KernelBackend(std::move(accelerator_), {least_multiplications});
  }

  std::unique_ptr<Accelerator> accelerator_;
};

// Without functions of the mathematical library bit for bit; these are within some units of the
// last place there and here, and what is computed from them may cancel.
TEST_F(Gpu, EveryOperatorAndDerivativeIsTheExecutors) {
  const std::vector<OperatorCase> cases = BackendCases();
  const std::vector<DType> types = {DType::kFloat64, DType::kFloat32};
  KernelBackend backend = BackendOf(HUGE_VAL);
  std::vector<std::unique_ptr<Tape>> tapes;
  const absl::Status status = backend.Prepare(ApplicationsOf(cases, types, &tapes));
  ASSERT_TRUE(status.ok()) << status;
  int compared = 0;
  for (const OperatorCase& c : cases) {
    bool exact = true;
    for (size_t o = 0; o < c.function.outputs.size(); ++o) {
      const absl::StatusOr<Tape> tape = Compile(c.function, static_cast<int>(o));
      ASSERT_TRUE(tape.ok());
      for (const Instruction& i : tape->code) {
        exact &= (i.code < Code::kPow || i.code > Code::kCos) && i.code != Code::kOpaque;
      }
    }
    for (const DType type : types) {
      SCOPED_TRACE(c.name + " in " + sdfg::DTypeName(type));
      const double tolerance = exact ? 0 : type == DType::kFloat64 ? 1e-12 : 1e-6;
      compared += ExpectTheExecutorsValues(c, type, tolerance, false, &backend);
      if (exact) compared += ExpectTheExecutorsValues(c, type, 0, true, &backend);
    }
  }
  EXPECT_GT(compared, 900);
}

TEST_F(Gpu, ProductsOfMatricesAreTheExecutorsUpToRounding) {
  if (!accelerator_->Multiplies()) GTEST_SKIP() << "SKIPPED: there is no cuBLAS";
  KernelBackend backend = BackendOf(0);
  for (const OperatorCase& c : BackendCases()) {
    bool any = false;
    for (size_t o = 0; o < c.function.outputs.size(); ++o) {
      const absl::StatusOr<Tape> tape = Compile(c.function, static_cast<int>(o));
      any |= tape.ok() && AsMatrixProduct(*tape).has_value();
    }
    if (!any) continue;
    SCOPED_TRACE(c.name);
    ExpectTheExecutorsValues(c, DType::kFloat64, 1e-13, false, &backend);
    ExpectTheExecutorsValues(c, DType::kFloat32, 1e-6, false, &backend);  // TF32 would be 1e-3
  }
  EXPECT_GT(backend.product_runs(), 50);
}

TEST_F(Gpu, RoundsAsTheProcessorDoesBitForBit) {
  KernelBackend backend = BackendOf(0);
  Values values = Values::Zeros({int64_t{3} << 20}, DType::kFloat32, DType::kFloat32);
  for (uint32_t i = 0; i < 1u << 20; ++i) {
    for (uint32_t by = 0; by < 3; ++by)
      values.floats[3 * i + by] = std::bit_cast<float>((i << 12) + by - 1);
  }
  for (const DType type :
       {DType::kBFloat16, DType::kFloat16, DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    for (const int64_t local : {int64_t{96}, int64_t{3} << 16}) {
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
            << sdfg::DTypeName(type) << ": " << values.floats[i] << " becomes " << a << ", not "
            << b;
      }
    }
  }
}

// In FP8 a plan rounds each device's part with a scale of its own, and the model all of it with
// one.
TEST_F(Gpu, PlansComputeTheProcessorsFloat64WithinTheTolerance) {
  KernelBackend backend = BackendOf(1 << 12);
  const auto plan = [](const std::string& file) {
    return std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + file;
  };
  for (const char* file : {"llama_dp2_pp2_tp2_mb2.json", "moe_dp2_ep2.json", "pipeline_1f1b.json",
                           "rotary_sp2.json"}) {
    const auto problem = frontend::LoadProblem({plan(file)}, frontend::LoadOptions());
    ASSERT_TRUE(problem.ok()) << problem.status();
    for (const DType type : {DType::kFloat64, DType::kFloat32, DType::kBFloat16, DType::kFloat16,
                             DType::kFloat8E4M3, DType::kFloat8E5M2}) {
      SCOPED_TRACE(std::string(file) + " in " + sdfg::DTypeName(type));
      const ToleranceUse use = ExpectWithinTolerance(*problem, type, &backend);
      EXPECT_GE(use.tensors, 2);
      std::printf("  %-28s %-14s %4d tensors, at most %.2f of the bound\n", file,
                  sdfg::DTypeName(type), use.tensors, use.worst);
    }
  }
}

TEST_F(Gpu, ReplaysOfExamplesFindWhatTheProcessorFinds) {
  KernelBackend backend = BackendOf(1 << 16);
  for (const char* file : {"llama_dp2_pp2_tp2_mb2.json", "moe_dp2_ep2.json", "pipeline_1f1b.json",
                           "rotary_sp2.json", "first_plan/missing_sum.json"}) {
    const auto problem = frontend::LoadProblem(
        {std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + file}, frontend::LoadOptions());
    ASSERT_TRUE(problem.ok()) << problem.status();
    for (const DType type :
         {DType::kFloat64, DType::kFloat32, DType::kBFloat16, DType::kFloat8E4M3}) {
      SCOPED_TRACE(std::string(file) + " in " + sdfg::DTypeName(type));
      const auto inputs = RandomInputs(*problem, type, 0);
      ASSERT_TRUE(inputs.ok()) << inputs.status();
      ReplayOptions options{.arithmetic = type};
      Programs programs;
      const auto expected = Replay(*problem, *inputs, options, &programs);
      options.backend = &backend;
      const auto found = Replay(*problem, *inputs, options, &programs);
      ASSERT_EQ(expected.ok(), found.ok()) << expected.status() << found.status();
      if (!expected.ok()) continue;
      EXPECT_EQ(expected->first, found->first);
      EXPECT_EQ(expected->tensors.size(), found->tensors.size());
    }
  }
}

// Time of each kind of kernel, against what the arithmetic or the memory of the device would take:
// PLANPROOF_GPU_GBPS (default 3350, an H100's) and PLANPROOF_GPU_TFLOPS (67, in float32).
TEST_F(Gpu, TimeOfEachKindOfKernel) {
  const auto limit = [](const char* name, double otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atof(text);
  };
  const double bytes_per_s = 1e9 * limit("PLANPROOF_GPU_GBPS", 3350);
  const double flops = 1e12 * limit("PLANPROOF_GPU_TFLOPS", 67);
  const std::string device = accelerator_->Name();
  KernelBackend backend = BackendOf(1 << 16);
  const auto tensor = [](sdfg::Shape shape, DType dtype = DType::kFloat32) {
    sdfg::Operand operand;
    operand.shape = std::move(shape);
    operand.dtype = dtype;
    return operand;
  };
  struct Kind {
    const char* name;
    std::vector<sdfg::Operand> operands;
    sdfg::Attributes attributes;
    double operations;  // 0: bytes are what it takes
  };
  const sdfg::Attributes last = {{"dim", int64_t{-1}}};
  const std::vector<Kind> kinds = {
      {"add", {tensor({8192, 8192}), tensor({8192, 8192})}, {}, 0},
      {"exp", {tensor({8192, 8192})}, {}, 0},
      {"transpose", {tensor({8192, 8192})}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}, 0},
      {"softmax", {tensor({8192, 8192})}, last, 0},
      {"sum", {tensor({8192, 8192})}, {}, 0},
      {"embedding", {tensor({65536}, DType::kInt64), tensor({32000, 1024})}, {}, 0},
      {"linear", {tensor({8192, 4096}), tensor({4096, 4096})}, {}, 2.0 * 8192 * 4096 * 4096},
  };
  std::printf("%s\n  %-12s %12s %12s %8s\n", device.c_str(), "kernel", "ms", "limit ms", "ratio");
  for (const Kind& kind : kinds) {
    const auto function =
        sdfg::OperatorLibrary::BuiltIn().Instantiate(kind.name, kind.operands, kind.attributes);
    ASSERT_TRUE(function.ok()) << kind.name << function.status();
    const absl::StatusOr<Tape> tape = Compile(*function, 0);
    ASSERT_TRUE(tape.ok()) << tape.status();
    Backend::Application application;
    application.tape = &*tape;
    application.arithmetic = DType::kFloat32;
    application.result = Values::Storage::kFloat;
    application.elements = CountOf(function->outputs[0].shape(function->vars));
    std::vector<std::unique_ptr<Backend::Buffer>> operands;
    double bytes = 4.0 * static_cast<double>(application.elements);
    for (const sdfg::FunctionInput& input : function->inputs) {
      Values values = Values::Zeros(input.shape, input.dtype, DType::kFloat32);
      for (int64_t i = 0; i < values.size(); ++i) values.Set(i, static_cast<double>(i % 7));
      auto buffer = backend.Upload(values);
      ASSERT_TRUE(buffer.ok()) << buffer.status();
      application.storages.push_back(values.storage);
      application.operands.push_back(buffer->get());
      application.offsets.push_back(0);
      operands.push_back(*std::move(buffer));
      bytes += (sdfg::IsInteger(input.dtype) ? 8.0 : 4.0) * static_cast<double>(values.size());
    }
    Values one = Values::Zeros({1}, DType::kFloat32, DType::kFloat32);
    double best = HUGE_VAL;
    for (int run = 0; run < 6; ++run) {
      const Clock::time_point start = Clock::now();
      auto result = backend.Run(application);
      ASSERT_TRUE(result.ok()) << result.status();
      // Waits for the kernels: what is read is small.
      (*result)->elements = 1;
      ASSERT_TRUE(backend.Download(**result, &one).ok());
      if (run == 0) continue;  // compiles
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    const double least = kind.operations > 0 ? kind.operations / flops : bytes / bytes_per_s;
    std::printf("  %-12s %12.3f %12.3f %8.1f\n", kind.name, 1e3 * best, 1e3 * least, best / least);
    // What is read waits for the kernels; else this would be the time of starting them.
    EXPECT_GT(best, 0.9 * least) << kind.name << " is faster than the device";
    EXPECT_LT(best, 100 * least + 1e-3) << kind.name << " is far from the device's limit";
  }
}

}  // namespace
}  // namespace planproof::runtime_check::cuda
