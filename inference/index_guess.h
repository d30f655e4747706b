// Ranks guesses of an index, or of a tensor, by how likely they are.
#ifndef PLANPROOF_INFERENCE_INDEX_GUESS_H_
#define PLANPROOF_INFERENCE_INDEX_GUESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inference/index_solver.h"
#include "sdfg/graph.h"
#include "stages/cells.h"

namespace planproof::inference {

// How far an index is from taking the dimensions of the parallel tensor in their order.
int64_t Disorder(const std::vector<solver::Affine>& index, const stages::Cell& cell,
                 const sdfg::Tensor& parallel);

// How much of the parallel tensor's name is the logical one's: "stage0:grad.q@1" is called after
// "grad.q". A hint.
size_t Namesake(const std::string& parallel, const std::string& logical);

// Whether every index of the parallel tensor's own counts: a value that is the same along a
// dimension is more likely one that is spread there than what has no such dimension by coincidence.
bool UsesAllDimensions(const std::vector<solver::Affine>& index, const stages::Cell& cell,
                       const sdfg::Tensor& parallel);

// Whether the cell is within what is defined there, in all dimensions that both tensors have whole:
// what repeats itself, as the angles of rotary embeddings do, is rather the part at its own place.
bool InSamePlace(const solver::Arena& arena, const stages::Cell& cell,
                 const stages::Cell& definition, const sdfg::Shape& parallel,
                 const sdfg::Shape& logical);

// The index of the logical tensor over the symbols of the parallel one's cell. A dimension on which
// nothing depends is taken to be the parallel tensor's own; nullopt if that has another extent.
std::optional<std::vector<solver::Affine>> IndexOf(const stages::Cell& definition,
                                                   const stages::Cell& cell,
                                                   const sdfg::Shape& parallel,
                                                   const sdfg::Shape& logical,
                                                   const IndexSolver::Solution& solution);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_INDEX_GUESS_H_
