#include "cluster/shared_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <set>
#include <thread>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stages/workers/worker_pool.h"

namespace planproof::cluster {
namespace {

using stages::TaskOutcome;
using stages::TaskStatus;
using Clock = std::chrono::steady_clock;

// First byte of a message.
constexpr char kHello = 'H';    // jobs, fingerprint: ready for work
constexpr char kBeat = 'B';     // alive
constexpr char kResult = 'R';   // task, status, result or reason
constexpr char kTasks = 'T';    // numbers of tasks
constexpr char kDone = 'D';     // no more work
constexpr char kGoodbye = 'G';  // no more answers
constexpr char kEnd = 'E';      // orderly or not
constexpr char kOrderly = '1', kInDisorder = '0';

constexpr int kPollMilliseconds = 1;
// Tasks that wait at a process for each of its jobs, to bridge the way of a message.
constexpr size_t kTasksPerJob = 2;

void PutNumber(int32_t number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// The number at this position; 0 past the end.
int32_t NumberAt(const std::string& bytes, size_t at) {
  int32_t number = 0;
  if (at + sizeof(number) <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

constexpr size_t kNumber = sizeof(int32_t);

Clock::time_point After(double seconds) {
  return Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::string ResultMessage(int task, const TaskOutcome& outcome) {
  std::string message(1, kResult);
  PutNumber(task, &message);
  PutNumber(static_cast<int32_t>(outcome.status), &message);
  return message + (outcome.status == TaskStatus::kDone ? outcome.result : outcome.reason);
}

TaskOutcome OutcomeIn(const std::string& message) {
  TaskOutcome outcome;
  const int32_t status = NumberAt(message, 1 + kNumber);
  std::string text = message.size() > 1 + 2 * kNumber ? message.substr(1 + 2 * kNumber) : "";
  if (status == static_cast<int32_t>(TaskStatus::kDone)) {
    outcome.result = std::move(text);
  } else {
    const bool known = status > 0 && status <= static_cast<int32_t>(TaskStatus::kOutOfMemory);
    outcome.status = known ? static_cast<TaskStatus>(status) : TaskStatus::kFailed;
    outcome.reason = std::move(text);
  }
  return outcome;
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
    std::string message;
    while (port_->Receive(&from, &message)) {
      if (from <= 0 || static_cast<size_t>(from) >= servers.size() || message.empty()) continue;
      Server& server = servers[static_cast<size_t>(from)];
      server.heard = Clock::now();
      if (message[0] == kHello) {
        server.ready = message.substr(1 + kNumber) == tasks.fingerprint;
        server.most_tasks =
            kTasksPerJob * static_cast<size_t>(std::clamp(NumberAt(message, 1), 1, 1024));
        if (!server.ready)
          warnings_.push_back(absl::StrCat("process ", from,
                                           " has another plan, other options or another version of "
                                           "the program; it was given no work"));
      } else if (message[0] == kResult && server.ready) {
        const int task = NumberAt(message, 1);
        server.tasks.erase(task);
        finish(task, OutcomeIn(message));
      }
    }
    for (size_t rank = 1; rank < servers.size(); ++rank) {
      Server& server = servers[rank];
      if (!server.ready || server.lost) continue;
      std::string message(1, kTasks);
      while (server.tasks.size() < server.most_tasks && !waiting.empty()) {
        if (open.count(waiting.front()) != 0 && server.tasks.insert(waiting.front()).second)
          PutNumber(waiting.front(), &message);
        waiting.pop_front();
      }
      const bool sent = message.size() == 1 || port_->Send(static_cast<int>(rank), message);
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
  std::string hello(1, kHello);
  PutNumber(limits.jobs, &hello);
  port_->Send(0, hello + tasks.fingerprint);
  const std::function<void(int, TaskOutcome)> answer = [&](int task, TaskOutcome outcome) {
    port_->Send(0, ResultMessage(task, outcome));
  };
  stages::WorkerPool pool(limits, tasks.work, answer, tasks.name);
  Clock::time_point beat = Clock::now();
  while (!dismissed_) {
    int from = 0;
    std::string message;
    while (!dismissed_ && port_->Receive(&from, &message)) {
      if (from != 0 || message.empty()) continue;
      dismissed_ = message[0] == kDone;
      if (message[0] != kTasks) continue;
      for (size_t at = 1; at + kNumber <= message.size(); at += kNumber)
        pool.Add(NumberAt(message, at));
    }
    pool.Step(kPollMilliseconds);
    if (std::chrono::duration<double>(Clock::now() - beat).count() < options_.beat_s) continue;
    beat = Clock::now();
    if (!port_->Send(0, std::string(1, kBeat))) dismissed_ = broken_ = true;  // nobody leads
  }
  return pool.Finish();
}

void SharedExecutor::DismissServers() {
  if (std::exchange(dismissed_, true)) return;
  for (int rank = 1; rank < port_->processes(); ++rank) port_->Send(rank, std::string(1, kDone));
}

// Waits for a message; false when time is up.
bool SharedExecutor::Receive(int* from, std::string* message, Clock::time_point until) {
  while (!port_->Receive(from, message)) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
  }
  return true;
}

bool SharedExecutor::AllSayGoodbye() {
  const auto until = After(options_.goodbye_s);
  std::set<int> gone;
  int from = 0;
  std::string message;
  while (static_cast<int>(gone.size()) < port_->processes() - 1) {
    if (!Receive(&from, &message, until)) return false;
    if (!message.empty() && message[0] == kGoodbye) gone.insert(from);
  }
  return true;
}

void SharedExecutor::WaitForDismissal() {
  int from = 0;
  std::string message;
  while (!dismissed_) {
    if (Receive(&from, &message, Clock::time_point::max()))
      dismissed_ = from == 0 && !message.empty() && message[0] == kDone;
  }
}

// Whether the one that leads says that the end is orderly.
bool SharedExecutor::WaitForEnd() {
  const auto until = After(2 * options_.goodbye_s);
  int from = 0;
  std::string message;
  while (Receive(&from, &message, until)) {
    if (from == 0 && message.size() == 2 && message[0] == kEnd) return message[1] == kOrderly;
  }
  return false;
}

SharedExecutor::~SharedExecutor() {
  if (!Leads()) {
    WaitForDismissal();
    if (!broken_) port_->Send(0, std::string(1, kGoodbye));
    if (!broken_ && WaitForEnd()) port_->Finish();
    return;
  }
  DismissServers();
  const bool orderly = !broken_ && AllSayGoodbye();
  for (int rank = 1; rank < port_->processes(); ++rank)
    port_->Send(rank, std::string(1, kEnd) + (orderly ? kOrderly : kInDisorder));
  if (orderly) {
    port_->Finish();
  } else {
    // A launcher that is ending the job stops passing output on when this process ends.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace planproof::cluster
