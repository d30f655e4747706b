// Prints every operator of a problem on a line of its own (`planproof show --operators`).
#ifndef PLANPROOF_CLI_SHOW_OPERATORS_H_
#define PLANPROOF_CLI_SHOW_OPERATORS_H_

#include <set>

#include "lineage/lineage.h"

namespace planproof::cli {

// The devices of all instances of a tensor; none in a logical graph.
std::set<int> DevicesOf(const sdfg::Graph& graph, const sdfg::Tensor& tensor);

// Prints the operators of both graphs in order: where it runs (program and phase, or devices), its
// results with local shapes, name, operands and attributes, the axes over which it varies, and
// where it stands in the user's program.
void PrintOperators(const lineage::Problem& problem);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_SHOW_OPERATORS_H_
