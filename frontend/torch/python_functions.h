// Gives functions of numbers their meaning as Python computes them, in doubles.
//
// A proof knows of such a function only that equal operands give equal numbers. These meanings
// serve to fold numbers that are known beforehand, and to tell which number a recorded program had.
#ifndef PLANPROOF_FRONTEND_TORCH_PYTHON_FUNCTIONS_H_
#define PLANPROOF_FRONTEND_TORCH_PYTHON_FUNCTIONS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// A number as Python has it.
struct PythonNumber {
  double value = 0;
  // False: another library of mathematical functions may give another last bit.
  bool exact = true;
};

// Calls `function` with these operands: `int round floor ceil abs floordiv mod` and what else
// docs/torch-trace.md has in calls, functions of `math` by their names, of numpy as "numpy.sqrt".
// Nothing for a function that has no meaning here, for an operand or a result that is not finite,
// and for operands from 2^53 on, which Python may have as integers that no double is.
std::optional<PythonNumber> PythonFunction(const std::string& function,
                                           const std::vector<double>& operands);

// x op y of `add sub mul div pow`, or op x of `neg`, under the same conditions.
std::optional<PythonNumber> PythonArithmetic(const std::string& operation,
                                             const std::vector<double>& operands);

// Evaluates an expression of a trace where the items have these values. Nothing where a function
// in it has no meaning here, or an item no value.
std::optional<PythonNumber> PythonValue(const Value& expression,
                                        const std::map<int32_t, double>& items);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_PYTHON_FUNCTIONS_H_
