#include "tests/solver/term_numeric.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace planproof::solver {
namespace {

constexpr long double kUndefined = std::numeric_limits<long double>::quiet_NaN();

uint64_t HashOf(uint32_t tag, const std::vector<int64_t>& indices) {
  uint64_t h = 0x9e3779b97f4a7c15ull * (tag + 1);
  for (int64_t i : indices) {
    h ^= static_cast<uint64_t>(i) + 0x632be59bd9b4e019ull;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 29;
  }
  h *= 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 32);
}

// Undefined if either is.
Approximate Larger(Approximate a, Approximate b) {
  if (!std::isfinite(a.value)) return a;
  if (!std::isfinite(b.value)) return b;
  return {std::max(a.value, b.value), std::max(a.scale, b.scale)};
}

class Evaluator {
 public:
  Evaluator(const Arena& arena, const FreeValues& values) : arena_(arena), values_(values) {}

  Approximate Poly(PolyId id) {
    Approximate sum;
    for (const Term& t : arena_.poly(id).terms)
      sum = sum + Of(t.coefficient.ToDouble()) * Mono(t.mono);
    return sum;
  }

 private:
  Approximate Mono(MonoId id) {
    Approximate product = Of(1);
    for (const Factor& f : arena_.mono(id).factors) {
      Approximate a = AtomValue(f.atom);
      if (!(f.exponent == Exponent{}))
        a = PowerOf(a, static_cast<long double>(f.exponent.num) / f.exponent.den);
      product = product * a;
    }
    return product;
  }

  int64_t Index(const Affine& e) {
    int64_t sum = e.constant;
    for (const auto& [s, c] : e.terms) sum += c * SymbolValue(s);
    return sum;
  }

  std::vector<int64_t> Indices(const Atom& a) {
    std::vector<int64_t> out;
    for (const Affine& e : a.indices) out.push_back(Index(e));
    return out;
  }

  int64_t SymbolValue(Symbol s) {
    switch (KindOf(s)) {
      case SymbolKind::kFree: {
        auto it = values_.find(s);
        if (it == values_.end()) {
          leaked_ = true;
          return 0;
        }
        return it->second;
      }
      case SymbolKind::kBound: {
        if (BoundLevel(s) >= bound_.size()) {
          leaked_ = true;
          return 0;
        }
        return bound_[bound_.size() - 1 - BoundLevel(s)].at(BoundPosition(s));
      }
      case SymbolKind::kIntAtom: {
        const Atom& a = arena_.atom(arena_.AtomOfIntAtom(s));
        if (a.tag == kWholeNumberTag) return std::llround(Poly(a.polys[0]).value);
        return IntegerValue(a.tag, Indices(a));
      }
    }
    return 0;
  }

  template <typename Visit>
  void ForEach(const std::vector<Interval>& box, Visit visit) {
    std::vector<int64_t> at;
    for (const Interval& i : box) {
      if (i.length() <= 0) return;
      at.push_back(i.lo);
    }
    for (;;) {
      bound_.push_back(at);
      visit();
      bound_.pop_back();
      size_t d = 0;
      for (; d < box.size(); ++d) {
        if (++at[d] < box[d].hi) break;
        at[d] = box[d].lo;
      }
      if (d == box.size()) return;
    }
  }

