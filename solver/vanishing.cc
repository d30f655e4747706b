// Evaluates quotients of sums at one point, modulo a prime. That decides nothing.
#include "solver/vanishing.h"

#include <algorithm>

#include "solver/hash_mix.h"

namespace planproof::solver {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr int64_t kMaxCellsAtPoint = 4096;  // of one sum

uint64_t Times(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kPrime);
}

uint64_t PowerOf(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base = Times(base, base)) {
    if ((exponent & 1) != 0) result = Times(result, base);
  }
  return result;
}

uint64_t IntegerPowerOf(uint64_t base, int64_t exponent) {
  if (exponent >= 0) return PowerOf(base, static_cast<uint64_t>(exponent));
  return PowerOf(PowerOf(base, static_cast<uint64_t>(-exponent)), kPrime - 2);
}

}  // namespace

PointOfTerms::PointOfTerms(const Arena& arena, PolyId p) : arena_(arena) {
  Collect(p);
  for (auto& [key, own] : cuts_) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
}

void PointOfTerms::Collect(PolyId p) {
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom& a = arena_.atom(f.atom);
      if (!seen_.insert(f.atom).second) continue;
      if (a.kind == AtomKind::kBase) Collect(a.polys[0]);
      if (a.kind != AtomKind::kSum) continue;
      for (size_t d = 0; d < a.domain.size(); ++d) {
        std::vector<int64_t>& own = cuts_[{a.mono, d}];
        own.insert(own.end(), {a.domain[d].lo, a.domain[d].hi});
      }
    }
  }
}

uint64_t PointOfTerms::Of(PolyId p) {
  uint64_t total = 0;
  for (const Term& t : arena_.poly(p).terms) {
    uint64_t product = 0;
    if (!t.coefficient.Modulo(kPrime, &product)) product = 1;
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const uint64_t base = OfAtom(f.atom) + static_cast<uint64_t>(f.exponent.den - 1) * 7919;
      product = Times(product, IntegerPowerOf(base % kPrime, f.exponent.num));
    }
    total = (total + product) % kPrime;
  }
  return total;
}

uint64_t PointOfTerms::OfAtom(AtomId id) {
  if (const auto known = values_.find(id); known != values_.end()) return known->second;
  const Atom& a = arena_.atom(id);
  uint64_t value = MixHash(MixHash(0x51, id), 1) % kPrime;
  if (a.kind == AtomKind::kBase) value = Of(a.polys[0]);
  if (a.kind == AtomKind::kSum) value = OfSum(a);
  if (int64_t number = 0; a.kind == AtomKind::kExp && a.number.ToInt64(&number)) {
    value = IntegerPowerOf(MixHash(MixHash(0x52, a.mono), 1) % kPrime, number);
  }
  return values_[id] = value;
}

uint64_t PointOfTerms::OfSum(const Atom& sum) {
  uint64_t total = 0;
  std::vector<size_t> at(sum.domain.size());
  std::vector<const std::vector<int64_t>*> cuts;
  int64_t cells = 1;
  for (size_t d = 0; d < sum.domain.size(); ++d) {
    cuts.push_back(&cuts_.at({sum.mono, d}));
    at[d] = static_cast<size_t>(
        std::lower_bound(cuts[d]->begin(), cuts[d]->end(), sum.domain[d].lo) - cuts[d]->begin());
    cells *= static_cast<int64_t>(cuts[d]->size());
    if (cells > kMaxCellsAtPoint) return MixHash(MixHash(0x53, sum.mono), cells) % kPrime;
  }
  const std::vector<size_t> first = at;
  while (true) {
    uint64_t hash = MixHash(0x54, sum.mono);
    for (size_t d = 0; d < at.size(); ++d) hash = MixHash(hash, (*cuts[d])[at[d]]);
    total = (total + hash % kPrime) % kPrime;
    size_t d = 0;
    for (; d < at.size(); ++d) {
      if ((*cuts[d])[++at[d]] < sum.domain[d].hi) break;
      at[d] = first[d];
    }
    if (d == at.size()) return total;
  }
}

bool MayVanish(const Arena& arena, PolyId p) { return PointOfTerms(arena, p).Of(p) == 0; }

}  // namespace planproof::solver
