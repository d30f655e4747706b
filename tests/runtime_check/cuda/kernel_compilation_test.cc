// Kernels of all operators through CUDA's compilers, which need no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime_check/cuda/kernel_source.h"
#include "runtime_check/cuda/translation.h"
#include "tests/runtime_check/cuda/backend_cases.h"
#include "tests/temporary_directory.h"
#ifdef PLANPROOF_HAS_CUDA
#include "runtime_check/cuda/cuda_compiler.h"
#endif

namespace planproof::runtime_check::cuda {
namespace {

using sdfg::DType;

// What all operators and their derivatives come to, and rounding.
std::vector<Accelerator::Source> AllSources() {
  std::vector<std::unique_ptr<Tape>> tapes;
  std::vector<Accelerator::Source> sources = {
      {RoundingKernels(), {kMagnitudeKernel, kRoundKernel}}};
  std::set<std::string> seen;
  for (const Backend::Application& application :
       ApplicationsOf(BackendCases(), {DType::kFloat64, DType::kFloat32}, &tapes)) {
    KernelTypes types;
    types.wide = application.arithmetic == DType::kFloat64;
    types.integer_result = application.result == Values::Storage::kInteger;
    for (const Values::Storage storage : application.storages)
      types.integer_operands.push_back(storage == Values::Storage::kInteger);
    const KernelSource source = SourceOf(*application.tape, types, "planproof_kernel");
    if (application.elements == 0 || !seen.insert(source.text).second) continue;
    sources.push_back({source.text, {}});
    for (const KernelPass& pass : source.passes) sources.back().kernels.push_back(pass.name);
  }
  return sources;
}

TEST(KernelCompilation, NvccCompilesTheKernelsOfAllOperators) {
  const std::string nvcc = PLANPROOF_NVCC;
  if (nvcc.empty()) GTEST_SKIP() << "SKIPPED: nvcc was not found";
  const std::vector<Accelerator::Source> sources = AllSources();
  EXPECT_GT(sources.size(), 700u);
  const std::vector<Translation> translations = TranslationsOf(sources, 8);
  const TemporaryDirectory directory("nvcc");
  std::vector<int> results(translations.size(), 1);
  const auto compile = [&](size_t t) {
    const std::string stem = absl::StrCat(directory.path(), "kernels", t);
    std::ofstream(stem + ".cu") << translations[t].text;
    results[t] = std::system(absl::StrCat(nvcc, " -w -ptx -arch=sm_90 --fmad=false -std=c++17 ",
                                          stem, ".cu -o ", stem, ".ptx")
                                 .c_str());
    // Each kernel has an entry.
    std::ifstream file(stem + ".ptx");
    const std::string ptx((std::istreambuf_iterator<char>(file)), {});
    for (const std::vector<std::string>& names : translations[t].kernels) {
      for (const std::string& name : names) {
        if (ptx.find(absl::StrCat(".entry ", name, "(")) == std::string::npos) results[t] = -1;
      }
    }
  };
  std::thread second([&] {
    for (size_t t = 1; t < translations.size(); t += 2) compile(t);
  });
  for (size_t t = 0; t < translations.size(); t += 2) compile(t);
  second.join();
  EXPECT_EQ(results, std::vector<int>(translations.size(), 0));
}

#ifdef PLANPROOF_HAS_CUDA

// As it runs where there is a GPU, in one process and in several.
TEST(KernelCompilation, NvrtcCompilesInSeveralProcesses) {
  std::vector<Accelerator::Source> sources = AllSources();
  sources.resize(9);
  for (const int jobs : {1, 2}) {
    const auto compiled = CompileKernels(sources, 90, jobs);
    if (absl::IsUnavailable(compiled.status())) GTEST_SKIP() << "SKIPPED: " << compiled.status();
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    ASSERT_EQ(compiled->size(), static_cast<size_t>(jobs));
    size_t count = 0;
    for (const CompiledKernels& part : *compiled) {
      for (const std::vector<std::string>& names : part.kernels) {
        EXPECT_EQ(names.size(), sources[count++].kernels.size());
        for (const std::string& name : names)
          EXPECT_NE(part.cubin.find(absl::StrCat(".text.", name)), std::string::npos) << name;
      }
    }
    EXPECT_EQ(count, sources.size());
  }
}

TEST(KernelCompilation, WhatNvrtcSaysOfAnErrorIsPassedOn) {
  std::vector<Accelerator::Source> sources = AllSources();
  sources.resize(9);
  sources[7].text += "PLANPROOF_KERNEL broken(Arguments g) { undeclared(); }\n";
  const auto compiled = CompileKernels(sources, 90, 2);
  if (absl::IsUnavailable(compiled.status())) GTEST_SKIP() << "SKIPPED: " << compiled.status();
  EXPECT_TRUE(absl::IsInternal(compiled.status())) << compiled.status();
  EXPECT_NE(compiled.status().message().find("undeclared"), std::string::npos) << compiled.status();
}

#endif

}  // namespace
}  // namespace planproof::runtime_check::cuda
