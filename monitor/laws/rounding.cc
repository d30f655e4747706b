#include "monitor/laws/rounding.h"

#include <algorithm>

namespace planproof::monitor {
namespace {

constexpr int kBitsOfFloat32 = 24;
constexpr int kBitsOfFloat16 = 11;
constexpr int kBitsOfFloat64 = 53;
constexpr double kLargestWeight = 1.875;
constexpr double kMeanSquareOfWeight = 1100.0 / 512;  // of 8/8 to 15/8
// Errors of single elements have no common sign: their weighted sum grows like the norm. This many
// standard deviations are allowed.
constexpr double kDeviations = 8;

}  // namespace

double SmallestNormal(int significand_bits) {
  if (significand_bits >= kBitsOfFloat64) return std::ldexp(1.0, -1022);
  if (significand_bits == kBitsOfFloat16) return std::ldexp(1.0, -14);
  return std::ldexp(1.0, -126);  // float32 and bfloat16
}

Rounded RoundedArithmetic::Divide(Rounded a, Rounded b) const {
  const double least = std::abs(b.value) - b.error;
  if (!(least > 0)) return {a.value / b.value, INFINITY};
  const double value = a.value / b.value;
  return Result(value, (a.error + std::abs(value) * b.error) / least);
}

Rounded RoundedArithmetic::Root(Rounded a) const {
  const double value = std::sqrt(std::max(a.value, 0.0));
  // |sqrt(x + e) - sqrt(x)| is at most sqrt(|e|), and at most |e| / sqrt(x).
  const double error =
      value > 0 ? std::min(std::sqrt(a.error), a.error / value) : std::sqrt(a.error);
  return Result(value, error);
}

double SketchSquare(size_t dimensions) {
  return std::pow(kMeanSquareOfWeight, static_cast<double>(std::max<size_t>(dimensions, 1)));
}

double SketchError(const HeldTensor& tensor, double norm, double u) {
  const double dimensions = static_cast<double>(std::max<size_t>(tensor.of.size(), 1));
  const double elements = static_cast<double>(std::max<int64_t>(tensor.local, 1));
  const bool wide = tensor.significand_bits > kBitsOfFloat32;
  const double sum = UnitRoundoff(wide ? kBitsOfFloat64 : kBitsOfFloat32);
  // Of the sum: at most log2(n) roundings of each addend, and |w x| adds up to at most
  // W sqrt(n) |x|. Of the elements: as if they were independent.
  const double of_sum = sum * (std::log2(elements) + 4 + dimensions) *
                        std::pow(kLargestWeight, dimensions) * std::sqrt(elements);
  const double of_elements = kDeviations * u * std::sqrt(SketchSquare(tensor.of.size()));
  return (of_sum + of_elements) * norm;
}

}  // namespace planproof::monitor
