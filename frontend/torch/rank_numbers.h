// Lists the numbers of a trace that may be other ones on another rank of the same program.
//
// These are where views begin in memory, where parts begin in the reference's tensors, which ranks
// take part in communication, and whole numbers among arguments. Traces with the same text
// (program_text.h) and aligned tables have the same numbers, in the same order.
#ifndef PLANPROOF_FRONTEND_TORCH_RANK_NUMBERS_H_
#define PLANPROOF_FRONTEND_TORCH_RANK_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

enum class TraceList : uint8_t { kTensors, kGroups, kInputs, kOperators, kResults };
// An entry of one of a trace's lists.
struct TraceEntry {
  TraceList list = TraceList::kOperators;
  size_t index = 0;
};
// "operator 41, aten.add.Tensor at train.py:12: y = x + b"; of a tensor or group, where it is used
// first.
std::string PlaceOf(const Trace& trace, const TraceEntry& entry);

// kRank: a rank of the job.
enum class RankNumberKind : uint8_t { kOffset, kPlace, kRank, kArgument };
struct RankNumber {
  RankNumberKind kind = RankNumberKind::kArgument;
  TraceEntry entry;
  int64_t value = 0;
};
std::vector<RankNumber> RankNumbersOf(Trace* trace);
// Puts in the place of each number, in this order, what `change` makes of it.
void ChangeRankNumbers(Trace* trace, const std::function<int64_t(const RankNumber&)>& change);

// Makes the tables of tensors and groups of traces with the same text such that what one trace has
// at some position all others have there: two places of the text have one entry if they have one in
// every trace. InvalidArgument if entries differ in more than their numbers, or if two groups of a
// trace are the same ranks.
absl::Status AlignTables(const std::vector<Trace*>& traces);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RANK_NUMBERS_H_
