// Opens a file of named tensors, of which each is read when it is asked for.
//
// safetensors (https://github.com/huggingface/safetensors) or npz, numpy's archive of arrays
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). An npz holds plain
// numbers only: pickled arrays are refused, and nothing is executed.
#ifndef PLANPROOF_DUMPS_TENSOR_FILE_H_
#define PLANPROOF_DUMPS_TENSOR_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sdfg/types.h"

namespace planproof::dumps {

// What is refused: a description of tensors beyond this size, more tensors, more dimensions, and
// extents whose product is beyond 2^46.
inline constexpr uint64_t kMostHeaderBytes = uint64_t{1} << 26;
inline constexpr size_t kMostTensors = size_t{1} << 20;
inline constexpr size_t kMostDimensions = 32;
inline constexpr int64_t kMostElements = int64_t{1} << 46;

struct TensorType {
  sdfg::DType dtype = sdfg::DType::kUnknown;
  sdfg::Shape shape;
};

// Bytes of an element: 1 to 8.
int64_t BytesOf(sdfg::DType dtype);
// "[4, 8]".
std::string ShapeText(const sdfg::Shape& shape);
// Product of the extents; InvalidArgument with the limit that is exceeded.
absl::StatusOr<int64_t> CountElements(const sdfg::Shape& shape);

class TensorFile {
 public:
  // By what the file begins with. NotFound if there is none; InvalidArgument: "FILE: PLACE: what is
  // wrong".
  static absl::StatusOr<std::unique_ptr<TensorFile>> Open(const std::string& path);
  virtual ~TensorFile() = default;

  const std::map<std::string, TensorType>& tensors() const { return tensors_; }
  // The elements of a tensor of the file, little-endian and row-major.
  virtual absl::StatusOr<std::string> Read(const std::string& name) = 0;

 protected:
  std::map<std::string, TensorType> tensors_;
};

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_TENSOR_FILE_H_
