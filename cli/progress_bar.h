// Draws a progress bar on a terminal, and nothing anywhere else.
#ifndef PLANPROOF_CLI_PROGRESS_BAR_H_
#define PLANPROOF_CLI_PROGRESS_BAR_H_

#include <chrono>

#include "stages/options.h"

namespace planproof::cli {

class ProgressBar {
 public:
  // Draws on standard error if that is a terminal, and only for runs longer than a moment.
  ProgressBar();
  ~ProgressBar() { Clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Also says for how long the run has lasted: it is alive, whatever one claim takes.
  void Update(const stages::Progress& progress);
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_ = false;
  bool drawn_ = false;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_PROGRESS_BAR_H_
