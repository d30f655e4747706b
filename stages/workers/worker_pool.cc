#include "stages/workers/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "stages/elapsed.h"
#include "stages/workers/worker_process.h"

namespace planproof::stages {
namespace {

constexpr std::chrono::milliseconds kSamplingPeriod(10);
// The task in work and, where tasks are short, one that waits behind it, so that a worker does not
// idle for a round trip. Behind a long one it would wait while others have nothing to do.
constexpr size_t kTasksPerWorker = 2;
constexpr double kShortTaskSeconds = 0.005;
constexpr int kMaxIdleDeaths = 8;
// How far back among those that wait kin is looked for.
constexpr size_t kFarthestKin = 1024;

std::string NoWorker() {
  return std::string("no worker could be started: ") + std::strerror(errno);
}

}  // namespace

void WorkerPool::Add(int task) {
  waiting_.push_back(task);
  ++unfinished_;
}

void WorkerPool::Step(int milliseconds) {
  const int jobs = std::max(1, limits_.jobs);
  while (!waiting_.empty() && static_cast<int>(workers_.size()) < std::min(jobs, unfinished_)) {
    if (workers_.empty())
      std::fflush(nullptr);  // or children would hold copies of what is buffered
    if (!StartWorker()) {
      if (workers_.empty()) FailWaiting(NoWorker());
      break;
    }
    Feed(workers_.back(), 1);  // the others get theirs before a second one waits here
  }
  for (Worker& worker : workers_) Feed(worker, kTasksPerWorker);
  Sample();
  WaitForReplies(milliseconds);
  StopLateWorkers();
}

void WorkerPool::FailUnfinished(const std::string& reason) {
  std::vector<int> begun;
  for (const Worker& worker : workers_)
    begun.insert(begun.end(), worker.tasks.begin(), worker.tasks.end());
  StopWorkers();
  waiting_.insert(waiting_.begin(), begun.begin(), begun.end());
  FailWaiting(reason);
}

PoolUsage WorkerPool::Finish() {
  Sample();
  StopWorkers();
  usage_.peak_largest_mb = std::max(usage_.peak_largest_mb, PeakResidentMegabytes());
  usage_.peak_total_mb = std::max(usage_.peak_total_mb, usage_.peak_largest_mb);
  return usage_;
}

void WorkerPool::StopWorkers() {
  while (!workers_.empty()) RemoveWorker(workers_.size() - 1);
}

bool WorkerPool::StartWorker() {
  const auto begin = Clock::now();
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return false;
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) {
    close(sockets[0]);
    close(sockets[1]);
    return false;
  }
  if (process == 0) {
    close(sockets[0]);
    for (const Worker& other : workers_) close(other.socket);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent died before the line above
    ServeTasks(sockets[1], limits_, work_, task_name_);
  }
  close(sockets[1]);
  fcntl(sockets[0], F_SETFL, fcntl(sockets[0], F_GETFL) | O_NONBLOCK);
  Worker worker;
  worker.process = process;
  worker.socket = sockets[0];
  workers_.push_back(std::move(worker));
  ++usage_.workers_started;
  usage_.processes_s += Since(begin);
  return true;
}

// The place of the task that waits for this worker: the first of its kin, else of a kin that no
// worker is at, else of one of which more waits than this worker would need to get as far as the
// one that is at it.
std::optional<size_t> WorkerPool::NextFor(const Worker& worker) const {
  if (!limits_.kin_of) return 0;
  std::optional<size_t> of_nobody, of_others;
  std::unordered_map<int, int> waiting;
  const size_t end = std::min(waiting_.size(), kFarthestKin);
  for (size_t i = 0; i < end; ++i) {
    const int kin = KinOf(waiting_[i]);
    if (kin == worker.kin) return i;
    if (of_nobody) continue;
    const auto at_it = [kin](const Worker& other) { return other.kin == kin; };
    if (std::none_of(workers_.begin(), workers_.end(), at_it)) of_nobody = i;
    const auto times = kin_times_.find(kin);
    const bool worth =
        times == kin_times_.end() || ++waiting[kin] * times->second.last > times->second.longest;
    if (worth && !of_others) of_others = i;
  }
  return of_nobody ? of_nobody : of_others;
}

void WorkerPool::Feed(Worker& worker, size_t most) {
  while (worker.tasks.size() < most && !waiting_.empty()) {
    // Towards the end, too, a task waits for whoever is free first.
    const bool behind = !worker.tasks.empty();
    if (behind && (!worker.quick || waiting_.size() < workers_.size())) break;
    const std::optional<size_t> next = NextFor(worker);
    if (!next) break;
    const int32_t task = waiting_[*next];
    const ssize_t sent = send(worker.socket, &task, sizeof(task), MSG_NOSIGNAL);
    if (sent != sizeof(task)) break;  // it has died: its end of file follows
    if (worker.tasks.empty()) worker.started = Clock::now();
    worker.tasks.push_back(task);
    worker.kin = KinOf(task);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(*next));
  }
}

void WorkerPool::Finish(int task, TaskOutcome outcome) {
  --unfinished_;
  on_result_(task, std::move(outcome));
}

double WorkerPool::TimeoutOf(const Worker& worker) const {
  if (worker.tasks.empty()) return 0;
  return limits_.timeout_of ? limits_.timeout_of(worker.tasks.front()) : limits_.task_timeout_s;
}

int WorkerPool::PollTimeout(int milliseconds) const {
  int64_t wait = milliseconds;
  for (const Worker& worker : workers_) {
    const double timeout = TimeoutOf(worker);
    if (timeout <= 0) continue;
    const double left = timeout - Since(worker.started);
    wait = std::clamp<int64_t>(static_cast<int64_t>(left * 1000) + 1, 0, wait);
  }
  return static_cast<int>(wait);
}

