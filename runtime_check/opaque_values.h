// Gives opaque functions concrete values.
//
// The choice of the largest of a row, the conversion to whole numbers, what Python rounds or
// divides without a fraction and functions of numbers that have a name (sdfg/real_functions.h) have
// their real meaning; ties go to the smaller index, as PyTorch's kernels on CPUs do. All others get
// a smooth function of their arguments that depends on the name, so that what rounding does to
// arguments stays small.
#ifndef PLANPROOF_RUNTIME_CHECK_OPAQUE_VALUES_H_
#define PLANPROOF_RUNTIME_CHECK_OPAQUE_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace planproof::runtime_check {

struct OpaqueFunction {
  enum class Kind : uint8_t {
    kTopK,
    kTruncate,
    kFloor,
    kCeil,
    kRound,  // half to even
    kAbs,
    kFloorDivide,  // the largest whole number that is at most the quotient
    kModulo,       // what that leaves, with the sign of the divisor
    kConstant,
    kReal,
    kUnknown,
  };
  Kind kind = Kind::kUnknown;
  int64_t k = 1, groups = 1, kept_groups = 1;  // kTopK
  bool group_by_two = false;                   // a group counts as the sum of its two best
  double constant = 0;                         // kConstant
  std::string real;                            // kReal: its name (sdfg/real_functions.h)
  uint64_t seed = 0;                           // kUnknown: of the name
};

OpaqueFunction OpaqueNamed(const std::string& name);

// The value, or the index of a choice: of an integer function a whole number.
double OpaqueValue(const OpaqueFunction& function, bool int_valued, const std::vector<double>& row,
                   const std::vector<double>& scalars);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_OPAQUE_VALUES_H_
