// Recognizes real expressions whose values are whole numbers by their form: sums, products, maxima,
// choices of integers, truth values and whole numbers. Arithmetic on integer tensors is written
// with them.
#ifndef PLANPROOF_SDFG_WHOLE_NUMBERS_H_
#define PLANPROOF_SDFG_WHOLE_NUMBERS_H_

#include <vector>

#include "sdfg/index_function.h"

namespace planproof::sdfg {

// What operators assume that add or multiply integers.
inline constexpr char kNoOverflow[] = "sums and products of integers do not overflow";

// Whether node `id` is one; `whole` says so of the nodes before it.
bool IsWholeNode(const IndexFunction& function, ExprId id, const std::vector<bool>& whole);

// Whether the expression, of any sort but a condition, is a whole number.
bool IsWhole(const IndexFunction& function, ExprId expression);

// Whether the value is computed from elements of tensors of integers or of truth values, not only
// by comparing them.
bool ReadsIntegers(const IndexFunction& function, ExprId expression);

// Whether it adds up over an index.
bool AddsUp(const IndexFunction& function, ExprId expression);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_WHOLE_NUMBERS_H_
