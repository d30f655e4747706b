#include "anchor/held_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "anchor/expected_rounding.h"
#include "anchor/held_causes.h"
#include "anchor/held_sketches.h"
#include "anchor/sketch.h"
#include "runtime_check/comparison.h"
#include "runtime_check/positions.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using frontend::RecordedInput;
using frontend::RecordedProgram;
using frontend::RecordedResult;
using frontend::RecordedRole;
using runtime_check::Values;

// Two runs that round differently may move an element in opposite directions (Adam of a gradient
// that is zero does), so what one moves it by counts twice.
constexpr double kRuns = 2;
// Iterations before the recorded one, of which a trace does not say how many there were: the
// recorder's default (python/planproof/torch/launch.py).
constexpr double kWarmup = 2;

const char* RoleName(RecordedRole role) {
  switch (role) {
    case RecordedRole::kParameter:
      return "parameter";
    case RecordedRole::kBuffer:
      return "buffer";
    case RecordedRole::kState:
      return "state";
    case RecordedRole::kInput:
      break;
  }
  return "input";
}

double LargestOf(const Values& values) {
  double largest = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values.At(i))) largest = std::max(largest, std::fabs(values.At(i)));
  }
  return largest;
}

// Gathers the tensors of the reference, with what ranks hold of them.
class HeldTensors {
 public:
  HeldTensors(const frontend::Recording& recording, const lineage::Problem& problem,
              const ComputedTensors* computed, RecordedFiles* files)
      : recording_(recording), problem_(problem), computed_(computed), files_(*files) {}

  const std::map<int32_t, SketchedTensor>& sketched() const { return sketched_; }
  const std::string& missing() const { return missing_; }

  absl::StatusOr<std::vector<HeldTensor>> Run() {
    const RecordedProgram& reference = recording_.reference;
    for (size_t k = 0; k < reference.inputs.size(); ++k) numbers_[reference.inputs[k].name] = k;
    for (size_t k = 0; k < reference.results.size(); ++k) {
      if (reference.results[k].kind == RecordedResult::Kind::kUpdated &&
          reference.results[k].has_values)
        updates_[reference.results[k].name] = static_cast<int32_t>(k);
    }
    PLAN_ASSIGN_OR_RETURN(reference_made_later_, files_.reference.MadeLater());
    for (size_t rank = 0; rank < recording_.ranks.size(); ++rank) {
      const RecordedProgram& program = recording_.ranks[rank];
      PLAN_ASSIGN_OR_RETURN(made_later_, files_.ranks[rank].MadeLater());
      for (size_t k = 0; k < program.inputs.size(); ++k) {
        const absl::Status added = Add(rank, static_cast<int32_t>(k));
        if (!added.ok() && !absl::IsNotFound(added)) return added;
        // A sketch is of what was there before the warm-up, where values may be later ones.
        PLAN_ASSIGN_OR_RETURN(const auto sketch,
                              files_.ranks[rank].HeldSketch(static_cast<int32_t>(k)));
        if (!added.ok() || sketch) {
          PLAN_RETURN_IF_ERROR(AddSketch(rank, static_cast<int32_t>(k), added));
        }
      }
    }
    std::vector<HeldTensor> tensors;
    for (auto& [key, tensor] : tensors_) tensors.push_back(std::move(tensor));
    // Other data make other parameters and states in the steps before the recorded one.
    std::stable_partition(tensors.begin(), tensors.end(), [](const HeldTensor& tensor) {
      return tensor.role == RecordedRole::kInput;
    });
    return tensors;
  }

