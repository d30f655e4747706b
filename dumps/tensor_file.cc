#include "dumps/tensor_file.h"

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dumps/npz_file.h"
#include "dumps/random_access_file.h"
#include "dumps/safetensors_file.h"
#include "sdfg/status_macros.h"

namespace planproof::dumps {

int64_t BytesOf(sdfg::DType dtype) {
  using sdfg::DType;
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt16:
      return 2;
    default:
      return 1;
  }
}

std::string ShapeText(const sdfg::Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::StatusOr<int64_t> CountElements(const sdfg::Shape& shape) {
  if (shape.size() > kMostDimensions) {
    return absl::InvalidArgumentError(
        absl::StrCat(shape.size(), " dimensions; a tensor has at most ", kMostDimensions));
  }
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kMostElements)
      return absl::InvalidArgumentError("an extent is negative, or there are too many elements");
  }
  return count;
}

absl::StatusOr<std::unique_ptr<TensorFile>> TensorFile::Open(const std::string& path) {
  constexpr std::string_view kArchive = "PK";  // of every zip file
  PLAN_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  std::array<char, 2> first = {};
  if (file.size() >= first.size()) {
    PLAN_RETURN_IF_ERROR(file.Read(0, first.size(), first.data()));
  }
  if (std::string_view(first.data(), first.size()) == kArchive) return OpenNpz(path);
  return OpenSafetensors(std::move(file));
}

}  // namespace planproof::dumps
