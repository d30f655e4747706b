// The steps of the zero test; rules by conditions and by refinement.
#include "solver/zero_test.h"

#include <algorithm>
#include <map>
#include <optional>

#include "solver/rewriter.h"

namespace planproof::solver {
namespace {

constexpr size_t kMaxCells = 4096;
constexpr int64_t kShortDimension = 4;
constexpr int kMaxCases = 2;  // symbols of which each case is tried by itself

}  // namespace

bool ZeroTest::Run(PolyId p) {
  if (Test(p)) return true;
  if (arena_.exhausted()) return false;
  const PolyId pieces = pieces_;
  if (ZeroInAllCases(p, /*edges=*/pieces == p, kMaxCases)) return true;
  if (pieces != p && ZeroInAllCases(pieces, /*edges=*/true, kMaxCases)) return true;
  return ZeroInAllBlocks(p);
}

bool ZeroTest::Test(PolyId p) {
  for (int round = 0; round < 3; ++round) {
    if (arena_.exhausted()) return false;
    if (p == kZeroPoly) return true;
    p = UnifyConditions(p);
    if (p == kZeroPoly || RefinedIsZero(p)) return !arena_.exhausted();
    for (const bool by_body : {true, false}) {
      // A piece with one index has its conditions outside.
      const PolyId split = UnifyConditions(SplitAtCuts(p, by_body));
      if (round == 0) pieces_ = split;
      if (split == kZeroPoly || (split != p && RefinedIsZero(split))) return !arena_.exhausted();
    }
    const PolyId cleared = ClearDenominators(p);
    if (cleared == kZeroPoly) return !arena_.exhausted();
    const PolyId product = round == 0 ? ClearSums(cleared) : cleared;
    if (product == kZeroPoly) return !arena_.exhausted();
    for (const bool by_body : {true, false}) {
      if (product == cleared) break;
      const PolyId split = SplitAtCuts(product, by_body);
      if (split == kZeroPoly || RefinedIsZero(split)) return !arena_.exhausted();
    }
    if (round == 0 && BodiesAreZero(p)) return true;
    const PolyId apart = SplitAtElements(p);
    if (apart == kZeroPoly || (apart != p && RefinedIsZero(apart))) return !arena_.exhausted();
    const PolyId spread = SpreadShortDimensions(p);
    if (spread == kZeroPoly || (spread != p && RefinedIsZero(spread))) return !arena_.exhausted();
    // Blocks of one position are elements at which other sums of the same are cut.
    const PolyId cut = spread == p ? p : SplitAtElements(spread);
    if (cut == kZeroPoly || (cut != spread && RefinedIsZero(cut))) return !arena_.exhausted();
    const PolyId digits = SplitByRemainder(p);
    if (digits == kZeroPoly || (digits != p && RefinedIsZero(digits))) return !arena_.exhausted();
    if (round == 0 && ZeroWithNamedDenominators(p)) return !arena_.exhausted();
    if (cleared != p && RefinedIsZero(cleared)) return !arena_.exhausted();
    PolyId expanded = ExpandShortSums(cleared);
    if (expanded == cleared && cleared == p) return false;
    p = expanded;
  }
  return p == kZeroPoly && !arena_.exhausted();
}

// Zero in each part of the range of a free symbol that stands in a condition, of so many symbols.
bool ZeroTest::ZeroInAllCases(PolyId p, bool edges, int symbols) {
  Symbol symbol = 0;
  const std::vector<Interval> cases = CasesOf(p, edges, &symbol);
  if (cases.empty() || arena_.exhausted()) return false;
  for (const Interval& part : cases) {
    const bool one = part.length() == 1;
    SymbolMap map;
    map.pairs.emplace_back(
        symbol, one ? Affine(part.lo) : Affine::Of(arena_.NewFree(part.lo, part.hi - 1)));
    const PolyId in_part = Rewriter(&arena_, std::move(map)).Poly(p);
    if (Test(in_part)) continue;
    if (symbols <= 1 || !ZeroInAllCases(in_part, edges, symbols - 1)) return false;
  }
  return !arena_.exhausted();
}

// Parts of a symbol's range: each value, if there are few; or, if edges are asked for, what lies
// between the places at which conditions on the symbol alone change, where that is one value
// somewhere: what is read there and what is read elsewhere at that value are then the same.
std::vector<Interval> ZeroTest::CasesOf(PolyId p, bool edges, Symbol* symbol) const {
  std::map<Symbol, std::vector<int64_t>> changes;
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom& a = arena_.atom(f.atom);
      if (a.kind != AtomKind::kIndicator && a.kind != AtomKind::kDelta) continue;
      const Affine& e = a.indices[0];
      for (const auto& [s, c] : e.terms) {
        if (KindOf(s) != SymbolKind::kFree) continue;
        std::vector<int64_t>& own = changes[s];
        if (e.terms.size() > 1) continue;
        // From here on c s + k >= 0, or no longer if c < 0.
        const int64_t at = c > 0 ? -FloorDiv(e.constant, c) : FloorDiv(e.constant, -c) + 1;
        own.push_back(at);
        if (a.kind == AtomKind::kDelta) own.push_back(c > 0 ? at + 1 : at - 1);
      }
    }
  }
  std::vector<Interval> best;
  for (auto& [s, own] : changes) {
    const IntRange range = arena_.RangeOf(s);
    if (range.low < -kAffineLimit || range.high > kAffineLimit) continue;
    std::vector<Interval> parts = {{range.low, range.high + 1}};
    const bool few = parts[0].length() <= kShortDimension;
    if (few) {
      own.clear();
      for (int64_t value = range.low; value <= range.high; ++value) own.push_back(value);
    } else if (!edges) {
      continue;
    }
    std::sort(own.begin(), own.end());
    for (const int64_t at : own) {
      if (at <= parts.back().lo || at > range.high) continue;
      parts.back().hi = at;
      parts.push_back({at, range.high + 1});
    }
    const auto by_length = [](const Interval& a, const Interval& b) {
      return a.length() < b.length();
    };
    std::stable_sort(parts.begin(), parts.end(), by_length);
    if (parts[0].length() != 1 || parts.size() > static_cast<size_t>(kShortDimension)) continue;
    if (!best.empty() && parts.size() >= best.size()) continue;
    best = std::move(parts);
    *symbol = s;
  }
  return best;
}