 private:
  absl::Status Add(size_t rank, int32_t number) {
    const RecordedInput& input = recording_.ranks[rank].inputs[number];
    const auto found = numbers_.find(input.name);
    if (found == numbers_.end() || input.tensor == sdfg::kNone) {
      return absl::InternalError(absl::StrCat(input.name, " has no counterpart"));
    }
    const auto counterpart = static_cast<int32_t>(found->second);
    const RecordedInput& whole = recording_.reference.inputs[counterpart];
    // States that a step makes have no values from before, and have been rounded. One that only the
    // other side makes begins at zero there.
    const bool own = files_.ranks[rank].HasHeld(number);
    const bool theirs = files_.reference.HasHeld(counterpart);
    const bool absent = theirs && made_later_[number];
    const bool before = (own && theirs) || absent || (own && reference_made_later_[counterpart]);
    PLAN_ASSIGN_OR_RETURN(HeldTensor * tensor, WholeOf(counterpart, before));
    HeldTensor::Part part;
    part.rank = static_cast<int32_t>(rank);
    part.dtype = input.view.dtype;
    part.absent = absent;
    if (absent) {
      part.values = Values::Zeros(input.view.shape, input.view.dtype, sdfg::DType::kFloat64);
    } else {
      PLAN_ASSIGN_OR_RETURN(part.values, before ? files_.ranks[rank].Held(number)
                                                : files_.ranks[rank].Before(input.view));
    }
    part.values.shape = problem_.parallel.tensors[input.tensor].shape;
    part.map = problem_.lineage[input.tensor].map;
    tensor->made_by_steps =
        !before && input.role == RecordedRole::kState && recording_.reference.version > 1;
    if (!before) {
      PLAN_ASSIGN_OR_RETURN(part.allowed, AllowedOf(counterpart, whole));
    } else if (input.role != RecordedRole::kInput) {
      part.allowed = RoundingOfLoading(tensor->whole, whole.view.dtype);
    }
    tensor->parts.push_back(std::move(part));
    return absl::OkStatus();
  }

  // Of what has no values; `why`: what is said of it if it has no sketch either.
  absl::Status AddSketch(size_t rank, int32_t number, const absl::Status& why) {
    const RecordedInput& input = recording_.ranks[rank].inputs[number];
    const auto counterpart = static_cast<int32_t>(numbers_.at(input.name));
    const RecordedInput& whole = recording_.reference.inputs[counterpart];
    // What was rounded to another type has another sketch, and what was computed, too.
    std::optional<std::array<double, 4>> own, theirs;
    if (input.role != RecordedRole::kState && input.view.dtype == whole.view.dtype) {
      PLAN_ASSIGN_OR_RETURN(own, SketchOf(recording_.ranks[rank], number, problem_.parallel,
                                          problem_.lineage[input.tensor].map, &files_.ranks[rank]));
      std::vector<sdfg::IndexMap> itself;
      for (size_t d = 0; d < problem_.logical.tensors[whole.tensor].shape.size(); ++d)
        itself.push_back({0, {{static_cast<int32_t>(d), 1, 1, 0}}});
      PLAN_ASSIGN_OR_RETURN(theirs, SketchOf(recording_.reference, counterpart, problem_.logical,
                                             itself, &files_.reference));
    }
    if (!own || !theirs) {
      if (missing_.empty() && !why.ok()) missing_ = std::string(why.message());
      return absl::OkStatus();
    }
    SketchedTensor& tensor = sketched_[counterpart];
    tensor.name = input.name;
    tensor.elements = runtime_check::CountOf(whole.view.shape);
    tensor.sketch = *theirs;
    tensor.parts.push_back({static_cast<int32_t>(rank), runtime_check::CountOf(input.view.shape),
                            problem_.lineage[input.tensor].map, *own});
    return absl::OkStatus();
  }

  // That which was recorded, or that of the recorded values.
  absl::StatusOr<std::optional<std::array<double, 4>>> SketchOf(
      const RecordedProgram& program, int32_t number, const sdfg::Graph& graph,
      const std::vector<sdfg::IndexMap>& map, RecordedValues* file) {
    if (!file->HasHeld(number)) return file->HeldSketch(number);
    const RecordedInput& input = program.inputs[number];
    PLAN_ASSIGN_OR_RETURN(Values values, file->Held(number));
    values.shape = graph.tensors[input.tensor].shape;
    const RecordedInput& whole = recording_.reference.inputs[numbers_.at(input.name)];
    return HeldSketchOf(input.name, values, map, problem_.logical.tensors[whole.tensor].shape);
  }

