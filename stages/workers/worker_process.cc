#include "stages/workers/worker_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace planproof::stages {
namespace {

constexpr size_t kLeastStack = size_t{64} << 20;  // evaluation recurs through thousands of tensors

// False when the other end is gone.
bool SendAll(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int socket, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// Bytes of address space mapped by this process.
uint64_t MappedBytes() {
  char text[64] = {0};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  if (got <= 0) return 0;
  return std::strtoull(text, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void LimitMemory(int64_t megabytes) {
  if (megabytes <= 0) return;
  const uint64_t limit = MappedBytes() + (static_cast<uint64_t>(megabytes) << 20);
  rlimit wanted{};
  if (getrlimit(RLIMIT_AS, &wanted) != 0) return;
  if (wanted.rlim_max != RLIM_INFINITY && wanted.rlim_max < limit) return;  // stricter already
  wanted.rlim_cur = limit;
  setrlimit(RLIMIT_AS, &wanted);
  std::set_new_handler([] { _exit(kOutOfMemoryExit); });
}

// From here on this process may use so much more processor time.
void LimitProcessorTime(double seconds) {
  rusage usage{};
  rlimit limit{};
  if (getrusage(RUSAGE_SELF, &usage) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0) return;
  const double used = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                      static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  const auto wanted = static_cast<rlim_t>(std::ceil(used + seconds));
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_CPU, &limit);
}

// One "KIND:TEXT" of the environment variable.
struct Fault {
  std::string kind;
  std::string text;
};

std::vector<Fault> InjectedFaults() {
  std::vector<Fault> faults;
  const char* variable = std::getenv("PLANPROOF_TEST_WORKER_FAULT");
  if (variable == nullptr) return faults;
  const std::string list = variable;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(';', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    const size_t colon = item.find(':');
    if (colon != std::string::npos) {
      faults.push_back({item.substr(0, colon), item.substr(colon + 1)});
    }
    begin = end + 1;
  }
  return faults;
}

void Misbehave(const std::string& kind, int64_t memory_limit_mb) {
  if (kind == "kill") raise(SIGKILL);
  if (kind == "abort") std::abort();
  while (kind == "sleep") pause();
  if (kind == "spin") {
    for (std::atomic<int64_t> turns = 0;; ++turns) {
    }
  }
  if (kind == "slow") usleep(20'000);
  if (kind == "alloc" && memory_limit_mb > 0) {
    std::vector<std::unique_ptr<char[]>> blocks;
    constexpr size_t kBlock = size_t{1} << 20;
    for (int64_t i = 0; i <= memory_limit_mb + 64; ++i) {
      blocks.push_back(std::make_unique_for_overwrite<char[]>(kBlock));
      std::memset(blocks.back().get(), 1, kBlock);
    }
  }
}

[[noreturn]] void Serve(int socket, const WorkerLimits& limits,
                        const std::function<std::string(int)>& work,
                        const std::function<std::string(int)>& task_name) {
  LimitMemory(limits.memory_limit_mb);
  const std::vector<Fault> faults = InjectedFaults();
  int32_t task = 0;
  while (ReceiveAll(socket, reinterpret_cast<char*>(&task), sizeof(task))) {
    ReplyHeader header;
    header.task = task;
    std::string bytes;
    // The work is ours and throws nothing, but libraries below it may.
    try {
      if (limits.processor_time_of) LimitProcessorTime(limits.processor_time_of(task));
      if (!faults.empty() && task_name) {
        const std::string name = task_name(task);
        for (const Fault& fault : faults) {
          if (name.find(fault.text) != std::string::npos) {
            Misbehave(fault.kind, limits.memory_limit_mb);
          }
        }
      }
      bytes = work(task);
    } catch (const std::bad_alloc&) {
      _exit(kOutOfMemoryExit);
    } catch (const std::exception& error) {
      header.failed = 1;
      bytes = error.what();
    }
    header.size = bytes.size();
    if (!SendAll(socket, reinterpret_cast<const char*>(&header), sizeof(header)) ||
        !SendAll(socket, bytes.data(), bytes.size())) {
      break;
    }
  }
  _exit(0);
}

struct Service {
  int socket;
  const WorkerLimits& limits;
  const std::function<std::string(int)>& work;
  const std::function<std::string(int)>& task_name;
};

void* ServeInThread(void* argument) {
  // The thread's first allocation reserves address space for more; that is not the tasks'.
  void* volatile first = std::malloc(1);
  std::free(first);
  const auto* service = static_cast<const Service*>(argument);
  Serve(service->socket, service->limits, service->work, service->task_name);
}

}  // namespace

void ServeTasks(int socket, const WorkerLimits& limits, const std::function<std::string(int)>& work,
                const std::function<std::string(int)>& task_name) {
  // The memory that the parent has freed lies in pieces in pages that both share: a worker that
  // filled the pieces would copy page after page. glibc gives a further thread fresh memory.
  Service service{socket, limits, work, task_name};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t stack = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  pthread_attr_setstacksize(&attributes, std::max(stack, kLeastStack));
  pthread_t thread;
  if (pthread_create(&thread, &attributes, ServeInThread, &service) == 0) {
    pthread_join(thread, nullptr);
  }
  Serve(socket, limits, work, task_name);  // only if there is no thread to be had
}

}  // namespace planproof::stages