// [-e - 1 >= 0] = 1 - [e >= 0]; [e == 0] = [e >= 0] - [e - 1 >= 0] where inequalities on e occur.
PolyId ZeroTest::UnifyConditions(PolyId p) {
  std::map<std::vector<std::pair<Symbol, int64_t>>, bool> linear_parts;
  bool any = false;
  auto key = [](const Affine& e) {
    return std::vector<std::pair<Symbol, int64_t>>(e.terms.begin(), e.terms.end());
  };
  const Terms terms = arena_.poly(p).terms;
  for (const Term& t : terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom& a = arena_.atom(f.atom);
      if (a.kind != AtomKind::kIndicator) continue;
      linear_parts[key(a.indices[0])] = true;
      any = true;
    }
  }
  if (!any) return p;
  PolyId result = kZeroPoly;
  for (const Term& t : terms) {
    PolyId product = arena_.Constant(t.coefficient);
    Factors rest;
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom a = arena_.atom(f.atom);
      if (a.kind == AtomKind::kIndicator) {
        Affine negated = -a.indices[0];
        auto it = linear_parts.find(key(negated));
        if (it != linear_parts.end() && key(negated) < key(a.indices[0])) {
          product =
              arena_.Mul(product, arena_.Sub(arena_.One(), arena_.Indicator(negated - Affine(1))));
          continue;
        }
      } else if (a.kind == AtomKind::kDelta) {
        Affine e = a.indices[0];
        if (linear_parts.count(key(e)) == 0 && linear_parts.count(key(-e)) != 0) e = -e;
        if (linear_parts.count(key(e)) != 0) {
          product =
              arena_.Mul(product, arena_.Sub(arena_.Indicator(e), arena_.Indicator(e - Affine(1))));
          continue;
        }
      }
      rest.push_back(f);
    }
    if (!rest.empty())
      product = arena_.Mul(product, arena_.ProductOf(std::move(rest), Rational(1)));
    result = arena_.Add(result, product);
  }
  return result;
}