  absl::StatusOr<HeldTensor*> WholeOf(int32_t number, bool before) {
    const auto known = tensors_.find({number, before});
    if (known != tensors_.end()) return &known->second;
    HeldTensor tensor;
    const RecordedInput& input = recording_.reference.inputs[number];
    tensor.name = input.name;
    tensor.role = input.role;
    tensor.dtype = input.view.dtype;
    if (before && reference_made_later_[number]) {
      tensor.whole = Values::Zeros(input.view.shape, input.view.dtype, sdfg::DType::kFloat64);
    } else {
      PLAN_ASSIGN_OR_RETURN(tensor.whole, before ? files_.reference.Held(number)
                                                 : files_.reference.Before(input.view));
    }
    if (input.tensor == sdfg::kNone) return absl::InternalError(input.name + " is in no graph");
    tensor.whole.shape = problem_.logical.tensors[input.tensor].shape;
    return &tensors_.emplace(std::make_pair(number, before), std::move(tensor)).first->second;
  }

  absl::StatusOr<double> AllowedOf(int32_t number, const RecordedInput& input) {
    const auto known = allowed_.find(number);
    if (known != allowed_.end()) return known->second;
    double& allowed = allowed_[number];
    if (!sdfg::IsFloating(input.view.dtype)) return allowed;
    const auto update = updates_.find(input.name);
    if (update == updates_.end() && !input.named_by_reader) return allowed;
    PLAN_ASSIGN_OR_RETURN(const Values old_values, files_.reference.Before(input.view));
    if (update == updates_.end()) {  // how far it moves in a step was not recorded: half the digits
      allowed = LargestOf(old_values) * std::sqrt(RelativeSpacing(input.view.dtype));
      return allowed;
    }
    PLAN_ASSIGN_OR_RETURN(const Values new_values, files_.reference.Result(update->second));
    allowed = AllowedAfterSteps(input.role, old_values, new_values);
    if (input.role == RecordedRole::kState && computed_ != nullptr) {
      const auto updated = computed_->find(recording_.reference.results[update->second].tensor);
      if (updated != computed_->end())
        allowed = std::max(allowed, RoundingOfSteps(updated->second));
    }
    return allowed;
  }

  const frontend::Recording& recording_;
  const lineage::Problem& problem_;
  const ComputedTensors* computed_;
  RecordedFiles& files_;
  std::map<std::string, size_t> numbers_;
  std::map<std::string, int32_t> updates_;
  std::vector<bool> reference_made_later_, made_later_;  // of the rank in question
  std::map<int32_t, double> allowed_;
  std::map<int32_t, SketchedTensor> sketched_;  // by number of the reference's input
  std::string missing_;
  // By number of the reference's input, and whether its values are those before the warm-up.
  std::map<std::pair<int32_t, bool>, HeldTensor> tensors_;
};

}  // namespace

double RoundingOfLoading(const Values& whole, sdfg::DType dtype) {
  if (!sdfg::IsFloating(dtype)) return 0;
  // A matrix of this shape has no larger rank, so what is added to it is a sum of as many products.
  int64_t longest = 1;
  for (const int64_t extent : whole.shape) longest = std::max(longest, extent);
  const int64_t products = std::min(longest, whole.size() / longest);
  const auto roundings = static_cast<double>(whole.shape.size() < 2 ? 1 : products + 1);
  const double spacing = RelativeSpacing(dtype);
  const double within = std::min(spacing, RelativeSpacing(sdfg::DType::kFloat32));
  return LargestOf(whole) * std::max(spacing, roundings * within);
}

double AllowedAfterSteps(RecordedRole role, const Values& before, const Values& after) {
  double step = 0;
  for (int64_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const double own = std::fabs(after.At(i) - before.At(i));
    if (std::isfinite(own)) step = std::max(step, own);
  }
  // A state begins at zero: no element has moved further than to the largest.
  if (role == RecordedRole::kState && step > 0) return kRuns * LargestOf(before);
  return kRuns * kWarmup * step;
}

