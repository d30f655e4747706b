#include "monitor/journal/frames.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/journal/byte_cursor.h"

namespace planproof::monitor {
namespace {

constexpr absl::string_view kMagicOfJournal = "PPMONIT\n";
constexpr uint32_t kVersionOfJournal = 1;
constexpr uint64_t kBeginning = 12;    // magic and version
constexpr uint64_t kHeadOfFrame = 5;   // size and kind
constexpr uint64_t kCheckOfFrame = 4;  // behind the payload

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_regular() const {
    struct stat about {};
    return descriptor_ >= 0 && fstat(descriptor_, &about) == 0 && S_ISREG(about.st_mode);
  }
  // Appends up to `bytes` of what is at `offset`; false if it cannot be read.
  bool Append(uint64_t offset, uint64_t bytes, std::string* out) const {
    const size_t before = out->size();
    out->resize(before + bytes);
    uint64_t got = 0;
    while (got < bytes) {
      const ssize_t n = pread(descriptor_, out->data() + before + got, bytes - got,
                              static_cast<off_t>(offset + got));
      if (n < 0) return false;
      if (n == 0) break;
      got += static_cast<uint64_t>(n);
    }
    out->resize(before + got);
    return true;
  }

 private:
  int descriptor_;
};

uint32_t NumberAt(absl::string_view bytes) { return ByteCursor(bytes).Get<uint32_t>(); }

}  // namespace

FrameReader::FrameReader(std::string path, uint64_t chunk)
    : path_(std::move(path)), chunk_(chunk) {}

absl::Status FrameReader::Error(uint64_t offset, absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": at byte ", offset, ": ", what));
}

absl::StatusOr<bool> FrameReader::Have(uint64_t bytes) {
  if (buffer_.size() - at_ >= bytes) return true;
  buffer_.erase(0, at_);
  buffer_start_ += at_;
  at_ = 0;
  const OpenFile file(path_);
  if (!file.is_regular()) return absl::NotFoundError(absl::StrCat(path_, ": no such journal"));
  const uint64_t wanted = std::max(bytes, chunk_) - buffer_.size();
  if (!file.Append(buffer_start_ + buffer_.size(), wanted, &buffer_))
    return absl::InvalidArgumentError(absl::StrCat(path_, ": cannot be read"));
  return buffer_.size() >= bytes;
}

absl::StatusOr<bool> FrameReader::ReadBeginning() {
  if (begun_) return true;
  const absl::StatusOr<bool> there = Have(kBeginning);
  if (!there.ok()) return there;
  const absl::string_view bytes = absl::string_view(buffer_).substr(0, kBeginning);
  const size_t known = std::min(bytes.size(), kMagicOfJournal.size());
  if (bytes.substr(0, known) != kMagicOfJournal.substr(0, known))
    return Error(0, "no journal of a training run (planproof.torch.monitor writes one)");
  if (!*there) return false;
  const uint32_t version = NumberAt(bytes.substr(kMagicOfJournal.size()));
  if (version != kVersionOfJournal) {
    return Error(kMagicOfJournal.size(),
                 absl::StrCat("version ", version, " of journals; this program reads version ",
                              kVersionOfJournal));
  }
  at_ = kBeginning;
  begun_ = true;
  return true;
}

absl::StatusOr<std::optional<Frame>> FrameReader::Next() {
  absl::StatusOr<bool> there = ReadBeginning();
  if (!there.ok()) return there.status();
  if (*there) there = Have(kHeadOfFrame);
  if (!there.ok()) return there.status();
  if (!*there) return std::nullopt;
  const uint64_t offset = buffer_start_ + at_;
  const uint64_t size = NumberAt(absl::string_view(buffer_).substr(at_, 4));
  if (size > kMostBytesOfFrame) {
    return Error(offset, absl::StrCat("a frame of ", size, " bytes; at most ", kMostBytesOfFrame,
                                      " are allowed (is the file damaged?)"));
  }
  there = Have(kHeadOfFrame + size + kCheckOfFrame);
  if (!there.ok()) return there.status();
  if (!*there) return std::nullopt;
  const absl::string_view frame =
      absl::string_view(buffer_).substr(at_, kHeadOfFrame + size + kCheckOfFrame);
  const absl::string_view checked = frame.substr(4, 1 + size);
  const uint32_t check = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
  if (check != NumberAt(frame.substr(kHeadOfFrame + size)))
    return Error(offset, "the check of a frame fails: the file is damaged from here on");
  at_ += frame.size();
  return Frame{.kind = static_cast<FrameKind>(frame[4]),
               .payload = frame.substr(kHeadOfFrame, size),
               .offset = offset};
}

int64_t StepCounter::Count() {
  const OpenFile file(path_);
  if (!file.is_regular()) return steps_;
  if (offset_ == 0) offset_ = kBeginning;
  for (std::string head;; head.clear()) {
    // The next frame's first byte says that this one is whole, but for the last in the file.
    if (!file.Append(offset_, kHeadOfFrame, &head) || head.size() < kHeadOfFrame) return steps_;
    const uint64_t size = NumberAt(head);
    if (size > kMostBytesOfFrame) return steps_;
    const FrameKind kind = static_cast<FrameKind>(head[4]);
    std::string last;
    if (!file.Append(offset_ + kHeadOfFrame + size + kCheckOfFrame - 1, 1, &last) || last.empty())
      return steps_;
    steps_ += kind == FrameKind::kStep;
    offset_ += kHeadOfFrame + size + kCheckOfFrame;
  }
}

}  // namespace planproof::monitor
