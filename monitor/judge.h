// Watches a run step by step: each judge has the facts of one tier.
#ifndef PLANPROOF_MONITOR_JUDGE_H_
#define PLANPROOF_MONITOR_JUDGE_H_

#include <map>
#include <memory>
#include <vector>

#include "monitor/findings.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

// Who takes part, as far as their journals have arrived.
struct Run {
  std::map<int, Header> headers;  // by rank
  std::map<int, std::vector<NotObserved>> not_observed;
  std::map<int, Closing> closings;
};

// One step, of all ranks whose journals have it. Ranks that were killed are missing.
struct StepOfRun {
  int64_t step = 0;
  std::map<int, std::shared_ptr<const StepOfRank>> ranks;
};

// Gets all steps in order, each once: memory is to be bounded by a few steps, not by the run.
class Judge {
 public:
  virtual ~Judge() = default;
  // Before the first step. Headers of ranks that come later are in the same run.
  virtual void Begin(const Run& run, Findings* findings) = 0;
  virtual void Observe(const Run& run, const StepOfRun& step, Findings* findings) = 0;
  // No more steps.
  virtual void End(const Run& run, Findings* findings) = 0;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JUDGE_H_
