// Rule largest-of-blocks: where the largest element of a row is, from where the largest of its
// blocks are.
#include <optional>
#include <utility>
#include <vector>

#include "solver/rewriter.h"
#include "solver/zero_test.h"

namespace planproof::solver {
namespace {

constexpr int64_t kMostBlocks = 256;

// The opaque function of a row and a rank that is the place of the row's largest element, the first
// of equal ones, at rank 0: as sdfg/native_operators_order.cc names it, with the sort of the rank.
constexpr char kPlaceOfLargest[] = "topk_index(k=1)#";

}  // namespace

// Integer atoms of p that are the place of the first largest element of a row, asked for by rank 0.
std::vector<Symbol> ZeroTest::LargestPlaces(PolyId p) const {
  std::vector<Symbol> places;
  const auto tag = arena_.opaque_tags_.find(kPlaceOfLargest);
  if (tag == arena_.opaque_tags_.end()) return places;
  for (const Symbol s : arena_.poly(p).symbols) {
    if (KindOf(s) != SymbolKind::kIntAtom) continue;
    const Atom& a = arena_.atom(arena_.AtomOfIntAtom(s));
    if (a.kind == AtomKind::kOpaqueRow && a.tag == (Arena::kOpaqueTagBit | tag->second) &&
        a.indices.size() == 1 && a.indices[0] == Affine(0) && a.polys.size() == 1 &&
        a.domain[0].lo == 0) {
      places.push_back(s);
    }
  }
  return places;
}

// The element of the place's row at an index.
PolyId ZeroTest::ElementOfRow(Symbol place, const Affine& index) {
  const Atom& row = arena_.atom(arena_.AtomOfIntAtom(place));
  SymbolMap map;
  map.pairs.emplace_back(BoundSymbol(0, 0), index);
  map.shift_bound = -1;
  return Rewriter(&arena_, std::move(map)).Poly(row.polys[0]);
}

// The largest element of the place's row.
PolyId ZeroTest::LargestOfRow(Symbol place) {
  ScratchSymbols scratch(&arena_);
  const Interval domain = arena_.atom(arena_.AtomOfIntAtom(place)).domain[0];
  const BoundVariable v = {scratch.Take(domain), domain};
  return scratch.Close(arena_.ReduceMax(v, ElementOfRow(place, Affine::Of(v.symbol)), kZeroPoly));
}

// Whether the row of `block` is that of `whole` from `begin` on.
bool ZeroTest::IsBlockOfRow(Symbol block, Symbol whole, int64_t begin) {
  ScratchSymbols scratch(&arena_);
  const Interval domain = arena_.atom(arena_.AtomOfIntAtom(block)).domain[0];
  const Affine v = Affine::Of(scratch.Take(domain));
  return scratch.Close(arena_.Sub(ElementOfRow(block, v),
                                  ElementOfRow(whole, v + Affine(begin)))) == kZeroPoly;
}

// For each block of `whole`, in order, where its largest element is in it, if the row of `among`
// are the largest elements of these blocks; else nothing. `places`: where to look for them.
std::vector<Affine> ZeroTest::PlacesByBlock(Symbol whole, Symbol among,
                                            const std::vector<Symbol>& places) {
  const int64_t length = arena_.atom(arena_.AtomOfIntAtom(whole)).domain[0].hi;
  const int64_t blocks = arena_.atom(arena_.AtomOfIntAtom(among)).domain[0].hi;
  if (blocks < 2 || blocks > kMostBlocks || blocks > length) return {};
  std::vector<Affine> found;
  int64_t begin = 0;
  for (int64_t b = 0; b < blocks && !arena_.exhausted(); ++b) {
    const PolyId largest = ElementOfRow(among, Affine(b));
    bool any = false;
    for (const Symbol place : places) {
      const int64_t extent = arena_.atom(arena_.AtomOfIntAtom(place)).domain[0].hi;
      if (place == whole || place == among || begin + extent > length) continue;
      if (!IsBlockOfRow(place, whole, begin) || LargestOfRow(place) != largest) continue;
      found.push_back(Affine::Of(place) + Affine(begin));
      begin += extent;
      any = true;
      break;
    }
    if (!any) return {};
  }
  return begin == length && !arena_.exhausted() ? found : std::vector<Affine>();
}

bool ZeroTest::ZeroInAllBlocks(PolyId p) {
  const std::vector<Symbol> places = LargestPlaces(p);
  if (places.size() < 4) return false;  // of the row, of the maxima, and of two blocks
  for (const Symbol whole : places) {
    for (const Symbol among : places) {
      if (whole == among) continue;
      const std::vector<Affine> by_block = PlacesByBlock(whole, among, places);
      if (by_block.empty()) continue;
      for (size_t b = 0; b < by_block.size(); ++b) {
        SymbolMap map;
        map.pairs.emplace_back(among, Affine(static_cast<int64_t>(b)));
        map.pairs.emplace_back(whole, by_block[b]);
        if (!Test(Rewriter(&arena_, std::move(map)).Poly(p))) return false;
      }
      return !arena_.exhausted();
    }
  }
  return false;
}

}  // namespace planproof::solver
