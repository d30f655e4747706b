// Defines limits of this program.
#ifndef PLANPROOF_SDFG_LIMIT_H_
#define PLANPROOF_SDFG_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace planproof::sdfg {

// Extents of dimensions: evaluators add and multiply indices by small numbers in 64 bits. The
// number of a tensor's elements has no limit.
inline constexpr int64_t kMaxExtent = int64_t{1} << 60;

// What is described may be right, but goes beyond what this program can handle. That is no
// contradiction in the description, which would be InvalidArgument: the verdict is UNKNOWN.
inline absl::Status BeyondLimit(const absl::AlphaNum& what, const absl::AlphaNum& value,
                                const absl::AlphaNum& most) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, ": ", value, " is beyond a limit of this program, ", most));
}

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_LIMIT_H_
