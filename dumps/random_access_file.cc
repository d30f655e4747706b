#include "dumps/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::dumps {

absl::StatusOr<RandomAccessFile> RandomAccessFile::Open(const std::string& path) {
  // A pipe would wait for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR))
    return absl::NotFoundError(absl::StrCat(path, ": there is no such file"));
  if (descriptor < 0) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be opened"));
  struct stat about = {};
  const bool known = fstat(descriptor, &about) == 0;
  RandomAccessFile file(path, descriptor, known ? static_cast<uint64_t>(about.st_size) : 0);
  if (!known || !S_ISREG(about.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": it is no file"));
  return file;
}

RandomAccessFile::RandomAccessFile(std::string path, int descriptor, uint64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

RandomAccessFile::RandomAccessFile(RandomAccessFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status RandomAccessFile::Read(uint64_t offset, uint64_t bytes, char* out) const {
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(descriptor_, out + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": ", bytes, " bytes at ", offset, " cannot be read; dump it again"));
    }
    done += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, uint64_t most) {
  PLAN_ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  if (file.size() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": it has ", file.size(), " bytes; such a file has at most ", most));
  }
  std::string content(file.size(), '\0');
  PLAN_RETURN_IF_ERROR(file.Read(0, file.size(), content.data()));
  return content;
}

}  // namespace planproof::dumps
