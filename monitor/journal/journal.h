// Types what a journal says (docs/monitor-format.md).
#ifndef PLANPROOF_MONITOR_JOURNAL_JOURNAL_H_
#define PLANPROOF_MONITOR_JOURNAL_JOURNAL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planproof::monitor {

inline constexpr int kSketches = 4;

// Optimizers whose update is known.
enum class OptimizerKind : uint8_t { kOther, kSgd, kAdam, kAdamW };

struct OptimizerOfRun {
  std::string name;        // that events refer to
  std::string class_name;  // qualified: torch.optim.adamw.AdamW
  std::vector<std::string> wrapped_by;
  OptimizerKind kind = OptimizerKind::kOther;
};

struct Header {
  int rank = 0;
  int world = 1;
  int64_t every = 1;
  std::string torch, device;
  bool on_cpu = false;
  std::string program;                                       // digest
  double start = 0;                                          // Unix time, s
  std::vector<std::pair<std::string, std::string>> modules;  // qualified name, class
  std::vector<OptimizerOfRun> optimizers;
};

struct HeldTensor {
  std::string name;
  std::vector<int64_t> of;  // shape of the whole
  // Per dimension the segments [start, start + length) that are held; empty: the whole.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> place;
  std::optional<std::pair<int64_t, int64_t>> flat;  // start, length; instead of `place`
  std::string dtype;                                // as torch prints it, without "torch."
  int64_t local = 0;                                // elements
  std::optional<int32_t> shared_with;
  bool buffer = false;
  bool trainable = true;
  std::vector<int32_t> optimizers;
  std::vector<int> replicas;  // ranks; empty: not known
  // Bits of the significand of a floating type, the leading one among them; 0 of other types.
  int significand_bits = 0;
};

using TensorTable = std::vector<HeldTensor>;

// A value of an option: a number, a truth value, a text, numbers, or nothing.
struct Option {
  enum class Kind : uint8_t { kNone, kBool, kNumber, kText, kNumbers } kind = Kind::kNone;
  double number = 0;  // of kBool, too
  std::string text;
  std::vector<double> numbers;
  friend bool operator==(const Option&, const Option&) = default;
};

struct ParameterGroup {
  std::vector<std::pair<std::string, Option>> options;  // by name
  std::vector<int32_t> tensors;                         // of the table at that time
  std::vector<std::vector<int64_t>> others;  // shapes of its tensors that are not in the table
};

struct OptimizerOptions {
  int32_t optimizer = 0;
  std::vector<ParameterGroup> groups;
  std::shared_ptr<const TensorTable> table;  // that `groups` refer to
};

enum class EventType : uint16_t {
  kZeroGrad = 1,
  kForwardBegins = 2,
  kForwardEnds = 3,
  kBackward = 4,
  kLoss = 5,
  kClipByNorm = 6,
  kClipByValue = 7,
  kOptimizerBegins = 8,
  kOptimizerEnds = 9,
  kStepLeftOut = 10,
  kSchedulerStep = 11,
  kLearningRate = 12,
  kCollective = 13,
  kLossScale = 14,
  kStateRead = 15,
  kStateLoaded = 16,
  kParameterChanged = 17,
  kLossFunction = 18,
  kModuleOutput = 19,
  kAveraged = 20,
};

// Bits of Event::flags; which bit means what depends on the type (the table in the format).
inline constexpr uint16_t kTraining = 1, kGradientsEnabled = 2, kInferenceMode = 4, kAutocast = 8;
inline constexpr uint16_t kSetToNone = 1;
inline constexpr uint16_t kGradientGiven = 1, kScalarRoot = 2;
inline constexpr uint16_t kWithinBackward = 1;
inline constexpr uint16_t kComesLate = 1 << 15;

// What a collective does, of event 13's subject.
enum class CollectiveKind : uint8_t {
  kOther,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kReduce,
  kBarrier,
  kSend,
  kReceive,
};

struct Collective {
  CollectiveKind kind = CollectiveKind::kOther;
  std::vector<int> group;  // ranks; empty: not known
  std::string operation, dtype;
};

struct Event {
  EventType type{};  // may be one that is not in the list: a newer journal
  uint16_t flags = 0;
  const std::string* subject = nullptr;  // null: none
  double a = 0, b = 0;                   // NaN: not there (late values are filled in)
  int64_t c = 0;
  const Collective* collective = nullptr;  // of kCollective: its subject, read
};

enum class Moment : uint8_t { kBegin = 0, kClip = 1, kBefore = 2, kAfter = 3, kBackward = 4 };

// Sets of tensors: of the optimizer's states, those whose meaning is known.
enum class TensorSet : uint8_t {
  kOther,  // another state
  kParameter,
  kGradient,
  kContribution,
  kExpAvg,
  kExpAvgSq,
  kMaxExpAvgSq,
  kMomentumBuffer,
  kStepCount,
};

// Facts of a set of tensors at one moment. Columns of one length.
struct Values {
  Moment moment{};
  std::shared_ptr<const TensorTable> table;
  std::string set;                     // "parameter", "gradient", "contribution", or a state's name
  TensorSet kind = TensorSet::kOther;  // of `set`
  std::vector<int32_t> tensors;        // in the table
  std::vector<double> norms;
  std::array<std::vector<double>, kSketches> sketches;
  std::vector<uint64_t> fingerprints;
};

inline constexpr uint64_t kNumberOfOptimizer = ~uint64_t{0};  // a state that is one number

struct Elements {
  Moment moment{};
  std::shared_ptr<const TensorTable> table;
  std::string set;
  TensorSet kind = TensorSet::kOther;  // of `set`
  std::vector<int32_t> tensors;
  std::vector<uint64_t> positions;  // in the whole, or kNumberOfOptimizer
  std::vector<double> values;
};

struct BatchInput {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t fingerprint = 0;
  std::vector<std::pair<std::string, int64_t>> shifts;
};

struct FoundFacts;  // monitor/laws/facts.h

// All that one rank's journal says of one step.
struct StepOfRank {
  int64_t step = 0;
  uint64_t time = 0;  // ns since the start
  bool sampled = false;
  bool left_out = false;                     // by a loss scaler
  bool complete = true;                      // false: what followed the last step's end
  std::shared_ptr<const TensorTable> table;  // at the step's end
  // By optimizer; at the step's end, learning rates included.
  std::vector<OptimizerOptions> options;
  std::vector<Event> events;
  std::vector<Values> values;
  std::vector<Elements> elements;
  std::vector<BatchInput> batch;
  std::shared_ptr<const void> texts;  // that events refer to live as long as this
  // What one law has made of values, for the others. Of one thread.
  mutable std::shared_ptr<FoundFacts> found;
};

// What a journal lacks, as far as judges ask.
enum class NotObservedKind : uint8_t {
  kOther,
  kCollectives,  // those of DistributedDataParallel, or of something else without Python
  kModules,      // what is called within a compiled graph
};

struct NotObserved {
  std::string what, why;
  NotObservedKind kind = NotObservedKind::kOther;  // of `what`
};

struct Closing {
  bool as_planned = true;  // not by an exception
  std::string exception;
  int64_t steps = 0;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_JOURNAL_H_
