// Opens the CUDA backend, where this build has one and this machine a GPU.
//
// Nothing of CUDA is linked: the driver, NVRTC and cuBLAS are loaded when a backend is asked for,
// so that the program starts as fast as without, and runs on machines without CUDA.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_OPEN_CUDA_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_OPEN_CUDA_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime_check/backend.h"
#include "runtime_check/cuda/accelerator.h"

namespace planproof::runtime_check::cuda {

// Unimplemented: this build has none. Unavailable: there is no device, or something of CUDA is
// missing; the message says what.
absl::StatusOr<std::unique_ptr<Backend>> OpenCuda();
absl::StatusOr<std::unique_ptr<Accelerator>> OpenCudaAccelerator();

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_OPEN_CUDA_H_
