// Finds where a tensor is 0, as masks make it.
#ifndef PLANPROOF_STAGES_ZERO_REGION_H_
#define PLANPROOF_STAGES_ZERO_REGION_H_

#include <vector>

#include "sdfg/index_map.h"
#include "sdfg/symbolic_evaluator.h"
#include "solver/term.h"
#include "stages/cells.h"

namespace planproof::stages {

// Forms of the tensor's index at whose negative values the element, `value` at the index of a cell
// that is all of the tensor, is 0 for all inputs. Conditions that stand in the value are tried, a
// few of them. None if anything but the value is needed: a premise, a mask, more work than is left.
std::vector<sdfg::IndexMap> ZeroRegion(const sdfg::MaskedValue& value, const Cell& cell,
                                       solver::Arena* arena);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ZERO_REGION_H_
