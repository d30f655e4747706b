// Measures wall-clock time, for reports.
#ifndef PLANPROOF_STAGES_ELAPSED_H_
#define PLANPROOF_STAGES_ELAPSED_H_

#include <chrono>

namespace planproof::stages {

// Seconds since `start`.
inline double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ELAPSED_H_
