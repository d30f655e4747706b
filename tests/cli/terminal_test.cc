// What is written to a terminal: colours, lines of its width.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

using Environment = std::vector<std::pair<std::string, std::string>>;

// What the program writes about a wrong plan to a terminal of so many columns.
std::string OnTerminal(const Environment& environment, int columns) {
  const std::string plan = RepositoryPath("examples/first_plan/missing_sum.json");
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 50;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    unsetenv("NO_COLOR");
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execl(PLANPROOF_PROGRAM, PLANPROOF_PROGRAM, "verify", "--no-cache", plan.c_str(), nullptr);
    _exit(99);
  }
  EXPECT_GT(child, 0);
  std::string written;
  char bytes[4096];
  for (ssize_t got; (got = read(terminal, bytes, sizeof(bytes))) > 0;) {
    written.append(bytes, static_cast<size_t>(got));
  }
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << written;
  return written;
}

TEST(Terminal, ColoursAreUsedUnlessTheEnvironmentAsksForNone) {
  const std::string escape = "\033[";
  EXPECT_THAT(OnTerminal({{"TERM", "xterm"}}, 100), HasSubstr(escape));
  EXPECT_THAT(OnTerminal({{"TERM", "xterm"}, {"NO_COLOR", ""}}, 100), HasSubstr(escape));
  const std::string plain = OnTerminal({{"TERM", "xterm"}, {"NO_COLOR", "1"}}, 100);
  EXPECT_THAT(plain, Not(HasSubstr("\033[1;31m")));
  EXPECT_THAT(plain, HasSubstr("REFUTED: stage y"));
}

TEST(Terminal, ADumbOneGetsNoControlCharacters) {
  const std::string written = OnTerminal({{"TERM", "dumb"}}, 100);
  EXPECT_THAT(written, Not(HasSubstr("\033")));
  for (size_t at = written.find('\r'); at != std::string::npos; at = written.find('\r', at + 1)) {
    EXPECT_EQ(written[at + 1], '\n') << "a line is written over";
  }
}

TEST(Terminal, LinesAreNoLongerThanItIsWide) {
  std::istringstream lines(OnTerminal({{"TERM", "dumb"}}, 60));
  size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size() - 1);
  EXPECT_LE(longest, 60u);
  EXPECT_GT(longest, 40u);
}

}  // namespace
}  // namespace planproof::cli
