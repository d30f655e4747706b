#include "stages/workers/process_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace planproof::stages {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;  // the address sanitizer maps terabytes of shadow memory
#else
constexpr bool kSanitized = false;
#endif

std::string NameOf(int task) { return "task " + std::to_string(task); }

struct Collected {
  std::map<int, TaskOutcome> outcomes;
  PoolUsage usage;
};

Collected RunTasks(int tasks, const WorkerLimits& limits,
                   const std::function<std::string(int)>& work) {
  Collected collected;
  collected.usage = RunInWorkers(
      tasks, limits, work,
      [&](int task, TaskOutcome outcome) {
        EXPECT_TRUE(collected.outcomes.emplace(task, std::move(outcome)).second)
            << "task " << task << " answered twice";
      },
      NameOf);
  EXPECT_EQ(collected.outcomes.size(), static_cast<size_t>(tasks));
  return collected;
}

// Every task but `broken` must have its own result.
void ExpectOthersDone(const Collected& collected, const std::set<int>& broken) {
  for (const auto& [task, outcome] : collected.outcomes) {
    if (broken.contains(task)) continue;
    EXPECT_EQ(outcome.status, TaskStatus::kDone) << task << ": " << outcome.reason;
    EXPECT_EQ(outcome.result, std::to_string(task * task));
  }
}

std::string Square(int task) { return std::to_string(task * task); }

TEST(ProcessPool, ReturnsEveryResultOnce) {
  for (int jobs : {1, 2, 5}) {
    const Collected collected = RunTasks(200, {.jobs = jobs}, Square);
    ExpectOthersDone(collected, {});
    EXPECT_EQ(collected.usage.workers_started, jobs);
    EXPECT_GT(collected.usage.peak_largest_mb, 0);
    EXPECT_GE(collected.usage.peak_total_mb, collected.usage.peak_largest_mb);
  }
}

// A worker leaves a kin only where no task of it waits.
TEST(ProcessPool, TasksOfOneKinGoToOneWorkerWhileTheyLast) {
  constexpr int kKins = 4, kTasks = 120;
  for (const int jobs : {1, 2, 3, 7}) {
    std::map<std::string, std::vector<int>> by_worker;  // kin of its tasks, in order
    std::set<int> done;
    RunInWorkers(
        kTasks, {.jobs = jobs, .kin_of = [](int task) { return task % kKins; }},
        [](int task) {
          usleep(task < kKins ? 3000 : 300);
          return std::to_string(getpid());
        },
        [&](int task, TaskOutcome outcome) {
          EXPECT_EQ(outcome.status, TaskStatus::kDone);
          EXPECT_TRUE(done.insert(task).second);
          by_worker[outcome.result].push_back(task % kKins);
        });
    EXPECT_EQ(done.size(), size_t{kTasks});
    for (const auto& [worker, kins] : by_worker) {
      int changes = 0;
      for (size_t i = 1; i < kins.size(); ++i) changes += kins[i] != kins[i - 1] ? 1 : 0;
      EXPECT_LT(changes, kKins) << "worker " << worker << " of " << jobs;
    }
  }
}

TEST(ProcessPool, KinOfAWorkerThatDiedIsTakenOver) {
  const auto kill_itself = [](int task) {
    if (task % 5 == 0) raise(SIGKILL);
    return Square(task);
  };
  const Collected collected =
      RunTasks(40, {.jobs = 2, .kin_of = [](int task) { return task % 2; }}, kill_itself);
  ExpectOthersDone(collected, {0, 5, 10, 15, 20, 25, 30, 35});
}

TEST(ProcessPool, NoTasksMeanNoResults) { RunTasks(0, {.jobs = 2}, Square); }

TEST(ProcessPool, CarriesResultsLargerThanAnySocketBuffer) {
  const Collected collected =
      RunTasks(6, {.jobs = 2}, [](int task) { return std::string(5'000'000 + task, 'x'); });
  for (const auto& [task, outcome] : collected.outcomes) {
    EXPECT_EQ(outcome.result.size(), 5'000'000u + task);
  }
}

TEST(ProcessPool, WorkIsDoneOutsideThisProcess) {
  const std::string self = std::to_string(getpid());
  const Collected collected =
      RunTasks(4, {.jobs = 2}, [](int) { return std::to_string(getpid()); });
  for (const auto& [task, outcome] : collected.outcomes) EXPECT_NE(outcome.result, self) << task;
}

TEST(ProcessPool, KilledWorkerCostsOnlyItsTask) {
  const Collected collected = RunTasks(40, {.jobs = 2}, [](int task) {
    if (task == 7) raise(SIGKILL);
    return Square(task);
  });
  EXPECT_EQ(collected.outcomes.at(7).status, TaskStatus::kCrashed);
  EXPECT_NE(collected.outcomes.at(7).reason.find("signal 9"), std::string::npos);
  ExpectOthersDone(collected, {7});
}

