#include "frontend/torch/rank_extension.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/load_problem.h"
#include "frontend/torch/chosen_rows.h"
#include "frontend/torch/mesh_coordinates.h"
#include "frontend/torch/rank_family.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// Each has a trace in memory.
constexpr int32_t kMostExtended = 4096;

// {2, 3, 4, 9}: "2 to 4 and 9".
std::string Listed(const std::set<int64_t>& numbers) {
  std::vector<std::string> runs;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int64_t first = *at;
    int64_t last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) last = *at;
    if (last - first > 1) {
      runs.push_back(absl::StrCat(first, " to ", last));
      continue;
    }
    for (int64_t number = first; number <= last; ++number) runs.push_back(absl::StrCat(number));
  }
  if (runs.size() < 2) return absl::StrJoin(runs, "");
  const std::string end = std::move(runs.back());
  runs.pop_back();
  return absl::StrCat(absl::StrJoin(runs, ", "), " and ", end);
}

class Extension {
 public:
  Extension(MeshCoordinates mesh, size_t axis, std::vector<Trace>* ranks)
      : mesh_(std::move(mesh)),
        axis_(axis),
        option_(absl::StrCat("--extend ", mesh_.Name(axis), "=", mesh_.Extent(axis))),
        ranks_(*ranks) {}

  absl::Status Run() {
    std::map<int32_t, std::map<int64_t, size_t>> lines;  // by their rank at 0: by coordinate
    for (size_t r = 0; r < ranks_.size(); ++r) {
      lines[mesh_.Moved(ranks_[r].rank, axis_, 0)][mesh_.Of(ranks_[r].rank, axis_)] = r;
    }
    for (const auto& [first, line] : lines) PLAN_RETURN_IF_ERROR(ExtendLine(first, line));
    return absl::OkStatus();
  }

  // Of what was added; nothing if all ranks were there.
  void AddAssumptions(std::vector<std::string>* assumptions) const {
    if (made_.empty()) return;
    const std::string& name = mesh_.Name(axis_);
    const bool one_axis = mesh_.size() == 1;
    assumptions->push_back(absl::StrCat(
        one_axis ? "ranks " : absl::StrCat("ranks with ", name, " "), Listed(made_),
        one_axis ? " run the program of ranks "
                 : absl::StrCat(" run the programs of those with ", name, " "),
        Listed(recorded_), " with their own coordinates along ", name, " (", option_, ")"));
    std::vector<std::string> differing;
    for (const auto& [kind, what] : {std::pair(RankNumberKind::kPlace, "starts of parts"),
                                     std::pair(RankNumberKind::kOffset, "places in memory"),
                                     std::pair(RankNumberKind::kRank, "ranks that take part"),
                                     std::pair(RankNumberKind::kArgument, "numbers")}) {
      const auto count = differing_.find(kind);
      if (count == differing_.end() || count->second == 0) continue;
      differing.push_back(absl::StrCat(count->second, " ", what));
    }
    if (differing.empty()) return;
    assumptions->push_back(
        absl::StrCat("what differs along ", name,
                     " goes on evenly, as recorded: ", absl::StrJoin(differing, ", ")));
  }

 private:
  absl::Status Refuse(const absl::Status& status) const {
    return UsageError(absl::StatusCode::kFailedPrecondition,
                      absl::StrCat(option_, ": ", std::string(status.message()),
                                   "; without --extend all ranks have to be recorded and given"));
  }

  absl::Status ExtendLine(int32_t first, const std::map<int64_t, size_t>& line) {
    if (static_cast<int64_t>(line.size()) == mesh_.Extent(axis_)) return absl::OkStatus();
    if (line.size() == 1) {
      const int64_t only = line.begin()->first;
      return Refuse(absl::InvalidArgumentError(
          absl::StrCat("rank ", mesh_.Moved(first, axis_, only),
                       " is the only one that was recorded along ", mesh_.Name(axis_),
                       ", and one rank does not show what depends on the coordinate; record "
                       "rank ",
                       mesh_.Moved(first, axis_, only == 0 ? 1 : only - 1), ", too")));
    }
    std::vector<const Trace*> recorded;
    for (const auto& [coordinate, r] : line) {
      recorded.push_back(&ranks_[r]);
      recorded_.insert(coordinate);
    }
    const absl::StatusOr<RankFamily> family = RankFamily::Of(recorded, mesh_, axis_);
    if (!family.ok()) return Refuse(family.status());
    for (const RankNumberKind kind : {RankNumberKind::kPlace, RankNumberKind::kOffset,
                                      RankNumberKind::kRank, RankNumberKind::kArgument}) {
      differing_[kind] += family->Differing(kind);
    }
    for (int64_t coordinate = 0; coordinate < mesh_.Extent(axis_); ++coordinate) {
      if (line.count(coordinate) != 0) continue;
      absl::StatusOr<Trace> member = family->Member(coordinate);
      if (!member.ok()) return Refuse(member.status());
      ranks_.push_back(*std::move(member));
      made_.insert(coordinate);
    }
    return absl::OkStatus();
  }

