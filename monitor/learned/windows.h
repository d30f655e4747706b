// Cuts a stream of observations into steps, and gives what each step says of each form of fact to
// the derived class.
#ifndef PLANPROOF_MONITOR_LEARNED_WINDOWS_H_
#define PLANPROOF_MONITOR_LEARNED_WINDOWS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "monitor/learned/facts.h"
#include "monitor/learned/observations.h"

namespace planproof::monitor::learned {

// A function that is called in a phase.
struct CallItem {
  Symbol phase = kNoSymbol, function = kNoSymbol;
  friend bool operator==(const CallItem&, const CallItem&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const CallItem& item) {
    return H::combine(std::move(h), item.phase, item.function);
  }
};

// Names a fact, whatever its value: by its form and what it is about.
struct FactTopic {
  Form form;
  Symbol phase, subject, other;
  friend bool operator==(const FactTopic&, const FactTopic&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const FactTopic& key) {
    return H::combine(std::move(h), key.form, key.phase, key.subject, key.other);
  }
};

// What is found to hold, or not to, once.
struct Instance {
  Form form{};
  Symbol phase = kNoSymbol, subject = kNoSymbol, other = kNoSymbol, value = kNoSymbol;
  ValueKind kind = ValueKind::kCode;
  int64_t process = 0, step = 0;
};

class Windows : public Observations {
 public:
  explicit Windows(Symbols* symbols);

  void Step(int stream, int64_t process, int64_t step) override;
  void Call(int stream, Symbol phase, Symbol function, Role role) override;
  void Attribute(int stream, Symbol phase, Symbol subject, Symbol attribute, Symbol value,
                 ValueKind kind) override;
  void Given(int stream, Symbol function, absl::Span<const Symbol> subjects) override;
  void Content(int stream, Symbol subject, uint64_t hash, bool trained) override;
  void End(int stream) override;
  // The step is complete (cut_off: perhaps not); the next record begins another, whatever its
  // number.
  void CloseStep(int stream, bool cut_off);
  // Something that is so when the run has ended, as it meant to.
  void AtEnd(int64_t process, int64_t steps, Symbol attribute, Symbol value, ValueKind kind);

 protected:
  // Calls of one step in one thread, by the order of the first of each.
  struct Window {
    int64_t process = 0, step = 0;
    bool cut_off = false;  // it may go on after what was recorded
    bool first = true;     // of the thread, with calls
    std::vector<std::pair<CallItem, Role>> calls;
  };
  virtual void OnWindow(const Window& window) = 0;
  // `value` of forms other than kEquals: yes() or no().
  virtual void OnInstance(const Instance& instance) = 0;
  virtual void OnGiven(int64_t process, int64_t step, Symbol function,
                       absl::Span<const Symbol> subjects) = 0;
  // Pairs that may have one content: whose contents are to be compared at each step's end.
  virtual const std::vector<std::pair<Symbol, Symbol>>& Pairs() const = 0;
  // Contents that a step of training has set, the first time that there are any.
  virtual void OnContents(const std::vector<std::pair<Symbol, uint64_t>>& /*contents*/) {}

  Symbol yes() const { return yes_; }
  Symbol no() const { return no_; }
  Symbols* symbols() const { return symbols_; }
  int64_t steps() const { return steps_; }

 private:
  struct Held {
    uint64_t hash = 0, before = 0;  // now, and when the step began
    bool known_before = false, trained = false;
    int in_step = 0;       // how often it was seen in this step
    int64_t seen_at = -1;  // number of the window
  };
  struct Stream {
    bool open = false;
    int64_t window_number = 0;
    Window window;
    absl::flat_hash_set<CallItem> called;
    absl::flat_hash_map<Symbol, Held> held;
  };
  struct ReplicaKey {
    Symbol subject;
    int64_t step;
    int occurrence;
    friend bool operator==(const ReplicaKey&, const ReplicaKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const ReplicaKey& key) {
      return H::combine(std::move(h), key.subject, key.step, key.occurrence);
    }
  };
  struct Replica {
    int64_t process;
    uint64_t hash;
  };
  void CloseWindow(Stream* stream, bool cut_off);
  void CompareContents(Stream* stream);
  void CompareReplica(const Stream& stream, Symbol subject, const Held& held);

  Symbols* symbols_;
  Symbol yes_, no_;
  std::vector<Stream> streams_;
  absl::flat_hash_map<ReplicaKey, Replica> replicas_;
  int64_t steps_ = 0;
};

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_WINDOWS_H_
