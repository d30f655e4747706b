// Rule "collectives_agree".
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/replicas.h"

namespace planproof::monitor {
namespace {

constexpr char kAgreeRule[] = "collectives_agree";
// Steps at whose ends ranks are apart: a collective between two steps may be counted in either.
constexpr int kStepsApart = 3;
constexpr size_t kMostGroups = 10'000;

class CollectivesAgree : public Judge {
 public:
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    const size_t world = run.headers.empty() ? 0 : run.headers.begin()->second.world;
    if (world < 2 || step.ranks.size() != world) {
      sums_.clear();  // from here on somebody's are missing
      return;
    }
    for (const auto& [rank, facts] : step.ranks) Add(rank, *facts);
    for (auto& [key, sum] : sums_) Compare(step, key, &sum, findings);
  }
  void End(const Run&, Findings*) override {}

 private:
  using Key = std::tuple<std::vector<int>, std::string, std::string>;  // group, operation, type
  struct Sum {
    std::map<int, double> elements;  // by rank, since the start
    int apart = 0;                   // steps
  };

  void Add(int rank, const StepOfRank& step) {
    for (const Event& event : step.events) {
      const Collective* collective = event.collective;
      if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce ||
          collective->group.size() < 2 || sums_.size() > kMostGroups) {
        continue;
      }
      sums_[{collective->group, collective->operation, collective->dtype}].elements[rank] +=
          event.a;
    }
  }

  static void Compare(const StepOfRun& step, const Key& key, Sum* sum, Findings* findings) {
    const std::vector<int>& group = std::get<0>(key);
    const auto of = [&](int rank) {
      const auto found = sum->elements.find(rank);
      return found == sum->elements.end() ? 0.0 : found->second;
    };
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    const auto other = std::find_if(group.begin(), group.end(),
                                    [&](int rank) { return of(rank) != of(group.front()); });
    if (other == group.end()) {
      sum->apart = 0;
      return;
    }
    if (++sum->apart != kStepsApart) return;
    Alarm alarm = LawAlarmOfRanks(
        kAgreeRule, step.step, group, absl::StrCat("all_reduce [", absl::StrJoin(group, ","), "]"),
        absl::StrFormat("ranks of a group reduce as many elements; rank %d has reduced %.0f (%s), "
                        "rank %d %.0f",
                        group.front(), of(group.front()), std::get<2>(key), *other, of(*other)));
    alarm.expected = of(group.front());
    alarm.found = of(*other);
    findings->alarms.push_back(std::move(alarm));
  }

  std::map<Key, Sum> sums_;
};

}  // namespace

std::unique_ptr<Judge> CollectivesAgreeLaw() { return std::make_unique<CollectivesAgree>(); }

}  // namespace planproof::monitor
