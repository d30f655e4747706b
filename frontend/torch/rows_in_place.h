// Handles tensors of chosen rows whose rows are in the order of their places, and how rows are
// taken from such places again.
//
// Rows that were sorted by expert and are put back where they were have row i for place i: one of a
// choice that gives each place to one set (an expert to each choice of each token). Such a tensor
// is no matter of the recording any more: its row i is the one of whichever set was chosen there.
#ifndef PLANPROOF_FRONTEND_TORCH_ROWS_IN_PLACE_H_
#define PLANPROOF_FRONTEND_TORCH_ROWS_IN_PLACE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/torch/exact_values.h"
#include "frontend/torch/row_tensors.h"
#include "sdfg/graph.h"

namespace planproof::frontend::torch {

// The tensor of real numbers that has these rows, as a function of its dense tensor, and of the
// choice's mask if that has to say what is chosen: row i is the sum of what all sets have at place
// i, of which only the chosen one counts. Nothing unless row i is the one of place i for each place
// of the choice, and the dense tensor is zero elsewhere or the mask is known where it is computed.
std::optional<sdfg::IndexFunction> InOrderOfPlaces(const sdfg::Tensor& tensor,
                                                   const RowTensor& rows, const Choice& choice,
                                                   bool mask_is_known);

// The labels of the rows y[to[p]] = x[p], where x has row p for place p: row to[p] is the one of
// the set that was chosen at p. Nothing unless `to` names each row once, and one set was chosen at
// each place of the choice, which has this number.
std::optional<std::vector<RowLabel>> RowsOfPlaces(const ExactElements& to, int number,
                                                  const Choice& choice);

// Their dense tensor, of x and the choice's mask: for each set the rows of x, zero at places that
// are not chosen.
std::optional<sdfg::IndexFunction> ChosenOfPlaces(const sdfg::Tensor& x, const Choice& choice);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ROWS_IN_PLACE_H_
