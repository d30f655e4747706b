// Checks what needs no values of a plan, before any claim is decided.
#ifndef PLANPROOF_STAGES_STATIC_CHECKS_H_
#define PLANPROOF_STAGES_STATIC_CHECKS_H_

#include <vector>

#include "sdfg/graph.h"
#include "stages/result.h"

namespace planproof::stages {

// Every operand and every result lies on a device that takes part in the operator, and an operator
// that moves nothing between devices finds its operands where its results are. Violations of kind
// MALFORMED, at most `most`, earliest operator first.
std::vector<Violation> CheckResidence(const sdfg::Graph& parallel, size_t most);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_STATIC_CHECKS_H_
