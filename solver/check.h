// Conditions that only a bug can break: the program ends with one line instead of going on.
#ifndef PLANPROOF_SOLVER_CHECK_H_
#define PLANPROOF_SOLVER_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string_view>

namespace planproof {

[[noreturn]] inline void FailCheck(
    std::string_view message, const std::source_location& where = std::source_location::current()) {
  std::fprintf(stderr, "planproof: internal error at %s:%u: %.*s\n", where.file_name(),
               static_cast<unsigned>(where.line()), static_cast<int>(message.size()),
               message.data());
  std::abort();
}

inline void Check(bool holds, std::string_view message,
                  const std::source_location& where = std::source_location::current()) {
  if (!holds) FailCheck(message, where);
}

}  // namespace planproof

#endif  // PLANPROOF_SOLVER_CHECK_H_
