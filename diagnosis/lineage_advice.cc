#include "diagnosis/lineage_advice.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"
#include "shape_reduction/replay.h"

namespace planproof::diagnosis {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxTensors = 64;            // of a stage
constexpr size_t kMaxAdvisedRelations = 256;  // relations of one tensor that are tried
constexpr size_t kMaxAdvised = 6;
constexpr uint64_t kAdviceSeeds[] = {2, 7, 12};

using Clock = shape_reduction::WorkClock;

// Tensors without lineage from which the claimed one is made, nearest to the inputs first.
std::vector<TensorId> Between(const lineage::Problem& problem, TensorId claimed) {
  const sdfg::Graph& g = problem.parallel;
  std::set<TensorId> found;
  std::vector<TensorId> work = {claimed};
  while (!work.empty() && found.size() < kMaxTensors) {
    const TensorId t = work.back();
    work.pop_back();
    const sdfg::OperatorId producer = g.tensors[t].producer;
    if (producer == kNone) continue;
    for (const TensorId input : g.operators[producer].inputs) {
      const bool open =
          g.tensors[input].producer != kNone && problem.lineage[input].kind == LineageKind::kNone;
      if (open && found.insert(input).second) work.push_back(input);
    }
  }
  std::vector<TensorId> tensors(found.begin(), found.end());
  std::sort(tensors.begin(), tensors.end(),
            [&](TensorId a, TensorId b) { return g.tensors[a].producer < g.tensors[b].producer; });
  return tensors;
}

// Without the program in front: "stage1:y" is "y".
std::string NameOnDevice(const std::string& name) { return name.substr(name.rfind(':') + 1); }

// One way to cut the logical tensor: per axis of the parallel one the dimension that it cuts, or -1
// for an axis on whose ranks all is the same; of several axes at one dimension, the first is
// outermost.
struct Cut {
  std::vector<int> dimension_of_axis;
};

// The map of the cut; false if the extents do not fit.
bool MapOf(const sdfg::Tensor& parallel, const sdfg::Shape& logical, const Cut& cut,
           Lineage* lineage) {
  const size_t axes = parallel.axes.size();
  lineage->kind = LineageKind::kFull;
  lineage->map.assign(logical.size(), {});
  for (size_t d = 0; d < logical.size(); ++d) {
    const auto local = static_cast<int32_t>(axes + d);
    int64_t extent = parallel.shape[local];
    lineage->map[d].terms.push_back({.dim = local});
    for (size_t a = axes; a-- > 0;) {
      if (cut.dimension_of_axis[a] != static_cast<int>(d)) continue;
      lineage->map[d].terms.push_back({.dim = static_cast<int32_t>(a), .scale = extent});
      if (__builtin_mul_overflow(extent, parallel.shape[a], &extent)) return false;
    }
    if (extent != logical[d]) return false;
  }
  return true;
}

std::string RelationText(const lineage::Problem& problem, const sdfg::Tensor& parallel,
                         const sdfg::Tensor& logical, const Cut& cut) {
  std::string text;
  const auto add = [&text](const std::string& entry) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", entry);
  };
  if (logical.name != NameOnDevice(parallel.name))
    add(absl::StrCat("\"of\": \"", logical.name, "\""));
  for (size_t d = 0; d < logical.shape.size(); ++d) {
    std::string over;
    size_t axes = 0;
    for (size_t a = 0; a < parallel.axes.size(); ++a) {
      if (cut.dimension_of_axis[a] != static_cast<int>(d)) continue;
      absl::StrAppend(&over, over.empty() ? "" : ", ", "\"",
                      problem.parallel.axes[parallel.axes[a]].name, "\"");
      ++axes;
    }
    if (axes > 0)
      add(absl::StrCat("\"", d, "\": ", axes > 1 ? "[" : "", over, axes > 1 ? "]" : ""));
  }
  return absl::StrCat("{", text, "}");
}

