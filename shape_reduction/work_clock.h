// Counts the processor time of this process.
//
// Limits of searches are in processor time, so that what is found does not depend on what else the
// machine is doing.
#ifndef PLANPROOF_SHAPE_REDUCTION_WORK_CLOCK_H_
#define PLANPROOF_SHAPE_REDUCTION_WORK_CLOCK_H_

#include <chrono>
#include <ctime>

namespace planproof::shape_reduction {

// A build with sanitizers does the same work in a multiple of the time.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr int kSlowdown = 6;
#else
inline constexpr int kSlowdown = 1;
#endif

struct WorkClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WorkClock>;
  static constexpr bool is_steady = true;

  static time_point now() {
    std::timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return time_point((std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec)) /
                      kSlowdown);
  }
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_WORK_CLOCK_H_
