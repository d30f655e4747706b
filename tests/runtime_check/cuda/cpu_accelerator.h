// This processor as an accelerator: kernels compiled as C++ and loaded, threads run one after the
// other, matrix products by their definition. All of the CUDA backend runs on it but the launches.
#ifndef PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_CPU_ACCELERATOR_H_
#define PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_CPU_ACCELERATOR_H_

#include <map>
#include <string>
#include <vector>

#include "runtime_check/cuda/accelerator.h"

namespace planproof::runtime_check::cuda {

class CpuAccelerator final : public Accelerator {
 public:
  std::string Name() const override { return "this processor"; }
  absl::StatusOr<Address> Allocate(size_t bytes) override;
  void Free(Address address) override;
  absl::Status Write(Address to, const void* from, size_t bytes) override;
  absl::Status Read(void* to, Address from, size_t bytes) override;
  absl::Status Clear(Address address, size_t bytes) override;
  absl::StatusOr<std::vector<std::vector<Kernel>>> Compile(
      const std::vector<Source>& sources) override;
  Grid GridFor(int64_t positions, int64_t instances) const override;
  absl::Status Launch(Kernel kernel, const KernelArguments& arguments, const Grid& grid) override;
  bool Multiplies() const override { return true; }
  absl::Status Multiply(const BlasProduct& product, const Batch& batch, bool wide, double factor,
                        bool adds, const void* first, const void* second, void* result) override;

  static size_t allocations();  // of all, that are not freed

 private:
  std::map<Kernel, long long*> threads_;  // where a kernel reads which thread it is
};

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_CPU_ACCELERATOR_H_
