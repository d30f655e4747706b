// Reads the payloads of a journal's frames that are JSON. They are not trusted: InvalidArgument,
// in one line, says what is wrong with one.
#ifndef PLANPROOF_MONITOR_JOURNAL_JSON_FRAMES_H_
#define PLANPROOF_MONITOR_JOURNAL_JSON_FRAMES_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

inline constexpr int64_t kMostTensors = 1'000'000;
inline constexpr int64_t kMostDimensions = 16;
inline constexpr int64_t kMostExtent = int64_t{1} << 48;  // extents are below it
inline constexpr int64_t kMostRanks = 1 << 16;

absl::StatusOr<Header> ReadHeader(absl::string_view payload);
absl::StatusOr<TensorTable> ReadTensors(absl::string_view payload);
// Numbers of tensors are those of `table`.
absl::StatusOr<OptimizerOptions> ReadOptions(absl::string_view payload,
                                             std::shared_ptr<const TensorTable> table);

struct BatchOfStep {
  int64_t step = 0;
  std::vector<BatchInput> inputs;
};
absl::StatusOr<BatchOfStep> ReadBatch(absl::string_view payload);
absl::StatusOr<Closing> ReadClosing(absl::string_view payload);
absl::StatusOr<NotObserved> ReadNotObserved(absl::string_view payload);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_JSON_FRAMES_H_
