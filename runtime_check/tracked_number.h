// Tracks with a number how large it would be if nothing cancelled in it: the sum of the magnitudes
// of its terms, as in running error analysis (Wilkinson; Higham, Accuracy and Stability of
// Numerical Algorithms, 3.3), and the sum of their squares. What rounding may do to a sum is in
// proportion to these, not to the sum: to the first if all terms are rounded alike, to the root of
// the second if each is rounded by itself.
//
// Functions other than sums, products and quotients are one term.
#ifndef PLANPROOF_RUNTIME_CHECK_TRACKED_NUMBER_H_
#define PLANPROOF_RUNTIME_CHECK_TRACKED_NUMBER_H_

#include <cmath>
#include <type_traits>

namespace planproof::runtime_check {

struct TrackedNumber {
  double value = 0, magnitude = 0, squares = 0;

  TrackedNumber() = default;
  TrackedNumber(double value, double magnitude, double squares)
      : value(value), magnitude(magnitude), squares(squares) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit TrackedNumber(T number)
      : value(static_cast<double>(number)), magnitude(std::fabs(value)), squares(value * value) {}

  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit operator T() const {
    return static_cast<T>(value);
  }
};

inline TrackedNumber operator+(TrackedNumber a, TrackedNumber b) {
  return {a.value + b.value, a.magnitude + b.magnitude, a.squares + b.squares};
}
inline TrackedNumber operator-(TrackedNumber a) { return {-a.value, a.magnitude, a.squares}; }
inline TrackedNumber operator*(TrackedNumber a, TrackedNumber b) {
  return {a.value * b.value, a.magnitude * b.magnitude, a.squares * b.squares};
}
inline TrackedNumber operator/(TrackedNumber a, TrackedNumber b) {
  return {a.value / b.value, a.magnitude / std::fabs(b.value), a.squares / (b.value * b.value)};
}
inline bool operator<(TrackedNumber a, TrackedNumber b) { return a.value < b.value; }
inline bool operator<=(TrackedNumber a, TrackedNumber b) { return a.value <= b.value; }
inline bool operator>(TrackedNumber a, TrackedNumber b) { return a.value > b.value; }
inline bool operator==(TrackedNumber a, TrackedNumber b) { return a.value == b.value; }
inline bool operator!=(TrackedNumber a, TrackedNumber b) { return a.value != b.value; }

inline bool isnan(TrackedNumber a) { return std::isnan(a.value); }
inline TrackedNumber fabs(TrackedNumber a) { return {std::fabs(a.value), a.magnitude, a.squares}; }
inline TrackedNumber exp(TrackedNumber a) { return TrackedNumber(std::exp(a.value)); }
inline TrackedNumber log(TrackedNumber a) { return TrackedNumber(std::log(a.value)); }
inline TrackedNumber erf(TrackedNumber a) { return TrackedNumber(std::erf(a.value)); }
inline TrackedNumber sin(TrackedNumber a) { return TrackedNumber(std::sin(a.value)); }
inline TrackedNumber cos(TrackedNumber a) { return TrackedNumber(std::cos(a.value)); }

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_TRACKED_NUMBER_H_
