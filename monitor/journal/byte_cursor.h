// Reads little-endian numbers from a payload; what is not there makes it fail, once and for all.
#ifndef PLANPROOF_MONITOR_JOURNAL_BYTE_CURSOR_H_
#define PLANPROOF_MONITOR_JOURNAL_BYTE_CURSOR_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"

namespace planproof::monitor {

static_assert(std::endian::native == std::endian::little, "journals are little-endian");

class ByteCursor {
 public:
  explicit ByteCursor(absl::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T Get() {
    T value{};
    if (!Holds(sizeof(T))) return value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }

  // A column of `count` numbers; empty if there are fewer.
  template <class T>
  std::vector<T> Column(uint64_t count) {
    std::vector<T> column;
    if (count > bytes_.size() / sizeof(T)) ok_ = false;
    if (!ok_) return column;
    column.resize(count);
    if (count > 0) std::memcpy(column.data(), bytes_.data(), count * sizeof(T));
    bytes_.remove_prefix(count * sizeof(T));
    return column;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  uint64_t left() const { return bytes_.size(); }

 private:
  bool Holds(size_t size) {
    ok_ = ok_ && bytes_.size() >= size;
    return ok_;
  }

  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_BYTE_CURSOR_H_
