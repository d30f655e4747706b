// Represents affine integer expressions over index symbols.
//
// A symbol is a free index variable (with a known range), a variable bound by an enclosing sum, or
// an integer atom (a token id, an expert choice) whose value is data. Bound variables are locally
// nameless: `Bound(level, position)` counts enclosing binders outwards from 0.
#ifndef PLANPROOF_SOLVER_AFFINE_H_
#define PLANPROOF_SOLVER_AFFINE_H_

#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace planproof::solver {

using Symbol = uint32_t;

enum class SymbolKind : uint32_t { kFree = 0, kBound = 1, kIntAtom = 2 };
inline SymbolKind KindOf(Symbol s) { return static_cast<SymbolKind>(s >> 30); }
inline uint32_t IndexOf(Symbol s) { return s & 0x3fffffffu; }
inline Symbol FreeSymbol(uint32_t index) { return index; }
inline Symbol IntAtomSymbol(uint32_t index) { return (2u << 30) | index; }
inline Symbol BoundSymbol(uint32_t level, uint32_t position) {
  return (1u << 30) | (level << 12) | position;
}
inline uint32_t BoundLevel(Symbol s) { return IndexOf(s) >> 12; }
inline uint32_t BoundPosition(Symbol s) { return s & 0xfffu; }

// Largest magnitude of any coefficient, constant or bound of a variable. Arithmetic that leaves it
// marks the expression as overflown; nothing is concluded from an overflown expression, nor from a
// longer variable (Arena::NewFree).
inline constexpr int64_t kAffineLimit = int64_t{1} << 46;

struct Affine {
  using Terms = absl::InlinedVector<std::pair<Symbol, int64_t>, 3>;
  int64_t constant = 0;
  Terms terms;  // ascending symbols, nonzero coefficients
  bool overflow = false;

  Affine() = default;
  Affine(int64_t c)  // NOLINT: integers are affine
      : constant(c > kAffineLimit || c < -kAffineLimit ? 0 : c),
        overflow(c > kAffineLimit || c < -kAffineLimit) {}
  static Affine Of(Symbol s, int64_t coefficient = 1);

  bool IsConstant() const { return terms.empty(); }
  int64_t Coefficient(Symbol s) const;
  Affine operator-() const { return Scaled(-1); }
  Affine Scaled(int64_t factor) const;
  friend Affine operator+(const Affine& a, const Affine& b);
  friend Affine operator-(const Affine& a, const Affine& b) { return a + b.Scaled(-1); }
  friend bool operator==(const Affine& a, const Affine& b) {
    return a.constant == b.constant && a.terms == b.terms && a.overflow == b.overflow;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Affine& a) {
    h = H::combine(std::move(h), a.constant, a.terms.size(), a.overflow);
    for (const auto& [s, c] : a.terms) h = H::combine(std::move(h), s, c);
    return h;
  }
};

// Closed interval of integers; unbounded ends are represented by +-kAffineLimit.
struct IntRange {
  int64_t low = -kAffineLimit;
  int64_t high = kAffineLimit;
  bool IsBounded() const { return low > -kAffineLimit && high < kAffineLimit; }
};

int64_t FloorDiv(int64_t a, int64_t b);  // b > 0
inline int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }
inline int64_t FloorMod(int64_t a, int64_t b) { return a - b * FloorDiv(a, b); }

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_AFFINE_H_