void WorkerPool::WaitForReplies(int milliseconds) {
  std::vector<pollfd> polled(workers_.size());
  for (size_t i = 0; i < workers_.size(); ++i) polled[i] = {workers_[i].socket, POLLIN, 0};
  if (poll(polled.data(), polled.size(), PollTimeout(milliseconds)) <= 0) return;
  // Backwards, since a dead worker is removed from the list (and its successor put at the end).
  for (size_t i = polled.size(); i-- > 0;) {
    if (polled[i].revents != 0 && !Receive(workers_[i])) Bury(i);
  }
}

// False when the worker has died.
bool WorkerPool::Receive(Worker& worker) {
  char bytes[1 << 16];
  while (true) {
    const ssize_t got = recv(worker.socket, bytes, sizeof(bytes), 0);
    if (got > 0) {
      worker.received.append(bytes, static_cast<size_t>(got));
      if (got == sizeof(bytes)) continue;
      break;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    TakeReplies(worker);
    return false;
  }
  TakeReplies(worker);
  return true;
}

void WorkerPool::TakeReplies(Worker& worker) {
  size_t begin = 0;
  ReplyHeader header;
  while (worker.received.size() - begin >= sizeof(header)) {
    std::memcpy(&header, worker.received.data() + begin, sizeof(header));
    if (worker.received.size() - begin - sizeof(header) < header.size) break;
    TaskOutcome outcome;
    std::string bytes = worker.received.substr(begin + sizeof(header), header.size);
    if (header.failed != 0) {
      outcome.status = TaskStatus::kFailed;
      outcome.reason = "worker failed: " + bytes;
    } else {
      outcome.result = std::move(bytes);
    }
    begin += sizeof(header) + header.size;
    worker.tasks.pop_front();
    KinTimes& times = kin_times_[KinOf(header.task)];
    times.last = Since(worker.started);
    times.longest = std::max(times.longest, times.last);
    worker.quick = times.last < kShortTaskSeconds;
    worker.started = Clock::now();
    Finish(header.task, std::move(outcome));
  }
  worker.received.erase(0, begin);
}

// The worker at `index` is dead: its task failed, and a new one takes its place.
void WorkerPool::Bury(size_t index) {
  std::deque<int> tasks = std::move(workers_[index].tasks);
  const int status = RemoveWorker(index, /*kill_first=*/false);
  if (tasks.empty() && ++died_idle_ > kMaxIdleDeaths) {
    FailWaiting(NoWorker());
    return;
  }
  TaskOutcome outcome;
  outcome.status = TaskStatus::kCrashed;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    outcome.status = TaskStatus::kTimedOut;
    outcome.reason = "worker went over its limit of processor time";
  } else if (WIFSIGNALED(status)) {
    outcome.reason = "worker killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
                     strsignal(WTERMSIG(status)) + ")";
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit) {
    outcome.status = TaskStatus::kOutOfMemory;
    outcome.reason =
        "worker went over its memory limit of " + std::to_string(limits_.memory_limit_mb) + " MB";
  } else {
    outcome.reason = "worker exited with code " + std::to_string(WEXITSTATUS(status));
  }
  Replace(std::move(tasks), std::move(outcome));
}

void WorkerPool::StopLateWorkers() {
  for (size_t i = workers_.size(); i-- > 0;) {
    const double timeout = TimeoutOf(workers_[i]);
    if (timeout <= 0 || Since(workers_[i].started) < timeout) continue;
    std::deque<int> tasks = std::move(workers_[i].tasks);
    RemoveWorker(i);
    char limit[32];
    std::snprintf(limit, sizeof(limit), "%g", timeout);
    TaskOutcome outcome;
    outcome.status = TaskStatus::kTimedOut;
    outcome.reason = std::string("worker went over its time limit of ") + limit + " s";
    Replace(std::move(tasks), std::move(outcome));
  }
}

void WorkerPool::Replace(std::deque<int> tasks, TaskOutcome outcome) {
  if (!tasks.empty()) {
    const int failed = tasks.front();
    tasks.pop_front();
    waiting_.insert(waiting_.begin(), tasks.begin(), tasks.end());
    Finish(failed, std::move(outcome));
  }
}

// Returns the wait status of the worker.
int WorkerPool::RemoveWorker(size_t index, bool kill_first) {
  const auto begin = Clock::now();
  Worker& worker = workers_[index];
  close(worker.socket);
  if (kill_first) kill(worker.process, SIGKILL);
  int status = 0;
  rusage usage{};
  while (wait4(worker.process, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  usage_.peak_largest_mb = std::max(usage_.peak_largest_mb,
                                    static_cast<double>(usage.ru_maxrss) / kKilobytesPerMegabyte);
  workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
  usage_.processes_s += Since(begin);
  return status;
}

void WorkerPool::FailWaiting(const std::string& reason) {
  while (!waiting_.empty()) {
    const int task = waiting_.front();
    waiting_.pop_front();
    TaskOutcome outcome;
    outcome.status = TaskStatus::kFailed;
    outcome.reason = reason;
    Finish(task, std::move(outcome));
  }
}

void WorkerPool::Sample() {
  const Clock::time_point now = Clock::now();
  if (now - sampled_ < kSamplingPeriod && unfinished_ > 0) return;
  sampled_ = now;
  double total = ResidentMegabytes(0);
  for (const Worker& worker : workers_) total += ResidentMegabytes(worker.process);
  usage_.peak_total_mb = std::max(usage_.peak_total_mb, total);
}

}  // namespace planproof::stages
