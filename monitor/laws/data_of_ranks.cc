// Rule "data_of_ranks".
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/replicas.h"

namespace planproof::monitor {
namespace {

constexpr char kDataRule[] = "data_of_ranks";

using Batch = std::vector<std::pair<std::string, uint64_t>>;

Batch BatchOf(const StepOfRank& step) {
  Batch batch;
  for (const BatchInput& input : step.batch) batch.emplace_back(input.name, input.fingerprint);
  return batch;
}

// Ranks that exchange activations share a batch on purpose (parts of a sequence, experts).
bool ExchangesActivations(const StepOfRank& step) {
  return std::any_of(step.events.begin(), step.events.end(), [](const Event& event) {
    if (event.collective == nullptr) return false;
    switch (event.collective->kind) {
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kSend:
      case CollectiveKind::kReceive:
        return true;
      default:
        return false;
    }
  });
}

class DataOfRanks : public Judge {
 public:
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    for (const auto& [rank, facts] : step.ranks)
      exchanges_ = exchanges_ || ExchangesActivations(*facts);
    if (exchanges_ || told_ || !IsReplicated(run, step)) return;
    const Batch first = BatchOf(*step.ranks.begin()->second);
    if (first.empty()) return;
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    const bool same = std::all_of(step.ranks.begin(), step.ranks.end(),
                                  [&](const auto& rank) { return BatchOf(*rank.second) == first; });
    // A batch that is the same in all steps, too, is no data set.
    if (same && !last_.empty() && last_ != first) {
      told_ = true;
      findings->alarms.push_back(LawAlarmOfRanks(
          kDataRule, step.step, {}, first.front().first,
          absl::StrCat("replicas train on data of their own; in two steps all ", step.ranks.size(),
                       " ranks had the same batch (is there a DistributedSampler?)")));
    }
    if (same) {
      last_ = first;
    } else {
      last_.clear();
    }
  }
  void End(const Run&, Findings*) override {}

 private:
  Batch last_;  // of the last step with a batch, if all ranks had it
  bool exchanges_ = false, told_ = false;
};

}  // namespace

std::unique_ptr<Judge> DataOfRanksLaw() { return std::make_unique<DataOfRanks>(); }

}  // namespace planproof::monitor
