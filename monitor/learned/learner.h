// Collects what one run shows, as hypotheses: what held each time, what did not, and how often each
// was to be seen.
#ifndef PLANPROOF_MONITOR_LEARNED_LEARNER_H_
#define PLANPROOF_MONITOR_LEARNED_LEARNER_H_

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "monitor/learned/facts.h"
#include "monitor/learned/windows.h"

namespace planproof::monitor::learned {

// As a fact, with what speaks against it in this run.
struct Hypothesis {
  Fact fact;
  bool contradicted = false;
};

// What one run shows. Independent of the learner's symbols.
struct LearnedRun {
  SourceKind source{};
  int64_t steps = 0;
  std::set<std::string> program, optimizers, phases, functions;
  std::vector<Hypothesis> hypotheses;
  int64_t left_out = 0;  // hypotheses and texts beyond the limits
};

// Memory: at most 2^18 hypotheses, and 256 functions whose order is learned.
class Learner : public Windows {
 public:
  explicit Learner(Symbols* symbols) : Windows(symbols) {}
  void Part(Symbol part, bool optimizer) override;
  // After the last End.
  LearnedRun Result(SourceKind source) const;

 protected:
  void OnWindow(const Window& window) override;
  void OnInstance(const Instance& instance) override;
  void OnGiven(int64_t process, int64_t step, Symbol function,
               absl::Span<const Symbol> subjects) override;
  const std::vector<std::pair<Symbol, Symbol>>& Pairs() const override { return pairs_; }
  void OnContents(const std::vector<std::pair<Symbol, uint64_t>>& contents) override;

 private:
  using Key = FactTopic;
  struct Count {
    Symbol value;
    ValueKind kind;
    bool contradicted = false;
    int64_t support = 0;
  };
  struct PairCount {
    int64_t together = 0, in_order = 0;
    int64_t together_in_first = 0;
  };
  int ItemNumber(const CallItem& item, Role role);
  void AddCalls(LearnedRun* run) const;
  void AddInstances(LearnedRun* run) const;
  void AddGiven(LearnedRun* run) const;
  std::string TextOf(Symbol symbol) const;

  std::set<Symbol> program_, optimizers_, phases_, functions_;
  absl::flat_hash_map<Key, Count> counts_;
  absl::flat_hash_map<CallItem, int> item_numbers_;
  std::vector<std::pair<CallItem, Role>> items_;
  std::vector<int64_t> windows_of_;                  // steps with the item
  std::vector<int64_t> first_windows_of_;            // of these, first ones
  std::vector<std::vector<PairCount>> pair_counts_;  // [item][other]
  absl::flat_hash_map<Symbol, int64_t> calls_of_;    // with known objects, or with none
  absl::flat_hash_map<std::pair<Symbol, Symbol>, int64_t> given_;
  std::vector<std::pair<Symbol, Symbol>> pairs_;
  bool pairs_known_ = false;
  int64_t left_out_ = 0;
};

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_LEARNER_H_
