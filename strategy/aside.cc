#include "strategy/aside.h"

#include <algorithm>
#include <utility>

namespace planproof::strategy {

namespace {

// What is left of a processor, at worst, on a machine that is busy.
constexpr double kBusy = 5;

}  // namespace

std::vector<stages::TaskOutcome> RunAside(const stages::VerifyOptions& options,
                                          const std::vector<Aside>& tasks, stages::Result* result) {
  std::vector<stages::TaskOutcome> outcomes(tasks.size());
  const auto limit = [&](int k) {
    return tasks[static_cast<size_t>(k)].seconds + options.stage_timeout_s;
  };
  size_t done = 0;
  stages::WorkerLimits limits;
  limits.jobs = 1;
  limits.memory_limit_mb = options.memory_limit_mb;
  limits.stop = options.stop;
  limits.processor_time_of = limit;
  limits.timeout_of = [&](int k) { return kBusy * limit(k); };
  limits.while_waiting = [&] {
    if (options.progress && done < tasks.size()) options.progress({tasks[done].name});
  };
  const stages::PoolUsage usage = stages::RunInWorkers(
      static_cast<int>(tasks.size()), limits,
      [&](int k) { return tasks[static_cast<size_t>(k)].work(); },
      [&](int k, stages::TaskOutcome outcome) {
        outcomes[static_cast<size_t>(k)] = std::move(outcome);
        ++done;
      },
      [&](int k) { return tasks[static_cast<size_t>(k)].name; });
  result->peak_rss_mb.total = std::max(result->peak_rss_mb.total, usage.peak_total_mb);
  result->peak_rss_mb.largest = std::max(result->peak_rss_mb.largest, usage.peak_largest_mb);
  result->time_s.workers += usage.processes_s;
  return outcomes;
}

}  // namespace planproof::strategy
