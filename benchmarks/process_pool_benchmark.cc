// What it costs to do work in worker processes instead of here.
#include <benchmark/benchmark.h>

#include <string>

#include "stages/workers/process_pool.h"

namespace planproof::stages {
namespace {

void BM_TwoWorkersWithSmallTasks(benchmark::State& state) {
  const int tasks = static_cast<int>(state.range(0));
  for (auto _ : state) {
    RunInWorkers(
        tasks, {.jobs = 2, .task_timeout_s = 60, .memory_limit_mb = 4096},
        [](int task) { return std::string(static_cast<size_t>(task % 50), 'x'); },
        [](int, TaskOutcome outcome) { benchmark::DoNotOptimize(outcome); });
  }
}
BENCHMARK(BM_TwoWorkersWithSmallTasks)->Arg(2)->Arg(200)->Arg(2000)->UseRealTime();

}  // namespace
}  // namespace planproof::stages
