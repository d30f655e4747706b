// Lists how two runs differ, step by step, without judging.
#ifndef PLANPROOF_MONITOR_RUN_COMPARISON_H_
#define PLANPROOF_MONITOR_RUN_COMPARISON_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "monitor/judge.h"

namespace planproof::monitor {

// One way in which they differ: where it was first, and how often.
struct RunDifference {
  int64_t first_step = 0;
  int64_t steps = 0;      // with it
  std::string what;       // "events", "lr of optimizer 0", "norm of gradient"
  std::string statement;  // of the first
  double largest = 0;     // relative difference of numbers
};

class RunComparison {
 public:
  // Of headers: program, ranks, optimizers.
  void CompareHeaders(const Run& reference, const Run& run);
  // The same step of both.
  void CompareSteps(const StepOfRun& reference, const StepOfRun& run);
  // In the order in which they were found.
  const std::vector<RunDifference>& differences() const { return differences_; }
  int64_t steps() const { return steps_; }

 private:
  void Add(int64_t step, const std::string& what, const std::string& statement, double size = 0);
  void CompareEvents(int rank, const StepOfRank& reference, const StepOfRank& run);
  void CompareOptions(const StepOfRank& reference, const StepOfRank& run);
  void CompareValues(const StepOfRank& reference, const StepOfRank& run);

  std::vector<RunDifference> differences_;
  std::map<std::string, size_t> known_;
  std::set<std::pair<std::string, int64_t>> counted_;  // of the present step
  int64_t steps_ = 0;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_RUN_COMPARISON_H_
