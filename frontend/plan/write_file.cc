#include "frontend/plan/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace planproof::plan {
namespace {

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::NotFoundError(absl::StrCat(path, ": cannot be written: ", std::strerror(error)));
}

// 0, or the system's error number. Closes the file.
int WriteAndClose(int file, std::string_view content) {
  int error = 0;
  while (error == 0 && !content.empty()) {
    const ssize_t written = write(file, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

// The file to which links lead; itself if it does not exist.
std::string Resolved(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string resolved(real);
  std::free(real);
  return resolved;
}

// A new file in the same directory, and its descriptor, or -1.
int OpenBeside(const std::string& target, std::string* beside) {
  constexpr int kAttempts = 100;
  int file = -1;
  for (int i = 0; i < kAttempts && file < 0; ++i) {
    *beside = absl::StrCat(target, ".", getpid(), ".", i, ".part");
    file = open(beside->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  return file;
}

}  // namespace

absl::Status WriteFile(const std::string& path, const std::string& content) {
  struct stat before {};
  const bool exists = stat(path.c_str(), &before) == 0;
  if (exists && S_ISDIR(before.st_mode)) return CannotWrite(path, EISDIR);
  if (exists && access(path.c_str(), W_OK) != 0) return CannotWrite(path, errno);
  if (exists && !S_ISREG(before.st_mode)) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const int error = file < 0 ? errno : WriteAndClose(file, content);
    return error == 0 ? absl::OkStatus() : CannotWrite(path, error);
  }
  const std::string target = Resolved(path);
  std::string beside;
  const int file = OpenBeside(target, &beside);
  if (file < 0) return CannotWrite(path, errno);
  int error = exists && fchmod(file, before.st_mode & 07777) != 0 ? errno : 0;
  if (const int written = WriteAndClose(file, content); error == 0) error = written;
  if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(beside.c_str());
  return CannotWrite(path, error);
}

}  // namespace planproof::plan
