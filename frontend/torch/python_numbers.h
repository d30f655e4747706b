// Follows arithmetic that Python does on numbers which it had read from tensors (`.item()`).
//
// Adam's step counter comes so: Python reads it, computes 1 - 0.999 ** step, and passes that to the
// next operator as a number. Taken as the number of the recorded run it would prove something about
// that step alone, and a number that was computed from a wrong tensor could be right by chance. So
// it is computed in the graph, from the tensor.
#ifndef PLANPROOF_FRONTEND_TORCH_PYTHON_NUMBERS_H_
#define PLANPROOF_FRONTEND_TORCH_PYTHON_NUMBERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torch/graph_writer.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

// `operation` is add, sub, mul, div, pow or neg. Numbers known beforehand are folded. A power b **
// x whose exponent is not known is exp(x log b).
absl::StatusOr<Argument> ComputeNumber(GraphWriter* writer, const std::string& operation,
                                       const std::vector<Argument>& operands);

// An exponent as what it is meant to be, a quotient or a decimal: 1 / 3 and -0.8 are no doubles.
Argument MeantExponent(GraphWriter* writer, const solver::Rational& exponent);

// What a function of Python's or numpy's gives ("floor", "numpy.sqrt"), of which only this is said:
// it gives equal numbers for equal operands. Of operands that are all known beforehand: the number,
// or Unimplemented.
absl::StatusOr<Argument> CallOnNumbers(GraphWriter* writer, const std::string& function,
                                       const std::vector<Argument>& operands);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_PYTHON_NUMBERS_H_
