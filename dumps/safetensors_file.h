// Reads files of the safetensors layout: 8 bytes with the length of the header, the header in JSON,
// the elements.
#ifndef PLANPROOF_DUMPS_SAFETENSORS_FILE_H_
#define PLANPROOF_DUMPS_SAFETENSORS_FILE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dumps/random_access_file.h"
#include "dumps/tensor_file.h"

namespace planproof::dumps {

// InvalidArgument unless the tensors lie one after another and fill the file.
absl::StatusOr<std::unique_ptr<TensorFile>> OpenSafetensors(RandomAccessFile file);

struct TensorBytes {
  TensorType type;
  std::string bytes;  // of the elements, little-endian and row-major
};
absl::Status WriteSafetensors(const std::string& path,
                              const std::map<std::string, TensorBytes>& tensors);

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_SAFETENSORS_FILE_H_
