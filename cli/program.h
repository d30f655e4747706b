// Runs the command `planproof`, for main() and for programs that add a reader of their own to it.
#ifndef PLANPROOF_CLI_PROGRAM_H_
#define PLANPROOF_CLI_PROGRAM_H_

namespace planproof::cli {

// Chooses and runs the subcommand; returns the exit code (exit_codes.h).
int Main(int argc, char** argv);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_PROGRAM_H_
