// Measures whether two recorded tensors differ by more than rounding.
//
// Runs of the program on changed numbers (graph_runs.h) tell how much rounding does to a tensor: by
// element the mean square of its change. No tolerance is set by hand: a
// difference is more than rounding where the root of the sum of its squares is beyond RatioBound
// (runtime_check/comparison.h) times the root of what is expected, of which each element has at
// least the spacing of its type's numbers.
#ifndef PLANPROOF_ANCHOR_EXPECTED_ROUNDING_H_
#define PLANPROOF_ANCHOR_EXPECTED_ROUNDING_H_

#include <cstdint>
#include <string>

#include "sdfg/types.h"

namespace planproof::anchor {

// Adds up the differences of a tensor's elements.
class RoundingMeasure {
 public:
  // `dtype` is the type in which the elements were recorded; whole numbers and truth values are
  // expected to differ by what the runs showed alone.
  explicit RoundingMeasure(sdfg::DType dtype);

  // `change`: the mean square that is expected of this element's difference. NaN is equal to NaN,
  // an infinity to itself.
  void Add(int64_t position, double value, double expected, double change);

  // Whether the tensors differ by more than rounding.
  bool differs() const;
  // Whether rounding may change the tensor by as much as it is, so that hardly anything could
  // differ.
  bool blind() const;
  // Returns the relative difference, in the Frobenius norm.
  double error() const;
  // The element that differs most; -1 if none does.
  int64_t position() const { return position_; }
  double value() const { return value_; }
  double expected() const { return expected_; }

 private:
  double bound() const;  // the largest ratio of a difference to what is expected of it

  double spacing_, least_;
  long double error_ = 0, change_ = 0, change_squares_ = 0, norm_ = 0;
  bool infinite_ = false;
  long double most_ = 0;
  int64_t position_ = -1;
  double value_ = 0, expected_ = 0;
};

// Returns the relative distance of neighbouring numbers of a type; whole numbers and truth values
// have none, and it is 0.
double RelativeSpacing(sdfg::DType dtype);

// Returns the number as text, "0.25", with as many digits as tell the two apart, at least 5.
std::string NumberText(double value, double other);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_EXPECTED_ROUNDING_H_
