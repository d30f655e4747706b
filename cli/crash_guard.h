// Ends the program with one line and exit code 70, and never with a core dump, whatever goes wrong
// in it.
#ifndef PLANPROOF_CLI_CRASH_GUARD_H_
#define PLANPROOF_CLI_CRASH_GUARD_H_

namespace planproof::cli {

// Installs handlers for the signals of a crash, on a stack of their own (so that an overflowing
// stack is reported too). Worker processes keep the default action: their parent reports the
// signal.
void InstallCrashGuard();

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_CRASH_GUARD_H_
