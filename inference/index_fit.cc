#include "inference/index_fit.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "lineage/map_range.h"

namespace planproof::inference {

using sdfg::IndexDigit;
using sdfg::IndexMap;
using sdfg::IndexTerm;
using sdfg::Shape;
using solver::Affine;
using solver::BoundVariable;
using solver::Symbol;

namespace {

constexpr size_t kMaxBasis = 160;
constexpr size_t kMaxPoints = 1200;
constexpr size_t kPointsPerPiece = 24;

// The digit of the tensor's indices that a symbol of a cell is; nullopt if it is none by itself.
std::optional<IndexDigit> DigitOf(const stages::Cell& cell, const BoundVariable& variable,
                                  const Shape& shape) {
  for (size_t d = 0; d < cell.index.size(); ++d) {
    const int64_t stride = cell.index[d].Coefficient(variable.symbol);
    if (stride == 0) continue;
    if (stride < 0) return std::nullopt;
    // Of the next more significant symbol; none: nothing is reduced.
    int64_t next = 0;
    for (const auto& [symbol, c] : cell.index[d].terms) {
      if (c > stride && (next == 0 || c < next)) next = c;
    }
    if (next % stride != 0) return std::nullopt;
    const bool whole =
        next == 0 && variable.domain.lo == 0 && stride == 1 && variable.domain.hi == shape[d];
    if (next == 0 && !whole && cell.index[d].constant % stride != 0) return std::nullopt;
    return IndexDigit{static_cast<int32_t>(d), stride, next / stride};
  }
  return std::nullopt;
}

bool CoversTensor(const stages::Cell& cell, const Shape& shape) {
  int64_t elements = 1, covered = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements)) return false;
  }
  for (const BoundVariable& v : cell.symbols) {
    if (__builtin_mul_overflow(covered, v.domain.length(), &covered)) return false;
  }
  return elements == covered;
}

// Neighbouring digits of one number as one: 4 (i / 4) + i mod 4 is i.
void JoinDigits(IndexMap* map) {
  std::vector<IndexTerm>& terms = map->terms;
  for (size_t a = 0; a < terms.size();) {
    const auto above = std::find_if(terms.begin(), terms.end(), [&](const IndexTerm& high) {
      const IndexTerm& low = terms[a];
      return !low.gated() && !high.gated() && high.dim == low.dim && low.mod > 0 &&
             low.offset == 0 && high.offset == 0 && high.div == low.div * low.mod &&
             high.scale == low.scale * low.mod;
    });
    if (above == terms.end()) {
      ++a;
      continue;
    }
    terms[a].mod = above->mod == 0 ? 0 : terms[a].mod * above->mod;
    terms.erase(above);
    a = 0;
  }
}

std::optional<std::vector<IndexMap>> ReadOff(const IndexPiece& piece, const Shape& shape) {
  std::vector<IndexMap> map;
  for (const Affine& form : piece.forms) {
    IndexMap& expression = map.emplace_back();
    expression.constant = form.constant;
    for (const auto& [symbol, c] : form.terms) {
      const auto variable =
          std::find_if(piece.cell.symbols.begin(), piece.cell.symbols.end(),
                       [s = symbol](const BoundVariable& v) { return v.symbol == s; });
      if (variable == piece.cell.symbols.end()) return std::nullopt;
      const std::optional<IndexDigit> digit = DigitOf(piece.cell, *variable, shape);
      if (!digit.has_value()) return std::nullopt;
      IndexTerm term;
      term.dim = digit->dim;
      term.scale = c;
      term.div = digit->div;
      term.mod = digit->mod;
      expression.terms.push_back(term);
    }
    JoinDigits(&expression);
  }
  return map;
}

int64_t ValueAt(const Affine& form, const std::vector<std::pair<Symbol, int64_t>>& at) {
  int64_t value = form.constant;
  for (const auto& [symbol, c] : form.terms) {
    for (const auto& [s, v] : at) {
      if (s == symbol) value += c * v;
    }
  }
  return value;
}

struct Point {
  std::vector<int64_t> index;
  std::vector<int64_t> target;
};

std::vector<Point> Sample(const std::vector<IndexPiece>& pieces) {
  std::mt19937_64 random(1);
  std::vector<Point> points;
  const size_t each = std::max<size_t>(4, std::min(kPointsPerPiece, kMaxPoints / pieces.size()));
  for (const IndexPiece& piece : pieces) {
    for (size_t n = 0; n < each && points.size() < kMaxPoints; ++n) {
      std::vector<std::pair<Symbol, int64_t>> at;
      for (const BoundVariable& v : piece.cell.symbols) {
        const int64_t length = v.domain.length();
        const int64_t value = n == 0   ? v.domain.lo
                              : n == 1 ? v.domain.hi - 1
                                       : v.domain.lo + static_cast<int64_t>(random() % length);
        at.emplace_back(v.symbol, value);
      }
      Point point;
      for (const Affine& form : piece.cell.index) point.index.push_back(ValueAt(form, at));
      for (const Affine& form : piece.forms) point.target.push_back(ValueAt(form, at));
      points.push_back(std::move(point));
    }
  }
  return points;
}

