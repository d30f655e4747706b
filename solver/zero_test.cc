// Whether a polynomial is identically zero: what the normal form leaves open.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "solver/element_cuts.h"
#include "solver/rewriter.h"
#include "solver/summation.h"
#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr size_t kMaxCells = 4096;
constexpr int64_t kExpandLength = 8;
constexpr int64_t kShortDimension = 4;
constexpr int kMostCases = 2;  // symbols whose values are tried one by one
constexpr size_t kMostCuts = 40;
constexpr int64_t kMostPieces = 512;
constexpr int64_t kMostExpanded = 512;
constexpr int32_t kMostCopies = 4;      // of a sum that is cut, in a product
constexpr int64_t kMostCleared = 1024;  // terms after denominators are cleared

}  // namespace

class ZeroTest {
 public:
  explicit ZeroTest(Arena* arena) : arena_(*arena) {}

  bool Run(PolyId p, int cases = kMostCases) {
    return Test(p) || (cases > 0 && ZeroInAllCases(p, cases - 1));
  }

 private:
  bool Test(PolyId p) {
    for (int round = 0; round < 3; ++round) {
      if (arena_.exhausted()) return false;
      if (p == kZeroPoly) return true;
      p = UnifyConditions(p);
      if (p == kZeroPoly || RefinedIsZero(p)) return !arena_.exhausted();
      for (const bool by_body : {true, false}) {
        const PolyId split = SplitAtCuts(p, by_body);
        if (split == kZeroPoly || (split != p && RefinedIsZero(split))) return !arena_.exhausted();
      }
      const PolyId apart = SplitAtElements(p);
      if (apart == kZeroPoly || (apart != p && RefinedIsZero(apart))) return !arena_.exhausted();
      const PolyId spread = SpreadShortDimensions(p);
      if (spread == kZeroPoly || (spread != p && RefinedIsZero(spread))) return !arena_.exhausted();
      PolyId cleared = ClearDenominators(p);
      if (cleared == kZeroPoly || (cleared != p && RefinedIsZero(cleared)))
        return !arena_.exhausted();
      PolyId expanded = ExpandShortSums(cleared);
      if (expanded == cleared && cleared == p) return false;
      p = expanded;
    }
    return p == kZeroPoly && !arena_.exhausted();
  }

  // Zero for each value of a free symbol of few values that stands in a condition.
  bool ZeroInAllCases(PolyId p, int cases) {
    const std::optional<Symbol> symbol = SymbolOfFewValues(p);
    if (!symbol || arena_.exhausted()) return false;
    const IntRange range = arena_.RangeOf(*symbol);
    for (int64_t value = range.low; value <= range.high; ++value) {
      SymbolMap map;
      map.pairs.emplace_back(*symbol, Affine(value));
      if (!Run(Rewriter(&arena_, std::move(map)).Poly(p), cases)) return false;
    }
    return !arena_.exhausted();
  }

  std::optional<Symbol> SymbolOfFewValues(PolyId p) const {
    std::optional<Symbol> best;
    int64_t fewest = kShortDimension + 1;
    for (const Term& t : arena_.poly(p).terms) {
      for (const Factor& f : arena_.mono(t.mono).factors) {
        const Atom& a = arena_.atom(f.atom);
        if (a.kind != AtomKind::kIndicator && a.kind != AtomKind::kDelta) continue;
        for (const auto& [symbol, coefficient] : a.indices[0].terms) {
          if (KindOf(symbol) != SymbolKind::kFree) continue;
          const IntRange range = arena_.RangeOf(symbol);
          if (range.low < -kAffineLimit || range.high > kAffineLimit) continue;
          if (range.high - range.low >= fewest - 1) continue;
          fewest = range.high - range.low + 1;
          best = symbol;
        }
      }
    }
    return best;
  }

