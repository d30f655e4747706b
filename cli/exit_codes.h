// Defines the program's exit codes besides those of the verdicts (stages::VerdictExitCode, 0 to 3).
#ifndef PLANPROOF_CLI_EXIT_CODES_H_
#define PLANPROOF_CLI_EXIT_CODES_H_

namespace planproof::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kUsageError = 64;     // EX_USAGE of sysexits.h
inline constexpr int kInternalError = 70;  // EX_SOFTWARE

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_EXIT_CODES_H_
