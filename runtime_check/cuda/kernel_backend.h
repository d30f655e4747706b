// Implements the backend for a device that is programmed with kernels.
//
// It generates and remembers kernels, lays out what they get, and uses the device's matrix products
// where a tape is one.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_BACKEND_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_BACKEND_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime_check/backend.h"
#include "runtime_check/cuda/accelerator.h"
#include "runtime_check/cuda/kernel_source.h"

namespace planproof::runtime_check::cuda {

struct KernelBackendOptions {
  // Products with fewer multiplications are left to kernels, which compute what the CPU does.
  double least_multiplications = 1 << 16;
};

class KernelBackend final : public Backend {
 public:
  explicit KernelBackend(std::unique_ptr<Accelerator> accelerator,
                         KernelBackendOptions options = {});
  ~KernelBackend() override;

  std::string Name() const override { return accelerator_->Name(); }
  absl::Status Prepare(const std::vector<Application>& applications) override;
  absl::StatusOr<std::unique_ptr<Buffer>> Upload(const Values& values) override;
  absl::StatusOr<std::unique_ptr<Buffer>> Run(const Application& application) override;
  absl::Status Round(Buffer* buffer, sdfg::DType dtype, int64_t local) override;
  absl::Status Download(const Buffer& buffer, Values* values) override;

  // How many tapes ran as kernels, and how many as matrix products.
  int64_t kernel_runs() const { return kernel_runs_; }
  int64_t product_runs() const { return product_runs_; }

 private:
  struct DeviceBuffer;
  // A tape made ready for operands that are stored in a certain way.
  struct Program {
    KernelSource source;
    std::vector<Accelerator::Kernel> kernels;
    std::optional<MatrixProduct> product;  // then there are no kernels
    BlasProduct blas;
  };
  using Key = std::pair<int64_t, std::string>;  // number of the tape, types

  // Memory that is used within one run, and grows.
  struct Workspace {
    Accelerator::Address address = nullptr;
    size_t bytes = 0;
  };
  absl::StatusOr<Accelerator::Address> Room(Workspace* workspace, size_t bytes);

  Key KeyOf(const Application& application) const;
  absl::StatusOr<std::unique_ptr<DeviceBuffer>> Allocate(Values::Storage storage, int64_t elements);
  absl::Status Launch(const Program& program, const Application& application,
                      Accelerator::Address output);
  absl::Status Multiply(const Program& program, const Application& application,
                        Accelerator::Address output);
  absl::StatusOr<std::vector<Accelerator::Kernel>*> RoundingKernelsReady();

  std::unique_ptr<Accelerator> accelerator_;
  const KernelBackendOptions options_;
  std::map<Key, Program> programs_;
  std::map<std::string, std::vector<Accelerator::Kernel>> compiled_;  // by text
  std::vector<Accelerator::Kernel> rounding_;
  Workspace operands_, reals_, ints_, rows_, magnitudes_, failed_;
  int64_t kernel_runs_ = 0, product_runs_ = 0;
};

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_KERNEL_BACKEND_H_
