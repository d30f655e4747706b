#include "frontend/torch/gzip_file.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/load_problem.h"
#include "sdfg/limit.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

constexpr size_t kChunk = 1 << 20;

class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  bool ready() const { return ready_; }
  z_stream* stream() { return &stream_; }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
};

}  // namespace

absl::StatusOr<std::string> ReadGzipFile(const std::string& path, int64_t most_packed,
                                         int64_t most) {
  PLAN_ASSIGN_OR_RETURN(std::string packed, ReadWholeFile(path, most_packed));
  const auto damaged = [&](const char* how) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the file is ", how, "; record it again"));
  };
  Inflater inflater;
  if (!inflater.ready()) return absl::InternalError("zlib could not be started");
  z_stream* stream = inflater.stream();
  stream->next_in = reinterpret_cast<Bytef*>(packed.data());
  stream->avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const size_t filled = text.size();
    if (static_cast<int64_t>(filled) >= most) {
      return sdfg::BeyondLimit(absl::StrCat(path, ": decompressed size"), filled, most);
    }
    text.resize(filled + kChunk);
    stream->next_out = reinterpret_cast<Bytef*>(text.data() + filled);
    stream->avail_out = kChunk;
    status = inflate(stream, Z_NO_FLUSH);
    text.resize(text.size() - stream->avail_out);
    if (status == Z_BUF_ERROR || (status == Z_OK && stream->avail_in == 0 && stream->avail_out > 0))
      return damaged("cut short");
    if (status != Z_OK && status != Z_STREAM_END) return damaged("damaged, or no trace");
  }
  if (stream->avail_in > 0) return damaged("damaged: something follows its end");
  return text;
}

}  // namespace planproof::frontend::torch
