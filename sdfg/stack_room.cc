#include "sdfg/stack_room.h"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace planproof::sdfg {
namespace {

constexpr size_t kRoom = size_t{1} << 20;

// The lowest address of the calling thread's stack; 0 if it is not known.
uintptr_t LowestAddress() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<uintptr_t>(lowest) : 0;
}

}  // namespace

bool StackIsShort() {
  static thread_local const uintptr_t lowest = LowestAddress();
  const char here = 0;
  return reinterpret_cast<uintptr_t>(&here) < lowest + kRoom;
}

}  // namespace planproof::sdfg
