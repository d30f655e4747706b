// Translates operators of complex numbers, whose parts are a last dimension of 2.
//
// A complex tensor is read in its shape and that dimension. What an operator of real numbers makes
// of it is right only if it treats every part by itself and counts no dimensions from the end, so
// complex numbers have a table of their own.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_COMPLEX_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_COMPLEX_H_

#include <string>
#include <vector>

#include "frontend/torch/aten_operators.h"

namespace planproof::frontend::torch {

// Whether an operand, a result or a type that is named is complex.
bool OfComplexNumbers(const Trace& trace, const Executed& executed);
// What this overload does with complex numbers; null if that is not declared.
const AtenOperator* FindComplexOperator(const std::string& op);
// All overloads, sorted.
std::vector<std::string> ComplexOverloads();

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_COMPLEX_H_