  // [-e - 1 >= 0] = 1 - [e >= 0]; [e == 0] = [e >= 0] - [e - 1 >= 0] where inequalities on e occur.
  PolyId UnifyConditions(PolyId p) {
    std::map<std::vector<std::pair<Symbol, int64_t>>, bool> linear_parts;
    bool any = false;
    auto key = [](const Affine& e) {
      return std::vector<std::pair<Symbol, int64_t>>(e.terms.begin(), e.terms.end());
    };
    const std::vector<Term> terms = arena_.poly(p).terms;
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
            product = arena_.Mul(product,
                                 arena_.Sub(arena_.One(), arena_.Indicator(negated - Affine(1))));
            continue;
          }
        } else if (a.kind == AtomKind::kDelta) {
          Affine e = a.indices[0];
          if (linear_parts.count(key(e)) == 0 && linear_parts.count(key(-e)) != 0) e = -e;
          if (linear_parts.count(key(e)) != 0) {
            product = arena_.Mul(product,
                                 arena_.Sub(arena_.Indicator(e), arena_.Indicator(e - Affine(1))));
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
  bool RefinedIsZero(PolyId p) {
    Cuts cuts;
    const std::vector<Term> terms = arena_.poly(p).terms;
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

  // Bounds of sums, in order: those with one body, by dimension; or all of them, in one list.
  using Cuts = std::map<std::pair<MonoId, size_t>, std::vector<int64_t>>;
  static std::pair<MonoId, size_t> KeyOf(const Atom& sum, size_t dim, bool by_body) {
    return by_body ? std::pair{sum.mono, dim} : std::pair{MonoId{}, size_t{0}};
  }
  Cuts CutsOf(const std::vector<Term>& terms, bool by_body) const {
    Cuts cuts;
    for (const Term& t : terms) {
      for (const Factor& f : arena_.mono(t.mono).factors) {
        if (!IsPlainSum(f)) continue;
        const Atom& sum = arena_.atom(f.atom);
        for (size_t d = 0; d < sum.domain.size(); ++d) {
          std::vector<int64_t>& own = cuts[KeyOf(sum, d, by_body)];
          own.push_back(sum.domain[d].lo);
          own.push_back(sum.domain[d].hi);
        }
      }
    }
    for (auto& [key, own] : cuts) {
      std::sort(own.begin(), own.end());
      own.erase(std::unique(own.begin(), own.end()), own.end());
    }
    return cuts;
  }

  // Every sum in pieces between the bounds of the sums with its body, each summed anew: a piece
  // with one index in a dimension has no such dimension. Or between the bounds of all sums: within
  // a piece some conditions always hold, or never.
  PolyId SplitAtCuts(PolyId p, bool by_body) {
    const Cuts cuts = CutsOf(arena_.poly(p).terms, by_body);
    const auto cut = [](const auto& entry) { return entry.second.size() >= 3; };
    const auto many = [](const auto& entry) { return entry.second.size() > kMostCuts; };
    if (std::none_of(cuts.begin(), cuts.end(), cut)) return p;
    if (std::any_of(cuts.begin(), cuts.end(), many)) return p;
    arena_.align_digits_ = true;
    const absl::Cleanup restore = [this] { arena_.align_digits_ = false; };
    auto parts = InPieces(p, [&](const Atom& sum) {
      std::vector<std::vector<int64_t>> own;
      for (size_t d = 0; d < sum.domain.size(); ++d) own.push_back(cuts.at(KeyOf(sum, d, by_body)));
      return Boxes(sum, own);
    });
    return parts ? Total(*std::move(parts)) : p;
  }

  // Every sum in pieces between the constant indices at which what it sums is read elsewhere.
  PolyId SplitAtElements(PolyId p) {
    const ElementCuts cuts(arena_, p);
    if (cuts.empty()) return p;
    bool any = false;
    auto parts = InPieces(
        p,
        [&](const Atom& sum) {
          std::vector<Atom> boxes = Boxes(sum, cuts.Of(sum));
          any |= boxes.size() > 1;
          return boxes;
        },
        kMostCopies);
    return parts && any ? Total(*std::move(parts)) : p;
  }

  // Every sum over few blocks that lie apart as the sum over each. A block may have neighbours that
  // the sum has not: of the blocks 0 and 3 of a row, block 0 joins 1 and 3 joins 2.
  PolyId SpreadShortDimensions(PolyId p) {
    bool any = false;
    auto parts = InPieces(p, [&](const Atom& sum) {
      std::vector<Atom> slices = Slices(sum);
      any |= slices.size() > 1;
      return slices;
    });
    return parts && any ? Total(*std::move(parts)) : p;
  }

  // The terms of p with every sum as the sum of its pieces, each summed anew, up to this power of a
  // sum; nothing if there are too many pieces.
  template <typename PiecesOf>
  std::optional<std::vector<PolyId>> InPieces(PolyId p, const PiecesOf& pieces_of,
                                              int32_t most_copies = 1) {
    const std::vector<Term> terms = arena_.poly(p).terms;
    std::vector<PolyId> parts;
    int64_t count = 0;
    for (const Term& t : terms) {
      PolyId product = arena_.Constant(t.coefficient);
      Factors rest;
      for (const Factor& f : arena_.mono(t.mono).factors) {
        if (arena_.atom(f.atom).kind != AtomKind::kSum || !f.exponent.IsInteger() ||
            f.exponent.num < 1 || f.exponent.num > most_copies) {
          rest.push_back(f);
          continue;
        }
        const std::vector<Atom> pieces = pieces_of(arena_.atom(f.atom));
        int64_t size = 1;
        for (int32_t copy = 0; copy < f.exponent.num; ++copy) {
          size = std::min(size * static_cast<int64_t>(pieces.size()), kMostPieces + 1);
        }
        count += size;
        if (count > kMostPieces || arena_.exhausted()) return std::nullopt;
        PolyId sum = kZeroPoly;
        for (const Atom& piece : pieces) {
          sum = arena_.Add(sum, arena_.SumAgain(piece, /*drop_single=*/true));
        }
        product = arena_.Mul(product, arena_.IntegerPower(sum, f.exponent.num));
      }
      if (!rest.empty()) {
        product = arena_.Mul(product, arena_.ProductOf(std::move(rest), Rational(1)));
      }
      parts.push_back(product);
    }
    return parts;
  }

  std::vector<Atom> Slices(const Atom& sum) const {
    std::vector<Atom> slices = {sum};
    for (size_t d = 0; d < sum.domain.size(); ++d) {
      const Interval own = sum.domain[d];
      if (own.length() > kShortDimension || !CountsBlocks(sum, d)) continue;
      std::vector<Atom> next;
      for (const Atom& slice : slices) {
        for (int64_t at = own.lo; at < own.hi; ++at) {
          next.push_back(slice);
          next.back().domain[d] = {at, at + 1};
        }
      }
      slices.swap(next);
      if (slices.size() > static_cast<size_t>(kMostPieces)) break;  // too many in any case
    }
    return slices;
  }

  // Whether dimension d counts blocks that lie apart: in some index a step along d is longer than
  // what smaller steps of the other dimensions cover.
  bool CountsBlocks(const Atom& sum, size_t d) const {
    Colouring colours;
    for (size_t k = 0; k < sum.domain.size(); ++k) {
      colours.emplace_back(BoundSymbol(0, static_cast<uint32_t>(k)), 1);
    }
    std::vector<Structure::Occurrence> occurrences;
    for (const Factor& f : arena_.mono(sum.mono).factors) {
      Structure::CollectOccurrences(arena_, f.atom, colours, &occurrences);
    }
    for (const Structure::Occurrence& o : occurrences) {
      const int64_t step = std::abs(o.expression.Coefficient(colours[d].first));
      __int128 covered = 1;
      for (size_t k = 0; k < sum.domain.size(); ++k) {
        const int64_t other = std::abs(o.expression.Coefficient(colours[k].first));
        if (other < step) covered += static_cast<__int128>(other) * (sum.domain[k].length() - 1);
      }
      if (covered > 1 && covered < step) return true;
    }
    return false;
  }

  bool IsPlainSum(const Factor& f) const {
    return arena_.atom(f.atom).kind == AtomKind::kSum && f.exponent == Exponent{};
  }

  // The sum's box cut at these places, ascending by dimension.
  static std::vector<Atom> Boxes(const Atom& sum, const std::vector<std::vector<int64_t>>& all) {
    std::vector<Atom> boxes = {sum};
    for (size_t d = 0; d < sum.domain.size(); ++d) {
      const std::vector<int64_t>& cuts = all[d];
      std::vector<Atom> next;
      for (const Atom& box : boxes) {
        int64_t from = box.domain[d].lo;
        auto cut = std::upper_bound(cuts.begin(), cuts.end(), from);
        while (from < box.domain[d].hi) {
          const int64_t to =
              cut == cuts.end() ? box.domain[d].hi : std::min(*cut++, box.domain[d].hi);
          next.push_back(box);
          next.back().domain[d] = {from, to};
          from = to;
        }
      }
      boxes.swap(next);
      if (boxes.size() > static_cast<size_t>(kMostPieces)) break;  // too many in any case
    }
    return boxes;
  }

  static void AddFactor(AtomId atom, Factors* factors) {
    for (Factor& f : *factors) {
      if (f.atom == atom) {
        f.exponent = f.exponent + Exponent{};
        return;
      }
    }
    factors->push_back({atom, Exponent{}});
  }

  std::vector<AtomId> Cells(const Atom& a, const Cuts& cuts) {
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
  PolyId Total(std::vector<PolyId> parts) {
    if (parts.empty()) return kZeroPoly;
    for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2)) {
      for (size_t i = 0; i < parts.size(); i += 2) {
        parts[i / 2] = i + 1 < parts.size() ? arena_.Add(parts[i], parts[i + 1]) : parts[i];
      }
    }
    return parts[0];
  }

  // How many terms the product with base^raise has at most, each written out.
  int64_t SizeCleared(const std::vector<Term>& terms, AtomId base, int32_t raise) {
    const int64_t length =
        static_cast<int64_t>(arena_.poly(arena_.atom(base).polys[0]).terms.size());
    int64_t total = 0;
    for (const Term& t : terms) {
      Exponent e{raise, 1};
      for (const Factor& f : arena_.mono(t.mono).factors) {
        if (f.atom == base) e = e + f.exponent;
      }
      int64_t size = 1;
      for (int64_t w = FloorDiv(e.num, e.den); w > 0 && size <= kMostCleared; --w) size *= length;
      total += size;
    }
    return total;
  }

  // Multiplies by powers of bases until none has a negative exponent. Each base is nonzero by a
  // recorded premise, so the product is zero exactly when p is. What would grow beyond
  // kMostCleared terms stays as it is.
  PolyId ClearDenominators(PolyId p) {
    for (int step = 0; step < 16; ++step) {
      if (arena_.exhausted()) return p;
      AtomId base = 0;
      Exponent least{0, 1};
      const std::vector<Term> terms = arena_.poly(p).terms;
      for (const Term& t : terms) {
        for (const Factor& f : arena_.mono(t.mono).factors) {
          const Atom& a = arena_.atom(f.atom);
          if (a.kind != AtomKind::kBase || f.exponent.num >= 0) continue;
          if (base == 0 || a.polys[0] > arena_.atom(base).polys[0]) {
            base = f.atom;
            least = f.exponent;
          } else if (base == f.atom && (f.exponent + Exponent{-least.num, least.den}).num < 0) {
            least = f.exponent;
          }
        }
      }
      if (base == 0) return p;
      // All exponents of this base may differ by fractions: multiply by the integer part.
      int32_t raise = static_cast<int32_t>(-FloorDiv(least.num, least.den));
      if (SizeCleared(terms, base, raise) > kMostCleared) return p;
      std::vector<PolyId> products;
      for (const Term& t : terms) {
        Factors f = arena_.mono(t.mono).factors;
        f.push_back({base, Exponent{raise, 1}});
        products.push_back(arena_.ProductOf(std::move(f), t.coefficient));
      }
      p = Total(std::move(products));
      if (p == kZeroPoly) return p;
    }
    return p;
  }

  // `size` times the number of points of the atom's box, which may be any number; at most 2^20.
  static int64_t TimesVolume(int64_t size, const Atom& a) {
    constexpr int64_t kMany = 1 << 20;
    for (const Interval& d : a.domain) {
      size = d.length() >= kMany ? kMany : std::min(size * d.length(), kMany);
    }
    return size;
  }

  // Sums over a few indices are written out.
  PolyId ExpandShortSums(PolyId p) {
    std::vector<PolyId> products;
    const std::vector<Term> terms = arena_.poly(p).terms;
    // Written out, the sums must stay few: the product of their sizes is what it costs.
    int64_t total = 0;
    bool any = false;
    for (const Term& t : terms) {
      int64_t size = 1;
      for (const Factor& f : arena_.mono(t.mono).factors) {
        const Atom& a = arena_.atom(f.atom);
        if (a.kind != AtomKind::kSum || !f.exponent.IsInteger()) continue;
        const int64_t volume = TimesVolume(1, a);
        any |= volume <= kExpandLength && f.exponent.num > 0;
        for (int32_t e = 0; e < f.exponent.num && size <= kMostExpanded; ++e) {
          size = TimesVolume(size, a);
        }
      }
      total += size;
    }
    if (!any || total > kMostExpanded) return p;
    for (const Term& t : terms) {
      PolyId product = arena_.Constant(t.coefficient);
      Factors rest;
      for (const Factor& f : arena_.mono(t.mono).factors) {
        const Atom a = arena_.atom(f.atom);
        const int64_t volume = TimesVolume(1, a);
        if (a.kind != AtomKind::kSum || !f.exponent.IsInteger() || f.exponent.num <= 0 ||
            volume > kExpandLength) {
          rest.push_back(f);
          continue;
        }
        PolyId sum = kZeroPoly;
        for (int64_t k = 0; k < volume; ++k) {
          SymbolMap map;
          map.shift_bound = -1;
          int64_t index = k;
          for (size_t d = 0; d < a.domain.size(); ++d) {
            map.pairs.emplace_back(BoundSymbol(0, static_cast<uint32_t>(d)),
                                   Affine(a.domain[d].lo + index % a.domain[d].length()));
            index /= a.domain[d].length();
          }
          sum = arena_.Add(sum, Rewriter(&arena_, std::move(map)).Mono(a.mono));
        }
        product = arena_.Mul(product, arena_.IntegerPower(sum, f.exponent.num));
      }
      if (!rest.empty())
        product = arena_.Mul(product, arena_.ProductOf(std::move(rest), Rational(1)));
      products.push_back(product);
    }
    return Total(std::move(products));
  }

  Arena& arena_;
};

bool Arena::IsZero(PolyId p) {
  if (p == kZeroPoly) return !exhausted_;
  if (ZeroTest(this).Run(p)) return true;
  const PolyId cancelled = CancelShares(p);
  if (cancelled == kZeroPoly) return !exhausted_;
  return cancelled != p && ZeroTest(this).Run(cancelled);
}

}  // namespace planproof::solver
