#include "stages/workers/executor.h"

namespace planproof::stages {

PoolUsage RunLocally(const TaskSet& tasks, const WorkerLimits& limits) {
  const auto number = [&tasks](int position) {
    return tasks.numbers[static_cast<size_t>(position)];
  };
  WorkerLimits with_kin = limits;
  if (tasks.kin) with_kin.kin_of = [&](int position) { return tasks.kin(number(position)); };
  return RunInWorkers(
      static_cast<int>(tasks.numbers.size()), with_kin,
      [&](int position) { return tasks.work(number(position)); },
      [&](int position, TaskOutcome outcome) {
        tasks.on_result(number(position), std::move(outcome));
      },
      [&](int position) { return tasks.name(number(position)); });
}

}  // namespace planproof::stages
