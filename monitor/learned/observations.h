// Passes a stream of observations of one run to those who learn facts and check them. Adapters of
// journals and of traces make them; nothing behind this interface knows where they come from.
#ifndef PLANPROOF_MONITOR_LEARNED_OBSERVATIONS_H_
#define PLANPROOF_MONITOR_LEARNED_OBSERVATIONS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"

namespace planproof::monitor::learned {

// A text, by number. Names of functions, phases, tensors and values.
using Symbol = uint32_t;
inline constexpr Symbol kNoSymbol =
    ~Symbol{0};  // of texts beyond the limits: nothing is said of them

class Symbols {
 public:
  Symbols();
  // At most 2^19 texts, 48 MiB together, 512 bytes each; kNoSymbol beyond.
  Symbol Of(std::string_view text);
  // `symbol` is one that Of has returned, and not kNoSymbol.
  const std::string& Text(Symbol symbol) const { return texts_[symbol]; }
  // Texts that got no number.
  int64_t left_out() const { return left_out_; }

 private:
  std::deque<std::string> texts_;
  absl::flat_hash_map<std::string_view, Symbol> numbers_;  // of `texts_`
  size_t bytes_ = 0;
  int64_t left_out_ = 0;
};

// What an alarm about a call explains. The order is the order of alarms of one step: what is first
// explains what follows.
enum class Role : uint8_t {
  kClear,        // gradients are cleared
  kMode,         // training or evaluation mode is set
  kSynchronise,  // ranks agree: parallel wrappers, collectives
  kClip,
  kUpdate,    // an optimizer's step
  kSchedule,  // a scheduler's step
  kBackward,
  kLoss,
  kForward,  // of a module
  kOther,    // no facts about when it is called
};

// Whether a value is a decision of the program (a flag, a type, a relation) or a number of a
// configuration.
enum class ValueKind : uint8_t { kCode, kNumber };

// A stream is a sequence in time: one thread of one process, or one file of states. Streams have
// numbers from 0.
class Observations {
 public:
  virtual ~Observations() = default;
  // What follows in this stream belongs to `step`. Steps may repeat.
  virtual void Step(int stream, int64_t process, int64_t step) = 0;
  virtual void Call(int stream, Symbol phase, Symbol function, Role role) = 0;
  // `subject` has the value; subjects are functions (their arguments), modules, tensors, batches.
  virtual void Attribute(int stream, Symbol phase, Symbol subject, Symbol attribute, Symbol value,
                         ValueKind kind) = 0;
  // A call of `function` was given these objects, and no others that are known.
  virtual void Given(int stream, Symbol function, absl::Span<const Symbol> subjects) = 0;
  // `hash` identifies the content that `subject` has now; `trained`: the optimizer has been given a
  // gradient for it that is not the one of the step before.
  virtual void Content(int stream, Symbol subject, uint64_t hash, bool trained) = 0;
  // A part of the program's identity: a parameter with its shape, or an optimizer's class.
  virtual void Part(Symbol part, bool optimizer) = 0;
  // The stream ends. A step that the end may have cut off lacks nothing.
  virtual void End(int stream) = 0;
};

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_OBSERVATIONS_H_
