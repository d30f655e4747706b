#include "anchor/held_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "anchor/expected_rounding.h"
#include "anchor/held_causes.h"
#include "runtime_check/positions.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using frontend::RecordedInput;
using frontend::RecordedProgram;
using frontend::RecordedResult;
using frontend::RecordedRole;
using runtime_check::Values;

// Of the reference's largest step: after up to four steps of warm-up two runs differ by what both
// have added up. A moving average may have moved further than one step shows.
constexpr double kStepsOfTensor = 8;
constexpr double kStepsOfState = 16;

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

// Gathers the tensors of the reference, with what ranks hold of them.
class HeldTensors {
 public:
  HeldTensors(const frontend::Recording& recording, const lineage::Problem& problem,
              RecordedFiles* files)
      : recording_(recording), problem_(problem), files_(*files) {}

  absl::StatusOr<std::vector<HeldTensor>> Run() {
    const RecordedProgram& reference = recording_.reference;
    for (size_t k = 0; k < reference.inputs.size(); ++k) numbers_[reference.inputs[k].name] = k;
    for (size_t k = 0; k < reference.results.size(); ++k) {
      if (reference.results[k].kind == RecordedResult::Kind::kUpdated)
        updates_[reference.results[k].name] = static_cast<int32_t>(k);
    }
    for (size_t rank = 0; rank < recording_.ranks.size(); ++rank) {
      const RecordedProgram& program = recording_.ranks[rank];
      for (size_t k = 0; k < program.inputs.size(); ++k) {
        PLAN_RETURN_IF_ERROR(Add(rank, static_cast<int32_t>(k)));
      }
    }
    std::vector<HeldTensor> tensors;
    for (auto& [key, tensor] : tensors_) tensors.push_back(std::move(tensor));
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
    // A state first exists when a step has rounded already.
    const bool before = input.role != RecordedRole::kState && files_.ranks[rank].HasHeld(number) &&
                        files_.reference.HasHeld(counterpart);
    PLAN_ASSIGN_OR_RETURN(HeldTensor * tensor, WholeOf(counterpart, before));
    HeldTensor::Part& part = tensor->parts.emplace_back();
    part.rank = static_cast<int32_t>(rank);
    part.dtype = input.view.dtype;
    PLAN_ASSIGN_OR_RETURN(part.values, before ? files_.ranks[rank].Held(number)
                                              : files_.ranks[rank].Before(input.view));
    part.values.shape = problem_.parallel.tensors[input.tensor].shape;
    part.map = problem_.lineage[input.tensor].map;
    if (!before) {
      PLAN_ASSIGN_OR_RETURN(part.allowed, AllowedOf(counterpart, whole));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<HeldTensor*> WholeOf(int32_t number, bool before) {
    const auto [found, fresh] = tensors_.try_emplace({number, before});
    HeldTensor& tensor = found->second;
    if (!fresh) return &tensor;
    const RecordedInput& input = recording_.reference.inputs[number];
    tensor.name = input.name;
    tensor.role = input.role;
    tensor.dtype = input.view.dtype;
    PLAN_ASSIGN_OR_RETURN(
        tensor.whole, before ? files_.reference.Held(number) : files_.reference.Before(input.view));
    if (input.tensor == sdfg::kNone) return absl::InternalError(input.name + " is in no graph");
    tensor.whole.shape = problem_.logical.tensors[input.tensor].shape;
    return &tensor;
  }

  absl::StatusOr<double> AllowedOf(int32_t number, const RecordedInput& input) {
    const auto known = allowed_.find(number);
    if (known != allowed_.end()) return known->second;
    double& allowed = allowed_[number];
    const auto update = updates_.find(input.name);
    if (update == updates_.end() || !sdfg::IsFloating(input.view.dtype)) return allowed;
    PLAN_ASSIGN_OR_RETURN(const Values old_values, files_.reference.Before(input.view));
    PLAN_ASSIGN_OR_RETURN(const Values new_values, files_.reference.Result(update->second));
    for (int64_t i = 0; i < std::min(old_values.size(), new_values.size()); ++i) {
      const double step = std::fabs(new_values.At(i) - old_values.At(i));
      if (std::isfinite(step)) allowed = std::max(allowed, step);
    }
    allowed *= input.role == RecordedRole::kState ? kStepsOfState : kStepsOfTensor;
    return allowed;
  }

  const frontend::Recording& recording_;
  const lineage::Problem& problem_;
  RecordedFiles& files_;
  std::map<std::string, size_t> numbers_;
  std::map<std::string, int32_t> updates_;
  std::map<int32_t, double> allowed_;
  // By number of the reference's input, and whether its values are those before the warm-up.
  std::map<std::pair<int32_t, bool>, HeldTensor> tensors_;
};

}  // namespace

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
  const HeldFinding holds = WhatPartHolds(tensor, differing[0], others);
  difference.cause = absl::StrCat("rank ", difference.ranks[0], " holds ", holds.text);
  const std::string usual = UsualCause(tensor, differing, holds.kind);
  if (!usual.empty()) absl::StrAppend(&difference.cause, " (", usual, ")");
  difference.text = absl::StrCat(RoleName(tensor.role), " ", tensor.name, " at [",
                                 absl::StrJoin(difference.index, ", "), "] is ", difference.value,
                                 " on rank ", difference.ranks[0], " and ", difference.expected,
                                 " in the reference: ", difference.cause);
  if (difference.ranks.size() > 1) {
    absl::StrAppend(&difference.text, "; so do ranks ",
                    absl::StrJoin(difference.ranks.begin() + 1, difference.ranks.end(), ", "));
  }
  return {std::move(difference)};
}

absl::StatusOr<HeldComparison> CompareHeld(const frontend::Recording& recording,
                                           const lineage::Problem& problem, RecordedFiles* files) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<HeldTensor> tensors,
                        HeldTensors(recording, problem, files).Run());
  HeldComparison comparison;
  std::vector<const HeldTensor*> others;
  for (const HeldTensor& tensor : tensors) others.push_back(&tensor);
  for (const HeldTensor& tensor : tensors) {
    comparison.compared += static_cast<int64_t>(tensor.parts.size());
    for (stages::RecordedDifference& difference : DifferencesOf(tensor, others)) {
      comparison.differences.push_back(std::move(difference));
    }
  }
  return comparison;
}

}  // namespace planproof::anchor
