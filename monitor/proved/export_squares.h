// Reads from a graph of whose elements a number is the root of the sum of squares.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_SQUARES_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_SQUARES_H_

#include <optional>
#include <set>

#include "sdfg/graph.h"

namespace planproof::monitor {

// The tensors among `leaves` of which `norm`, a tensor of one element, is the Euclidean norm, all
// of their elements together and each counted once. Nothing if its operators say something else.
std::optional<std::set<sdfg::TensorId>> RootOfSquaresOf(const sdfg::Graph& graph,
                                                        sdfg::TensorId norm,
                                                        const std::set<sdfg::TensorId>& leaves);

// What the tensor's elements are before operators that only move all elements of one tensor, such
// as views.
sdfg::TensorId BeforeMoves(const sdfg::Graph& graph, sdfg::TensorId tensor);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_SQUARES_H_
