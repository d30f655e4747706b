#include "monitor/traincheck/lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::monitor::traincheck {
namespace {
constexpr size_t kLineBuffer = size_t{1} << 20;
constexpr size_t kLineLimit = size_t{16} << 20;
}  // namespace

Lines::Lines(std::string file) : file_(std::move(file)), buffer_(kLineBuffer) {
  descriptor_ = open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    status_ =
        absl::NotFoundError(absl::StrCat(file_, ": cannot be opened: ", std::strerror(errno)));
    at_end_ = true;
  }
}

Lines::~Lines() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Lines::Fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLineLimit) {
      status_ = absl::InvalidArgumentError(absl::StrCat(
          file_, ":", number_ + 1, ": is longer than 16 MiB: is it a trace of TrainCheck?"));
      at_end_ = true;
      begin_ = end_ = 0;
      return false;
    }
    buffer_.resize(2 * buffer_.size());
  }
  ssize_t read_bytes;
  do {
    read_bytes = read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
  } while (read_bytes < 0 && errno == EINTR);
  if (read_bytes < 0)
    status_ = absl::DataLossError(absl::StrCat(file_, ": cannot be read: ", std::strerror(errno)));
  if (read_bytes <= 0) {
    at_end_ = true;
    return false;
  }
  end_ += static_cast<size_t>(read_bytes);
  return true;
}

bool Lines::Next(std::string_view* line) {
  size_t searched = begin_;
  for (;;) {
    const void* found = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (found != nullptr) {
      const size_t at = static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
      *line = std::string_view(buffer_.data() + begin_, at - begin_);
      begin_ = at + 1;
      ++number_;
      return true;
    }
    const size_t length = end_ - begin_;
    if (!Fill()) break;
    searched = begin_ + length;
  }
  if (!status_.ok() || begin_ == end_) return false;
  *line = std::string_view(buffer_.data() + begin_, end_ - begin_);
  begin_ = end_;
  ended_ = false;
  ++number_;
  return true;
}

}  // namespace planproof::monitor::traincheck
