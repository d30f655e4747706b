// Random expressions that are evaluated directly and built as terms.
#ifndef PLANPROOF_TESTS_SOLVER_RANDOM_EXPRESSION_H_
#define PLANPROOF_TESTS_SOLVER_RANDOM_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {

// constant + sum of coefficient * variable + data_coefficient * (integer element at one variable)
struct Linear {
  int64_t constant = 0;
  std::map<int, int64_t> terms;
  int64_t data_coefficient = 0;
  uint32_t data_tag = kIntegerTag;
  int data_variable = 0;
};

struct Expression {
  enum Kind {
    kConstant,
    kElement,
    kPosition,
    kIndicator,
    kDelta,
    kRealPositive,
    kAdd,
    kMul,
    kPower,
    kExp,
    kLog,
    kSin,
    kAbs,
    kMax,
    kSum,
    kReduceMax,  // children: value, guard
  } kind = kConstant;
  Rational number;
  Exponent exponent;
  uint32_t tag = 0;
  std::vector<Linear> indices;
  int variable = -1;
  Interval domain;
  std::vector<Expression> children;
};

struct GeneratorOptions {
  bool polynomial = false;  // sums, products, elements only
  int depth = 4;
  int free_variables = 2;
  int integer_tags = 2;  // different integer tensors
};
inline constexpr Interval kFreeDomain{0, 6};

class Generator {
 public:
  Generator(uint64_t seed, GeneratorOptions options);
  Expression Next();
  // A copy with one detail changed: a coefficient, an interval's end, an offset, an operand.
  Expression Mutated(const Expression& e);
  std::mt19937_64& random() { return random_; }

 private:
  struct Scoped {
    Linear form;
    Interval values;
  };
  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool Chance(int percent) { return Pick(100) < percent; }
  Linear Index(bool data);
  Expression Leaf();
  Expression Positive(int depth);
  Expression Make(int depth);
  Expression MakeSum(int depth);

  std::mt19937_64 random_;
  GeneratorOptions options_;
  std::vector<Scoped> scope_;
  int next_variable_ = 0;
};

using Environment = std::map<int, int64_t>;  // by variable
Approximate Evaluate(const Expression& e, Environment* environment);

// Builds terms; with `random`, sums are split at random places, operands swapped and substitution
// is used now and then instead of building again.
class Builder {
 public:
  Builder(Arena* arena, int free_variables, std::mt19937_64* random);
  PolyId Build(const Expression& e);
  FreeValues Values(const Environment& environment) const;

 private:
  Affine Of(const Linear& l);
  PolyId SumOf(const Expression& e, Interval domain);

  Arena& arena_;
  std::mt19937_64* random_;
  std::map<int, Symbol> symbols_;
  int free_variables_;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_TESTS_SOLVER_RANDOM_EXPRESSION_H_