  MeshCoordinates mesh_;
  size_t axis_;
  std::string option_;
  std::vector<Trace>& ranks_;
  std::set<int64_t> recorded_, made_;  // coordinates
  std::map<RankNumberKind, size_t> differing_;
};

std::string Text(const std::vector<std::pair<std::string, int64_t>>& axes) {
  return absl::StrJoin(axes, ",", [](std::string* out, const auto& axis) {
    absl::StrAppend(out, axis.first, "=", axis.second);
  });
}

absl::Status Unfit(const Trace& trace, const std::string& what) {
  return UsageError(absl::StatusCode::kFailedPrecondition,
                    absl::StrCat(trace.path, ": --extend: ", what));
}

// All ranks are of one job, whose ranks are coordinates, and each is there once.
absl::Status CheckJob(const std::vector<Trace>& ranks) {
  const Trace& first = ranks[0];
  int64_t size = 1;  // beyond the number of ranks it only matters that it is
  for (const auto& [name, extent] : first.axes) {
    if (size <= first.world) size *= extent;
  }
  std::set<int32_t> seen;
  for (const Trace& trace : ranks) {
    if (trace.world != first.world || trace.axes != first.axes) {
      return Unfit(trace, absl::StrCat("is of another job than ", first.path,
                                       "; give traces of one recording"));
    }
    if (size != trace.world) {
      return Unfit(trace, absl::StrCat("its axes are of ", size, " ranks, and there are ",
                                       trace.world, "; record it with all axes of the mesh"));
    }
    if (!seen.insert(trace.rank).second) {
      return Unfit(trace,
                   absl::StrCat("is a second trace of rank ", trace.rank, "; give each rank once"));
    }
    if (SizesAreChosen(trace)) {
      return Unfit(trace,
                   "sizes in it depend on data (masked_select, nonzero or the splits of an "
                   "all_to_all), which other ranks have others of; record and give all ranks");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExtendRanks(const std::vector<std::pair<std::string, int64_t>>& axes,
                         std::vector<Trace>* ranks, std::vector<std::string>* assumptions) {
  if (ranks->empty()) return absl::OkStatus();
  PLAN_RETURN_IF_ERROR(CheckJob(*ranks));
  if ((*ranks)[0].world > kMostExtended) {
    return absl::ResourceExhaustedError(absl::StrCat((*ranks)[0].path,
                                                     ": --extend: ", (*ranks)[0].world,
                                                     " ranks are more than ", kMostExtended));
  }
  const MeshCoordinates mesh((*ranks)[0].axes);
  for (const auto& [name, extent] : axes) {
    size_t axis = 0;
    while (axis < mesh.size() && mesh.Name(axis) != name) ++axis;
    // Numbers of a smaller job, such as 1/2 for a mean over two ranks, are those of its size.
    if (axis == mesh.size() || mesh.Extent(axis) != extent) {
      return Unfit((*ranks)[0],
                   absl::StrCat("was recorded in a job with the mesh ", Text((*ranks)[0].axes),
                                ", not with ", name, "=", extent,
                                "; record some ranks of the larger job: python -m "
                                "planproof.torch.launch PROGRAM --mesh ",
                                name, "=", extent, " --ranks 0,1"));
    }
    Extension extension(mesh, axis, ranks);
    PLAN_RETURN_IF_ERROR(extension.Run());
    extension.AddAssumptions(assumptions);
  }
  std::set<int32_t> there;
  for (const Trace& trace : *ranks) there.insert(trace.rank);
  for (int32_t rank = 0; rank < (*ranks)[0].world; ++rank) {
    if (there.count(rank) != 0) continue;
    return Unfit((*ranks)[0],
                 absl::StrCat("rank ", rank, " of the mesh ", Text((*ranks)[0].axes),
                              " was not recorded, and no rank that was is on a line with it along ",
                              Text(axes), "; record it, too"));
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
