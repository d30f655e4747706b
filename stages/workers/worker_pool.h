// Runs the parent's side of worker processes that take tasks as they come (process_pool.h says why
// there are processes, worker_process.h is their inside).
#ifndef PLANPROOF_STAGES_WORKERS_WORKER_POOL_H_
#define PLANPROOF_STAGES_WORKERS_WORKER_POOL_H_

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "stages/workers/process_pool.h"

namespace planproof::stages {

inline constexpr double kKilobytesPerMegabyte = 1024;

class WorkerPool {
 public:
  // The functions are those of RunInWorkers; they must live as long as the pool.
  WorkerPool(const WorkerLimits& limits, const std::function<std::string(int)>& work,
             const std::function<void(int, TaskOutcome)>& on_result,
             const std::function<std::string(int)>& task_name)
      : limits_(limits), work_(work), on_result_(on_result), task_name_(task_name) {}
  ~WorkerPool() { StopWorkers(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Add(int task);
  // Starts workers where tasks wait for one, hands out tasks, waits at most so long for replies and
  // passes them on.
  void Step(int milliseconds);
  int unfinished() const { return unfinished_; }
  // Ends the workers; every task that is not finished fails for this reason.
  void FailUnfinished(const std::string& reason);
  // Ends the workers. What they used, up to now.
  PoolUsage Finish();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kNoKin = -1;
  struct Worker {
    int process = -1;
    int socket = -1;
    std::deque<int> tasks;      // sent and not answered; the first one is in work
    Clock::time_point started;  // when the first one began
    std::string received;       // bytes of an incomplete reply
    int kin = kNoKin;           // of the last task sent
    bool quick = false;         // its last task was a short one
  };

  bool StartWorker();
  void Feed(Worker& worker, size_t most);
  int KinOf(int task) const { return limits_.kin_of ? limits_.kin_of(task) : kNoKin; }
  std::optional<size_t> NextFor(const Worker& worker) const;
  void Finish(int task, TaskOutcome outcome);
  double TimeoutOf(const Worker& worker) const;  // of the task in work; 0: none
  int PollTimeout(int milliseconds) const;
  void WaitForReplies(int milliseconds);
  bool Receive(Worker& worker);
  void TakeReplies(Worker& worker);
  void Bury(size_t index);
  void StopLateWorkers();
  void Replace(std::deque<int> tasks, TaskOutcome outcome);
  int RemoveWorker(size_t index, bool kill_first = true);
  void StopWorkers();
  void FailWaiting(const std::string& reason);
  void Sample();

  const WorkerLimits limits_;
  const std::function<std::string(int)>& work_;
  const std::function<void(int, TaskOutcome)>& on_result_;
  const std::function<std::string(int)>& task_name_;
  std::deque<int> waiting_;
  std::vector<Worker> workers_;
  struct KinTimes {
    double longest = 0, last = 0;  // that a task took, in seconds
  };
  std::unordered_map<int, KinTimes> kin_times_;
  int unfinished_ = 0;
  int died_idle_ = 0;  // workers that died without a task: something is wrong with all of them
  PoolUsage usage_;
  Clock::time_point sampled_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_WORKER_POOL_H_
