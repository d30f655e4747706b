// Takes rows that a program sorts in the order in which they were before.
//
// A mixture of experts sorts its tokens by expert, computes with the sorted rows and puts the
// results back. Which place a token has among the sorted ones depends on all others, so that a rank
// with tokens of its own has nothing that is a slice of what the model has, until they are back.
// Where the rows go does not matter for what becomes of them, and so the graph is changed: what is
// done to every sorted row is done to the rows before they were sorted, as far as operators go that
// do the same to each row (sdfg/row_order.h). Products by groups of sorted rows do so, too
// (expert_groups.h). Whatever reads sorted rows in another way gets them, computed as before.
#ifndef PLANPROOF_FRONTEND_TORCH_SORTED_ROWS_H_
#define PLANPROOF_FRONTEND_TORCH_SORTED_ROWS_H_

#include <vector>

#include "absl/status/status.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::torch {

// Tensors of `kept` have the values that they had; others that are not computed from sorted rows,
// too. InvalidArgument if operators depend on one another in a cycle.
absl::Status TakeSortedRowsInTheirOwnOrder(const sdfg::OperatorLibrary& operators,
                                           const std::vector<bool>& kept, sdfg::Graph* graph);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_SORTED_ROWS_H_
