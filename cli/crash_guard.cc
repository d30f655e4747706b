#include "cli/crash_guard.h"

#include <signal.h>
#include <unistd.h>

#include <initializer_list>

#include "cli/exit_codes.h"

namespace planproof::cli {
namespace {

constexpr size_t kStackSize = 64 * 1024;
alignas(16) char handler_stack[kStackSize];
pid_t guarded_process = 0;

void OnCrash(int signal_number) {
  if (getpid() != guarded_process) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  // Only async-signal-safe calls from here on.
  constexpr char kMessage[] =
      "planproof: internal error: the program crashed; this is a bug, and no verdict was reached\n";
  if (write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1) < 0) _exit(kInternalError);
  _exit(kInternalError);
}

}  // namespace

void InstallCrashGuard() {
#if !defined(__SANITIZE_ADDRESS__)  // the sanitizers' own report is worth more
  guarded_process = getpid();
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = kStackSize;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(signal_number, &action, nullptr);
  }
#endif
}

}  // namespace planproof::cli
