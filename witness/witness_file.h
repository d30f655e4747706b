// Reads and writes witnesses as files (docs/witness-format.md).
#ifndef PLANPROOF_WITNESS_WITNESS_FILE_H_
#define PLANPROOF_WITNESS_WITNESS_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "witness/witness.h"

namespace planproof::witness {

// The largest file that is written or read.
inline constexpr size_t kMaxBytes = size_t{1} << 30;

// InvalidArgument if it is no witness: two inputs of one name, values that do not fit the blocks.
// ResourceExhausted if the file would be too large.
absl::StatusOr<std::string> ToBytes(const Witness& witness);
// InvalidArgument: "/inputs/x: what is wrong" for anything that ToBytes does not write.
absl::StatusOr<Witness> FromBytes(std::string_view bytes);

absl::Status WriteFile(const std::string& path, const Witness& witness);
absl::StatusOr<Witness> ReadFile(const std::string& path);

}  // namespace planproof::witness

#endif  // PLANPROOF_WITNESS_WITNESS_FILE_H_
