#include "cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/terminal.h"

namespace planproof::cli {
namespace {

constexpr std::chrono::milliseconds kFirst(300);
constexpr std::chrono::milliseconds kPeriod(100);
constexpr int64_t kWidth = 40;

}  // namespace

ProgressBar::ProgressBar() : next_(Clock::now() + kFirst) { enabled_ = CursorMoves(STDERR_FILENO); }

void ProgressBar::Update(const stages::Progress& progress) {
  const Clock::time_point now = Clock::now();
  if (!enabled_ || now < next_) return;
  next_ = now + kPeriod;
  drawn_ = true;
  const int seconds = static_cast<int>(std::chrono::duration<double>(now - start_).count());
  if (progress.total > 0) {
    const int64_t filled = std::clamp<int64_t>(progress.done * kWidth / progress.total, 0, kWidth);
    std::string bar(static_cast<size_t>(filled), '#');
    bar.resize(kWidth, '.');
    std::fprintf(stderr, "\r[%s] %lld/%lld %s, %d s\033[K", bar.c_str(),
                 static_cast<long long>(progress.done), static_cast<long long>(progress.total),
                 progress.doing.empty() ? "claims" : progress.doing.c_str(), seconds);
  } else {
    std::fprintf(stderr, "\r%s, %d s\033[K", progress.doing.c_str(), seconds);
  }
  std::fflush(stderr);
}

void ProgressBar::Clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace planproof::cli
