// Numeric evaluation of terms that shares nothing with the code that builds them: bound variables
// are enumerated, elements are hashes of their tag and indices.
#ifndef PLANPROOF_TESTS_SOLVER_TERM_NUMERIC_H_
#define PLANPROOF_TESTS_SOLVER_TERM_NUMERIC_H_

#include <cstdint>
#include <map>
#include <vector>

#include "solver/term.h"

namespace planproof::solver {

// A number and a bound on the magnitudes that were added to get it; a difference that is small
// beside `scale` is rounding. A value that is not finite is undefined and compares with nothing.
struct Approximate {
  long double value = 0;
  long double scale = 0;
};
Approximate operator+(Approximate a, Approximate b);
Approximate operator*(Approximate a, Approximate b);
// What is not defined at this operand: of finite scale where that is certain.
Approximate Undefined(Approximate of);
Approximate PowerOf(Approximate a, long double exponent);
Approximate Of(long double value);
bool IsZeroValue(Approximate a);
bool Comparable(Approximate a, Approximate b);
bool Agree(Approximate a, Approximate b);

// Tags: below 10 reals of any sign, from 10 positive reals, from 20 integers in [0, 3].
inline constexpr uint32_t kPositiveTag = 10, kIntegerTag = 20;
inline constexpr int64_t kIntegerTagMax = 3;
long double ElementValue(uint32_t tag, const std::vector<int64_t>& indices);
int64_t IntegerValue(uint32_t tag, const std::vector<int64_t>& indices);

using FreeValues = std::map<Symbol, int64_t>;
Approximate Evaluate(const Arena& arena, PolyId poly, const FreeValues& values);

}  // namespace planproof::solver

#endif  // PLANPROOF_TESTS_SOLVER_TERM_NUMERIC_H_
