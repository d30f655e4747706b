// Prints what is in one nnScaler plan, without its pair.
#ifndef PLANPROOF_CLI_SHOW_PICKLE_H_
#define PLANPROOF_CLI_SHOW_PICKLE_H_

#include <string>

namespace planproof::cli {

// Prints devices, copies, operators and parameters; returns the exit code.
int ShowPickle(const std::string& path);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_SHOW_PICKLE_H_
