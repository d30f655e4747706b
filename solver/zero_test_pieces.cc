// Rules cut, elements-apart, remainders and blocks-apart: every sum as the sum over the pieces of
// its box.
#include <algorithm>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "solver/element_cuts.h"
#include "solver/rewriter.h"
#include "solver/structure.h"
#include "solver/summation.h"
#include "solver/zero_test.h"

namespace planproof::solver {
namespace {

constexpr int64_t kShortSumDimension = 4;
constexpr size_t kMaxCuts = 256;
constexpr int64_t kMaxPieces = 512;
constexpr int32_t kMaxCopies = 4;  // of a sum that is cut, in a product

}  // namespace

std::pair<MonoId, size_t> ZeroTest::KeyOf(const Atom& sum, size_t dim, bool by_body) {
  return by_body ? std::pair{sum.mono, dim} : std::pair{MonoId{}, size_t{0}};
}

ZeroTest::Cuts ZeroTest::CutsOf(const Terms& terms, bool by_body) const {
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
PolyId ZeroTest::SplitAtCuts(PolyId p, bool by_body) {
  const Cuts cuts = CutsOf(arena_.poly(p).terms, by_body);
  const auto cut = [](const auto& entry) { return entry.second.size() >= 3; };
  const auto many = [](const auto& entry) { return entry.second.size() > kMaxCuts; };
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
PolyId ZeroTest::SplitAtElements(PolyId p) {
  const ElementCuts cuts(&arena_, p);
  if (cuts.empty()) return p;
  bool any = false;
  in_pieces_.clear();
  auto parts = InPieces(
      p,
      [&](const Atom& sum) {
        Pieces boxes = Boxes(sum, cuts.Of(sum));
        any |= boxes.size() > 1;
        return boxes;
      },
      kMaxCopies, /*within_functions=*/true);
  return parts && any ? Total(*std::move(parts)) : p;
}

// Every sum over few blocks that lie apart as the sum over each. A block may have neighbours that
// the sum has not: of the blocks 0 and 3 of a row, block 0 joins 1 and 3 joins 2.
PolyId ZeroTest::SpreadShortDimensions(PolyId p) {
  bool any = false;
  auto parts = InPieces(p, [&](const Atom& sum) {
    Pieces slices = Slices(sum);
    any |= slices.size() > 1;
    return slices;
  });
  return parts && any ? Total(*std::move(parts)) : p;
}

// The terms of p with every sum as the sum of its pieces, each summed anew, up to this power of a
// sum, and with sums within functions if that is asked for; nothing if there are too many pieces.
std::optional<std::vector<PolyId>> ZeroTest::InPieces(PolyId p, const PiecesOf& pieces_of,
                                                      int32_t most_copies, bool within_functions) {
  const Terms terms = arena_.poly(p).terms;
  std::vector<PolyId> parts;
  int64_t count = 0;
  for (const Term& t : terms) {
    PolyId product = arena_.Constant(t.coefficient);
    Factors rest;
    for (const Factor& f : Factors(arena_.mono(t.mono).factors)) {
      if (arena_.atom(f.atom).kind != AtomKind::kSum || !f.exponent.IsInteger() ||
          f.exponent.num < 1 || f.exponent.num > most_copies) {
        const std::optional<PolyId> power =
            within_functions ? FunctionInPieces(f, pieces_of) : std::nullopt;
        if (power) {
          product = arena_.Mul(product, *power);
        } else {
          rest.push_back(f);
        }
        continue;
      }
      const Pieces pieces = pieces_of(arena_.atom(f.atom));
      int64_t size = 1;
      for (int32_t copy = 0; copy < f.exponent.num; ++copy) {
        size = std::min(size * static_cast<int64_t>(pieces.size()), kMaxPieces + 1);
      }
      count += size;
      if (count > kMaxPieces || arena_.exhausted()) return std::nullopt;
      product = arena_.Mul(product, arena_.IntegerPower(SumOfPieces(pieces), f.exponent.num));
    }
    if (!rest.empty()) {
      product = arena_.Mul(product, arena_.ProductOf(std::move(rest), Rational(1)));
    }
    parts.push_back(product);
  }
  return parts;
}

PolyId ZeroTest::SumOfPieces(const Pieces& pieces) {
  PolyId sum = kZeroPoly;
  for (const Piece& piece : pieces) sum = arena_.Add(sum, SumOfPiece(piece));
  return sum;
}

PolyId ZeroTest::SumOfPiece(const Piece& piece) {
  if (piece.steps.empty()) return arena_.SumAgain(piece.sum, /*drop_single=*/true);
  Atom sum = piece.sum;
  for (size_t d = 0; d < sum.domain.size(); ++d) {
    const auto [step, at] = piece.steps[d];
    const Interval own = sum.domain[d];
    sum.domain[d] = {CeilDiv(own.lo - at, step), FloorDiv(own.hi - 1 - at, step) + 1};
    if (sum.domain[d].length() <= 0) return kZeroPoly;
  }
  SymbolMap opening;
  ScratchSymbols scratch(&arena_);
  std::vector<BoundVariable> vars = Rewriter::Open(&scratch, sum, &opening);
  for (size_t d = vars.size(); d-- > 0;) {
    const auto [step, at] = piece.steps[d];
    const bool single = sum.domain[d].length() == 1;
    opening.pairs[d].second =
        (single ? Affine(sum.domain[d].lo) : Affine::Of(vars[d].symbol)).Scaled(step) + Affine(at);
    if (single) vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(d));
  }
  const PolyId body = Rewriter(&arena_, std::move(opening)).Mono(sum.mono);
  return scratch.Close(Summation(&arena_).SumProduct(vars, body));
}

// Every sum over an index of which each s-th is read elsewhere as one sum for each remainder of the
// index modulo s.
PolyId ZeroTest::SplitByRemainder(PolyId p) {
  const ElementCuts cuts(&arena_, p);
  if (!cuts.has_steps()) return p;
  bool any = false;
  in_pieces_.clear();
  auto parts = InPieces(
      p,
      [&](const Atom& sum) {
        Pieces pieces = ByRemainder(sum, cuts.StepsOf(sum));
        any |= pieces.size() > 1;
        return pieces;
      },
      kMaxCopies, /*within_functions=*/true);
  return parts && any ? Total(*std::move(parts)) : p;
}

ZeroTest::Pieces ZeroTest::ByRemainder(const Atom& sum, const std::vector<int64_t>& steps) {
  Pieces pieces = {{sum}};
  for (size_t d = 0; d < steps.size(); ++d) {
    if (steps[d] == 1) continue;
    Pieces next;
    for (const Piece& piece : pieces) {
      for (int64_t at = 0; at < steps[d]; ++at) {
        next.push_back(piece);
        next.back().steps.resize(steps.size());
        next.back().steps[d] = {steps[d], at};
      }
    }
    pieces.swap(next);
    if (pieces.size() > static_cast<size_t>(kMaxPieces)) break;  // too many in any case
  }
  return pieces;
}

// The power of a function with the sums in its operands in pieces, or any power of a sum in pieces:
// nothing if there is no such sum, or if what is divided by would be written as 0. It is the same
// function of the same numbers, and what these must be was recorded when it was built.
std::optional<PolyId> ZeroTest::FunctionInPieces(const Factor& factor, const PiecesOf& pieces_of) {
  const size_t met = arena_.premises().size();
  const auto [known, fresh] = in_pieces_.try_emplace(factor.atom, std::nullopt);
  if (fresh) known->second = ValueInPieces(arena_.atom(factor.atom), pieces_of);
  std::optional<PolyId> value = known->second;
  if (value == kZeroPoly && factor.exponent.num < 0) value.reset();
  if (value) value = arena_.Power(*value, factor.exponent);
  if (arena_.premises().size() > met) arena_.RewindPremises(met);
  return value;
}

std::optional<PolyId> ZeroTest::ValueInPieces(const Atom& a, const PiecesOf& pieces_of) {
  arena_.ChargeVisits(1);
  if (arena_.exhausted()) return std::nullopt;
  if (a.kind == AtomKind::kSum) {
    const Pieces pieces = pieces_of(a);
    if (pieces.size() < 2 || pieces.size() > static_cast<size_t>(kMaxPieces)) return std::nullopt;
    return SumOfPieces(pieces);
  }
  if (!a.domain.empty()) return std::nullopt;
  bool any = false;
  const auto in_pieces = [&](PolyId p) {
    auto parts = InPieces(p, pieces_of, kMaxCopies, /*within_functions=*/true);
    const PolyId result = parts ? Total(*std::move(parts)) : p;
    any |= result != p;
    return result;
  };
  std::vector<PolyId> polys;
  for (const PolyId p : a.polys) polys.push_back(in_pieces(p));
  const PolyId argument = in_pieces(arena_.OfMono(a.mono, Rational(1)));
  if (!any || arena_.exhausted()) return std::nullopt;
  return Rewriter::Function(&arena_, a, a.indices, std::move(polys), argument);
}

ZeroTest::Pieces ZeroTest::Slices(const Atom& sum) const {
  Pieces slices = {{sum}};
  for (size_t d = 0; d < sum.domain.size(); ++d) {
    const Interval own = sum.domain[d];
    if (own.length() > kShortSumDimension || !CountsBlocks(sum, d)) continue;
    Pieces next;
    for (const Piece& slice : slices) {
      for (int64_t at = own.lo; at < own.hi; ++at) {
        next.push_back(slice);
        next.back().sum.domain[d] = {at, at + 1};
      }
    }
    slices.swap(next);
    if (slices.size() > static_cast<size_t>(kMaxPieces)) break;  // too many in any case
  }
  return slices;
}

// Whether dimension d counts blocks that lie apart: in some index a step along d is longer than
// what smaller steps of the other dimensions cover.
bool ZeroTest::CountsBlocks(const Atom& sum, size_t d) const {
  Colouring colours;
  for (size_t k = 0; k < sum.domain.size(); ++k) {
    colours.emplace_back(BoundSymbol(0, static_cast<uint32_t>(k)), 1);
  }
  std::vector<Structure::Occurrence> occurrences;
  for (const Factor& f : arena_.mono(sum.mono).factors) {
    Structure::CollectOccurrences(&arena_, f.atom, colours, &occurrences);
  }
  for (const Structure::Occurrence& o : occurrences) {
    const int64_t step = std::abs(o.expression.Coefficient(colours[d].first));
    __int128 covered = 1;
    for (size_t k = 0; k < sum.domain.size(); ++k) {
      const int64_t other = std::abs(o.expression.Coefficient(colours[k].first));
      if (other < step) covered += static_cast<__int128>(other) * (sum.domain[k].length() - 1);
    }
    if (covered < step) return true;
  }
  return false;
}

bool ZeroTest::IsPlainSum(const Factor& f) const {
  return arena_.atom(f.atom).kind == AtomKind::kSum && f.exponent == Exponent{};
}

// The sum's box cut at these places, ascending by dimension.
ZeroTest::Pieces ZeroTest::Boxes(const Atom& sum, const std::vector<std::vector<int64_t>>& all) {
  Pieces boxes = {{sum}};
  for (size_t d = 0; d < sum.domain.size(); ++d) {
    const std::vector<int64_t>& cuts = all[d];
    Pieces next;
    for (const Piece& box : boxes) {
      int64_t from = box.sum.domain[d].lo;
      auto cut = std::upper_bound(cuts.begin(), cuts.end(), from);
      while (from < box.sum.domain[d].hi) {
        const int64_t to =
            cut == cuts.end() ? box.sum.domain[d].hi : std::min(*cut++, box.sum.domain[d].hi);
        next.push_back(box);
        next.back().sum.domain[d] = {from, to};
        from = to;
      }
    }
    boxes.swap(next);
    if (boxes.size() > static_cast<size_t>(kMaxPieces)) break;  // too many in any case
  }
  return boxes;
}

}  // namespace planproof::solver