// Digits of which the map may consist, simple ones first.
class Basis {
 public:
  Basis(const std::vector<IndexPiece>& pieces, const Shape& shape) : shape_(shape) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] > 1) Add({static_cast<int32_t>(d)});
    }
    for (const IndexPiece& piece : pieces) AddDigitsOf(piece.cell);
    const std::vector<IndexTerm> plain = terms_;
    for (const IndexTerm& gate : plain) {
      if (gate.Most(shape[gate.dim]) != 1) continue;
      for (const IndexTerm& term : plain) {
        if (term.digit() == gate.digit() || terms_.size() >= kMaxBasis) continue;
        IndexTerm gated = term;
        gated.gate = gate.digit();
        terms_.push_back(gated);
      }
    }
  }
  const std::vector<IndexTerm>& terms() const { return terms_; }

 private:
  void AddDigitsOf(const stages::Cell& cell) {
    for (size_t d = 0; d < cell.index.size(); ++d) {
      const int32_t dim = static_cast<int32_t>(d);
      const int64_t extent = shape_[d];
      if (extent == 1) continue;
      int64_t start = cell.index[d].constant;
      for (const auto& [symbol, stride] : cell.index[d].terms) {
        for (const BoundVariable& v : cell.symbols) {
          if (v.symbol != symbol || stride < 1) continue;
          start += stride * v.domain.lo;
          AddStride(dim, stride);
          AddStride(dim, stride * v.domain.hi);
        }
      }
      if (start <= 0 || start >= extent) continue;
      AddStride(dim, start);
      Add({dim, 1, extent, extent - start});
      for (const auto& [symbol, stride] : cell.index[d].terms) AddRows(dim, stride, start);
    }
  }

  // Place in a row, and number of the row, where a row begins at `start`: elements that were in
  // rows and are taken from somewhere within the first one.
  void AddRows(int32_t dim, int64_t row, int64_t start) {
    if (row <= 1 || row >= shape_[dim] || start % row == 0) return;
    const int64_t before = row - start % row;
    Add({dim, 1, row, before});
    Add({dim, row, (shape_[dim] + before - 1) / row + 1, before});
  }

  void AddStride(int32_t dim, int64_t stride) {
    if (stride <= 1 || stride >= shape_[dim]) return;
    Add({dim, stride, 0});
    Add({dim, 1, stride});
  }

  void Add(IndexDigit digit) {
    const bool known = std::any_of(terms_.begin(), terms_.end(),
                                   [&](const IndexTerm& t) { return t.digit() == digit; });
    if (known || terms_.size() >= kMaxBasis) return;
    IndexTerm term;
    term.dim = digit.dim;
    term.div = digit.div;
    term.mod = digit.mod;
    term.offset = digit.offset;
    terms_.push_back(term);
  }

  const Shape& shape_;
  std::vector<IndexTerm> terms_;
};

// Arithmetic modulo a prime, in which whole numbers of small magnitude are recognised again.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
uint64_t Residue(int64_t value) {
  return value >= 0 ? static_cast<uint64_t>(value) % kPrime
                    : kPrime - static_cast<uint64_t>(-value) % kPrime;
}
uint64_t Times(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kPrime);
}
uint64_t Minus(uint64_t a, uint64_t b) { return a >= b ? a - b : a + (kPrime - b); }
uint64_t Inverse(uint64_t a) {
  uint64_t power = 1;
  for (uint64_t e = kPrime - 2; e > 0; e /= 2) {
    if (e % 2 == 1) power = Times(power, a);
    a = Times(a, a);
  }
  return power;
}
int64_t Signed(uint64_t residue) {
  return residue > kPrime / 2 ? -static_cast<int64_t>(kPrime - residue)
                              : static_cast<int64_t>(residue);
}

using Row = std::vector<int64_t>;

// The last column of every row as a combination of the others, columns to the left preferred.
std::optional<Row> Combine(const std::vector<Row>& rows) {
  const size_t columns = rows[0].size() - 1;
  std::vector<std::vector<uint64_t>> reduced;
  std::vector<size_t> pivots;
  for (const Row& row : rows) {
    std::vector<uint64_t> r;
    for (const int64_t value : row) r.push_back(Residue(value));
    const auto subtract = [columns](uint64_t factor, const std::vector<uint64_t>& what,
                                    std::vector<uint64_t>* from) {
      if (factor == 0) return;
      for (size_t c = 0; c <= columns; ++c) {
        if (what[c] != 0) (*from)[c] = Minus((*from)[c], Times(factor, what[c]));
      }
    };
    for (size_t k = 0; k < reduced.size(); ++k) subtract(r[pivots[k]], reduced[k], &r);
    size_t pivot = 0;
    while (pivot < columns && r[pivot] == 0) ++pivot;
    if (pivot == columns) {
      if (r[columns] != 0) return std::nullopt;
      continue;
    }
    const uint64_t inverse = Inverse(r[pivot]);
    for (uint64_t& value : r) value = Times(value, inverse);
    for (auto& other : reduced) subtract(other[pivot], r, &other);
    reduced.push_back(std::move(r));
    pivots.push_back(pivot);
  }
  Row solution(columns, 0);
  for (size_t k = 0; k < reduced.size(); ++k) {
    solution[pivots[k]] = Signed(reduced[k][columns]);
  }
  for (const Row& row : rows) {
    __int128 sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += static_cast<__int128>(solution[c]) * row[c];
    if (sum != row[columns]) return std::nullopt;
  }
  return solution;
}

