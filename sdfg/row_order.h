// Applies an operator that does the same to every row of its operands to the rows in another order.
//
// Let p be a bijection of [0, n), and X[j] = U[p(j)] an operand whose rows are those of U in the
// order p. A function that reads X at row j only to make row j of its result (silu, a product with
// a matrix) makes the rows f(U)[p(j)]; one that adds X up over all j makes the same of U, since a
// finite sum, maximum or minimum does not depend on its order. So it may be applied to U, and p is
// not needed to say what it gives. That index variables are used in no other way is checked on the
// index function; what the operator is called says nothing.
#ifndef PLANPROOF_SDFG_ROW_ORDER_H_
#define PLANPROOF_SDFG_ROW_ORDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sdfg/index_function.h"
#include "sdfg/index_range.h"

namespace planproof::sdfg {

// What an operand X has to do with p. `range` holds all elements of an operand of integers.
struct RowOperand {
  enum class Kind : uint8_t {
    kOther,    // nothing is known
    kRows,     // X[.., j, ..] = U[.., p(j), ..] for all j, at dimension `dim`
    kInverse,  // of one dimension: X[p(j)] = j for all j
    kUniform,  // all elements are equal
  };
  Kind kind = Kind::kOther;
  size_t dim = 0;
  std::optional<IndexRange> range;
};

// The function of the operands U in place of those of kind kRows. Output o of the function that was
// given is, where dims[o] is a dimension, this one's with its rows in the order p along it, and
// else the same.
struct InOwnOrder {
  IndexFunction function;
  std::vector<std::optional<size_t>> dims;
};

// Nothing if `function` uses a row in another way, or no row at all. `rows` is n. Premises that
// hold because of the ranges of operands are left out.
std::optional<InOwnOrder> TakeInOwnOrder(const IndexFunction& function,
                                         const std::vector<RowOperand>& operands, int64_t rows);

// The same function without branches that the ranges of operands exclude, and without premises that
// hold because of them.
std::optional<IndexFunction> WithinRanges(const IndexFunction& function,
                                          const std::vector<RowOperand>& operands);

// Of all elements of an output of integers.
std::optional<IndexRange> RangeOfOutput(const IndexFunction& function, size_t output,
                                        const std::vector<RowOperand>& operands);

// The operand of which output 0 is a copy, element by element, whatever its type: nothing if it is
// none.
std::optional<size_t> CopiedOperand(const IndexFunction& function);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ROW_ORDER_H_
