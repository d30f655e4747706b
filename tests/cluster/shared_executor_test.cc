// Several processes decide the tasks of one run: each task once, whoever is lost on the way.
#include "cluster/shared_executor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

namespace planproof::cluster {
namespace {

using stages::TaskOutcome;
using stages::TaskSet;
using stages::TaskStatus;
using stages::WorkerLimits;

// Processes on one machine, joined in a star by sockets that keep the borders of messages.
class SocketPort : public MessagePort {
 public:
  SocketPort(int rank, int processes, std::vector<int> sockets)
      : rank_(rank), processes_(processes), sockets_(std::move(sockets)) {}
  int rank() const override { return rank_; }
  int processes() const override { return processes_; }
  bool Send(int to, const std::string& bytes) override {
    return send(Socket(to), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool Receive(int* from, std::string* bytes) override {
    for (int other = 0; other < processes_; ++other) {
      if (other == rank_ || (rank_ != 0 && other != 0)) continue;
      char buffer[4096];
      const ssize_t got = recv(Socket(other), buffer, sizeof(buffer), MSG_DONTWAIT);
      if (got <= 0) continue;
      *from = other;
      bytes->assign(buffer, static_cast<size_t>(got));
      return true;
    }
    return false;
  }
  void Finish() override {}

 private:
  int Socket(int other) const { return sockets_[static_cast<size_t>(rank_ == 0 ? other : 0)]; }
  int rank_, processes_;
  std::vector<int> sockets_;  // of process 0: one for each other; else: one, to process 0
};

struct Helper {
  pid_t process;
  int socket;
};

constexpr SharingOptions kImpatient = {.beat_s = 0.05, .silence_s = 0.6, .goodbye_s = 0.6};

// Where a task was done, and how often the leader was told.
struct Done {
  std::map<int, int> times;
  std::map<int, std::string> answers;
  std::map<int, TaskStatus> status;
};

TaskSet Tasks(int rank, int count, Done* done, int microseconds = 2000) {
  TaskSet tasks;
  for (int t = 0; t < count; ++t) tasks.numbers.push_back(t * 3);
  tasks.fingerprint = "plan 1";
  tasks.work = [rank, microseconds](int task) {
    usleep(static_cast<useconds_t>(microseconds));
    return std::to_string(task * task) + " by " + std::to_string(rank);
  };
  tasks.on_result = [done](int task, TaskOutcome outcome) {
    ++done->times[task];
    done->answers[task] = outcome.result;
    done->status[task] = outcome.status;
  };
  tasks.name = [](int task) { return std::to_string(task); };
  return tasks;
}

// Starts the other processes; `behave` runs in each.
template <typename Behave>
std::unique_ptr<MessagePort> Start(int processes, Behave behave, std::vector<Helper>* helpers) {
  std::vector<int> sockets = {-1};
  for (int rank = 1; rank < processes; ++rank) {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(pair[0]);
      behave(rank, std::make_unique<SocketPort>(rank, processes, std::vector<int>{pair[1]}));
      _exit(0);
    }
    close(pair[1]);
    helpers->push_back({child, pair[0]});
    sockets.push_back(pair[0]);
  }
  return std::make_unique<SocketPort>(0, processes, sockets);
}

void ServeWell(int rank, std::unique_ptr<MessagePort> port) {
  Done none;
  SharedExecutor executor(std::move(port), kImpatient);
  WorkerLimits limits;
  limits.jobs = 2;
  executor.Run(Tasks(rank, 0, &none), limits);
}

void Reap(const std::vector<Helper>& helpers) {
  for (const Helper& helper : helpers) {
    int status = 0;
    EXPECT_EQ(waitpid(helper.process, &status, 0), helper.process);
    close(helper.socket);
  }
}

void ExpectAllDone(const Done& done, int count) {
  EXPECT_EQ(done.times.size(), static_cast<size_t>(count));
  for (const auto& [task, times] : done.times) {
    EXPECT_EQ(times, 1) << task;
    EXPECT_EQ(done.answers.at(task).rfind(std::to_string(task * task) + " by ", 0), 0u)
        << done.answers.at(task);
  }
}

int DoneBy(const Done& done, int rank) {
  int count = 0;
  for (const auto& [task, answer] : done.answers)
    count += answer.ends_with(" by " + std::to_string(rank));
  return count;
}

TEST(SharedExecutor, ProcessesShareTheTasks) {
  std::vector<Helper> helpers;
  auto port = Start(3, ServeWell, &helpers);
  Done done;
  {
    SharedExecutor executor(std::move(port), kImpatient);
    executor.Run(Tasks(0, 200, &done), WorkerLimits{});
    EXPECT_TRUE(executor.warnings().empty());
  }
  Reap(helpers);
  ExpectAllDone(done, 200);
  for (int rank : {0, 1, 2}) EXPECT_GT(DoneBy(done, rank), 0) << rank;
}

TEST(SharedExecutor, TheTasksOfALostProcessAreDoneByOthers) {
  std::vector<Helper> helpers;
  auto port = Start(3, ServeWell, &helpers);
  Done done;
  std::vector<std::string> warnings;
  {
    SharedExecutor executor(std::move(port), kImpatient);
    TaskSet tasks = Tasks(0, 300, &done, 5000);
    bool killed = false;
    const auto passed_on = tasks.on_result;
    tasks.on_result = [&](int task, TaskOutcome outcome) {
      // As soon as the second helper has shown that it works.
      if (!killed && outcome.result.ends_with(" by 2")) {
        killed = true;
        kill(helpers[1].process, SIGKILL);
      }
      passed_on(task, std::move(outcome));
    };
    executor.Run(tasks, WorkerLimits{});
    warnings = executor.warnings();
  }
  Reap(helpers);
  ExpectAllDone(done, 300);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].rfind("process 2 was lost", 0), 0u) << warnings[0];
}

TEST(SharedExecutor, AProcessWithAnotherPlanIsGivenNothing) {
  std::vector<Helper> helpers;
  auto port = Start(
      3,
      [](int rank, std::unique_ptr<MessagePort> own) {
        Done none;
        SharedExecutor executor(std::move(own), kImpatient);
        TaskSet tasks = Tasks(rank, 0, &none);
        if (rank == 2) tasks.fingerprint = "plan 2";
        executor.Run(tasks, WorkerLimits{});
      },
      &helpers);
  Done done;
  {
    SharedExecutor executor(std::move(port), kImpatient);
    executor.Run(Tasks(0, 200, &done), WorkerLimits{});
    EXPECT_EQ(executor.warnings().size(), 1u);
  }
  Reap(helpers);
  ExpectAllDone(done, 200);
  EXPECT_EQ(DoneBy(done, 2), 0);
}

// A process that could not read its files never serves; it is let go all the same.
TEST(SharedExecutor, AProcessThatNeverServesIsLetGo) {
  std::vector<Helper> helpers;
  auto port = Start(
      2, [](int, std::unique_ptr<MessagePort> own) { SharedExecutor executor(std::move(own)); },
      &helpers);
  Done done;
  {
    SharedExecutor executor(std::move(port));
    executor.Run(Tasks(0, 20, &done), WorkerLimits{});
  }
  Reap(helpers);
  ExpectAllDone(done, 20);
}

TEST(SharedExecutor, FailuresOfTasksTravelWithTheirReasons) {
  std::vector<Helper> helpers;
  const auto failing = [](int rank, Done* done) {
    TaskSet tasks = Tasks(rank, 60, done, 3000);
    const auto work = tasks.work;
    tasks.work = [work](int task) {
      if (task == 6 || task == 90) raise(SIGKILL);
      return work(task);
    };
    return tasks;
  };
  auto port = Start(
      2,
      [&](int rank, std::unique_ptr<MessagePort> own) {
        Done none;
        SharedExecutor executor(std::move(own), kImpatient);
        executor.Run(failing(rank, &none), WorkerLimits{});
      },
      &helpers);
  Done done;
  {
    SharedExecutor executor(std::move(port), kImpatient);
    executor.Run(failing(0, &done), WorkerLimits{});
  }
  Reap(helpers);
  EXPECT_EQ(done.times.size(), 60u);
  for (const auto& [task, status] : done.status) {
    EXPECT_EQ(status, task == 6 || task == 90 ? TaskStatus::kCrashed : TaskStatus::kDone) << task;
  }
}

TEST(SharedExecutor, ARequestToStopLeavesTheRestInterrupted) {
  std::vector<Helper> helpers;
  auto port = Start(2, ServeWell, &helpers);
  Done done;
  stages::StopRequest stop;
  WorkerLimits limits;
  limits.stop = &stop;
  {
    SharedExecutor executor(std::move(port), kImpatient);
    TaskSet tasks = Tasks(0, 500, &done, 3000);
    const auto passed_on = tasks.on_result;
    tasks.on_result = [&](int task, TaskOutcome outcome) {
      passed_on(task, std::move(outcome));
      if (done.times.size() == 20) stop.requested = true;
    };
    executor.Run(tasks, limits);
  }
  Reap(helpers);
  EXPECT_EQ(done.times.size(), 500u);
  int finished = 0;
  for (const auto& [task, status] : done.status) finished += status == TaskStatus::kDone;
  EXPECT_GE(finished, 20);
  EXPECT_LT(finished, 100);
}

}  // namespace
}  // namespace planproof::cluster
