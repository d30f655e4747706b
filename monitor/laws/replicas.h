// Finds ranks that hold the same, by what the framework says.
#ifndef PLANPROOF_MONITOR_LAWS_REPLICAS_H_
#define PLANPROOF_MONITOR_LAWS_REPLICAS_H_

#include <string>
#include <vector>

#include "monitor/judge.h"
#include "monitor/laws/facts.h"

namespace planproof::monitor {

// Every rank of the run is there and has all of every parameter, and the framework says that they
// are replicas: DistributedDataParallel over all ranks.
bool IsReplicated(const Run& run, const StepOfRun& step);

// A tensor of which two ranks that are replicas hold different bits.
struct ReplicaDifference {
  int rank = 0, other = 0;  // `other` is the first of its replicas
  const TensorFact* fact = nullptr;
  const TensorFact* fact_of_other = nullptr;
};

// By rank what it holds of a set.
using FactsOfRanks = std::map<int, SetFacts>;
FactsOfRanks FactsAt(const StepOfRun& step, Moment moment, TensorSet set);

// In the table's order of the first rank that differs; counts comparisons. Refers to `facts`.
std::vector<ReplicaDifference> CompareReplicas(const FactsOfRanks& facts, int64_t* compared);

// An alarm of a law about several ranks.
Alarm LawAlarmOfRanks(const char* rule, int64_t step, std::vector<int> ranks,
                      absl::string_view subject, std::string statement);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_REPLICAS_H_
