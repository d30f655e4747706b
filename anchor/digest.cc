#include "anchor/digest.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "dumps/random_access_file.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  PLAN_ASSIGN_OR_RETURN(const dumps::RandomAccessFile file, dumps::RandomAccessFile::Open(path));
  sha256_ctx context;
  sha256_init(&context);
  std::vector<char> block(size_t{1} << 20);
  for (uint64_t at = 0; at < file.size(); at += block.size()) {
    const uint64_t bytes = std::min<uint64_t>(block.size(), file.size() - at);
    PLAN_RETURN_IF_ERROR(file.Read(at, bytes, block.data()));
    sha256_update(&context, bytes, reinterpret_cast<const uint8_t*>(block.data()));
  }
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest = {};
  sha256_digest(&context, digest.size(), digest.data());
  return std::string(absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size())));
}

}  // namespace planproof::anchor
