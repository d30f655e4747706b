#include "stages/workers/process_pool.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "stages/workers/worker_pool.h"

namespace planproof::stages {
namespace {

constexpr int kSamplingMilliseconds = 10;

}  // namespace

PoolUsage RunInWorkers(int number_of_tasks, const WorkerLimits& limits,
                       const std::function<std::string(int task)>& work,
                       const std::function<void(int task, TaskOutcome outcome)>& on_result,
                       const std::function<std::string(int task)>& task_name) {
  WorkerPool pool(limits, work, on_result, task_name);
  for (int task = 0; task < number_of_tasks; ++task) pool.Add(task);
  const StopWatch watch(limits.stop);
  while (pool.unfinished() > 0) {
    if (watch.Requested()) pool.FailUnfinished(kInterrupted);
    pool.Step(kSamplingMilliseconds);
    if (limits.while_waiting) limits.while_waiting();
  }
  return pool.Finish();
}

double ResidentMegabytes(int process_id) {
  char path[48];
  if (process_id == 0) {
    std::snprintf(path, sizeof(path), "/proc/self/statm");
  } else {
    std::snprintf(path, sizeof(path), "/proc/%d/statm", process_id);
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[96] = {0};
  const ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  if (got <= 0) return 0;
  char* end = nullptr;
  std::strtoull(text, &end, 10);
  const uint64_t pages = std::strtoull(end, nullptr, 10);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double PeakResidentMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / kKilobytesPerMegabyte;
}

}  // namespace planproof::stages
