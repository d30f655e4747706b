#include "frontend/torch/rank_family.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/possible_rank.h"
#include "frontend/torch/program_text.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

const char* NameOf(RankNumberKind kind) {
  switch (kind) {
    case RankNumberKind::kOffset:
      return "the place in memory";
    case RankNumberKind::kPlace:
      return "the start of the part";
    case RankNumberKind::kRank:
      return "the rank that takes part";
    default:
      return "the number";
  }
}

// Groups of one trace are different; two that are the same at this coordinate are one.
void MergeEqualGroups(Trace* trace) {
  std::vector<std::vector<int32_t>> kept;
  std::vector<int32_t> moved;
  for (const std::vector<int32_t>& group : trace->groups) {
    const auto found = std::find(kept.begin(), kept.end(), group);
    moved.push_back(static_cast<int32_t>(found - kept.begin()));
    if (found == kept.end()) kept.push_back(group);
  }
  for (Executed& executed : trace->operators) {
    if (executed.collective) executed.collective->group = moved[executed.collective->group];
  }
  for (TraceResult& result : trace->results) {
    if (result.reduce) result.group = moved[result.group];
  }
  trace->groups = std::move(kept);
}

}  // namespace

absl::StatusOr<RankFamily> RankFamily::Of(const std::vector<const Trace*>& recorded,
                                          const MeshCoordinates& mesh, size_t axis) {
  RankFamily family(mesh, axis);
  std::vector<Trace> copies;
  std::vector<Trace*> traces;
  copies.reserve(recorded.size());
  for (const Trace* trace : recorded) {
    PLAN_RETURN_IF_ERROR(SameText(*recorded[0], *trace));
    traces.push_back(&copies.emplace_back(*trace));
    family.coordinates_.push_back(mesh.Of(trace->rank, axis));
    family.ranks_.push_back(trace->rank);
  }
  PLAN_RETURN_IF_ERROR(AlignTables(traces));
  std::vector<std::vector<RankNumber>> numbers;
  for (Trace* trace : traces) numbers.push_back(RankNumbersOf(trace));
  family.first_ = std::move(copies[0]);
  PLAN_RETURN_IF_ERROR(family.Fit(numbers));
  return family;
}

absl::Status RankFamily::Fit(const std::vector<std::vector<RankNumber>>& numbers) {
  for (size_t position = 0; position < numbers[0].size(); ++position) {
    std::vector<const RankNumber*> recorded;
    for (const auto& of_rank : numbers) recorded.push_back(&of_rank[position]);
    if (std::all_of(recorded.begin(), recorded.end(), [&](const RankNumber* number) {
          return number->value == recorded[0]->value;
        })) {
      continue;
    }
    PLAN_ASSIGN_OR_RETURN(const int64_t step, StepOf(recorded));
    growing_.push_back({position, *recorded[0], step});
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RankFamily::EvenStep(const std::vector<int64_t>& values,
                                             const TraceEntry& entry) const {
  using Wide = __int128;
  const Wide rise = static_cast<Wide>(values[1]) - values[0];
  const Wide run = coordinates_[1] - coordinates_[0];
  bool even = rise % run == 0;
  for (size_t i = 2; even && i < values.size(); ++i) {
    even = static_cast<Wide>(values[i]) - values[0] ==
           rise / run * (coordinates_[i] - coordinates_[0]);
  }
  constexpr Wide kMost = std::numeric_limits<int64_t>::max();
  if (even && rise / run <= kMost && rise / run >= -kMost) return static_cast<int64_t>(rise / run);
  return absl::InvalidArgumentError(absl::StrCat(
      PlaceOf(first_, entry), ": a number is ", absl::StrJoin(values, ", "), " on ranks ",
      absl::StrJoin(ranks_, ", "), ", which does not grow evenly along ", mesh_.Name(axis_)));
}

absl::StatusOr<int64_t> RankFamily::StepOf(const std::vector<const RankNumber*>& recorded) const {
  const RankNumber& first = *recorded[0];
  std::vector<int64_t> values;
  for (const RankNumber* number : recorded) values.push_back(number->value);
  if (first.kind == RankNumberKind::kRank) {
    // They have been found to differ: they must move along.
    for (size_t i = 0; i < values.size(); ++i) {
      if (mesh_.Moved(values[i], axis_, 0) == mesh_.Moved(values[0], axis_, 0) &&
          mesh_.Of(values[i], axis_) - mesh_.Of(values[0], axis_) ==
              coordinates_[i] - coordinates_[0]) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          PlaceOf(first_, first.entry), ": rank ", absl::StrJoin(values, ", "),
          " takes part on ranks ", absl::StrJoin(ranks_, ", "),
          ", which neither is one rank nor moves along ", mesh_.Name(axis_), " with them"));
    }
    return 1;
  }
  PLAN_ASSIGN_OR_RETURN(const int64_t step, EvenStep(values, first.entry));
  // Any two numbers lie on a line. A coordinate is what it is.
  if (first.kind == RankNumberKind::kArgument && values.size() < 3 && values != coordinates_) {
    return absl::InvalidArgumentError(
        absl::StrCat(PlaceOf(first_, first.entry), ": a number is ", absl::StrJoin(values, " and "),
                     " on ranks ", absl::StrJoin(ranks_, " and "),
                     "; how it goes on is seen from three ranks, so record a third one"));
  }
  return step;
}

absl::StatusOr<int64_t> RankFamily::ValueAt(const Growing& growing, int64_t coordinate) const {
  const RankNumber& number = growing.number;
  const __int128 moved = static_cast<__int128>(growing.step) * (coordinate - coordinates_[0]);
  if (number.kind == RankNumberKind::kRank) {
    const auto at = static_cast<int64_t>(mesh_.Of(number.value, axis_) + moved);
    if (at >= 0 && at < mesh_.Extent(axis_)) return mesh_.Moved(number.value, axis_, at);
  } else {
    const __int128 value = number.value + moved;
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    const bool negative = value < 0 && number.kind != RankNumberKind::kArgument;
    if (!negative && value <= kMost && value >= -kMost) return static_cast<int64_t>(value);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      PlaceOf(first_, number.entry), ": ", NameOf(number.kind), " grows evenly along ",
      mesh_.Name(axis_), " on the recorded ranks, and at ", coordinate, " there is no such one"));
}

absl::StatusOr<Trace> RankFamily::Member(int64_t coordinate) const {
  Trace member = first_;
  member.given = false;
  member.rank = mesh_.Moved(first_.rank, axis_, coordinate);
  member.path = absl::StrCat("rank ", member.rank, ", made of ", first_.path);
  absl::Status status;
  size_t position = 0, next = 0;
  ChangeRankNumbers(&member, [&](const RankNumber& number) {
    if (next == growing_.size() || position++ != growing_[next].position) return number.value;
    const absl::StatusOr<int64_t> value = ValueAt(growing_[next++], coordinate);
    if (value.ok()) return *value;
    status.Update(value.status());
    return number.value;
  });
  PLAN_RETURN_IF_ERROR(status);
  // What data chose was recorded of other ranks.
  for (Executed& executed : member.operators) executed.values.clear();
  MergeEqualGroups(&member);
  PLAN_RETURN_IF_ERROR(CheckPossible(member));
  return member;
}

size_t RankFamily::Differing(RankNumberKind kind) const {
  return static_cast<size_t>(
      std::count_if(growing_.begin(), growing_.end(),
                    [&](const Growing& growing) { return growing.number.kind == kind; }));
}

}  // namespace planproof::frontend::torch
