#include "runtime_check/dump_matching.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::runtime_check {
namespace {

bool AnyMatches(const std::vector<dumps::NamePattern>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&name](const dumps::NamePattern& pattern) { return pattern.Matches(name); });
}

class MatchingDumps {
 public:
  MatchingDumps(const dumps::Dump& reference, const dumps::Dump& candidate,
                const dumps::Annotations& annotations)
      : reference_(reference), candidate_(candidate), annotations_(annotations) {}

  absl::StatusOr<Matching> Run() {
    matching_.mesh.axes = candidate_.axes();
    for (const dumps::DumpedRank& rank : candidate_.ranks)
      matching_.mesh.coordinates.push_back(rank.manifest.coordinates);
    std::map<std::string, size_t> places;
    for (const std::string& name : reference_.ranks[0].manifest.tensors) {
      if (AnyMatches(annotations_.skip, name)) {
        ++matching_.skipped;
        continue;
      }
      places[name] = matching_.tensors.size();
      matching_.tensors.push_back({name, RuleOf(name), {}});
    }
    for (size_t rank = 0; rank < candidate_.ranks.size(); ++rank) {
      for (const std::string& name : candidate_.ranks[rank].manifest.tensors)
        PLAN_RETURN_IF_ERROR(Place(static_cast<int>(rank), name, places));
    }
    matching_.unmatched.assign(unmatched_.begin(), unmatched_.end());
    for (const dumps::TensorRule& rule : annotations_.tensors) {
      if (!used_.contains(rule.line)) matching_.unused.push_back(rule.line);
    }
    for (const dumps::NameRule& rule : annotations_.names) {
      if (!used_.contains(rule.line)) matching_.unused.push_back(rule.line);
    }
    std::sort(matching_.unused.begin(), matching_.unused.end());
    return std::move(matching_);
  }

 private:
  const dumps::TensorRule* RuleOf(const std::string& name) {
    for (const dumps::TensorRule& rule : annotations_.tensors) {
      if (!AnyMatches(rule.names, name)) continue;
      used_.insert(rule.line);
      return &rule;
    }
    return nullptr;
  }

  absl::StatusOr<int64_t> CoordinateOf(const std::string& axis, int rank, int line) const {
    for (size_t a = 0; a < matching_.mesh.axes.size(); ++a) {
      if (matching_.mesh.axes[a].name == axis) return matching_.mesh.coordinates[rank][a];
    }
    return absl::InvalidArgumentError(absl::StrCat(
        PlaceOf(annotations_, line), ": the candidate's mesh has no axis \"", axis, "\""));
  }

  // The reference's name of a rank's tensor.
  absl::StatusOr<std::string> ReferenceName(int rank, const std::string& name) {
    for (const dumps::NameRule& rule : annotations_.names) {
      const std::optional<std::vector<std::string>> captures = rule.candidate.Match(name);
      if (!captures) continue;
      bool here = true;
      for (const dumps::NameRule::OnAxis& where : rule.where) {
        PLAN_ASSIGN_OR_RETURN(const int64_t at, CoordinateOf(where.axis, rank, rule.line));
        here = here && at == where.value;
      }
      if (!here) continue;
      used_.insert(rule.line);
      int64_t offset = rule.offset;
      for (const dumps::NameRule::OnAxis& along : rule.offsets) {
        PLAN_ASSIGN_OR_RETURN(const int64_t at, CoordinateOf(along.axis, rank, rule.line));
        offset += along.value * at;
      }
      const std::optional<std::string> filled = rule.reference.Fill(*captures, offset);
      if (filled) return *filled;
      return absl::InvalidArgumentError(absl::StrCat(
          PlaceOf(annotations_, rule.line), ": the offset makes a number of ", name, " negative"));
    }
    return name;
  }

  absl::Status Place(int rank, const std::string& name,
                     const std::map<std::string, size_t>& places) {
    if (AnyMatches(annotations_.skip, name)) return absl::OkStatus();
    PLAN_ASSIGN_OR_RETURN(const std::string known, ReferenceName(rank, name));
    if (AnyMatches(annotations_.skip, known)) return absl::OkStatus();
    const auto found = places.find(known);
    if (found == places.end()) {
      unmatched_.insert(name);
      return absl::OkStatus();
    }
    std::vector<MatchedTensor::Holder>& holders = matching_.tensors[found->second].holders;
    if (!holders.empty() && holders.back().rank == rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("two tensors of rank ", rank, ", ", holders.back().name, " and ", name,
                       ", are the reference's ", known, "; correct \"names\""));
    }
    holders.push_back({rank, name});
    return absl::OkStatus();
  }

  const dumps::Dump& reference_;
  const dumps::Dump& candidate_;
  const dumps::Annotations& annotations_;
  std::set<int> used_;  // lines of rules
  std::set<std::string> unmatched_;
  Matching matching_;
};

}  // namespace

absl::StatusOr<Matching> MatchDumps(const dumps::Dump& reference, const dumps::Dump& candidate,
                                    const dumps::Annotations& annotations) {
  return MatchingDumps(reference, candidate, annotations).Run();
}

absl::StatusOr<Division> DivisionOf(const MatchedTensor& tensor, const Mesh& mesh,
                                    size_t dimensions, const dumps::Annotations& annotations) {
  absl::StatusOr<Division> division = DivisionOf(tensor.rule, mesh, dimensions);
  if (division.ok()) return division;
  return absl::InvalidArgumentError(absl::StrCat(PlaceOf(annotations, tensor.rule->line), ": ",
                                                 std::string(division.status().message()), " (",
                                                 tensor.name, ")"));
}

}  // namespace planproof::runtime_check
