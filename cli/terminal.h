// Tells what standard output is, and how a report is to look there.
#ifndef PLANPROOF_CLI_TERMINAL_H_
#define PLANPROOF_CLI_TERMINAL_H_

#include <cstddef>

namespace planproof::cli {

// Colours: on a terminal that has them (TERM is neither unset nor "dumb"), unless NO_COLOR is set
// to anything (no-color.org).
bool ColorOnOutput();

// Columns of the terminal that standard output is; 0 where it is none, so that nothing is wrapped
// in a file or a pipe.
size_t OutputColumns();

// Whether a stream's terminal can move its cursor: for a progress bar.
bool CursorMoves(int file_descriptor);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_TERMINAL_H_
