#include "monitor/journal/words.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sdfg/element_type.h"

namespace planproof::monitor {
namespace {

template <class T, size_t kCount>
T ByWord(const std::array<std::pair<absl::string_view, T>, kCount>& words, absl::string_view word,
         T otherwise) {
  for (const auto& [name, meaning] : words) {
    if (name == word) return meaning;
  }
  return otherwise;
}

constexpr std::array<std::pair<absl::string_view, TensorSet>, 8> kSetWords = {{
    {"parameter", TensorSet::kParameter},
    {"gradient", TensorSet::kGradient},
    {"contribution", TensorSet::kContribution},
    {"exp_avg", TensorSet::kExpAvg},
    {"exp_avg_sq", TensorSet::kExpAvgSq},
    {"max_exp_avg_sq", TensorSet::kMaxExpAvgSq},
    {"momentum_buffer", TensorSet::kMomentumBuffer},
    {"step", TensorSet::kStepCount},
}};

constexpr std::array<std::pair<absl::string_view, OptimizerKind>, 6> kOptimizerClasses = {{
    {"torch.optim.sgd.SGD", OptimizerKind::kSgd},
    {"torch.optim.SGD", OptimizerKind::kSgd},
    {"torch.optim.adam.Adam", OptimizerKind::kAdam},
    {"torch.optim.Adam", OptimizerKind::kAdam},
    {"torch.optim.adamw.AdamW", OptimizerKind::kAdamW},
    {"torch.optim.AdamW", OptimizerKind::kAdamW},
}};

constexpr std::array<std::pair<absl::string_view, CollectiveKind>, 27> kCollectiveWords = {{
    {"all_reduce", CollectiveKind::kAllReduce},
    {"all_reduce_coalesced", CollectiveKind::kAllReduce},
    {"reduce_scatter", CollectiveKind::kReduceScatter},
    {"reduce_scatter_tensor", CollectiveKind::kReduceScatter},
    {"reduce_scatter_tensor_coalesced", CollectiveKind::kReduceScatter},
    {"reduce_scatter_single", CollectiveKind::kReduceScatter},
    {"reduce_scatter_single_coalesced", CollectiveKind::kReduceScatter},
    {"all_gather", CollectiveKind::kAllGather},
    {"all_gather_into_tensor", CollectiveKind::kAllGather},
    {"all_gather_into_tensor_coalesced", CollectiveKind::kAllGather},
    {"all_gather_tensor", CollectiveKind::kAllGather},
    {"all_gather_single", CollectiveKind::kAllGather},
    {"all_gather_single_coalesced", CollectiveKind::kAllGather},
    {"all_gather_coalesced", CollectiveKind::kAllGather},
    {"gather", CollectiveKind::kAllGather},
    {"all_gather_object", CollectiveKind::kAllGather},
    {"all_to_all", CollectiveKind::kAllToAll},
    {"all_to_all_single", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"broadcast_object_list", CollectiveKind::kBroadcast},
    {"reduce", CollectiveKind::kReduce},
    {"barrier", CollectiveKind::kBarrier},
    {"monitored_barrier", CollectiveKind::kBarrier},
    {"send", CollectiveKind::kSend},
    {"isend", CollectiveKind::kSend},
    {"recv", CollectiveKind::kReceive},
    {"irecv", CollectiveKind::kReceive},
}};

constexpr std::array<std::pair<absl::string_view, NotObservedKind>, 3> kNotObservedWords = {{
    {"collectives", NotObservedKind::kCollectives},
    {"modules", NotObservedKind::kModules},
    {"calls", NotObservedKind::kModules},
}};

constexpr std::array<const char*, 21> kEventNames = {
    "",
    "gradients cleared",
    "forward begins",
    "forward ends",
    "backward",
    "loss said",
    "clipped by norm",
    "clipped by value",
    "optimizer begins",
    "optimizer ends",
    "step left out",
    "scheduler's step",
    "learning rate",
    "collective",
    "loss scale",
    "state read",
    "state loaded",
    "parameter changed",
    "loss function",
    "module's output",
    "averaged",
};

std::vector<int> RanksFromText(absl::string_view text) {
  std::vector<int> ranks;
  absl::ConsumePrefix(&text, "[");
  absl::ConsumeSuffix(&text, "]");
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int rank = 0;
    if (!absl::SimpleAtoi(part, &rank)) return {};
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

TensorSet SetFromWord(absl::string_view word) { return ByWord(kSetWords, word, TensorSet::kOther); }

OptimizerKind OptimizerFromClass(absl::string_view class_name) {
  return ByWord(kOptimizerClasses, class_name, OptimizerKind::kOther);
}

NotObservedKind NotObservedFromText(absl::string_view what) {
  const std::vector<absl::string_view> words = absl::StrSplit(what, absl::MaxSplits(' ', 1));
  return ByWord(kNotObservedWords, words[0], NotObservedKind::kOther);
}

Collective CollectiveFromText(absl::string_view text) {
  Collective collective;
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (!words.empty()) collective.kind = ByWord(kCollectiveWords, words[0], CollectiveKind::kOther);
  if (words.size() > 1) collective.group = RanksFromText(words[1]);
  if (words.size() > 2) collective.operation = std::string(words[2]);
  if (words.size() > 3) collective.dtype = std::string(words[3]);
  return collective;
}

int SignificandFromDtype(const std::string& dtype) {
  const absl::StatusOr<sdfg::DType> type = sdfg::ElementTypeFromText(dtype);
  return type.ok() ? sdfg::SignificandBits(*type) : 0;
}

std::string EventName(EventType type) {
  const auto number = static_cast<size_t>(type);
  if (number > 0 && number < kEventNames.size()) return kEventNames[number];
  return absl::StrCat("event ", number);
}

const char* MomentName(Moment moment) {
  switch (moment) {
    case Moment::kBegin:
      return "begin";
    case Moment::kClip:
      return "clip";
    case Moment::kBefore:
      return "before";
    case Moment::kAfter:
      return "after";
    case Moment::kBackward:
      return "backward";
  }
  return "";
}

}  // namespace planproof::monitor
