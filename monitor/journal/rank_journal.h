// Reads one rank's journal step by step. A step is handed on when what belongs to it cannot come
// any more: two steps later, or at the end.
#ifndef PLANPROOF_MONITOR_JOURNAL_RANK_JOURNAL_H_
#define PLANPROOF_MONITOR_JOURNAL_RANK_JOURNAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "monitor/journal/binary_frames.h"
#include "monitor/journal/frames.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

// What reading on has come to.
enum class Arrival : uint8_t {
  kStep,     // step() is the next one
  kWaiting,  // the file has no more so far
  kEnded,    // no step will come
};

class RankJournal {
 public:
  // Steps after one that are read before it is handed on.
  static constexpr int64_t kStepsToWait = 2;

  explicit RankJournal(std::string path, uint64_t chunk = 1 << 20)
      : frames_(std::move(path), chunk) {}

  // Reads until the next step is there. `grows`: the file may still be written; else what it has is
  // all. InvalidArgument, with file, offset and what is wrong; ResourceExhausted if a step has more
  // facts than fit in memory.
  absl::StatusOr<Arrival> ReadOn(bool grows);

  const std::shared_ptr<const StepOfRank>& step() const { return next_; }
  // The step has been used: ReadOn goes on to the next.
  void Pass() { next_ = nullptr; }

  // There once a step is, and whenever the file has one.
  const std::optional<Header>& header() const { return header_; }
  const std::optional<Closing>& closing() const { return closing_; }
  const std::vector<NotObserved>& not_observed() const { return not_observed_; }
  // Number of the last step that was handed on; -1 before the first.
  int64_t last_step() const { return handed_on_; }
  // Facts that came for a step that had been handed on.
  int64_t too_late() const { return too_late_; }
  uint64_t unfinished_bytes() const { return frames_.unfinished_bytes(); }
  const std::string& path() const { return frames_.path(); }

 private:
  struct Pending {
    std::optional<StepOfRank> step;
    std::vector<Values> values;
    std::vector<Elements> elements;
    std::vector<BatchInput> batch;
    std::vector<OptimizerOptions> changed_options;  // since the step before
    uint64_t bytes = 0;
  };

  absl::Status Take(const Frame& frame);
  absl::Status TakeText(absl::string_view payload);
  absl::Status TakeTensors(absl::string_view payload);
  absl::Status TakeOptions(absl::string_view payload);
  absl::Status TakeStep(absl::string_view payload);
  absl::Status TakeFacts(const Frame& frame);
  absl::Status TakeLate(absl::string_view payload);
  // Where facts of a step are kept; null if it has been handed on.
  absl::StatusOr<Pending*> PendingOf(int64_t step, uint64_t bytes);
  void ChangeOptions(OptimizerOptions options);
  // Only when nothing more can come for the step: rates may come late.
  void FollowLearningRates(const StepOfRank& step);
  // Makes the first pending step the next one if nothing more can come for it.
  bool HandOn(bool ended);

  FrameReader frames_;
  std::optional<Header> header_;
  std::optional<Closing> closing_;
  std::vector<NotObserved> not_observed_;
  std::shared_ptr<Texts> texts_ = std::make_shared<Texts>();
  uint64_t text_bytes_ = 0;
  Tables tables_;
  std::vector<OptimizerOptions> changed_options_;  // since the last step that was read
  std::vector<OptimizerOptions> options_;  // by optimizer, as of the last step that was handed on
  std::map<int64_t, Pending> pending_;
  uint64_t pending_bytes_ = 0;
  int64_t newest_ = -1, handed_on_ = -1, too_late_ = 0;
  std::shared_ptr<const StepOfRank> next_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_RANK_JOURNAL_H_
