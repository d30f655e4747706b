// Takes rows that data chose with all rows that could have been chosen.
//
// A rank that holds experts computes with the rows that were routed to them: how many these are,
// and where which one lies, is data, and the trace has the numbers of one run. So no tensor in
// between is a part of what the model has. Here the graph is changed: where an expert computes with
// its chosen rows, it computes with all rows instead, those that it was not given being zero, and
// where the rows are used together, only the chosen ones count. What was chosen stays a value of
// the graph.
//
// The changed graph computes what the graph computes for every input for which the choices are the
// recorded ones (docs/soundness.md, "Chosen rows"). Counts, orders and places, by which rows are
// sent and sorted, are computed from the recorded choices (known_elements.h); a tensor of chosen
// rows is one of which every row has a label (row_tensors.h), and an operator is taken over if it
// does the same to all rows of an expert, or adds all of them up (row_function.h).
#ifndef PLANPROOF_FRONTEND_TORCH_CHOSEN_ROWS_H_
#define PLANPROOF_FRONTEND_TORCH_CHOSEN_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/known_elements.h"
#include "frontend/torch/trace.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::torch {

// Whether what the program executes depends on how many rows data chose.
bool SizesAreChosen(const Trace& trace);

struct ChosenRows {
  // Places of the operators whose choices are taken to be the recorded ones.
  std::vector<std::string> choices;
};

// Tensors of `kept` have, for inputs with the recorded choices, the values that they had.
// InvalidArgument if operators depend on one another in a cycle, or if other values were recorded
// than operators give; Unimplemented, with the place in the program, if rows cannot be followed to
// what is kept, or if nothing was chosen of some set.
absl::StatusOr<ChosenRows> TakeAllRowsOfChoices(const sdfg::OperatorLibrary& operators,
                                                const std::vector<bool>& kept,
                                                const RecordedElements& recorded,
                                                sdfg::Graph* graph);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_CHOSEN_ROWS_H_
