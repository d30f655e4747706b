// Declares who decides the classes of a round: worker processes here, or processes on several
// machines.
#ifndef PLANPROOF_STAGES_WORKERS_EXECUTOR_H_
#define PLANPROOF_STAGES_WORKERS_EXECUTOR_H_

#include <functional>
#include <string>
#include <vector>

#include "stages/workers/process_pool.h"

namespace planproof::stages {

// The tasks of a round. Every process of a run that shares the work has the same tasks under the
// same numbers; `fingerprint` says so.
struct TaskSet {
  std::vector<int> numbers;  // of the tasks to be done
  std::string fingerprint;
  std::function<std::string(int task)> work;
  std::function<void(int task, TaskOutcome outcome)> on_result;
  std::function<std::string(int task)> name;
  std::function<int(int task)> kin;  // as WorkerLimits::kin_of; may be empty
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Does the tasks and passes on their results, in the process that leads the run. Any other
  // process serves the leader instead, gets no results, and returns when it is not needed any more.
  virtual PoolUsage Run(const TaskSet& tasks, const WorkerLimits& limits) = 0;
  // False in a process that only served: it has no verdict.
  virtual bool Leads() const = 0;
};

// In worker processes of this one.
PoolUsage RunLocally(const TaskSet& tasks, const WorkerLimits& limits);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_EXECUTOR_H_
