// In builds without CUDA's headers.
#include "absl/status/status.h"
#include "runtime_check/cuda/open_cuda.h"

namespace planproof::runtime_check::cuda {

absl::StatusOr<std::unique_ptr<Accelerator>> OpenCudaAccelerator() {
  return absl::UnimplementedError("this build has no CUDA backend");
}

absl::StatusOr<std::unique_ptr<Backend>> OpenCuda() { return OpenCudaAccelerator().status(); }

}  // namespace planproof::runtime_check::cuda
