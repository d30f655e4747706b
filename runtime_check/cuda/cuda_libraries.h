// Loads CUDA's libraries when they are first asked for. Only the files cuda_*.cc know CUDA.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_CUDA_LIBRARIES_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_CUDA_LIBRARIES_H_

#include <cublas_v2.h>
#include <cuda.h>
#include <nvrtc.h>

#include "absl/status/statusor.h"

namespace planproof::runtime_check::cuda {

// Functions by their names in the library. Names that cuda.h defines to be newer versions stand for
// these here, too.
#define PLANPROOF_CUDA_FUNCTIONS(X) \
  X(cuInit)                         \
  X(cuGetErrorString)               \
  X(cuDeviceGetCount)               \
  X(cuDeviceGet)                    \
  X(cuDeviceGetName)                \
  X(cuDeviceGetAttribute)           \
  X(cuDeviceGetDefaultMemPool)      \
  X(cuMemPoolSetAttribute)          \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuDevicePrimaryCtxRelease)      \
  X(cuCtxSetCurrent)                \
  X(cuStreamCreate)                 \
  X(cuStreamDestroy)                \
  X(cuStreamSynchronize)            \
  X(cuMemAllocAsync)                \
  X(cuMemFreeAsync)                 \
  X(cuMemcpyHtoDAsync)              \
  X(cuMemcpyDtoHAsync)              \
  X(cuMemsetD8Async)                \
  X(cuModuleLoadData)               \
  X(cuModuleUnload)                 \
  X(cuModuleGetFunction)            \
  X(cuLaunchKernel)
#define PLANPROOF_NVRTC_FUNCTIONS(X) \
  X(nvrtcGetErrorString)             \
  X(nvrtcCreateProgram)              \
  X(nvrtcDestroyProgram)             \
  X(nvrtcCompileProgram)             \
  X(nvrtcGetProgramLogSize)          \
  X(nvrtcGetProgramLog)              \
  X(nvrtcGetCUBINSize)               \
  X(nvrtcGetCUBIN)
#define PLANPROOF_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate)                     \
  X(cublasDestroy)                    \
  X(cublasSetStream)                  \
  X(cublasGetStatusString)            \
  X(cublasGemmStridedBatchedEx_64)

#define PLANPROOF_POINTER(function) decltype(&::function) function = nullptr;
struct CudaDriver {
  PLANPROOF_CUDA_FUNCTIONS(PLANPROOF_POINTER)
};
struct Nvrtc {
  PLANPROOF_NVRTC_FUNCTIONS(PLANPROOF_POINTER)
};
struct Cublas {
  PLANPROOF_CUBLAS_FUNCTIONS(PLANPROOF_POINTER)
};
#undef PLANPROOF_POINTER

// Unavailable: the library cannot be loaded, or lacks a function; the message is the loader's. Once
// loaded, a library stays.
absl::StatusOr<CudaDriver> LoadCudaDriver();
absl::StatusOr<Nvrtc> LoadNvrtc();
absl::StatusOr<Cublas> LoadCublas();

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_CUDA_LIBRARIES_H_
