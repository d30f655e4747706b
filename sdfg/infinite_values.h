// Finds tensors that masks make -infinity somewhere.
#ifndef PLANPROOF_SDFG_INFINITE_VALUES_H_
#define PLANPROOF_SDFG_INFINITE_VALUES_H_

#include <vector>

#include "sdfg/graph.h"

namespace planproof::sdfg {

// By tensor, whether an element of it may be -infinity: all that is computed from such an element,
// other than by exponentials. Also where other elements hide it, as in the maximum of a row that is
// never masked as a whole. The graph has been checked; inputs are numbers.
std::vector<bool> MayBeInfinite(const Graph& graph);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INFINITE_VALUES_H_
