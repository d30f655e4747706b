// Decompresses gzip files, within limits.
#ifndef PLANPROOF_FRONTEND_TORCH_GZIP_FILE_H_
#define PLANPROOF_FRONTEND_TORCH_GZIP_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace planproof::frontend::torch {

// The contents. Errors: NotFound if it cannot be opened, ResourceExhausted if it is larger than
// `most_packed` or its contents than `most` bytes, InvalidArgument if it is damaged, cut short or
// no gzip file.
absl::StatusOr<std::string> ReadGzipFile(const std::string& path, int64_t most_packed,
                                         int64_t most);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_GZIP_FILE_H_
