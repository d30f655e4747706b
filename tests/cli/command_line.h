// Runs the program as a user would.
#ifndef PLANPROOF_TESTS_CLI_COMMAND_LINE_H_
#define PLANPROOF_TESTS_CLI_COMMAND_LINE_H_

#include <string>

namespace planproof::cli {

struct Finished {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string output;  // standard output
  std::string errors;  // standard error
};

// `arguments` go through the shell; `environment` ("NAME=VALUE ") precedes the program.
Finished RunProgram(const std::string& arguments, const std::string& environment = "");

// The same for any command of the shell.
Finished RunCommand(const std::string& command);

// A file below the tests' temporary directory with this content; returns its path.
std::string TemporaryFile(const std::string& name, const std::string& content);

// A path in the repository, and one among its examples.
std::string RepositoryPath(const std::string& path);
std::string Example(const std::string& file);

std::string ContentOf(const std::string& path);

// The first `count` lines of it, without the end of the last one.
std::string FirstLines(const std::string& text, int count);

// A plan among the shared test data; empty where that is not there.
std::string SharedPlan(const std::string& file);

}  // namespace planproof::cli

#endif  // PLANPROOF_TESTS_CLI_COMMAND_LINE_H_
