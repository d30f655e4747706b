// Represents an operator as its file calls it: what it would compute with another value of an
// attribute.
//
// A graph holds functions, in which attributes no longer have names. Who explains why a plan is
// wrong wants to say that `window` should be 4, and asks for the function with that value.
#ifndef PLANPROOF_SDFG_ADJUSTABLE_OPERATOR_H_
#define PLANPROOF_SDFG_ADJUSTABLE_OPERATOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"
#include "solver/rational.h"

namespace planproof::sdfg {

class AdjustableOperator {
 public:
  // An attribute whose value is a number, given or by default.
  struct Number {
    std::string name;
    bool whole = true;                     // an integer
    std::vector<solver::Rational> values;  // at each coordinate of axes(), row-major
  };

  virtual ~AdjustableOperator() = default;
  // The axes (of the operator's graph) on whose coordinates attributes depend.
  virtual const std::vector<int32_t>& axes() const = 0;
  virtual std::vector<Number> Numbers() const = 0;
  // start + slope * (the coordinate of the axis); without an axis the same everywhere.
  struct Affine {
    solver::Rational start;
    int64_t slope = 0;
    int32_t axis = -1;
  };
  struct Adjusted {
    IndexFunction function;
    bool lifted = true;  // Operator::lifted
  };
  // The operator with this value of the attribute, for the same tensors of the same graph. Errors
  // are those of the operator, for a value that it does not take, and InvalidArgument for an axis
  // over which its results do not vary.
  virtual absl::StatusOr<Adjusted> With(const std::string& attribute,
                                        const Affine& value) const = 0;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_ADJUSTABLE_OPERATOR_H_
