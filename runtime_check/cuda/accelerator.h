// Declares the memory, kernels and matrix products of one device: all that a backend needs of it.
//
// There are two: a GPU (cuda_accelerator.h), and in tests this processor, with the same kernels
// compiled as C++.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_ACCELERATOR_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_ACCELERATOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime_check/cuda/kernel_prelude.h"
#include "runtime_check/matrix_product.h"

namespace planproof::runtime_check::cuda {

class Accelerator {
 public:
  using Address = void*;  // in the device's memory
  using Kernel = void*;

  // Text after KernelPrelude(), and the names of its kernels that are wanted.
  struct Source {
    std::string text;
    std::vector<std::string> kernels;
  };

  virtual ~Accelerator() = default;
  virtual std::string Name() const = 0;

  // Operations happen in the order in which they are asked for; memory that is freed may still be
  // used by those before.
  virtual absl::StatusOr<Address> Allocate(size_t bytes) = 0;
  virtual void Free(Address address) = 0;
  virtual absl::Status Write(Address to, const void* from, size_t bytes) = 0;
  virtual absl::Status Read(void* to, Address from, size_t bytes) = 0;
  virtual absl::Status Clear(Address address, size_t bytes) = 0;

  // The kernels of each source, compiled together.
  virtual absl::StatusOr<std::vector<std::vector<Kernel>>> Compile(
      const std::vector<Source>& sources) = 0;
  // How many threads run such a kernel, at most, in a row of the grid, and how many rows.
  struct Grid {
    int64_t threads = 1, rows = 1;
  };
  virtual Grid GridFor(int64_t positions, int64_t instances) const = 0;
  virtual absl::Status Launch(Kernel kernel, const KernelArguments& arguments,
                              const Grid& grid) = 0;

  virtual bool Multiplies() const = 0;  // it has matrix products
  // One product of matrices of 64 or 32 bits (`wide`), of these first elements, in the type's own
  // precision, which is added to the result if `adds`; `batch` of them, with so many elements
  // between one and the next.
  struct Batch {
    int64_t count = 1, first = 0, second = 0, result = 0;
  };
  virtual absl::Status Multiply(const BlasProduct& product, const Batch& batch, bool wide,
                                double factor, bool adds, const void* first, const void* second,
                                void* result) = 0;
};

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_ACCELERATOR_H_
