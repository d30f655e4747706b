#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace planproof::cli {
namespace {

constexpr size_t kFewestColumns = 40;  // narrower ones are most likely not set up

}  // namespace

bool CursorMoves(int file_descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(file_descriptor) != 0 && terminal != nullptr && std::strcmp(terminal, "") != 0 &&
         std::strcmp(terminal, "dumb") != 0;
}

bool ColorOnOutput() {
  const char* no_color = std::getenv("NO_COLOR");
  const bool wanted = no_color == nullptr || std::strcmp(no_color, "") == 0;
  return wanted && CursorMoves(STDOUT_FILENO);
}

size_t OutputColumns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col >= kFewestColumns ? size.ws_col : 0;
}

}  // namespace planproof::cli
