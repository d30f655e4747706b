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
  if (recording_ != nullptr) {
    // The model may have a constant that only ranks have as such.
    RecordedProgram& program = RecordedOf(trace);
    RecordedConstant constant{logical, id};
    if (storage.uniform) constant.uniform = storage.uniform->ToDouble();
    (&trace == reference_ ? program.constants : program.model_constants).push_back(constant);
  }
  constants_[key] = logical;
  if (!storage.values.empty()) listed_[logical] = {&storage, ShapesOf(trace, id)};
  if (IsListed(storage)) logical_elements_[logical] = storage.values;
  return logical;
}

absl::StatusOr<TensorId> Relations::RelateConstant(const Trace& trace, StorageId id,
                                                   TensorId logical, IndexMap map,
                                                   GraphWriter* writer) {
  const Storage& storage = trace.storages[id];
  const TensorId tensor = writer->AddTensor(problem_->logical.tensors[logical].name, {storage.size},
                                            storage.dtype, sdfg::TensorRole::kBuffer);
  Lineage lineage;
  lineage.kind = lineage::LineageKind::kFull;
  lineage.logical = logical;
  lineage.map = {std::move(map)};
  PLAN_RETURN_IF_ERROR(problem_->RelateConstant(tensor, std::move(lineage)));
  if (recording_ != nullptr) {
    RecordedConstant& constant =
        RecordedOf(trace).constants.emplace_back(RecordedConstant{tensor, id});
    if (storage.uniform) constant.uniform = storage.uniform->ToDouble();
  }
  if (IsListed(storage)) rank_elements_[tensor] = storage.values;
  if (storage.uniform) rank_elements_[tensor] = ExactElements(storage.size, *storage.uniform);
  return tensor;
}

absl::StatusOr<TensorId> Relations::RankSlice(const Trace& trace, StorageId id,
                                              GraphWriter* writer) {
  for (const auto& [logical, whole] : listed_) {
    std::optional<IndexMap> map = SliceOf(whole, trace, id);
    if (map) return RelateConstant(trace, id, logical, *std::move(map), writer);
  }
  return sdfg::kNone;
}

absl::StatusOr<TensorId> Relations::RankConstant(const Trace& trace, StorageId id,
                                                 GraphWriter* writer) {
  const Storage& storage = trace.storages[id];
  const IndexMap whole{0, {{0, 1, 1, 0}}};
  if (const auto found = constants_.find(ContentOf(storage)); found != constants_.end()) {
    return RelateConstant(trace, id, found->second, whole, writer);
  }
  if (!storage.digest.empty()) {
    return RelateConstant(trace, id, LogicalConstant(trace, id), whole, writer);
  }
  return RankSlice(trace, id, writer);
}

absl::Status Relations::StartUniformConstants(const Trace& trace, GraphWriter* writer,
                                              Memory* memory) {
  if (listed_.empty()) return absl::OkStatus();
  for (const StorageId id : UniformConstants(trace)) {
    const Storage& storage = trace.storages[id];
    PLAN_ASSIGN_OR_RETURN(const TensorId slice, RankSlice(trace, id, writer));
    if (slice == sdfg::kNone) continue;
    PLAN_RETURN_IF_ERROR(memory->Write({id, storage.dtype, false, 0, {storage.size}, {1}}, slice));
  }
  return absl::OkStatus();
}

absl::Status Relations::FoldConstants(const sdfg::OperatorLibrary& operators) {
  PLAN_ASSIGN_OR_RETURN(std::set<TensorId> used,
                        torch::FoldConstants(operators, logical_elements_, &problem_->logical));
  PLAN_ASSIGN_OR_RETURN(const std::set<TensorId> on_ranks,
                        torch::FoldConstants(operators, rank_elements_, &problem_->parallel));
  for (TensorId tensor : on_ranks) used.insert(problem_->LineageOf(tensor).logical);
  // Other numbers refute nothing: constants may be computed from each other, and a plan may rest on
  // what one of them holds.
  for (const auto& [tensor, elements] : logical_elements_) problem_->recorded[tensor] = elements;
  if (!used.empty()) {
    problem_->assumptions.push_back(
        "constants of the program, of which numbers are computed, have the recorded values");
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
