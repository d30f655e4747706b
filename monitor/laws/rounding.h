// Bounds how far what a program computes in floating point may be from what it computes in exact
// numbers (docs/monitor.md, "Rounding").
#ifndef PLANPROOF_MONITOR_LAWS_ROUNDING_H_
#define PLANPROOF_MONITOR_LAWS_ROUNDING_H_

#include <cmath>
#include <cstdint>

#include "monitor/journal/journal.h"

namespace planproof::monitor {

// Half of a unit in the last place of 1, of a type with so many bits in its significand.
inline double UnitRoundoff(int significand_bits) { return std::ldexp(1.0, -significand_bits); }

// Below this a type has no numbers with all bits of the significand, or takes them for 0.
double SmallestNormal(int significand_bits);

// A number that was computed, with a bound of its error. Every operation rounds once.
struct Rounded {
  double value = 0;
  double error = 0;
};

// Operations of a program whose numbers have the unit roundoff `u`.
class RoundedArithmetic {
 public:
  explicit RoundedArithmetic(double u) : u_(u) {}

  Rounded Round(double value) const { return {value, u_ * std::abs(value)}; }
  Rounded Add(Rounded a, Rounded b) const { return Result(a.value + b.value, a.error + b.error); }
  Rounded Multiply(Rounded a, Rounded b) const {
    return Result(a.value * b.value,
                  std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error);
  }
  Rounded Scale(double factor, Rounded a) const { return Multiply(Round(factor), a); }
  Rounded Divide(Rounded a, Rounded b) const;
  Rounded Root(Rounded a) const;

 private:
  Rounded Result(double value, double error) const {
    return {value, error + u_ * (std::abs(value) + error)};
  }
  double u_;
};

// Bound of the error of a sketch of a tensor of so many elements here, dimensions and this norm,
// whose elements have each a relative error of `u` and whose sum is made in float32
// (docs/monitor.md).
double SketchError(const HeldTensor& tensor, double norm, double u);

// The mean of a sketch's square is this times the tensor's squared norm.
double SketchSquare(size_t dimensions);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_ROUNDING_H_
