// Computes digests of files, by which values are bound to their trace.
#ifndef PLANPROOF_ANCHOR_DIGEST_H_
#define PLANPROOF_ANCHOR_DIGEST_H_

#include <string>

#include "absl/status/statusor.h"

namespace planproof::anchor {

// Returns the digest in hexadecimal, lower case. Errors are those of RandomAccessFile
// (dumps/random_access_file.h).
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_DIGEST_H_
