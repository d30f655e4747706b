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

void ProgressBar::Update(int64_t done, int64_t total) {
  if (!enabled_ || total <= 0 || Clock::now() < next_) return;
  next_ = Clock::now() + kPeriod;
  drawn_ = true;
  const int64_t filled = std::clamp<int64_t>(done * kWidth / total, 0, kWidth);
  std::string bar(static_cast<size_t>(filled), '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r[%s] %lld/%lld claims", bar.c_str(), static_cast<long long>(done),
               static_cast<long long>(total));
  std::fflush(stderr);
}

void ProgressBar::Clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace planproof::cli
