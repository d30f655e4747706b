// Translates the words of journals into types, once.
#ifndef PLANPROOF_MONITOR_JOURNAL_WORDS_H_
#define PLANPROOF_MONITOR_JOURNAL_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

// "exp_avg"; kOther if not known.
TensorSet SetFromWord(absl::string_view word);

// PyTorch's own class, by its qualified name ("torch.optim.adamw.AdamW"); kOther for all others,
// those that have only the name among them.
OptimizerKind OptimizerFromClass(absl::string_view class_name);

// "collectives of DistributedDataParallel", "modules within Block", "calls of the models".
NotObservedKind NotObservedFromText(absl::string_view what);

// "all_reduce [0,1] sum float32"; what is not known in it is empty or kOther.
Collective CollectiveFromText(absl::string_view text);

// Bits of the significand of "bfloat16"; 0 if it is no floating type that is known.
int SignificandFromDtype(const std::string& dtype);

// "forward begins"; "event 99" for one that is not in the list.
std::string EventName(EventType type);
const char* MomentName(Moment moment);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_WORDS_H_