// What is fitted: a dimension of the target, which has this extent.
struct Target {
  const std::vector<Point>& points;
  const Shape& shape;
  size_t dimension = 0;
  int64_t extent = 0;
};

std::optional<IndexMap> FitWith(const std::vector<IndexTerm>& terms, const Target& target) {
  std::vector<Row> rows;
  for (const Point& point : target.points) {
    Row row = {1};
    for (const IndexTerm& term : terms) row.push_back(term.ValueAt(point.index));
    row.push_back(point.target[target.dimension]);
    rows.push_back(std::move(row));
  }
  const std::optional<Row> solution = Combine(rows);
  if (!solution.has_value()) return std::nullopt;
  IndexMap expression;
  expression.constant = (*solution)[0];
  for (size_t k = 0; k < terms.size(); ++k) {
    if ((*solution)[k + 1] == 0) continue;
    expression.terms.push_back(terms[k]);
    expression.terms.back().scale = (*solution)[k + 1];
  }
  JoinDigits(&expression);
  if (!lineage::CheckInside({expression}, target.shape, {target.extent}).ok()) return std::nullopt;
  return expression;
}

// With as few kinds of digits as there need be: whole dimensions; then one of them shifted around;
// then parts; then gates.
std::optional<IndexMap> FitDimension(const Basis& basis, const Target& target) {
  std::vector<IndexTerm> whole, parts, shifted;
  for (const IndexTerm& term : basis.terms()) {
    if (term.gated()) continue;
    if (term.offset != 0) {
      shifted.push_back(term);
    } else if (term.div == 1 && term.mod == 0) {
      whole.push_back(term);
    } else {
      parts.push_back(term);
    }
  }
  // What runs against a coordinate is more likely shifted around: the same for two ranks.
  const std::optional<IndexMap> affine = FitWith(whole, target);
  const bool runs_back =
      affine.has_value() && std::any_of(affine->terms.begin(), affine->terms.end(),
                                        [](const IndexTerm& term) { return term.scale < 0; });
  if (affine.has_value() && !runs_back) return affine;
  for (const IndexTerm& term : shifted) {
    std::vector<IndexTerm> terms = {term};
    for (const IndexTerm& other : whole) {
      if (other.dim != term.dim) terms.push_back(other);
    }
    if (auto map = FitWith(terms, target)) return map;
    terms.insert(terms.end(), parts.begin(), parts.end());
    if (auto map = FitWith(terms, target)) return map;
  }
  if (affine.has_value()) return affine;
  std::vector<IndexTerm> digits = whole;
  digits.insert(digits.end(), parts.begin(), parts.end());
  if (auto map = FitWith(digits, target)) return map;
  // Which of two blocks it is, an index says sooner than a coordinate; coordinates come first.
  for (const bool any : {false, true}) {
    std::vector<IndexTerm> gated = digits;
    for (const IndexTerm& term : basis.terms()) {
      const bool plain = term.gated() && term.offset == 0 && term.gate.offset == 0;
      if (plain && (any || term.gate.dim > term.dim)) gated.push_back(term);
    }
    if (auto map = FitWith(gated, target)) return map;
  }
  return FitWith(basis.terms(), target);
}

}  // namespace

std::optional<std::vector<IndexMap>> FitPieces(const std::vector<IndexPiece>& pieces,
                                               const Shape& shape, const Shape& target) {
  if (pieces.empty()) return std::nullopt;
  if (pieces.size() == 1 && CoversTensor(pieces[0].cell, shape)) {
    auto map = ReadOff(pieces[0], shape);
    if (map.has_value() && lineage::CheckInside(*map, shape, target).ok()) return map;
  }
  const Basis basis(pieces, shape);
  const std::vector<Point> points = Sample(pieces);
  std::vector<IndexMap> map;
  for (size_t t = 0; t < pieces[0].forms.size(); ++t) {
    std::optional<IndexMap> expression = FitDimension(basis, {points, shape, t, target[t]});
    if (!expression.has_value()) return std::nullopt;
    map.push_back(*std::move(expression));
  }
  return map;
}

}  // namespace planproof::inference
