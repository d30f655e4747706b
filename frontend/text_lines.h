// Reads text files whose lines are words and, behind them, numbers.
#ifndef PLANPROOF_FRONTEND_TEXT_LINES_H_
#define PLANPROOF_FRONTEND_TEXT_LINES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace planproof::frontend {

// The status with "PLACE: " before its message.
absl::Status At(const std::string& place, const absl::Status& status);

struct TextLine {
  std::vector<std::string> words;  // at least one
  std::vector<int64_t> numbers;    // what stands last on the line, as far as it is digits
};

// Calls `add` for each line of the file, in order, but not for empty ones and those that start with
// '#'. The first error ends it, with "PATH:LINE: " before it; also those of ReadWholeFile.
absl::Status ReadTextLines(const std::string& path, int64_t max_bytes,
                           const std::function<absl::Status(const TextLine&)>& add);

}  // namespace planproof::frontend

#endif  // PLANPROOF_FRONTEND_TEXT_LINES_H_
