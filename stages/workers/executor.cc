#include "stages/workers/executor.h"

namespace planproof::stages {

PoolUsage RunLocally(const TaskSet& tasks, const WorkerLimits& limits) {
  const auto number = [&tasks](int position) {
    return tasks.numbers[static_cast<size_t>(position)];
  };
  return RunInWorkers(
      static_cast<int>(tasks.numbers.size()), limits,
      [&](int position) { return tasks.work(number(position)); },
      [&](int position, TaskOutcome outcome) {
        tasks.on_result(number(position), std::move(outcome));
      },
      [&](int position) { return tasks.name(number(position)); });
}

}  // namespace planproof::stages
