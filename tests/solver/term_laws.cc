#include "tests/solver/term_laws.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

constexpr int64_t kBudget = 60'000;
constexpr int kFreeVariables = 2, kSamples = 4;
constexpr int64_t kMaxPoints = 4096;

// Whether the premise fails for some values of its symbols beside those given.
bool Violated(const Arena& arena, const Premise& premise, FreeValues values) {
  std::vector<Symbol> others;
  int64_t points = 1;
  for (Symbol s : arena.poly(premise.poly).symbols) {
    if (KindOf(s) != SymbolKind::kFree || values.count(s) != 0) continue;
    const IntRange range = arena.RangeOf(s);
    if (range.high < range.low) return false;
    points *= range.high - range.low + 1;
    if (points > kMaxPoints) return true;  // too many to say
    values[s] = range.low;
    others.push_back(s);
  }
  for (int64_t point = 0; point < points; ++point) {
    const Approximate at = Evaluate(arena, premise.poly, values);
    if (std::isnan(at.value)) return true;
    const bool zero = IsZeroValue(at);
    if (premise.kind == PremiseKind::kNonZero && zero) return true;
    if (premise.kind == PremiseKind::kPositive && (zero || at.value < 0)) return true;
    if (premise.kind == PremiseKind::kNonNegative && !zero && at.value < 0) return true;
    for (Symbol s : others) {
      if (++values[s] <= arena.RangeOf(s).high) break;
      values[s] = arena.RangeOf(s).low;
    }
  }
  return false;
}

bool Mentions(const Expression& e, Expression::Kind kind) {
  return e.kind == kind || std::any_of(e.children.begin(), e.children.end(),
                                       [kind](const auto& c) { return Mentions(c, kind); });
}

bool HasSign(Approximate at, Sign sign) {
  const bool zero = IsZeroValue(at);
  if (sign == Sign::kPositive) return !zero && at.value > 0;
  return sign != Sign::kNonNegative || zero || at.value > 0;
}

std::string Describe(const char* what, const Environment& at, Approximate found,
                     Approximate expected, const std::string& term) {
  return absl::StrCat(what, " at ", at.at(0), ", ", at.at(1), ": ",
                      static_cast<double>(found.value), ", expected ",
                      static_cast<double>(expected.value), " (scale ",
                      static_cast<double>(found.scale + expected.scale), ")\n", term);
}

}  // namespace

std::unique_ptr<Arena> ArenaWithPositiveTags(int64_t budget) {
  auto arena = std::make_unique<Arena>();
  for (uint32_t tag = kPositiveTag; tag < kIntegerTag; ++tag) arena->SetTagPositive(tag);
  arena->ResetExhausted(budget);
  return arena;
}

std::string CheckLaws(const Expression& e, const Expression& same, const Expression& other,
                      std::mt19937_64* random, LawCounts* counts) {
  ++counts->expressions;
  const std::unique_ptr<Arena> arena = ArenaWithPositiveTags(kBudget);
  Builder builder(arena.get(), kFreeVariables, nullptr);
  const PolyId p = builder.Build(e);
  const std::vector<Premise> premises = arena->premises();
  const PolyId q = builder.Build(same), r = builder.Build(other);
  bool equal = false, zero = false;
  for (bool* result : {&equal, &zero}) {
    *result = arena->IsZero(arena->Sub(p, result == &equal ? q : r));
    if (*result && arena->exhausted()) return "zero past the work limit";
  }
  const Sign sign = arena->SignOf(p);
  if (arena->exhausted()) {
    ++counts->exhausted;
    return "";
  }
  ++counts->equal;
  counts->recognised += equal;
  const bool maxima = Mentions(e, Expression::kReduceMax);
  for (int sample = 0; sample < kSamples; ++sample) {
    Environment at;
    for (int v = 0; v < kFreeVariables; ++v) {
      at[v] = kFreeDomain.lo +
              static_cast<int64_t>((*random)() % static_cast<uint64_t>(kFreeDomain.length()));
    }
    const FreeValues values = builder.Values(at);
    const Approximate expected = Evaluate(e, &at), differs = Evaluate(other, &at);
    if (std::isnan(expected.value) && std::isfinite(expected.scale) && !maxima) {
      ++counts->undefined;
      if (std::none_of(premises.begin(), premises.end(),
                       [&](const Premise& premise) { return Violated(*arena, premise, values); })) {
        return Describe("no premise excludes the sample", at, Evaluate(*arena, p, values), expected,
                        arena->ToString(p, 2000));
      }
    }
    if (!std::isfinite(expected.value) || expected.scale > 1e10L) continue;
    for (PolyId built : {p, q}) {
      const Approximate found = Evaluate(*arena, built, values);
      if (std::isinf(found.value) && std::fabs(expected.value) < 1e6L) {
        return Describe("a symbol is not bound", at, found, expected, arena->ToString(built, 2000));
      }
      if (!Comparable(found, expected)) continue;
      ++counts->compared;
      if (!Agree(found, expected)) {
        return Describe("value", at, found, expected, arena->ToString(built, 2000));
      }
    }
    // An exponential may be too small for a number.
    const bool vanished = expected.value == 0 && Mentions(e, Expression::kExp);
    counts->signs += sign != Sign::kUnknown && !vanished;
    if (!vanished && !HasSign(expected, sign)) {
      return Describe("sign", at, Evaluate(*arena, p, values), expected, arena->ToString(p, 2000));
    }
    if (!Comparable(differs, expected) || differs.scale > 1e10L ||
        std::fabs(differs.value - expected.value) <= 1e-7L * (1 + expected.scale + differs.scale)) {
      continue;
    }
    ++counts->different;
    if (zero) return Describe("shown to be equal", at, differs, expected, arena->ToString(r, 2000));
  }
  return "";
}

}  // namespace planproof::solver
