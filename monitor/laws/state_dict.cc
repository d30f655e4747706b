// Rule "state_dict_is_model".
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "monitor/laws/facts.h"
#include "monitor/laws/law_of_each_rank.h"
#include "monitor/laws/laws.h"

namespace planproof::monitor {
namespace {

constexpr char kStateRule[] = "state_dict_is_model";

// The number of the model that a parameter belongs to, where several are monitored: "1.weight".
int ModelOf(const std::string& name) {
  int number = 0;
  const size_t dot = name.find('.');
  return dot != std::string::npos && absl::SimpleAtoi(name.substr(0, dot), &number) ? number : -1;
}

// Sums of fingerprints of all parameters, of those of each model, and of those that are trained.
void AddSums(const SetFacts& facts, std::vector<uint64_t>* sums) {
  if (facts.empty()) return;
  uint64_t all = 0, trained = 0;
  std::map<int, uint64_t> by_model;
  for (const TensorFact& fact : facts.all()) {
    if (fact.tensor->buffer) continue;
    all += fact.fingerprint;
    if (fact.tensor->trainable) trained += fact.fingerprint;
    by_model[ModelOf(fact.tensor->name)] += fact.fingerprint;
  }
  sums->push_back(all);
  sums->push_back(trained);
  for (const auto& [model, sum] : by_model) sums->push_back(sum);
}

class StateDict : public LawOfEachRank {
 private:
  void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) override {
    std::vector<uint64_t>& last = last_[header.rank];
    const SetFacts begin(step, Moment::kBegin, TensorSet::kParameter);
    std::vector<uint64_t> sums = last;
    AddSums(begin, &sums);
    AddSums({step, Moment::kBefore, TensorSet::kParameter}, &sums);
    for (const Event& event : step.events) {
      if (event.type != EventType::kStateRead || begin.empty()) continue;
      ++findings->checked[static_cast<int>(Tier::kLaw)];
      const auto read = static_cast<uint64_t>(event.c);
      if (std::find(sums.begin(), sums.end(), read) != sums.end()) continue;
      findings->alarms.push_back(LawAlarm(
          kStateRule, step.step, header,
          absl::StrCat("state_dict of ", event.subject == nullptr ? "the model" : *event.subject),
          "state_dict gives the parameters of the model; what it gave has other bits than the "
          "model has"));
    }
    last.clear();
    AddSums({step, Moment::kAfter, TensorSet::kParameter}, &last);
  }

  std::map<int, std::vector<uint64_t>> last_;  // by rank: sums after the last step
};

}  // namespace

std::unique_ptr<Judge> StateDictLaw() { return std::make_unique<StateDict>(); }

}  // namespace planproof::monitor
