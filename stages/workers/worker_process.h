// Runs the inside of one worker process: the loop that receives task numbers, limits on memory, and
// the faults that tests inject. The parent's side is process_pool.cc.
#ifndef PLANPROOF_STAGES_WORKERS_WORKER_PROCESS_H_
#define PLANPROOF_STAGES_WORKERS_WORKER_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "stages/workers/process_pool.h"

namespace planproof::stages {

// What precedes the bytes of a reply.
struct ReplyHeader {
  int32_t task = 0;
  int32_t failed = 0;  // 1: the bytes are the reason
  uint64_t size = 0;
};

// Exit code of a worker that ran out of its memory.
inline constexpr int kOutOfMemoryExit = 86;

// Serves tasks from `socket` until it is closed at the other end; never returns.
[[noreturn]] void ServeTasks(int socket, const WorkerLimits& limits,
                             const std::function<std::string(int)>& work,
                             const std::function<std::string(int)>& task_name);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_WORKER_PROCESS_H_
