// Rule bodies: what is added up over one box is added up as one.
#include <algorithm>
#include <tuple>

#include "solver/rewriter.h"
#include "solver/scratch_symbols.h"
#include "solver/zero_test.h"

namespace planproof::solver {
namespace {

constexpr size_t kMaxBoxesOfBodies = 64;  // into which the boxes of sums are cut

bool IsDenominator(const Arena& arena, const Factor& factor) {
  const AtomKind kind = arena.atom(factor.atom).kind;
  return factor.exponent.num < 0 && (kind == AtomKind::kSum || kind == AtomKind::kBase);
}

// Where elements of the body have the variable, outside of sums within it: variables of two sums
// that stand in the same places are taken for each other.
std::vector<std::pair<uint32_t, size_t>> PlacesOf(const Arena& arena, MonoId body,
                                                  Symbol variable) {
  std::vector<std::pair<uint32_t, size_t>> places;
  std::vector<MonoId> work = {body};
  while (!work.empty()) {
    const MonoId mono = work.back();
    work.pop_back();
    for (const Factor& factor : arena.mono(mono).factors) {
      const Atom& atom = arena.atom(factor.atom);
      if (atom.kind == AtomKind::kExp) work.push_back(atom.mono);
      if (atom.kind != AtomKind::kElement) continue;
      for (size_t i = 0; i < atom.indices.size(); ++i) {
        for (const auto& [symbol, c] : atom.indices[i].terms) {
          if (symbol == variable) places.emplace_back(atom.tag, i);
        }
      }
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

// Dimensions of the sum that a denominator in its body depends on.
std::vector<uint32_t> ZeroTest::DividingDimensions(AtomId sum) const {
  const Atom& atom = arena_.atom(sum);
  std::vector<uint32_t> dims;
  for (uint32_t d = 0; d < atom.domain.size(); ++d) {
    const Factors& factors = arena_.mono(atom.mono).factors;
    const bool divides = std::any_of(factors.begin(), factors.end(), [&](const Factor& f) {
      const Symbols& symbols = arena_.atom(f.atom).symbols;
      return IsDenominator(arena_, f) &&
             std::find(symbols.begin(), symbols.end(), BoundSymbol(0, d)) != symbols.end();
    });
    if (divides) dims.push_back(d);
  }
  return dims;
}

// A factor of the term that is a sum with a denominator in its body.
std::optional<AtomId> ZeroTest::DividingSumOf(const Term& term) const {
  for (const Factor& factor : arena_.mono(term.mono).factors) {
    if (factor.exponent != Exponent{} || arena_.atom(factor.atom).kind != AtomKind::kSum) continue;
    if (!DividingDimensions(factor.atom).empty()) return factor.atom;
  }
  return std::nullopt;
}

// The sum's dividing dimensions: variables that stand in the same places of two bodies come in the
// same order.
std::vector<uint32_t> ZeroTest::DividingInOrder(AtomId id) const {
  const Atom& sum = arena_.atom(id);
  std::vector<uint32_t> dims = DividingDimensions(id);
  const auto key = [&](uint32_t d) {
    return std::make_tuple(PlacesOf(arena_, sum.mono, BoundSymbol(0, d)), sum.domain[d].lo,
                           sum.domain[d].hi);
  };
  std::sort(dims.begin(), dims.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return dims;
}

// Whether every term has such a sum, and the bodies of all are zero together at each index of what
// their denominators depend on: the normal form does not join them. Sums over other boxes are cut
// where one begins or ends.
bool ZeroTest::BodiesAreZero(PolyId p) {
  if (within_bodies_ || arena_.exhausted()) return false;
  const Terms terms = arena_.poly(p).terms;
  std::vector<DividingSum> sums;
  std::vector<std::vector<int64_t>> cuts;  // by dimension
  for (const Term& term : terms) {
    const std::optional<AtomId> id = DividingSumOf(term);
    if (!id.has_value()) return false;
    sums.push_back({term, *id, DividingInOrder(*id)});
    const std::vector<uint32_t>& dims = sums.back().dims;
    if (cuts.empty()) cuts.resize(dims.size());
    if (cuts.size() != dims.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      const Interval& range = arena_.atom(*id).domain[dims[i]];
      cuts[i].insert(cuts[i].end(), {range.lo, range.hi});
    }
  }
  size_t cells = 1;
  for (std::vector<int64_t>& at : cuts) {
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    cells *= at.size() - 1;
    if (cells > kMaxBoxesOfBodies) return false;
  }
  const size_t met = arena_.premises().size();
  bool zero = true;
  for (size_t cell = 0; cell < cells && zero; ++cell) {
    std::vector<Interval> box;
    for (size_t i = 0, rest = cell; i < cuts.size(); rest /= cuts[i].size() - 1, ++i) {
      const size_t at = rest % (cuts[i].size() - 1);
      box.push_back({cuts[i][at], cuts[i][at + 1]});
    }
    ZeroTest inner(&arena_);
    inner.within_bodies_ = true;
    zero = inner.Test(BodiesIn(box, sums));
  }
  arena_.RewindPremises(met);
  return zero && !arena_.exhausted();
}

// The summands at one index of the box, of all sums that run over it.
PolyId ZeroTest::BodiesIn(const std::vector<Interval>& box, const std::vector<DividingSum>& sums) {
  std::vector<Symbol> at;
  for (const Interval& range : box) at.push_back(arena_.NewFree(range.lo, range.hi - 1));
  std::vector<PolyId> bodies;
  for (const auto& [term, id, dims] : sums) {
    const Atom sum = arena_.atom(id);
    bool within = true;
    for (size_t i = 0; i < dims.size(); ++i) {
      const Interval& range = sum.domain[dims[i]];
      within = within && range.lo <= box[i].lo && box[i].hi <= range.hi;
    }
    if (within) bodies.push_back(arena_.Mul(WithoutFactor(term, id), BodyOf(sum, dims, at)));
  }
  return Total(std::move(bodies));
}

PolyId ZeroTest::WithoutFactor(const Term& term, AtomId atom) {
  Factors rest;
  for (const Factor& factor : Factors(arena_.mono(term.mono).factors)) {
    if (factor.atom != atom) rest.push_back(factor);
  }
  return arena_.ProductOf(std::move(rest), term.coefficient);
}

// The summand at these symbols for the dimensions; over the others it is still a sum.
PolyId ZeroTest::BodyOf(const Atom& sum, const std::vector<uint32_t>& dims,
                        const std::vector<Symbol>& at) {
  SymbolMap opening;
  ScratchSymbols scratch(&arena_);
  std::vector<BoundVariable> vars = Rewriter::Open(&scratch, sum, &opening);
  for (size_t i = 0; i < dims.size(); ++i) opening.pairs[dims[i]].second = Affine::Of(at[i]);
  for (size_t d = vars.size(); d-- > 0;) {
    if (std::find(dims.begin(), dims.end(), d) != dims.end())
      vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(d));
  }
  const PolyId body = Rewriter(&arena_, std::move(opening)).Mono(sum.mono);
  return scratch.Close(arena_.SumOver(vars, body));
}

}  // namespace planproof::solver