struct Candidate {
  Lineage lineage;
  Cut cut;
  bool same_name = false;
};

// All plain cuts of logical tensors that have the parallel one's extents.
std::vector<Candidate> CandidatesFor(const lineage::Problem& problem, TensorId id) {
  const sdfg::Tensor& p = problem.parallel.tensors[id];
  const int rank = p.local_rank();
  std::vector<Candidate> candidates;
  for (const bool same_name : {true, false}) {
    for (size_t l = 0; l < problem.logical.tensors.size(); ++l) {
      const sdfg::Tensor& logical = problem.logical.tensors[l];
      if ((logical.name == NameOnDevice(p.name)) != same_name || logical.producer == kNone ||
          static_cast<int>(logical.shape.size()) != rank ||
          sdfg::IsInteger(logical.dtype) != sdfg::IsInteger(p.dtype)) {
        continue;
      }
      Cut cut{std::vector<int>(p.axes.size(), -1)};
      while (candidates.size() < kMaxAdvisedRelations) {
        Candidate candidate{{}, cut, same_name};
        if (MapOf(p, logical.shape, cut, &candidate.lineage)) {
          candidate.lineage.logical = static_cast<TensorId>(l);
          candidates.push_back(std::move(candidate));
        }
        size_t a = 0;
        while (a < p.axes.size() && ++cut.dimension_of_axis[a] == rank)
          cut.dimension_of_axis[a++] = -1;
        if (a == p.axes.size()) break;
      }
    }
  }
  return candidates;
}

// The program that makes the tensor, as a plan names it, and the tensor's name there.
std::string InProgram(const std::string& tensor, const std::string& relation) {
  const size_t colon = tensor.rfind(':');
  const std::string name = colon == std::string::npos ? tensor : tensor.substr(colon + 1);
  return absl::StrCat("\"", name, "\": ", relation,
                      colon == std::string::npos
                          ? ""
                          : absl::StrCat(" in program \"", tensor.substr(0, colon), "\""));
}

}  // namespace

std::string LineageToClaim(const lineage::Problem& problem, const stages::Claim& claim,
                           double seconds) {
  const Clock::time_point start = Clock::now();
  const auto left = [&] {
    return seconds - std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<std::pair<TensorId, std::vector<Candidate>>> open;
  for (const TensorId t : Between(problem, claim.parallel)) {
    open.emplace_back(t, CandidatesFor(problem, t));
  }
  shape_reduction::Replay replay(problem);
  size_t runs = 0;
  for (const uint64_t seed : kAdviceSeeds) {
    if (left() <= 0) return "";
    if (!replay.Run(seed, {claim.parallel}, left()).ok()) continue;
    ++runs;
    for (auto& [tensor, candidates] : open) {
      std::erase_if(candidates, [&, id = tensor](const Candidate& candidate) {
        if (left() <= 0 || replay.Parallel(id) == nullptr) return true;
        const Values claimed =
            replay.Claimed(problem.parallel.tensors[id].shape, candidate.lineage);
        return claimed == nullptr || !Agree(replay.Parallel(id), claimed);
      });
    }
  }
  if (runs < 2) return "";
  std::vector<std::string> entries;
  for (const bool same_name : {true, false}) {
    for (const auto& [tensor, candidates] : open) {
      if (candidates.empty() || candidates[0].same_name != same_name ||
          entries.size() == kMaxAdvised)
        continue;
      const Candidate& best = candidates[0];
      const sdfg::Tensor& p = problem.parallel.tensors[tensor];
      const sdfg::Tensor& logical = problem.logical.tensors[best.lineage.logical];
      entries.push_back(InProgram(p.name, RelationText(problem, p, logical, best.cut)));
    }
  }
  if (entries.empty()) return "";
  return absl::StrCat("claim \"lineage\": {", absl::StrJoin(entries, ", "),
                      "}; on the inputs tried it holds");
}

}  // namespace planproof::diagnosis
