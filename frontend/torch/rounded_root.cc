#include "frontend/torch/rounded_root.h"

#include <cmath>

namespace planproof::frontend::torch {
namespace {

constexpr double kLargestRoot = 1024;

}  // namespace

std::optional<int64_t> RadicandOf(const solver::Rational& literal) {
  const double root = literal.ToDouble();
  if (!(root > 1 && root < kLargestRoot) || root == std::floor(root) ||
      !(solver::Rational::FromDouble(root) == literal)) {
    return std::nullopt;
  }
  const int64_t radicand = std::llround(root * root);
  // IEEE 754: the root of a double is the double that is nearest to it.
  if (std::sqrt(static_cast<double>(radicand)) != root) return std::nullopt;
  return radicand;
}

}  // namespace planproof::frontend::torch
