// Reads products by groups of rows that are sorted by their group.
//
// _grouped_mm is told where groups of rows end. Where these ends are the sums of how often each
// group occurs among numbers that were sorted, row j belongs to group e if and only if sorted[j] =
// e: the product does not depend on where rows stand (docs/soundness.md, "Sorted rows").
#ifndef PLANPROOF_FRONTEND_TORCH_EXPERT_GROUPS_H_
#define PLANPROOF_FRONTEND_TORCH_EXPERT_GROUPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/torch/graph_writer.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::torch {

// What operators are, by comparing their functions with those that the library gives; what they are
// called says nothing.
class ExpertGroups {
 public:
  // Both outlive this.
  ExpertGroups(const sdfg::OperatorLibrary* operators, sdfg::Graph* graph)
      : operators_(operators), graph_(graph) {}

  // Sorts numbers x of one dimension, the smallest first: outputs are the sorted numbers, and where
  // in x they were.
  bool IsAscendingSort(const sdfg::Operator& op) const;
  // The elements of operand 0 where operand 1 is true, in order; both in one dimension.
  bool SelectsByMask(const sdfg::Operator& op) const;
  // Operand 0, with the elements of operand 2 in order where operand 1 is true.
  bool ScattersByMask(const sdfg::Operator& op) const;
  // Writes the rows of operand 1 at the indices that operand 0 says, each once.
  bool IsPutOnce(const sdfg::Operator& op) const;
  // Adds the rows of operand 2 to those of operand 0 that operand 1 says.
  bool AddsRows(const sdfg::Operator& op) const;

  // Among how many elements of a row the best ones are chosen whose indices these are; 0 if these
  // are no such indices.
  int64_t OptionsOf(sdfg::TensorId indices) const;

  // Of a product by groups: the same product if row j belongs to group numbers[j], which takes
  // these numbers as last operand in place of where the groups end. Null if `op` is none, or if
  // its groups are not those of `numbers`: then they do not end where the numbers, sorted, change.
  Function ByNumbers(const sdfg::Operator& op, sdfg::TensorId numbers) const;

 private:
  using TensorId = sdfg::TensorId;
  Function Known(const std::string& name, const std::vector<sdfg::Operand>& operands,
                 const sdfg::Attributes& attributes) const;
  sdfg::Operand OperandOf(TensorId tensor) const;
  // What makes the tensor; null if nothing does.
  const sdfg::Operator* ProducerOf(TensorId tensor) const;
  // The tensor whose elements this one has, in the same places and perhaps as another type.
  TensorId WithoutCopies(TensorId tensor) const;
  // The same, also in another shape, in row-major order.
  TensorId WithoutShape(TensorId tensor) const;
  // The same of truth values, also as numbers 0 and 1.
  TensorId WithoutTruth(TensorId tensor) const;

  // The numbers of which `counts` says how often each of [0, groups) occurs among them.
  TensorId CountedBy(TensorId counts, int64_t groups) const;
  TensorId CountedByHistogram(TensorId counts, const sdfg::Operator& op, int64_t groups) const;
  // By a map of what is chosen: 1 at [.., e] if e is among the choices at [.., k].
  TensorId CountedByMap(const sdfg::Operator& op, int64_t groups) const;

  const sdfg::OperatorLibrary* operators_;
  sdfg::Graph* graph_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_EXPERT_GROUPS_H_
