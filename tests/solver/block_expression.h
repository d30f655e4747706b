// Random expressions like those of masked attention in blocks and of routing: sums over parts of a
// row, with and without a condition on indices or an id, in numerators and denominators, under sums
// over queries that are cut, too, and exponentials less the maximum of the row.
// Two renderings of one expression cut its rows at different places, and leave out a condition
// where it holds throughout a block, a block where it never holds.
#ifndef PLANPROOF_TESTS_SOLVER_BLOCK_EXPRESSION_H_
#define PLANPROOF_TESTS_SOLVER_BLOCK_EXPRESSION_H_

#include <cstdint>
#include <random>
#include <vector>

#include "tests/solver/random_expression.h"

namespace planproof::solver {

class BlockGenerator {
 public:
  explicit BlockGenerator(uint64_t seed);

  // Another rendering of the one expression of this generator. With `careless`, a condition may be
  // left out, or a block, where that changes the value.
  Expression Render(bool careless = false);

 private:
  // [query * q + key * k + constant >= 0]
  struct Mask {
    int64_t query = 0, key = 0, constant = 0;
  };
  struct Row {
    Interval keys;
    std::vector<Mask> masks;
    int kernel = 0;
    int route = 0;      // a condition on an id, see Routing
    int64_t digit = 0;  // keys are read at k + digit * (free variable 1)
    int64_t shift = 0;
  };
  struct Query {
    Linear form;
    Interval values;
  };

  int64_t Between(int64_t low, int64_t high);
  bool Chance(int percent) { return Between(1, 100) <= percent; }
  Row SomeRow();
  std::vector<Interval> Cut(Interval range);
  Expression Kernel(const Row& row, const Linear& query, const Linear& key);
  // The maximum over the row, in blocks.
  Expression Largest(const Row& row, const Linear& query);
  static Expression Routing(const Row& row, const Query& query, int key);
  // The conditions of the row over a block; false where one of them never holds.
  bool Conditions(const Row& row, const Query& query, int variable, Interval block,
                  std::vector<Expression>* factors);
  Expression Blocks(const Row& row, const Query& query);
  Expression Fraction(const Query& query);
  Expression OverQueries();

  std::mt19937_64 random_;
  int form_ = 0, exponent_ = -1, next_variable_ = 0;
  bool careless_ = false;
  Row above_, below_;
  Mask outer_;
  Interval queries_;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_TESTS_SOLVER_BLOCK_EXPRESSION_H_
