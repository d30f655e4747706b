// Reads the payloads of a journal's frames that are binary records. They are not trusted:
// InvalidArgument, in one line, says what is wrong with one.
#ifndef PLANPROOF_MONITOR_JOURNAL_BINARY_FRAMES_H_
#define PLANPROOF_MONITOR_JOURNAL_BINARY_FRAMES_H_

#include <deque>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

// Keeps what frames refer to by number.
struct Texts {
  std::deque<std::string> texts;       // their addresses stay
  std::deque<Collective> collectives;  // of each text, read as event 13's subject
};

// Tables by number: of the earlier ones only a few are kept.
class Tables {
 public:
  void Add(std::shared_ptr<const TensorTable> table);
  std::shared_ptr<const TensorTable> last() const { return kept_.empty() ? nullptr : kept_.back(); }
  // Null if there is none of this number, or it is too long ago.
  std::shared_ptr<const TensorTable> at(uint32_t number) const;

 private:
  std::deque<std::shared_ptr<const TensorTable>> kept_;
  uint64_t dropped_ = 0;
};

// Step, time, flags and events; what else belongs to the step comes in other frames.
absl::StatusOr<StepOfRank> ReadStep(absl::string_view payload,
                                    const std::shared_ptr<const Texts>& texts);

struct ValuesOfStep {
  int64_t step = 0;
  Values values;
};
absl::StatusOr<ValuesOfStep> ReadValues(absl::string_view payload, const Texts& texts,
                                        const Tables& tables);

struct ElementsOfStep {
  int64_t step = 0;
  Elements elements;
};
absl::StatusOr<ElementsOfStep> ReadElements(absl::string_view payload, const Texts& texts,
                                            const Tables& tables);

// The value of an event's field that came later.
struct LateValue {
  int64_t step = 0;
  EventType type{};
  uint32_t which = 0;   // of that type in that step
  bool second = false;  // field b
  double value = 0;
};
absl::StatusOr<LateValue> ReadLate(absl::string_view payload);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_BINARY_FRAMES_H_
