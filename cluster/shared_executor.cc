#include "cluster/shared_executor.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <thread>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/message.pb.h"
#include "stages/workers/worker_pool.h"

namespace planproof::cluster {
namespace {

using stages::TaskOutcome;
using stages::TaskStatus;
using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 1;
// Tasks that wait at a process for each of its jobs, to bridge the way of a message.
constexpr size_t kTasksPerJob = 2;

Clock::time_point After(double seconds) {
  return Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

static_assert(static_cast<int>(TaskStatus::kDone) == wire::TASK_DONE &&
              static_cast<int>(TaskStatus::kFailed) == wire::TASK_FAILED &&
              static_cast<int>(TaskStatus::kCrashed) == wire::TASK_CRASHED &&
              static_cast<int>(TaskStatus::kTimedOut) == wire::TASK_TIMED_OUT &&
              static_cast<int>(TaskStatus::kOutOfMemory) == wire::TASK_OUT_OF_MEMORY);

wire::Message ResultMessage(int task, TaskOutcome outcome) {
  wire::Message message;
  wire::Result* result = message.mutable_result();
  result->set_task(task);
  result->set_status(static_cast<wire::TaskStatus>(outcome.status));
  if (outcome.status == TaskStatus::kDone) {
    result->set_result(std::move(outcome.result));
  } else {
    result->set_reason(std::move(outcome.reason));
  }
  return message;
}

TaskOutcome OutcomeIn(const wire::Result& result) {
  TaskOutcome outcome;
  if (result.status() == wire::TASK_DONE) {
    outcome.result = result.result();
  } else {
    const bool known = wire::TaskStatus_IsValid(result.status());
    outcome.status = known ? static_cast<TaskStatus>(result.status()) : TaskStatus::kFailed;
    outcome.reason = result.reason();
  }
  return outcome;
}

wire::Message Beat() {
  wire::Message message;
  message.mutable_beat();
  return message;
}

wire::Message NoMoreWork() {
  wire::Message message;
  message.mutable_done();
  return message;
}

wire::Message Goodbye() {
  wire::Message message;
  message.mutable_goodbye();
  return message;
}

wire::Message End(bool orderly) {
  wire::Message message;
  message.mutable_end()->set_orderly(orderly);
  return message;
}

bool Send(MessagePort* port, int to, const wire::Message& message) {
  return port->Send(to, message.SerializeAsString());
}

// The next one. What is no message has no kind.
bool ReceiveFrom(MessagePort* port, int* from, wire::Message* message) {
  std::string bytes;
  if (!port->Receive(from, &bytes)) return false;
  if (!message->ParseFromString(bytes)) message->Clear();
  return true;
}

// A process that serves, as the one that leads sees it.
struct Server {
  bool ready = false, lost = false;
  size_t most_tasks = 0;
  std::set<int> tasks;  // given and not answered
  Clock::time_point heard;
};

}  // namespace

stages::PoolUsage SharedExecutor::Run(const stages::TaskSet& tasks,
                                      const stages::WorkerLimits& limits) {
  if (!Leads()) return Serve(tasks, limits);
  stages::PoolUsage usage = Lead(tasks, limits);
  DismissServers();  // what follows is not shared
  return usage;
}

stages::PoolUsage SharedExecutor::Lead(const stages::TaskSet& tasks,
                                       const stages::WorkerLimits& limits) {
  std::deque<int> waiting(tasks.numbers.begin(), tasks.numbers.end());
  std::unordered_set<int> open(tasks.numbers.begin(), tasks.numbers.end());
  const std::function<void(int, TaskOutcome)> finish = [&](int task, TaskOutcome outcome) {
    if (open.erase(task) != 0) tasks.on_result(task, std::move(outcome));  // not a late duplicate
  };
  stages::WorkerPool pool(limits, tasks.work, finish, tasks.name);
  std::vector<Server> servers(static_cast<size_t>(port_->processes()));
  const stages::StopWatch watch(limits.stop);
  const size_t own = kTasksPerJob * static_cast<size_t>(std::max(1, limits.jobs));
  while (!open.empty()) {
    if (watch.Requested()) {
      broken_ = true;  // whoever stops us has most likely stopped others
      pool.FailUnfinished(stages::kInterrupted);
      for (const int task : std::vector<int>(open.begin(), open.end()))
        finish(task, {TaskStatus::kFailed, "", stages::kInterrupted});
      break;
    }
    while (static_cast<size_t>(pool.unfinished()) < own && !waiting.empty()) {
      if (open.count(waiting.front()) != 0) pool.Add(waiting.front());
      waiting.pop_front();
    }
    pool.Step(kPollMilliseconds);
    if (limits.while_waiting) limits.while_waiting();
    int from = 0;
    wire::Message message;
    while (ReceiveFrom(port_.get(), &from, &message)) {
      if (from <= 0 || static_cast<size_t>(from) >= servers.size()) continue;
      Server& server = servers[static_cast<size_t>(from)];
      server.heard = Clock::now();
      if (message.has_hello()) {
        server.ready = message.hello().fingerprint() == tasks.fingerprint;
        server.most_tasks =
            kTasksPerJob * static_cast<size_t>(std::clamp(message.hello().jobs(), 1, 1024));
        if (!server.ready)
          warnings_.push_back(absl::StrCat("process ", from,
                                           " has another plan, other options or another version of "
                                           "the program; it was given no work"));
      } else if (message.has_result() && server.ready) {
        const int task = message.result().task();
        server.tasks.erase(task);
        finish(task, OutcomeIn(message.result()));
      }
    }
    for (size_t rank = 1; rank < servers.size(); ++rank) {
      Server& server = servers[rank];
      if (!server.ready || server.lost) continue;
      wire::Message work;
      while (server.tasks.size() < server.most_tasks && !waiting.empty()) {
        if (open.count(waiting.front()) != 0 && server.tasks.insert(waiting.front()).second)
          work.mutable_tasks()->add_numbers(waiting.front());
        waiting.pop_front();
      }
      const bool sent = !work.has_tasks() || Send(port_.get(), static_cast<int>(rank), work);
      const std::chrono::duration<double> silent = Clock::now() - server.heard;
      if (sent && silent.count() < options_.silence_s) continue;
      server.lost = broken_ = true;
      warnings_.push_back(absl::StrCat("process ", rank, " was lost; the ", server.tasks.size(),
                                       " classes that it had were decided by others"));
      waiting.insert(waiting.begin(), server.tasks.begin(), server.tasks.end());
    }
  }
  return pool.Finish();
}

stages::PoolUsage SharedExecutor::Serve(const stages::TaskSet& tasks,
                                        const stages::WorkerLimits& limits) {
  wire::Message hello;
  hello.mutable_hello()->set_jobs(limits.jobs);
  hello.mutable_hello()->set_fingerprint(tasks.fingerprint);
  Send(port_.get(), 0, hello);
  const std::function<void(int, TaskOutcome)> answer = [&](int task, TaskOutcome outcome) {
    Send(port_.get(), 0, ResultMessage(task, std::move(outcome)));
  };
  stages::WorkerPool pool(limits, tasks.work, answer, tasks.name);
  Clock::time_point beat = Clock::now();
  while (!dismissed_) {
    int from = 0;
    wire::Message message;
    while (!dismissed_ && ReceiveFrom(port_.get(), &from, &message)) {
      if (from != 0) continue;
      dismissed_ = message.has_done();
      for (const int task : message.tasks().numbers()) pool.Add(task);
    }
    pool.Step(kPollMilliseconds);
    if (std::chrono::duration<double>(Clock::now() - beat).count() < options_.beat_s) continue;
    beat = Clock::now();
    if (!Send(port_.get(), 0, Beat())) dismissed_ = broken_ = true;  // nobody leads
  }
  return pool.Finish();
}

void SharedExecutor::DismissServers() {
  if (std::exchange(dismissed_, true)) return;
  for (int rank = 1; rank < port_->processes(); ++rank) Send(port_.get(), rank, NoMoreWork());
}

// Waits for a message; false when time is up.
bool SharedExecutor::Receive(int* from, wire::Message* message, Clock::time_point until) {
  while (!ReceiveFrom(port_.get(), from, message)) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
  }
  return true;
}

bool SharedExecutor::AllSayGoodbye() {
  const auto until = After(options_.goodbye_s);
  std::set<int> gone;
  int from = 0;
  wire::Message message;
  while (static_cast<int>(gone.size()) < port_->processes() - 1) {
    if (!Receive(&from, &message, until)) return false;
    if (message.has_goodbye()) gone.insert(from);
  }
  return true;
}

void SharedExecutor::WaitForDismissal() {
  int from = 0;
  wire::Message message;
  while (!dismissed_) {
    if (Receive(&from, &message, Clock::time_point::max()))
      dismissed_ = from == 0 && message.has_done();
  }
}

// Whether the one that leads says that the end is orderly.
bool SharedExecutor::WaitForEnd() {
  const auto until = After(2 * options_.goodbye_s);
  int from = 0;
  wire::Message message;
  while (Receive(&from, &message, until)) {
    if (from == 0 && message.has_end()) return message.end().orderly();
  }
  return false;
}

SharedExecutor::~SharedExecutor() {
  if (!Leads()) {
    WaitForDismissal();
    if (!broken_) Send(port_.get(), 0, Goodbye());
    if (!broken_ && WaitForEnd()) port_->Finish();
    return;
  }
  DismissServers();
  const bool orderly = !broken_ && AllSayGoodbye();
  for (int rank = 1; rank < port_->processes(); ++rank) Send(port_.get(), rank, End(orderly));
  if (orderly) {
    port_->Finish();
  } else {
    // A launcher that is ending the job stops passing output on when this process ends.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace planproof::cluster
