#include "runtime_check/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace planproof::runtime_check {

void ParallelFor(size_t count, const std::function<void(size_t)>& f) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) f(i);
  };
  const size_t most = std::min<size_t>(count, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < most) threads.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads: those that there are do it
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace planproof::runtime_check
