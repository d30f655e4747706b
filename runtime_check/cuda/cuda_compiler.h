// Kernels compiled by NVRTC at run time, for one architecture.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_CUDA_COMPILER_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_CUDA_COMPILER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime_check/cuda/translation.h"

namespace planproof::runtime_check::cuda {

struct CompiledKernels {
  std::string cubin;
  std::vector<std::vector<std::string>> kernels;  // by source, their names in it
};

// All sources, in order. NVRTC compiles one program at a time in a process, so it works in up to
// `jobs` processes. `architecture`: 90 for sm_90.
absl::StatusOr<std::vector<CompiledKernels>> CompileKernels(
    const std::vector<Accelerator::Source>& sources, int architecture, int jobs);

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_CUDA_COMPILER_H_