// Splits every sum atom at the cuts of all sums with the same body and compares coefficients cell
// by cell, without merging.
bool ZeroTest::RefinedIsZero(PolyId p) {
  Cuts cuts;
  const Terms terms = arena_.poly(p).terms;
  for (const Term& t : terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom& a = arena_.atom(f.atom);
      if (a.kind != AtomKind::kSum || !(f.exponent.IsInteger() && f.exponent.num > 0)) continue;
      for (size_t d = 0; d < a.domain.size(); ++d) {
        auto& c = cuts[{a.mono, d}];
        c.push_back(a.domain[d].lo);
        c.push_back(a.domain[d].hi);
      }
    }
  }
  if (cuts.empty()) return false;
  for (auto& [key, c] : cuts) {
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
  }
  absl::flat_hash_map<MonoId, Rational> coefficients;
  size_t produced = 0;
  for (const Term& t : terms) {
    std::vector<Factors> products(1);
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom a = arena_.atom(f.atom);
      if (a.kind != AtomKind::kSum || !(f.exponent.IsInteger() && f.exponent.num > 0)) {
        for (Factors& x : products) x.push_back(f);
        continue;
      }
      const std::vector<AtomId> cells = Cells(a, cuts);
      for (int copy = 0; copy < f.exponent.num; ++copy) {
        std::vector<Factors> next;
        for (const Factors& x : products) {
          for (AtomId cell : cells) {
            Factors y = x;
            AddFactor(cell, &y);
            next.push_back(std::move(y));
          }
        }
        products.swap(next);
        if (products.size() > kMaxCells) return false;
      }
    }
    produced += products.size();
    if (produced > 8 * kMaxCells) return false;
    for (Factors& x : products) {
      Rational& c = coefficients[arena_.InternMono(std::move(x))];
      c += t.coefficient;
    }
  }
  for (const auto& [mono, c] : coefficients) {
    if (!c.IsZero()) return false;
  }
  return true;
}

void ZeroTest::AddFactor(AtomId atom, Factors* factors) {
  for (Factor& f : *factors) {
    if (f.atom == atom) {
      f.exponent = f.exponent + Exponent{};
      return;
    }
  }
  factors->push_back({atom, Exponent{}});
}

std::vector<AtomId> ZeroTest::Cells(const Atom& a, const Cuts& cuts) {
  std::vector<Atom> cells = {a};
  for (size_t d = 0; d < a.domain.size(); ++d) {
    const auto& c = cuts.at({a.mono, d});
    std::vector<Atom> next;
    for (const Atom& cell : cells) {
      auto from = std::lower_bound(c.begin(), c.end(), cell.domain[d].lo);
      for (; from + 1 != c.end() && *from < cell.domain[d].hi; ++from) {
        Atom piece = cell;
        piece.domain[d] = {*from, *(from + 1)};
        next.push_back(std::move(piece));
      }
    }
    cells.swap(next);
    if (cells.size() > kMaxCells) break;
  }
  std::vector<AtomId> ids;
  for (Atom& cell : cells) ids.push_back(arena_.InternAtom(std::move(cell)));
  return ids;
}

// The sum of polynomials, neighbours first: long sums are not copied once per summand.
PolyId ZeroTest::Total(std::vector<PolyId> parts) {
  if (parts.empty()) return kZeroPoly;
  for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2)) {
    for (size_t i = 0; i < parts.size(); i += 2) {
      parts[i / 2] = i + 1 < parts.size() ? arena_.Add(parts[i], parts[i + 1]) : parts[i];
    }
  }
  return parts[0];
}

bool Arena::IsZero(PolyId p) {
  if (p == kZeroPoly) return !exhausted_;
  if (ZeroTest(this).Run(p)) return true;
  const PolyId cancelled = CancelShares(p);
  if (cancelled == kZeroPoly) return !exhausted_;
  return cancelled != p && ZeroTest(this).Run(cancelled);
}

}  // namespace planproof::solver
