#include "solver/affine.h"

#include <cstdlib>

namespace planproof::solver {
namespace {

bool OutOfLimit(int64_t v) { return v > kAffineLimit || v < -kAffineLimit; }

int64_t CheckedMul(int64_t a, int64_t b, bool* overflow) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r) || OutOfLimit(r)) {
    *overflow = true;
    return 0;
  }
  return r;
}

int64_t CheckedAdd(int64_t a, int64_t b, bool* overflow) {
  int64_t r = a + b;  // both within the limit, no 64-bit overflow
  if (OutOfLimit(r)) {
    *overflow = true;
    return 0;
  }
  return r;
}

}  // namespace

Affine Affine::Of(Symbol s, int64_t coefficient) {
  Affine a;
  if (OutOfLimit(coefficient)) {
    a.overflow = true;
  } else if (coefficient != 0) {
    a.terms.emplace_back(s, coefficient);
  }
  return a;
}

int64_t Affine::Coefficient(Symbol s) const {
  for (const auto& [t, c] : terms) {
    if (t == s) return c;
  }
  return 0;
}

Affine Affine::Scaled(int64_t factor) const {
  Affine r;
  r.overflow = overflow;
  if (factor == 0) return r;
  r.constant = CheckedMul(constant, factor, &r.overflow);
  for (const auto& [s, c] : terms) r.terms.emplace_back(s, CheckedMul(c, factor, &r.overflow));
  return r;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine r;
  r.overflow = a.overflow || b.overflow;
  r.constant = CheckedAdd(a.constant, b.constant, &r.overflow);
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first)) {
      r.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].first < a.terms[i].first) {
      r.terms.push_back(b.terms[j++]);
    } else {
      int64_t c = CheckedAdd(a.terms[i].second, b.terms[j].second, &r.overflow);
      if (c != 0) r.terms.emplace_back(a.terms[i].first, c);
      ++i;
      ++j;
    }
  }
  return r;
}

int64_t FloorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0)) ? q - 1 : q;
}

}  // namespace planproof::solver
