// Takes the largest of the cells that are still to be looked at: what it is decides most.
#ifndef PLANPROOF_INFERENCE_LARGEST_CELL_H_
#define PLANPROOF_INFERENCE_LARGEST_CELL_H_

#include <vector>

#include "stages/cells.h"

namespace planproof::inference {

// The cell with the most elements, which `work`, not empty, no longer has; the first of equals.
stages::Cell TakeLargest(std::vector<stages::Cell>* work);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_LARGEST_CELL_H_
