// Makes observations of the steps of a journal.
#ifndef PLANPROOF_MONITOR_LEARNED_JOURNAL_OBSERVER_H_
#define PLANPROOF_MONITOR_LEARNED_JOURNAL_OBSERVER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "monitor/judge.h"
#include "monitor/learned/windows.h"

namespace planproof::monitor::learned {

// Facts are about calls (which, in which order), flags, options, batches, and how the run ends.
// Contents are not compared: laws do that without references.
class JournalObserver {
 public:
  // Both must outlive the observer.
  JournalObserver(Symbols* symbols, Windows* to) : symbols_(symbols), to_(to) {}
  void Observe(const Run& run, const StepOfRun& step);
  // No more steps.
  void End(const Run& run);

 private:
  struct Input {
    uint64_t fingerprint = 0;
    std::vector<int64_t> shape;
  };
  struct Rank {
    int stream = 0;
    bool known = false;
    bool trained = false;  // a forward with gradients has been seen
    std::string last_call;
    std::set<std::string> calls, calls_before;  // of this step, and of those before it
    std::map<std::string, Input> inputs;        // of the step before
    std::vector<Symbol> tensor_names;           // of `table`
    const TensorTable* table = nullptr;
  };
  void ObserveRank(const Run& run, int number, const StepOfRank& step);
  void ObserveEvent(const Event& event, const StepOfRank& step, Rank* rank);
  void ObserveForward(const Event& event, Rank* rank);
  void ObserveOptimizer(const std::string& name, Rank* rank);
  void ObserveTensors(const StepOfRank& step, Rank* rank);
  void ObserveOptions(const Run& run, int number, const StepOfRank& step, Rank* rank);
  void ObserveBatch(const StepOfRank& step, Rank* rank);
  void Call(const std::string& phase, const std::string& name, Role role, Rank* rank);
  void Attribute(const std::string& phase, const std::string& subject, const std::string& attribute,
                 const std::string& value, ValueKind kind, const Rank& rank);

  Symbols* symbols_;
  Windows* to_;
  std::map<int, Rank> ranks_;
};

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_JOURNAL_OBSERVER_H_
