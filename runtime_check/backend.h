// Declares a backend: a machine other than this processor that runs tapes and keeps tensors in
// memory of its own.
//
// The executor decides what is computed and in which order, and what a result is rounded to; a
// backend only computes. So a plan means the same wherever it runs.
#ifndef PLANPROOF_RUNTIME_CHECK_BACKEND_H_
#define PLANPROOF_RUNTIME_CHECK_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime_check/tape.h"
#include "runtime_check/values.h"
#include "sdfg/types.h"

namespace planproof::runtime_check {

class Backend {
 public:
  // Elements in the backend's memory; freed with it. The backend must outlive it.
  struct Buffer {
    virtual ~Buffer() = default;
    Values::Storage storage = Values::Storage::kNone;
    int64_t elements = 0;
  };

  // A tape at all coordinates of its operator. Of an element type only the storage matters.
  struct Application {
    const Tape* tape = nullptr;
    sdfg::DType arithmetic = sdfg::DType::kFloat64;
    Values::Storage result = Values::Storage::kNone;
    int64_t instances = 1;
    int64_t elements = 0;                   // of the result, in one instance
    std::vector<Values::Storage> storages;  // by operand
    std::vector<const Buffer*> operands;
    std::vector<int64_t> offsets;  // the operand's first element, by instance, then operand
  };

  virtual ~Backend() = default;
  // The device, for people.
  virtual std::string Name() const = 0;
  // Makes ready, together, what will run; only `tape` to `storages` of each is needed.
  virtual absl::Status Prepare(const std::vector<Application>& applications) = 0;
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Upload(const Values& values) = 0;
  // The result at all instances. InvalidArgument if an operand is read outside of its extents.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Run(const Application& application) = 0;
  // As RoundTensor (rounding.h), of each `local` elements by themselves.
  virtual absl::Status Round(Buffer* buffer, sdfg::DType dtype, int64_t local) = 0;
  // Into values of the same storage and size.
  virtual absl::Status Download(const Buffer& buffer, Values* values) = 0;
};

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_BACKEND_H_
