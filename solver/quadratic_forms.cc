// Sums of squares that were multiplied out, as the square of a gradient that comes in parts.
#include <algorithm>
#include <utility>
#include <vector>

#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr size_t kMaxRoots = 64;

using Matrix = std::vector<std::vector<Rational>>;  // symmetric

// By elimination: pivots are positive, and where one is 0 its row is.
bool IsPositiveSemidefinite(Matrix a) {
  const size_t n = a.size();
  for (size_t k = 0; k < n; ++k) {
    if (a[k][k].Sign() < 0) return false;
    if (a[k][k].IsZero()) {
      const bool empty = std::all_of(a[k].begin() + static_cast<std::ptrdiff_t>(k), a[k].end(),
                                     [](const Rational& x) { return x.IsZero(); });
      if (!empty) return false;
      continue;
    }
    const Rational inverse = a[k][k].Inverse();
    for (size_t i = k + 1; i < n; ++i) {
      if (a[i][k].IsZero()) continue;
      const Rational multiple = a[i][k] * inverse;
      for (size_t j = i; j < n; ++j) {
        a[i][j] += -(multiple * a[k][j]);
        a[j][i] = a[i][j];
      }
    }
  }
  return true;
}

// The product of the two: exponents of one atom are added.
Factors Product(const Factors& x, const Factors& y) {
  Factors product = x;
  product.insert(product.end(), y.begin(), y.end());
  std::sort(product.begin(), product.end(),
            [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
  Factors kept;
  for (const Factor& f : product) {
    if (!kept.empty() && kept.back().atom == f.atom) {
      kept.back().exponent = kept.back().exponent + f.exponent;
      if (kept.back().exponent.num == 0) kept.pop_back();
    } else {
      kept.push_back(f);
    }
  }
  return kept;
}

}  // namespace

// The monomial whose square this one is; its exponents are whole numbers.
std::optional<Factors> Arena::RootOf(MonoId mono) const {
  Factors root = monos_[mono].factors;
  for (Factor& f : root) {
    if (!f.exponent.IsInteger() || f.exponent.num % 2 != 0) return std::nullopt;
    f.exponent.num /= 2;
  }
  return root;
}

// Rule quadratic-form: a sum of products x_i x_j with rational coefficients is not negative if the
// matrix of these is positive semidefinite. The x_i are monomials whose squares are among the
// terms; other terms must not be negative by themselves.
bool Arena::IsNonNegativeForm(PolyId p) {
  const Terms terms = polys_[p].terms;
  std::vector<Factors> roots;
  for (const Term& t : terms) {
    if (t.mono == kUnitMono || t.coefficient.Sign() < 0) continue;
    if (auto root = RootOf(t.mono)) roots.push_back(*std::move(root));
    if (roots.size() > kMaxRoots) return false;
  }
  const size_t n = roots.size();
  if (n < 2 || !Charge(static_cast<int64_t>(n * n))) return false;
  absl::flat_hash_map<MonoId, std::pair<size_t, size_t>> products;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j)
      products.try_emplace(InternMono(Product(roots[i], roots[j])), i, j);
  }
  Matrix matrix(n, std::vector<Rational>(n));
  for (const Term& t : terms) {
    const auto product = products.find(t.mono);
    if (product == products.end()) {
      if (t.coefficient.Sign() < 0 || SignOfMono(t.mono) == Sign::kUnknown) return false;
      continue;
    }
    const auto [i, j] = product->second;
    if (i == j) {
      matrix[i][i] += t.coefficient;
    } else {
      matrix[i][j] += t.coefficient * Rational(1, 2);
      matrix[j][i] = matrix[i][j];
    }
  }
  return IsPositiveSemidefinite(std::move(matrix));
}

}  // namespace planproof::solver
