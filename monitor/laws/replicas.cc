#include "monitor/laws/replicas.h"

#include <algorithm>
#include <utility>

namespace planproof::monitor {

bool IsReplicated(const Run& run, const StepOfRun& step) {
  const size_t world = run.headers.empty() ? 0 : run.headers.begin()->second.world;
  if (world < 2 || step.ranks.size() != world) return false;
  return std::all_of(step.ranks.begin(), step.ranks.end(), [world](const auto& rank) {
    if (rank.second->table == nullptr) return false;
    return std::all_of(
        rank.second->table->begin(), rank.second->table->end(), [world](const HeldTensor& tensor) {
          return tensor.buffer || (tensor.replicas.size() == world && IsWhole(tensor));
        });
  });
}

FactsOfRanks FactsAt(const StepOfRun& step, Moment moment, TensorSet set) {
  FactsOfRanks facts;
  for (const auto& [rank, of_rank] : step.ranks)
    facts.emplace(rank, SetFacts(*of_rank, moment, set));
  return facts;
}

std::vector<ReplicaDifference> CompareReplicas(const FactsOfRanks& facts, int64_t* compared) {
  std::vector<ReplicaDifference> differences;
  for (const auto& [rank, of_rank] : facts) {
    for (const TensorFact& fact : of_rank.all()) {
      if (fact.tensor->replicas.empty() || fact.tensor->buffer) continue;
      const int first =
          *std::min_element(fact.tensor->replicas.begin(), fact.tensor->replicas.end());
      const auto others = facts.find(first);
      if (first == rank || others == facts.end()) continue;
      const TensorFact* other = others->second.Find(fact.tensor->name);
      if (other == nullptr || other->tensor->replicas != fact.tensor->replicas ||
          other->tensor->local != fact.tensor->local) {
        continue;
      }
      ++*compared;
      if (other->fingerprint != fact.fingerprint)
        differences.push_back({rank, first, &fact, other});
    }
  }
  return differences;
}

Alarm LawAlarmOfRanks(const char* rule, int64_t step, std::vector<int> ranks,
                      absl::string_view subject, std::string statement) {
  Alarm alarm{.tier = Tier::kLaw, .rule = rule, .step = step, .ranks = std::move(ranks)};
  alarm.subject = std::string(subject);
  alarm.statement = std::move(statement);
  return alarm;
}

}  // namespace planproof::monitor
