// Relates the ranks' tensors at the start and at the end to the reference's.
//
// Names relate them. What a rank holds of an input is what its trace says; what is required of a
// new value is the relation in which it was read, of an output what the trace declares of it.
// Where a rank holds a part of a tensor's elements in row-major order (ZeRO, FSDP), the model's
// input is that row of elements, of which the tensor is a view.
#ifndef PLANPROOF_FRONTEND_TORCH_RELATIONS_H_
#define PLANPROOF_FRONTEND_TORCH_RELATIONS_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/recording.h"
#include "frontend/torch/constant_folding.h"
#include "frontend/torch/constant_slices.h"
#include "frontend/torch/execution.h"
#include "frontend/torch/required_results.h"
#include "frontend/torch/trace.h"
#include "lineage/problem_builder.h"

namespace planproof::frontend::torch {

class Relations {
 public:
  // `flat`: names of which some rank holds a flat part.
  // `recording`: told which recorded numbers are whose; it has its programs already, without
  // tensors of graphs. May be null.
  Relations(lineage::ProblemBuilder* problem, std::set<std::string> flat,
            Recording* recording = nullptr)
      : problem_(problem), flat_(std::move(flat)), recording_(recording) {}

  // Of the reference: before and after it was executed.
  absl::Status StartReference(const Trace& trace, GraphWriter* writer, Memory* memory);
  absl::Status FinishReference(const Trace& trace, GraphWriter* writer, Memory* memory);
  // Of a rank, the reference being finished.
  absl::Status StartRank(const Trace& trace, GraphWriter* writer, Memory* memory);
  absl::Status FinishRank(const Trace& trace, Memory* memory);
  // The reference's inputs by name, and its results.
  const std::map<std::string, sdfg::TensorId>& inputs() const { return inputs_; }
  const ResultTensors& results() const { return results_; }
  // When all ranks are.
  absl::Status RequireReduced();
  // The model's constant that a storage of the reference holds, as a tensor of one dimension.
  sdfg::TensorId LogicalConstant(const Trace& trace, StorageId storage);
  // What a storage of a rank holds, if it is a constant of the model or a slice of one, else kNone.
  absl::StatusOr<sdfg::TensorId> RankConstant(const Trace& trace, StorageId storage,
                                              GraphWriter* writer);
  // Results without dimensions that are computed from listed constants become numbers, in the model
  // and on all ranks, whose collectives are known now.
  absl::Status FoldConstants(const sdfg::OperatorLibrary& operators);

 private:
  using TensorId = sdfg::TensorId;
  // What is reduced over a group, and a rank's term of it.
  struct ReducedKey {
    ResultKind kind;
    std::string name;
    std::vector<int32_t> ranks;
    auto operator<=>(const ReducedKey&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Reduced {
    TensorId tensor = sdfg::kNone;
    Reduction reduction = Reduction::kSum;
    lineage::Lineage lineage;  // of the result
    RecordedRequirement::Term recorded;
  };

  absl::Status Error(const Trace& trace, const std::string& name, const std::string& what) const;
  // The part as a relation to the model's tensor, for a tensor of this shape.
  absl::StatusOr<lineage::Lineage> LineageOf(const Trace& trace, const std::string& name,
                                             const Part& part, TensorId logical,
                                             const sdfg::Shape& local) const;
  // A tensor of a rank that holds the model's constant at the map.
  absl::StatusOr<TensorId> RelateConstant(const Trace& trace, StorageId storage, TensorId logical,
                                          lineage::IndexMap map, GraphWriter* writer);
  // kNone: the storage is no slice of a constant of the model.
  absl::StatusOr<TensorId> RankSlice(const Trace& trace, StorageId storage, GraphWriter* writer);
  absl::Status StartUniformConstants(const Trace& trace, GraphWriter* writer, Memory* memory);
  absl::Status CheckUpdates(const Trace& trace) const;
  absl::Status CheckPlaceOfUpdate(const Trace& trace, const TraceResult& result,
                                  sdfg::TensorId held, sdfg::TensorId logical) const;
  absl::Status FinishResult(const Trace& trace, const TraceResult& result,
                            RecordedRequirement::Term recorded, Memory* memory);
  RecordedProgram& RecordedOf(const Trace& trace) {
    return &trace == reference_ ? recording_->reference : recording_->ranks[trace.rank];
  }
  void RecordInput(const Trace& trace, const Input& input, TensorId tensor);
  // The relation that was required last is one of these results to the reference's.
  void RecordRequirement(ResultKind kind, const std::string& name,
                         std::vector<RecordedRequirement::Term> terms, bool mean);

  lineage::ProblemBuilder* problem_;
  std::set<std::string> flat_;
  Recording* recording_;
  const Trace* reference_ = nullptr;
  std::map<std::pair<ResultKind, std::string>, int32_t> result_numbers_;  // of the reference
  std::map<std::string, TensorId> inputs_;                                // the model's
  std::map<std::string, sdfg::Shape> shapes_;
  ResultTensors results_;
  std::map<std::string, TensorId> constants_;        // the model's
  std::map<TensorId, ListedWhole> listed_;           // of these, what they hold
  ListedElements logical_elements_, rank_elements_;  // of constants
  std::map<std::string, TensorId> held_;             // of the present rank
  std::map<ReducedKey, std::vector<Reduced>> reduced_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RELATIONS_H_