  Approximate AtomValue(AtomId id) {
    const Atom& a = arena_.atom(id);
    Approximate result = Of(kUndefined);
    switch (a.kind) {
      case AtomKind::kElement:
        result = Of(ElementValue(a.tag, Indices(a)));
        break;
      case AtomKind::kNumber:
        result = Of(a.number.ToDouble());
        break;
      case AtomKind::kExp: {
        Approximate x = Mono(a.mono) * Of(a.number.ToDouble());
        result = {std::exp(x.value), std::exp(x.value) * (1 + x.scale)};
        break;
      }
      case AtomKind::kBase:
        result = Poly(a.polys[0]);
        break;
      case AtomKind::kLog: {
        Approximate x = Poly(a.polys[0]);
        result = {std::log(x.value), std::fabs(std::log(x.value)) + x.scale / std::fabs(x.value)};
        break;
      }
      case AtomKind::kErf:
      case AtomKind::kSin:
      case AtomKind::kCos: {
        Approximate x = Poly(a.polys[0]);
        long double v = a.kind == AtomKind::kErf   ? std::erf(x.value)
                        : a.kind == AtomKind::kSin ? std::sin(x.value)
                                                   : std::cos(x.value);
        result = {v, 1 + x.scale};
        break;
      }
      case AtomKind::kAbs: {
        Approximate x = Poly(a.polys[0]);
        result = {std::fabs(x.value), x.scale};
        break;
      }
      case AtomKind::kMax:
        for (size_t i = 0; i < a.polys.size(); ++i) {
          Approximate x = Poly(a.polys[i]);
          result = i == 0 ? x : Larger(result, x);
        }
        break;
      case AtomKind::kPosition:
        result = Of(static_cast<long double>(Index(a.indices[0])));
        break;
      case AtomKind::kIndicator:
        result = Of(Index(a.indices[0]) >= 0);
        break;
      case AtomKind::kDelta:
        result = Of(Index(a.indices[0]) == 0);
        break;
      case AtomKind::kRealPositive: {
        Approximate x = Poly(a.polys[0]);
        result = Of(!IsZeroValue(x) && x.value > 0);
        break;
      }
      case AtomKind::kRealZero:
        result = Of(IsZeroValue(Poly(a.polys[0])));
        break;
      case AtomKind::kSum:
        result = {};
        ForEach(a.domain, [&] { result = result + Mono(a.mono); });
        break;
      case AtomKind::kReduceMax: {
        bool any = false;
        ForEach(a.domain, [&] {
          if (Poly(a.polys[1]).value > 0.5L) return;
          Approximate x = Poly(a.polys[0]);
          result = any ? Larger(result, x) : x;
          any = true;
        });
        break;
      }
      case AtomKind::kOpaque:
      case AtomKind::kOpaqueRow:
        break;
    }
    if (leaked_) result = Of(std::numeric_limits<long double>::infinity());
    return result;
  }

  const Arena& arena_;
  const FreeValues& values_;
  std::vector<std::vector<int64_t>> bound_;
  bool leaked_ = false;
};

}  // namespace

Approximate Of(long double value) { return {value, std::fabs(value)}; }

Approximate operator+(Approximate a, Approximate b) {
  return {a.value + b.value, a.scale + b.scale};
}

Approximate operator*(Approximate a, Approximate b) {
  return {a.value * b.value, a.scale * b.scale};
}

Approximate Undefined(Approximate of) {
  const bool certain = of.scale <= 1e6L;
  return {kUndefined, certain ? 0 : std::numeric_limits<long double>::infinity()};
}

Approximate PowerOf(Approximate a, long double exponent) {
  if (std::isnan(a.value)) return a;
  if (IsZeroValue(a)) {
    if (exponent < 0 || a.scale > 1e6L) return Undefined(a);
    return {0, std::pow(a.scale, exponent)};
  }
  // Written out, a power has the base's magnitudes to that power; so has a power of a power.
  const long double v = std::pow(a.value, exponent), cancelled = a.scale / std::fabs(a.value);
  return {v, std::fabs(v) * std::pow(cancelled, std::max(1.0L, std::fabs(exponent)))};
}

bool IsZeroValue(Approximate a) { return std::fabs(a.value) <= 1e-13L * a.scale; }

bool Comparable(Approximate a, Approximate b) {
  return std::isfinite(a.value) && std::isfinite(b.value) && a.scale < 1e14L && b.scale < 1e14L;
}

bool Agree(Approximate a, Approximate b) {
  return std::fabs(a.value - b.value) <= 1e-11L * (a.scale + b.scale + 1e-3L);
}

long double ElementValue(uint32_t tag, const std::vector<int64_t>& indices) {
  const uint64_t h = HashOf(tag, indices);
  const long double magnitude = 0.3L + static_cast<long double>(h >> 12) / (uint64_t{1} << 52);
  return tag >= kPositiveTag || (h & 1) ? magnitude : -magnitude;
}

int64_t IntegerValue(uint32_t tag, const std::vector<int64_t>& indices) {
  return static_cast<int64_t>((HashOf(tag, indices) >> 8) % (kIntegerTagMax + 1));
}

Approximate Evaluate(const Arena& arena, PolyId poly, const FreeValues& values) {
  return Evaluator(arena, values).Poly(poly);
}

}  // namespace planproof::solver
