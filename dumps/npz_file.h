// Reads numpy's archives of arrays: a zip file with one .npy member per array, stored or deflated.
#ifndef PLANPROOF_DUMPS_NPZ_FILE_H_
#define PLANPROOF_DUMPS_NPZ_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dumps/tensor_file.h"

namespace planproof::dumps {

absl::StatusOr<std::unique_ptr<TensorFile>> OpenNpz(const std::string& path);

// Of a .npy member: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. InvalidArgument
// for anything but plain little-endian numbers in row-major order.
absl::StatusOr<TensorType> ParseNpyHeader(std::string_view text);

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_NPZ_FILE_H_
