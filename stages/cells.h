// Defines cells: boxes of indices of a tensor over which an element is evaluated as one symbolic
// term.
#ifndef PLANPROOF_STAGES_CELLS_H_
#define PLANPROOF_STAGES_CELLS_H_

#include <vector>

#include "sdfg/symbolic_evaluator.h"
#include "solver/term.h"

namespace planproof::stages {

struct Cell {
  sdfg::Indices index;                         // of the tensor, over `symbols`
  std::vector<solver::BoundVariable> symbols;  // free symbols with their intervals
  int peeled = 0;  // cuts in a row, up to the last one, that each took one value off a symbol's end
};

// All indices of a tensor that has elements.
Cell WholeCell(sdfg::IndexSymbols* symbols, const sdfg::Shape& shape);

// Adds the parts into which the request divides the cell to `work`; they are disjoint and cover it.
// Where one value after the other is cut off, as ranks of a ring are whose rounds end, the rest is
// divided into its values at once: each request costs an evaluation that ends in it. False, and
// nothing is added, if the request is about no symbol of the cell.
bool Split(sdfg::IndexSymbols* symbols, const Cell& cell, const sdfg::SplitRequest& request,
           std::vector<Cell>* work);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CELLS_H_
