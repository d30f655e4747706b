// Is a difference between two recorded tensors more than rounding?
//
// What rounding makes of a tensor is known from runs of the program on changed numbers
// (graph_runs.h): by element the mean square of its change. No tolerance is set by hand: a
// difference is more than rounding where the root of the sum of its squares is beyond RatioBound
// (runtime_check/comparison.h) times the root of what is expected, of which each element has at
// least the spacing of its type's numbers.
#ifndef PLANPROOF_ANCHOR_EXPECTED_ROUNDING_H_
#define PLANPROOF_ANCHOR_EXPECTED_ROUNDING_H_

#include <cstdint>
#include <string>

#include "sdfg/types.h"

namespace planproof::anchor {

// The differences of elements, added up one by one.
class RoundingMeasure {
 public:
  // `dtype`: the type in which the elements were recorded; of whole numbers and truth values no
  // difference is expected that the runs did not show. `bound_factor`: of RatioBound.
  explicit RoundingMeasure(sdfg::DType dtype, double bound_factor = 1);

  // `change`: the mean square that is expected of this element's difference. NaN is equal to NaN,
  // an infinity to itself.
  void Add(int64_t position, double value, double expected, double change);

  // More than rounding. `blind`: rounding may change the tensor by as much as it is, so that hardly
  // anything could differ.
  bool differs() const;
  bool blind() const;
  // The relative difference, in the Frobenius norm.
  double error() const;
  // The element that differs most; -1: none does.
  int64_t position() const { return position_; }
  double value() const { return value_; }
  double expected() const { return expected_; }

 private:
  double bound() const;  // of the ratio to what is expected

  double spacing_, least_, factor_;
  long double error_ = 0, change_ = 0, change_squares_ = 0, norm_ = 0;
  bool infinite_ = false;
  long double most_ = 0;
  int64_t position_ = -1;
  double value_ = 0, expected_ = 0;
};

// Of type `dtype`: the relative distance of neighbouring numbers; of whole numbers and truth values
// 0.
double RelativeSpacing(sdfg::DType dtype);

// "0.25", with as many digits as tell the two apart, at least 5.
std::string NumberText(double value, double other);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_EXPECTED_ROUNDING_H_