double RoundingOfSteps(const ComputedTensor& updated) {
  double largest = 0;
  for (const double change : updated.changes) largest = std::max(largest, change);
  const auto elements = static_cast<int64_t>(updated.changes.size());
  return kWarmup * std::sqrt(largest) *
         runtime_check::RatioBound(std::max<int64_t>(elements, 1), runtime_check::Roundings::kMany);
}

std::vector<stages::RecordedDifference> DifferencesOf(
    const HeldTensor& tensor, const std::vector<const HeldTensor*>& others) {
  std::vector<size_t> differing;
  stages::RecordedDifference difference;
  std::string place;
  for (size_t p = 0; p < tensor.parts.size(); ++p) {
    const HeldTensor::Part& part = tensor.parts[p];
    bool differs = false;
    runtime_check::ForEachPosition(
        part.map, tensor.whole.shape, part.values.shape, [&](int64_t i, int64_t at) {
          if (differs) return;
          const double value = part.values.At(i);
          const double expected = at < 0 ? std::nan("") : tensor.whole.At(at);
          differs = !SameNumber(value, part.dtype, expected, tensor.dtype, part.allowed);
          if (!differs || !differing.empty()) return;
          difference.value = NumberText(value, expected);
          difference.expected = NumberText(expected, value);
          if (at >= 0) difference.index = runtime_check::IndexAt(tensor.whole.shape, at);
        });
    if (!differs) continue;
    differing.push_back(p);
    difference.ranks.push_back(part.rank);
  }
  if (differing.empty()) return {};
  difference.tensor = tensor.name;
  const HeldFinding holds = FindHeld(tensor, differing[0], others);
  if (tensor.parts[differing[0]].absent) {
    difference.cause =
        absl::StrCat("rank ", difference.ranks[0], " had no such state before its first iteration");
    difference.usual = "the optimizer's state was not restored there";
  } else {
    difference.cause = absl::StrCat("rank ", difference.ranks[0], " holds ", holds.text);
    difference.usual = UsualCause(tensor, differing, holds.kind);
  }
  difference.text = absl::StrCat(RoleName(tensor.role), " ", tensor.name, " at [",
                                 absl::StrJoin(difference.index, ", "), "] is ", difference.value,
                                 " on rank ", difference.ranks[0], " and ", difference.expected,
                                 " in the reference; ", difference.cause);
  if (difference.ranks.size() > 1) {
    absl::StrAppend(&difference.text,
                    difference.ranks.size() == 2 ? "; so does rank " : "; so do ranks ",
                    absl::StrJoin(difference.ranks.begin() + 1, difference.ranks.end(), ", "));
  }
  return {std::move(difference)};
}

absl::StatusOr<HeldComparison> CompareHeld(const frontend::Recording& recording,
                                           const lineage::Problem& problem,
                                           const ComputedTensors* computed, RecordedFiles* files) {
  HeldTensors held(recording, problem, computed, files);
  PLAN_ASSIGN_OR_RETURN(const std::vector<HeldTensor> tensors, held.Run());
  HeldComparison comparison;
  comparison.missing = held.missing();
  std::vector<const HeldTensor*> others;
  for (const HeldTensor& tensor : tensors) others.push_back(&tensor);
  const auto add = [&](std::vector<stages::RecordedDifference> differences, bool made_by_steps) {
    if (!differences.empty()) comparison.only_by_steps &= made_by_steps;
    for (stages::RecordedDifference& difference : differences)
      comparison.differences.push_back(std::move(difference));
  };
  for (const HeldTensor& tensor : tensors) {
    comparison.compared += static_cast<int64_t>(tensor.parts.size());
    add(DifferencesOf(tensor, others), tensor.made_by_steps);
  }
  for (const auto& [number, tensor] : held.sketched()) {
    bool compared = false;
    add(DifferencesOf(tensor, &compared), false);
    comparison.compared += compared ? static_cast<int64_t>(tensor.parts.size()) : 0;
    if (!compared && comparison.missing.empty())
      comparison.missing = absl::StrCat("sketches of ", tensor.name, " do not add up to a whole");
  }
  return comparison;
}

}  // namespace planproof::anchor
