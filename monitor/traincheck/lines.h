// Reads a file line by line, in memory that depends on the longest line only.
#ifndef PLANPROOF_MONITOR_TRAINCHECK_LINES_H_
#define PLANPROOF_MONITOR_TRAINCHECK_LINES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace planproof::monitor::traincheck {

// A line may have 16 MiB.
class Lines {
 public:
  explicit Lines(std::string file);
  ~Lines();
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The next line, without its end, until the next call. False at the end of the file, or when it
  // cannot be read on.
  bool Next(std::string_view* line);
  // Whether the line ends with a newline. A last one that does not may be cut off.
  bool ended() const { return ended_; }
  int64_t number() const { return number_; }  // of the line, from 1
  const absl::Status& status() const { return status_; }
  const std::string& file() const { return file_; }

 private:
  bool Fill();
  std::string file_;
  int descriptor_ = -1;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool at_end_ = false, ended_ = true;
  int64_t number_ = 0;
  absl::Status status_;
};

}  // namespace planproof::monitor::traincheck

#endif  // PLANPROOF_MONITOR_TRAINCHECK_LINES_H_
