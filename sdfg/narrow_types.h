// Lists the element types with which operators do not compute as with real numbers.
#ifndef PLANPROOF_SDFG_NARROW_TYPES_H_
#define PLANPROOF_SDFG_NARROW_TYPES_H_

#include <functional>

#include "sdfg/index_function.h"
#include "sdfg/types.h"

namespace planproof::sdfg {

// int8, uint8, int16: integers that wrap around (ids and counts fit into 32 bits). bool: truth
// values are added by "or".
inline bool IsNarrow(DType dtype) { return dtype >= DType::kInt16 && dtype <= DType::kBool; }

// Whether operators compute alike with elements of both types: all floating types are the reals.
inline bool SameArithmetic(DType a, DType b) { return a == b || (IsFloating(a) && IsFloating(b)); }

// Whether a type of integers, or of truth values, holds the number; ids and counts fit into 32
// bits. A fraction makes the result real, except beside truth values.
bool NarrowHolds(DType dtype, const solver::Rational& number);

// Whether every value of the expression is one of the operands' elements, a number that the type
// holds, or a truth value: nothing is computed in the narrow type. `type_of` says the element type
// of an input.
bool KeepsNarrow(const IndexFunction& function, ExprId expression, DType dtype,
                 const std::function<DType(int input)>& type_of);

// Whether the expression is no whole number by its form (a root, an exponential, a quotient), and
// what is whole within it keeps the type: PyTorch then converts the operands and computes in
// float32.
bool LeavesNarrow(const IndexFunction& function, ExprId expression, DType dtype,
                  const std::function<DType(int input)>& type_of);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_NARROW_TYPES_H_
