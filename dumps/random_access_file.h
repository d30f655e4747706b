// Reads parts of a regular file.
#ifndef PLANPROOF_DUMPS_RANDOM_ACCESS_FILE_H_
#define PLANPROOF_DUMPS_RANDOM_ACCESS_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planproof::dumps {

class RandomAccessFile {
 public:
  // NotFound if there is none; InvalidArgument if it is no regular file, or cannot be read.
  static absl::StatusOr<RandomAccessFile> Open(const std::string& path);
  RandomAccessFile(RandomAccessFile&& other) noexcept;
  RandomAccessFile& operator=(RandomAccessFile&&) = delete;
  ~RandomAccessFile();

  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // InvalidArgument if the file does not hold these bytes (any more).
  absl::Status Read(uint64_t offset, uint64_t bytes, char* out) const;

 private:
  RandomAccessFile(std::string path, int descriptor, uint64_t size);

  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// The whole file. InvalidArgument if it has more than `most` bytes.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, uint64_t most);

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_RANDOM_ACCESS_FILE_H_
