#include "frontend/torch/possible_rank.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/rank_numbers.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::Status Impossible(const Trace& trace, const TraceEntry& entry, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(PlaceOf(trace, entry), ": on rank ", trace.rank, " ", what));
}

bool LiesWithin(const Tensor& tensor, const Storage& storage) {
  int64_t first = tensor.offset, last = tensor.offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0) return true;
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.strides[d], &reach) ||
        __builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last)) {
      return false;
    }
  }
  return first >= 0 && last < storage.size;
}

bool LiesWithin(const std::pair<int64_t, int64_t>& range, int64_t extent) {
  return range.first >= 0 && range.first <= extent && range.second <= extent - range.first;
}

bool LiesWithin(const Part& part) {
  if (!part.whole) return part.place.empty() && !part.flat;
  int64_t elements = 1;
  for (size_t d = 0; d < part.whole->size(); ++d) {
    const int64_t extent = (*part.whole)[d];
    if (__builtin_mul_overflow(elements, extent, &elements)) return false;
    if (part.place.empty()) continue;
    if (!std::all_of(part.place[d].begin(), part.place[d].end(),
                     [&](const auto& range) { return LiesWithin(range, extent); })) {
      return false;
    }
  }
  return !part.flat || LiesWithin(*part.flat, elements);
}

absl::Status CheckGroup(const Trace& trace, int32_t number, const TraceEntry& entry) {
  const std::vector<int32_t>& group = trace.groups[number];
  const std::set<int32_t> ranks(group.begin(), group.end());
  if (ranks.size() != group.size()) {
    return Impossible(
        trace, entry,
        absl::StrCat("the group would have a rank twice: ", absl::StrJoin(group, ", ")));
  }
  if (ranks.count(trace.rank) != 0) return absl::OkStatus();
  return Impossible(
      trace, entry,
      absl::StrCat("the group would be ", absl::StrJoin(group, ", "), ", without it"));
}

absl::Status CheckCollective(const Trace& trace, size_t index) {
  const Collective& collective = *trace.operators[index].collective;
  const TraceEntry entry{TraceList::kOperators, index};
  if (collective.kind == CollectiveKind::kSend || collective.kind == CollectiveKind::kReceive) {
    return absl::OkStatus();
  }
  PLAN_RETURN_IF_ERROR(CheckGroup(trace, collective.group, entry));
  const std::vector<int32_t>& group = trace.groups[collective.group];
  if (!HasRoot(collective.kind) ||
      std::find(group.begin(), group.end(), collective.root) != group.end()) {
    return absl::OkStatus();
  }
  return Impossible(
      trace, entry,
      absl::StrCat("the root would be rank ", collective.root, ", which is not in the group"));
}

}  // namespace

absl::Status CheckPossible(const Trace& trace) {
  for (size_t i = 0; i < trace.tensors.size(); ++i) {
    const Tensor& tensor = trace.tensors[i];
    if (LiesWithin(tensor, trace.storages[tensor.storage])) continue;
    return Impossible(trace, {TraceList::kTensors, i},
                      "the tensor would lie outside of its memory");
  }
  for (size_t i = 0; i < trace.inputs.size(); ++i) {
    if (LiesWithin(trace.inputs[i].part)) continue;
    return Impossible(trace, {TraceList::kInputs, i},
                      "the part would lie outside of the reference's tensor");
  }
  for (size_t i = 0; i < trace.results.size(); ++i) {
    const TraceEntry entry{TraceList::kResults, i};
    if (!LiesWithin(trace.results[i].part)) {
      return Impossible(trace, entry, "the part would lie outside of the reference's tensor");
    }
    if (trace.results[i].reduce) {
      PLAN_RETURN_IF_ERROR(CheckGroup(trace, trace.results[i].group, entry));
    }
  }
  for (size_t i = 0; i < trace.operators.size(); ++i) {
    if (trace.operators[i].collective) PLAN_RETURN_IF_ERROR(CheckCollective(trace, i));
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
