// Rounds to the floating types of accelerators: to nearest, ties to even, with subnormals.
//
// What LLVM's APFloat does when it converts a single to IEEEhalf, BFloat, Float8E5M2 and
// Float8E4M3FN; tests compare bit for bit. FP8 as in "FP8 Formats for Deep Learning"
// (arXiv:2209.05433): E5M2 has infinities; E4M3 has none, its largest number is 448, and what
// rounds to more is NaN.
#ifndef PLANPROOF_RUNTIME_CHECK_ROUNDING_H_
#define PLANPROOF_RUNTIME_CHECK_ROUNDING_H_

#include <cstdint>
#include <span>

#include "runtime_check/values.h"
#include "sdfg/types.h"

namespace planproof::runtime_check {

// A floating type by its parameters.
struct FloatFormat {
  int precision = 24;         // bits of the significand, the leading one counted
  int least_exponent = -126;  // of a normal number 1.xxx 2^e
  double largest = 0;         // finite
  bool has_infinity = true;   // else what is too large is NaN
};

// Of float64 to float8_e5m2; of other types that of float64.
const FloatFormat& FormatOf(sdfg::DType dtype);

// The distance of 1 to the next number.
double EpsilonOf(sdfg::DType dtype);
bool IsNarrowFloat(sdfg::DType dtype);  // 16 and 8 bits
bool IsScaledFloat(sdfg::DType dtype);  // 8 bits

// The number of a 16- or 8-bit type that is nearest.
float Round(const FloatFormat& format, float value);

// The power of two by which a tensor is multiplied before it is rounded to 8 bits, so that its
// largest finite magnitude comes as near to the largest number of the type as is possible without
// exceeding it (scaling by the current amax, as Transformer Engine's, with scales that are powers
// of two as in the OCP MX formats). 1 if there is none but 0.
float ScaleOf(const FloatFormat& format, std::span<const float> values);

// The distance of 0 to the next number of the type, in a tensor with these elements: its scale is
// that by which they would be rounded.
double LeastSpacing(sdfg::DType dtype, const Values& values);

// Rounds the elements of one tensor, with a scale of its own for types of 8 bits. Infinities stay
// also where the type has none: masks are made of them. Float32 and float64 stay as they are.
void RoundTensor(sdfg::DType dtype, std::span<float> values);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_ROUNDING_H_
