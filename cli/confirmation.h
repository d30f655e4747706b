// Runs a counterexample on numbers: a second opinion on a REFUTED (`verify --confirm`).
#ifndef PLANPROOF_CLI_CONFIRMATION_H_
#define PLANPROOF_CLI_CONFIRMATION_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "stages/result.h"

namespace CLI {
class App;
}

namespace planproof::cli {

struct ConfirmationArguments {
  std::string device;  // "cpu", "cuda"; empty: not asked for
  std::vector<std::string> dtypes = {"float32"};
  bool Asked() const { return !device.empty(); }
};

void AddConfirmationOptions(CLI::App* command, ConfirmationArguments* arguments);

// Replays the result's witness in each type, in a process of its own, at most so long: whatever
// happens there, the result stays as it is but for its confirmations. Does nothing without a
// witness.
void Confirm(const ConfirmationArguments& arguments, const lineage::Problem& problem,
             double seconds, stages::Result* result);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_CONFIRMATION_H_
