// SHA-256 of a file.
#ifndef PLANPROOF_ANCHOR_DIGEST_H_
#define PLANPROOF_ANCHOR_DIGEST_H_

#include <string>

#include "absl/status/statusor.h"

namespace planproof::anchor {

// In hexadecimal, lower case. Errors as RandomAccessFile's (dumps/random_access_file.h).
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_DIGEST_H_
