// Computes mixed-radix digits of integer index expressions, in their smallest form.
//
// A dimension that is a product, such as (head d 3), is one index variable whose digits are
// quotients and remainders. Putting digits back together must give the variable back, not a sum of
// quotients: (i c) read from i = v div 2 and c = v mod 2 is v.
#ifndef PLANPROOF_SDFG_INDEX_DIGITS_H_
#define PLANPROOF_SDFG_INDEX_DIGITS_H_

#include <cstdint>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::sdfg {

// The digits of `value`, which ranges over [0, product of sizes), most significant first.
std::vector<ExprId> SplitDigits(IndexFunctionBuilder* builder, ExprId value,
                                const std::vector<int64_t>& sizes);

// The value whose digits, most significant first, are given; digit k ranges over [0, sizes[k]).
// Adjacent digits of the same value are merged.
ExprId JoinDigits(IndexFunctionBuilder* builder, const std::vector<ExprId>& digits,
                  const std::vector<int64_t>& sizes);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_DIGITS_H_
