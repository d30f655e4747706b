// Does work in forked worker processes, so that a crash, a timeout or exhausted memory costs one
// task and not the run.
//
// The workers inherit everything the parent has built (a fork, no serialisation of the input); only
// task numbers go to them and bytes come back, over one socket per worker. Tasks are handed out as
// workers become free, in order but for kin, each worker having the next one waiting already. When
// a worker dies, the task it was at is reported as failed; the one that was waiting is given to
// another worker, and a fresh worker takes the place of the dead one.
//
// The calling process must be single-threaded, and should fork before it has grown: every process
// counts the shared pages that it maps.
#ifndef PLANPROOF_STAGES_WORKERS_PROCESS_POOL_H_
#define PLANPROOF_STAGES_WORKERS_PROCESS_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace planproof::stages {

// Asks a run to stop, from a signal handler for example.
struct StopRequest {
  std::atomic<bool> requested = false;
  std::atomic<bool> watched = false;      // somebody looks at `requested` soon
  std::atomic<bool> out_of_time = false;  // why: the time for the run is over; else interrupted

  const char* Why() const { return out_of_time ? "out of time" : "interrupted"; }
};

// Looks at a request (or at none) while it lives; inside another one, too.
class StopWatch {
 public:
  explicit StopWatch(StopRequest* request)
      : request_(request), watched_before_(request != nullptr && request->watched) {
    if (request_ != nullptr) request_->watched = true;
  }
  ~StopWatch() {
    if (request_ != nullptr) request_->watched = watched_before_;
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  bool Requested() const { return request_ != nullptr && request_->requested; }

 private:
  StopRequest* request_;
  const bool watched_before_;
};

// The reason why tasks fail when a stop was requested.
inline constexpr char kInterrupted[] = "interrupted";

struct WorkerLimits {
  int jobs = 1;                           // worker processes at a time; less than 1 counts as 1
  double task_timeout_s = 0;              // 0: none
  std::function<double(int)> timeout_of;  // of single tasks, in its place; may be empty
  // Processor time that a task may use, in seconds (rounded up); may be empty. It tells an endless
  // loop from a busy machine.
  std::function<double(int)> processor_time_of;
  // Tasks with one number share work that a process does once: a worker goes on with those of its
  // last one, if some wait. May be empty.
  std::function<int(int)> kin_of;
  // What a worker may map beyond what it inherited and begins with (up to 64 MB); 0: no limit.
  int64_t memory_limit_mb = 0;
  StopRequest* stop = nullptr;  // when requested, what is not finished fails with kInterrupted
  std::function<void()>
      while_waiting;  // called now and then while results are awaited; may be empty
};

enum class TaskStatus : uint8_t {
  kDone,
  kFailed,       // the work threw an exception, or no worker could be started
  kCrashed,      // the worker ended by a signal or an exit of its own
  kTimedOut,     // killed after task_timeout_s, or when its processor time was used up
  kOutOfMemory,  // went past memory_limit_mb
};

struct TaskOutcome {
  TaskStatus status = TaskStatus::kDone;
  std::string result;  // kDone: what the work returned
  std::string reason;  // otherwise: one clause for people, "worker killed by signal 9 (Killed)"
};

// Memory of the calling process and its workers, in MiB.
struct PoolUsage {
  double peak_total_mb = 0;  // largest sum of resident sets over all processes at a sampled moment
  double peak_largest_mb = 0;  // largest resident set that any one process ever had
  int workers_started = 0;
  double processes_s = 0;  // that the caller spent on starting and stopping workers
};

// Runs work(0) .. work(number_of_tasks - 1) in worker processes; on_result is called in this
// process, once per task, in order of completion. `task_name` (may be empty) is asked, in the
// worker, only when the fault injection of tests is on: with
// PLANPROOF_TEST_WORKER_FAULT="KIND:TEXT" (several are separated by ';') in the environment, a
// worker misbehaves when it starts a task whose name contains TEXT. KIND is `kill` (SIGKILL to
// itself), `abort`, `sleep` (for ever), `spin` (the same, busily), `alloc` (memory until the limit)
// or `slow` (20 ms more than it takes, so that a run can be interrupted in the middle). It exists
// for tests only.
PoolUsage RunInWorkers(int number_of_tasks, const WorkerLimits& limits,
                       const std::function<std::string(int task)>& work,
                       const std::function<void(int task, TaskOutcome outcome)>& on_result,
                       const std::function<std::string(int task)>& task_name = nullptr);

// Resident set of one process now, in MiB (0: the calling process); 0 if it is gone.
double ResidentMegabytes(int process_id);
// The largest resident set that the calling process has had, in MiB.
double PeakResidentMegabytes();

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_PROCESS_POOL_H_
