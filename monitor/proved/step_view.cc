#include "monitor/proved/step_view.h"

#include <algorithm>

#include "monitor/journal/words.h"

namespace planproof::monitor {

const TensorFact* StepView::Find(int rank, Moment moment, const SetMonitor& set,
                                 const std::string& name) {
  const auto [at, is_new] = facts_.try_emplace(Key(rank, moment, set.set));
  if (is_new) {
    const auto own = step.ranks.find(rank);
    if (own != step.ranks.end()) {
      at->second = SetFacts(*own->second, moment, SetFromWord(set.set), set.set);
    }
  }
  return at->second.Find(name);
}

const ElementFact* StepView::FindNumber(int rank, Moment moment, const SetMonitor& set,
                                        const std::string& name) {
  const TensorSet kind = SetFromWord(set.set);
  if (kind == TensorSet::kOther) return nullptr;
  const auto [at, is_new] = numbers_.try_emplace(Key(rank, moment, set.set));
  if (is_new) {
    const auto own = step.ranks.find(rank);
    if (own != step.ranks.end()) at->second = ElementsOf(*own->second, moment, kind);
  }
  const auto found = at->second.find(name);
  if (found == at->second.end() || found->second.ambiguous ||
      found->second.position != kNumberOfOptimizer) {
    return nullptr;
  }
  return &found->second;
}

bool StepView::OnCpu() const {
  return std::all_of(run.headers.begin(), run.headers.end(),
                     [](const auto& header) { return header.second.on_cpu; });
}

bool StepView::IsWrapped() const {
  for (const auto& [rank, header] : run.headers) {
    for (const OptimizerOfRun& optimizer : header.optimizers) {
      if (!optimizer.wrapped_by.empty()) return true;
    }
  }
  return false;
}

const SetMonitor* FindSet(const TensorMonitor& monitor, SetKind kind) {
  for (const SetMonitor& set : monitor.sets) {
    if (set.kind == kind) return &set;
  }
  return nullptr;
}

}  // namespace planproof::monitor
