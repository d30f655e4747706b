// Finds by name what a step says of tensors: laws are stated about that.
#ifndef PLANPROOF_MONITOR_LAWS_FACTS_H_
#define PLANPROOF_MONITOR_LAWS_FACTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "monitor/findings.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

// Of one tensor, in one set, at one moment.
struct TensorFact {
  const HeldTensor* tensor = nullptr;
  double norm = 0;
  std::array<double, kSketches> sketches{};
  uint64_t fingerprint = 0;
  bool finite = true;  // norm and sketches
};

// Values of a set at a moment, in the table's order. A tensor that was written twice with different
// bits (two optimizers step in one step) is not among them: which of the two is meant is not known.
// Refers to the step, which must outlive it. They are put together once for each step, whichever
// law asks first.
class SetFacts {
 public:
  SetFacts();
  SetFacts(const StepOfRank& step, Moment moment, TensorSet set)
      : SetFacts(step, moment, set, "") {}
  // Of a set that has no number in TensorSet: its name.
  SetFacts(const StepOfRank& step, Moment moment, TensorSet set, absl::string_view name);

  const std::vector<TensorFact>& all() const { return content_->facts; }
  // Null if there is none. Quickest in the set's order.
  const TensorFact* Find(absl::string_view name) const;
  bool empty() const { return content_->facts.empty(); }

 private:
  friend struct FoundFacts;
  struct Content {
    std::vector<TensorFact> facts;
    absl::flat_hash_map<absl::string_view, size_t> by_name;
  };
  static std::shared_ptr<const Content> Read(const StepOfRank& step, Moment moment, TensorSet set,
                                             absl::string_view name);
  static void Add(const Values& values, size_t i, Content* content);

  std::shared_ptr<const Content> content_;
  mutable size_t next_ = 0;  // behind the fact that was found last
};

// One element of a tensor, or a state that is one number (kNumberOfOptimizer).
struct ElementFact {
  uint64_t position = 0;
  double value = 0;
  bool ambiguous = false;  // was written twice with different values
};
using ElementFacts = absl::flat_hash_map<absl::string_view, ElementFact>;
ElementFacts ElementsOf(const StepOfRank& step, Moment moment, TensorSet set);

// Sets of a step that were asked for.
struct FoundFacts {
  struct Set {
    Moment moment{};
    TensorSet set{};
    std::string name;
    std::shared_ptr<const SetFacts::Content> content;
  };
  std::vector<Set> sets;
};

// Names of the states that the step has values of (all sets but parameters, gradients and
// contributions), in order.
std::vector<std::string> StatesOf(const StepOfRank& step, Moment moment);

bool HasEvent(const StepOfRank& step, EventType type);
int64_t CountEvents(const StepOfRank& step, EventType type);
// Whether anything but training may have changed parameters or states: something was loaded,
// averaged, assigned.
bool StateIsReplaced(const StepOfRank& step);

// The optimizer computes gradients itself, by a closure: those at its begin are not those it uses.
bool HasClosure(const StepOfRank& step);

// At least as many dimensions as a matrix and elements enough for a statement about all of them.
bool IsMatrix(const HeldTensor& tensor);
// The rank has all of it.
bool IsWhole(const HeldTensor& tensor);

// An alarm of a law. `world` 1: no ranks are named.
Alarm LawAlarm(const char* rule, int64_t step, const Header& header, absl::string_view subject,
               std::string statement);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_FACTS_H_
