// Checks conditions that only a bug can break: the program ends with one line instead of going on.
#ifndef PLANPROOF_SOLVER_CHECK_H_
#define PLANPROOF_SOLVER_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace planproof {

// The place is the caller's. (clang 14 has no std::source_location with this standard library.)
[[noreturn]] inline void FailCheck(std::string_view message, const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
  std::fprintf(stderr, "planproof: internal error at %s:%d: %.*s\n", file, line,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

inline void Check(bool holds, std::string_view message, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!holds) FailCheck(message, file, line);
}

}  // namespace planproof

#endif  // PLANPROOF_SOLVER_CHECK_H_
