// How the ranks' constants are related to the reference's.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/torch/listed_constant.h"
#include "frontend/torch/relations.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {

using lineage::IndexMap;
using lineage::Lineage;
using sdfg::TensorId;

namespace {

bool IsListed(const Storage& storage) {
  return !storage.values.empty() &&
         std::count(storage.minus_infinity.begin(), storage.minus_infinity.end(), true) == 0;
}

}  // namespace

TensorId Relations::LogicalConstant(const Trace& trace, StorageId id) {
  const Storage& storage = trace.storages[id];
  const std::string key = ContentOf(storage);
  const auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  sdfg::Tensor tensor;
  tensor.name = absl::StrCat("constant ", constants_.size());
  tensor.shape = {storage.size};
  tensor.dtype = storage.dtype;
  tensor.role = sdfg::TensorRole::kBuffer;
  const TensorId logical = problem_->logical.AddTensor(std::move(tensor));
  constants_[key] = logical;
  if (!storage.values.empty()) listed_[logical] = {&storage, ShapesOf(trace, id)};
  if (IsListed(storage)) logical_elements_[logical] = storage.values;
  return logical;
}

absl::StatusOr<TensorId> Relations::RankConstant(const Trace& trace, StorageId id,
                                                 GraphWriter* writer) {
  const Storage& storage = trace.storages[id];
  TensorId logical = sdfg::kNone;
  std::optional<IndexMap> slice;
  if (const auto whole = constants_.find(ContentOf(storage)); whole != constants_.end()) {
    logical = whole->second;
  } else if (!storage.digest.empty()) {
    logical = LogicalConstant(trace, id);
  } else {
    for (auto next = listed_.begin(); next != listed_.end() && !slice; ++next) {
      slice = SliceOf(next->second, trace, id);
      logical = next->first;
    }
    if (!slice) {  // is spelled out
      spelled_out_ = true;
      return sdfg::kNone;
    }
  }
  const TensorId tensor = writer->AddTensor(problem_->logical.tensors[logical].name, {storage.size},
                                            storage.dtype, sdfg::TensorRole::kBuffer);
  Lineage lineage;
  lineage.kind = lineage::LineageKind::kFull;
  lineage.logical = logical;
  lineage.map = {slice.value_or(IndexMap{0, {{0, 1, 1, 0}}})};
  PLAN_RETURN_IF_ERROR(problem_->RelateConstant(tensor, std::move(lineage)));
  if (IsListed(storage)) rank_elements_[tensor] = storage.values;
  return tensor;
}

absl::Status Relations::FoldConstants(const sdfg::OperatorLibrary& operators) {
  PLAN_ASSIGN_OR_RETURN(
      std::set<TensorId> used,
      torch::FoldConstants(operators, logical_elements_, &problem_->logical));
  PLAN_ASSIGN_OR_RETURN(
      const std::set<TensorId> on_ranks,
      torch::FoldConstants(operators, rank_elements_, &problem_->parallel));
  for (TensorId tensor : on_ranks) used.insert(problem_->LineageOf(tensor).logical);
  for (const auto& [tensor, elements] : logical_elements_) {
    if (spelled_out_ || used.count(tensor) != 0) problem_->recorded[tensor] = elements;
  }
  if (!used.empty()) {
    problem_->assumptions.push_back(
        "constants of the program, of which numbers are computed, have the recorded values");
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
