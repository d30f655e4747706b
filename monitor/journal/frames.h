// Reads the frames of one journal: checked, bounded, and from a file that may still grow.
#ifndef PLANPROOF_MONITOR_JOURNAL_FRAMES_H_
#define PLANPROOF_MONITOR_JOURNAL_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace planproof::monitor {

// As files have it; others than these are skipped.
enum class FrameKind : uint8_t {
  kHeader = 1,
  kText = 2,
  kTensors = 3,
  kOptions = 4,
  kStep = 5,
  kValues = 6,
  kElements = 7,
  kLate = 8,
  kBatch = 9,
  kClose = 10,
  kNotObserved = 11,
};

inline constexpr uint64_t kMostBytesOfFrame = 16 << 20;  // of its payload

struct Frame {
  FrameKind kind{};
  absl::string_view payload;  // until the next call
  uint64_t offset = 0;        // in the file, of the frame's first byte
};

// The file is opened for each part that is read: a run may have more ranks than a process may have
// open files.
class FrameReader {
 public:
  // `chunk`: bytes that are read at once; memory is that, or the largest frame.
  explicit FrameReader(std::string path, uint64_t chunk = 1 << 20);

  // The next whole frame; none where the file ends, maybe within one (unfinished_bytes). May be
  // called again: the file may have grown. NotFound if there is no file, InvalidArgument if it is
  // no journal, has another version, a frame that is too large or whose check fails; each with
  // file and offset.
  absl::StatusOr<std::optional<Frame>> Next();

  // Bytes behind the last whole frame, as of the last call that found none.
  uint64_t unfinished_bytes() const { return buffer_.size() - at_; }
  const std::string& path() const { return path_; }

  // "PATH: at byte OFFSET: WHAT".
  absl::Status Error(uint64_t offset, absl::string_view what) const;

 private:
  // Makes `bytes` of them available if the file has them.
  absl::StatusOr<bool> Have(uint64_t bytes);
  absl::StatusOr<bool> ReadBeginning();

  std::string path_;
  uint64_t chunk_;
  std::string buffer_;
  uint64_t at_ = 0;            // in the buffer
  uint64_t buffer_start_ = 0;  // in the file
  bool begun_ = false;
};

// How many steps a file has behind those that were read: without decoding them, for telling a rank
// that is late from one that has stopped.
class StepCounter {
 public:
  explicit StepCounter(std::string path) : path_(std::move(path)) {}
  // Whole step frames in the file so far. A file that is no journal has none.
  int64_t Count();

 private:
  std::string path_;
  uint64_t offset_ = 0;
  int64_t steps_ = 0;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_FRAMES_H_