TEST(ProcessPool, SurvivesWhenEveryTaskKillsItsWorker) {
  const Collected collected = RunTasks(12, {.jobs = 3}, [](int) -> std::string {
    raise(SIGKILL);
    return "";
  });
  for (const auto& [task, outcome] : collected.outcomes) {
    EXPECT_EQ(outcome.status, TaskStatus::kCrashed) << task;
  }
}

TEST(ProcessPool, ExitOfWorkerIsReportedWithItsCode) {
  const Collected collected = RunTasks(6, {.jobs = 2}, [](int task) {
    if (task == 3) _exit(17);
    return Square(task);
  });
  EXPECT_EQ(collected.outcomes.at(3).status, TaskStatus::kCrashed);
  EXPECT_NE(collected.outcomes.at(3).reason.find("17"), std::string::npos);
  ExpectOthersDone(collected, {3});
}

TEST(ProcessPool, ExceptionFailsTheTaskAndKeepsTheWorker) {
  const Collected collected = RunTasks(10, {.jobs = 1}, [](int task) {
    if (task == 3) throw std::runtime_error("no such lemma");
    return Square(task);
  });
  EXPECT_EQ(collected.outcomes.at(3).status, TaskStatus::kFailed);
  EXPECT_NE(collected.outcomes.at(3).reason.find("no such lemma"), std::string::npos);
  EXPECT_EQ(collected.usage.workers_started, 1);
  ExpectOthersDone(collected, {3});
}

TEST(ProcessPool, TaskOverItsTimeIsKilledAndTheRestIsDone) {
  const auto started = std::chrono::steady_clock::now();
  const Collected collected = RunTasks(20, {.jobs = 2, .task_timeout_s = 0.3}, [](int task) {
    if (task == 4) std::this_thread::sleep_for(std::chrono::seconds(60));
    return Square(task);
  });
  EXPECT_EQ(collected.outcomes.at(4).status, TaskStatus::kTimedOut);
  EXPECT_NE(collected.outcomes.at(4).reason.find("0.3 s"), std::string::npos);
  ExpectOthersDone(collected, {4});
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
}

TEST(ProcessPool, TimeLimitIsPerTaskAndNotPerWorker) {
  const Collected collected = RunTasks(8, {.jobs = 1, .task_timeout_s = 1.0}, [](int task) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return Square(task);
  });
  ExpectOthersDone(collected, {});
}

TEST(ProcessPool, TaskOverItsMemoryCostsOnlyItself) {
  if (kSanitized) GTEST_SKIP() << "needs the plain allocator";
  const Collected collected = RunTasks(20, {.jobs = 2, .memory_limit_mb = 100}, [](int task) {
    std::string block(task == 5 ? 400'000'000 : 1'000'000, 'x');
    return block.empty() ? "" : Square(task);
  });
  EXPECT_EQ(collected.outcomes.at(5).status, TaskStatus::kOutOfMemory);
  EXPECT_NE(collected.outcomes.at(5).reason.find("100 MB"), std::string::npos);
  ExpectOthersDone(collected, {5});
}

TEST(ProcessPool, PeakMemorySeesWhatAWorkerAllocated) {
  const Collected collected = RunTasks(1, {.jobs = 1}, [](int) {
    std::string block(64 << 20, 'x');
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return std::string(1, block.back());
  });
  EXPECT_GT(collected.usage.peak_largest_mb, 64);
  EXPECT_GT(collected.usage.peak_total_mb, collected.usage.peak_largest_mb);
}

class InjectedFault : public testing::Test {
 protected:
  void TearDown() override { unsetenv("PLANPROOF_TEST_WORKER_FAULT"); }
};

TEST_F(InjectedFault, HitsTheTasksWhoseNameContainsTheText) {
  setenv("PLANPROOF_TEST_WORKER_FAULT", "kill:task 13;abort:task 15;sleep:task 17", 1);
  const Collected collected = RunTasks(20, {.jobs = 2, .task_timeout_s = 0.5}, Square);
  EXPECT_EQ(collected.outcomes.at(13).status, TaskStatus::kCrashed);
  EXPECT_EQ(collected.outcomes.at(15).status, TaskStatus::kCrashed);
  EXPECT_EQ(collected.outcomes.at(17).status, TaskStatus::kTimedOut);
  ExpectOthersDone(collected, {13, 15, 17});
}

TEST_F(InjectedFault, AllocationEndsAtTheMemoryLimit) {
  if (kSanitized) GTEST_SKIP() << "needs the plain allocator";
  setenv("PLANPROOF_TEST_WORKER_FAULT", "alloc:task 3", 1);
  const Collected collected = RunTasks(5, {.jobs = 2, .memory_limit_mb = 64}, Square);
  EXPECT_EQ(collected.outcomes.at(3).status, TaskStatus::kOutOfMemory);
  ExpectOthersDone(collected, {3});
}

}  // namespace
}  // namespace planproof::stages
