// A progress bar on a terminal, and nothing anywhere else.
#ifndef PLANPROOF_CLI_PROGRESS_BAR_H_
#define PLANPROOF_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>

namespace planproof::cli {

class ProgressBar {
 public:
  // Draws on standard error if that is a terminal, and only for runs longer than a moment.
  ProgressBar();
  ~ProgressBar() { Clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(int64_t done, int64_t total);
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_ = false;
  bool drawn_ = false;
  Clock::time_point next_;
};

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_PROGRESS_BAR_H_
