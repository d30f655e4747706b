// What must hold of every term, checked by numbers for one expression at a time.
#ifndef PLANPROOF_TESTS_SOLVER_TERM_LAWS_H_
#define PLANPROOF_TESTS_SOLVER_TERM_LAWS_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "solver/term.h"
#include "tests/solver/random_expression.h"

namespace planproof::solver {

struct LawCounts {
  int64_t expressions = 0, exhausted = 0;
  int64_t compared = 0;   // values at samples
  int64_t different = 0;  // pairs that differ at a sample
  int64_t recognised = 0, equal = 0;
  int64_t undefined = 0;  // samples outside the domain
  int64_t signs = 0;      // of values with a known sign
};

// An arena in which tags from kPositiveTag to kIntegerTag are positive.
std::unique_ptr<Arena> ArenaWithPositiveTags(int64_t budget);

// Builds `e`, a rendering `same` of equal value and `other`, which may differ, and checks at random
// samples:
//   values     terms have the values of the expressions that they were built from;
//   zero       what differs at a sample is not shown to be equal;
//   signs      a value has the sign that is claimed of it;
//   premises   where `e` is not defined a recorded premise is violated.
// Returns what is wrong, or nothing.
std::string CheckLaws(const Expression& e, const Expression& same, const Expression& other,
                      std::mt19937_64* random, LawCounts* counts);

}  // namespace planproof::solver

#endif  // PLANPROOF_TESTS_SOLVER_TERM_LAWS_H_
