// Holes and undeclared overlap of the slices that devices hold.
#include "lineage/cover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::lineage {
namespace {

using testing::HasSubstr;

std::string Verdict(const sdfg::Shape& logical, const std::vector<CoverBox>& boxes) {
  const absl::Status status = CheckCoverOf(logical, boxes);
  return status.ok() ? "covers" : std::string(status.message());
}

CoverBox BoxOf(int64_t start, int64_t stop, const std::string& holder = "program r") {
  return {holder, {{start, {{0, 1, 1, 0}}}}, {stop - start}, 0, false};
}

// Equal parts of a dimension of `extent` over an axis.
CoverBox BoxesOf(int64_t extent, int64_t parts) {
  return {"program c",
          {{0, {{0, extent / parts, 1, 0}, {1, 1, 1, 0}}}},
          {parts, extent / parts},
          1,
          false};
}

// Rank r of n holds blocks r and 2 n - 1 - r of 2 n.
CoverBox Zigzag(int64_t extent, int64_t ranks) {
  const int64_t block = extent / (2 * ranks);
  if (block == 0) return BoxesOf(extent, 1);
  const sdfg::IndexDigit late{.dim = 1, .div = block};
  return {"program z",
          {{0,
            {{0, block},
             {1, 1, 1, block},
             {1, (2 * ranks - 1) * block, block},
             {0, -2 * block, 1, 0, 0, late}}}},
          {ranks, 2 * block},
          1,
          false};
}

TEST(Cover, ZigzagOrderTiles) {
  for (const int64_t ranks : {2, 3, 64}) {
    const int64_t extent = int64_t{1} << 36;  // not enumerated
    const int64_t sequence = extent / (2 * ranks) * 2 * ranks;
    EXPECT_EQ(Verdict({sequence}, {Zigzag(sequence, ranks)}), "covers") << ranks;
    EXPECT_EQ(Verdict({sequence}, {Zigzag(sequence, ranks), BoxOf(0, sequence)}), "covers")
        << "in zigzag order and whole";
    CoverBox both_early = Zigzag(sequence, ranks);  // blocks r and 2 n - 1 + r - n
    both_early.map[0].terms.pop_back();
    both_early.map[0].terms[2].scale = both_early.map[0].terms[0].scale;
    EXPECT_THAT(Verdict({sequence}, {both_early}), HasSubstr("overlap")) << "blocks r and r + 1";
    CoverBox short_of_one = Zigzag(sequence, ranks);
    EXPECT_THAT(Verdict({sequence + 1}, {short_of_one}), HasSubstr("hole"));
  }
}

TEST(Cover, TwoZigzagOrdersOfOneTensorAreOverlapUnlessBothHoldAll) {
  const CoverBox two = Zigzag(16, 2), four = Zigzag(16, 4);
  EXPECT_EQ(Verdict({16}, {two, four}), "covers");
  CoverBox first = two, second = four;  // of a longer tensor
  second.map[0].constant = 8;
  EXPECT_THAT(Verdict({24}, {first, second}), HasSubstr("overlap"));
}

TEST(Cover, HolesAndUnequalOverlapsAreRefused) {
  EXPECT_EQ(Verdict({8}, {BoxOf(0, 3), BoxOf(3, 8)}), "covers");
  EXPECT_EQ(Verdict({8}, {BoxOf(0, 3), BoxOf(0, 3), BoxOf(3, 8)}), "covers") << "copies";
  EXPECT_THAT(Verdict({8}, {BoxOf(0, 3), BoxOf(4, 8)}),
              HasSubstr("hole: nobody holds [3, 4) of dimension 0"));
  EXPECT_THAT(Verdict({8}, {BoxOf(0, 4, "a"), BoxOf(3, 8, "b")}),
              HasSubstr("overlap: a and b hold overlapping slices that are not equal; if that is "
                        "meant, say \"overlap\": true"));
  CoverBox halo = BoxOf(3, 8);
  halo.overlap = true;
  EXPECT_EQ(Verdict({8}, {BoxOf(0, 4), halo}), "covers");
}

TEST(Cover, AnOverlapOfTwoIsNotHiddenByAThirdThatDeclaresIt) {
  CoverBox whole = BoxOf(0, 8);
  whole.overlap = true;
  EXPECT_THAT(Verdict({8}, {whole, BoxOf(0, 4, "a"), BoxOf(3, 8, "b")}), HasSubstr("a and b"));
  EXPECT_EQ(Verdict({8}, {whole, BoxOf(0, 4), BoxOf(4, 8)}), "covers");
}

TEST(Cover, APartMayBeCutInSeveralWays) {
  EXPECT_EQ(Verdict({8}, {BoxesOf(8, 2), BoxOf(0, 8)}), "covers");
  EXPECT_EQ(Verdict({8}, {BoxesOf(8, 2), BoxesOf(8, 4)}), "covers");
  EXPECT_THAT(Verdict({8}, {BoxesOf(8, 2), BoxOf(0, 3)}), HasSubstr("overlap"));
}

TEST(Cover, ASliceOfAnotherTensorMayBeHeldOnceMore) {
  EXPECT_EQ(Verdict({8}, {BoxesOf(8, 2), BoxOf(4, 8)}), "covers");
  EXPECT_EQ(Verdict({8}, {BoxOf(4, 8), BoxesOf(8, 2), BoxOf(0, 4)}), "covers");
}

TEST(Cover, StridedShardsTile) {
  // tp * 4 + i / 4 * 8 + i % 4 over tp < 2, i < 16 is [0, 32).
  const CoverBox strided{"p", {{0, {{0, 4, 1, 0}, {1, 8, 4, 0}, {1, 1, 1, 4}}}}, {2, 16}, 1, false};
  EXPECT_EQ(Verdict({32}, {strided}), "covers");
  const CoverBox wrong{"p", {{0, {{0, 2, 1, 0}, {1, 8, 4, 0}, {1, 1, 1, 4}}}}, {2, 16}, 1, false};
  EXPECT_THAT(Verdict({32}, {wrong}), HasSubstr("overlap"));
}

// i / 2 * 2 + i % 3: digits that depend on each other.
CoverBox Irregular(int64_t extent, int64_t start) {
  return {"program q", {{start, {{0, 2, 2, 0}, {0, 1, 1, 3}}}}, {extent}, 0, false};
}

TEST(Cover, OverlapIsFoundWhereDigitsDependOnEachOther) {
  // 0, 1, 4, 2, 5, 6, 6: element 6 twice.
  EXPECT_THAT(Verdict({8}, {Irregular(7, 0), BoxOf(3, 4), BoxOf(7, 8)}),
              HasSubstr("a slice of program q holds element 6 (row-major) twice"));
  // 0, 1, 4, 2, 5 with what is missing, and with more.
  EXPECT_EQ(Verdict({6}, {Irregular(5, 0), BoxOf(3, 4)}), "covers");
  EXPECT_THAT(Verdict({6}, {Irregular(5, 0), BoxOf(2, 4, "r")}),
              HasSubstr("program q and r hold overlapping slices"));
  CoverBox declared = Irregular(5, 0);
  declared.overlap = true;
  EXPECT_EQ(Verdict({6}, {declared, BoxOf(2, 4)}), "covers");
  EXPECT_THAT(Verdict({6}, {declared, BoxOf(4, 6)}), HasSubstr("hole: nobody holds element 3"));
}

TEST(Cover, OverlapOfRanksIsFoundWhereDigitsDependOnEachOther) {
  // Rank r holds r + {0, 1, 4, 2, 5}.
  const CoverBox ranks{
      "program q", {{0, {{0, 1, 1, 0}, {1, 2, 2, 0}, {1, 1, 1, 3}}}}, {2, 5}, 1, false};
  EXPECT_THAT(Verdict({7}, {ranks}), HasSubstr("overlap: program q holds overlapping slices"));
  // Both ranks hold all of it: copies.
  const CoverBox copies{"program q", {{0, {{1, 2, 2, 0}, {1, 1, 1, 3}}}}, {2, 5}, 1, false};
  EXPECT_EQ(Verdict({6}, {copies, BoxOf(3, 4)}), "covers");
}

TEST(Cover, EmptySlicesHoldNothing) {
  EXPECT_EQ(Verdict({8}, {BoxOf(3, 3), BoxOf(0, 8)}), "covers");
  EXPECT_EQ(Verdict({6}, {Irregular(0, 0), BoxOf(0, 6)}), "covers");
  EXPECT_EQ(Verdict({0}, {}), "covers");
  EXPECT_THAT(Verdict({8}, {}), HasSubstr("hole"));
}

// ---- Against sets ----

struct Slices {
  std::vector<std::set<std::vector<int64_t>>> slices;
  std::set<std::vector<int64_t>> part;
  bool twice = false;
};

std::vector<int64_t> ElementAt(const CoverBox& box, const std::vector<int64_t>& index) {
  std::vector<int64_t> element;
  for (const IndexMap& map : box.map) {
    element.push_back(map.ValueAt(index));
  }
  return element;
}

Slices SlicesOf(const CoverBox& box) {
  Slices out;
  std::map<std::vector<int64_t>, std::map<std::vector<int64_t>, std::set<std::vector<int64_t>>>>
      digits_of;  // rank -> element -> which digits lead to it
  std::vector<int64_t> index(box.extents.size(), 0);
  while (true) {
    std::vector<int64_t> digits;
    for (const IndexMap& map : box.map) {
      for (const IndexTerm& term : map.terms) {
        if (term.scale == 0) continue;
        if (term.dim >= box.axes) digits.push_back(term.At(index[term.dim]));
        if (term.gate.dim >= box.axes) digits.push_back(term.gate.At(index[term.gate.dim]));
      }
    }
    const std::vector<int64_t> rank(index.begin(), index.begin() + box.axes);
    digits_of[rank][ElementAt(box, index)].insert(digits);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == box.extents[d - 1]) index[--d] = 0;
    if (d == 0) break;
  }
  for (const auto& [rank, elements] : digits_of) {
    out.slices.emplace_back();
    for (const auto& [element, digits] : elements) {
      out.slices.back().insert(element);
      out.part.insert(element);
      out.twice |= digits.size() > 1;
    }
  }
  return out;
}

bool EqualOrDisjoint(const Slices& a, const Slices& b) {
  for (const auto& x : a.slices) {
    for (const auto& y : b.slices) {
      if (x == y) continue;
      for (const auto& element : x) {
        if (y.count(element) > 0) return false;
      }
    }
  }
  return true;
}

bool CoversBySets(const sdfg::Shape& logical, const std::vector<CoverBox>& boxes) {
  std::vector<Slices> undeclared;
  std::set<std::vector<int64_t>> all;
  for (const CoverBox& box : boxes) {
    Slices slices = SlicesOf(box);
    all.insert(slices.part.begin(), slices.part.end());
    if (box.overlap) continue;
    if (slices.twice || !EqualOrDisjoint(slices, slices)) return false;
    undeclared.push_back(std::move(slices));
  }
  for (const Slices& a : undeclared) {
    for (const Slices& b : undeclared) {
      if (a.part != b.part && !EqualOrDisjoint(a, b)) return false;
    }
  }
  int64_t volume = 1;
  for (int64_t extent : logical) volume *= extent;
  return static_cast<int64_t>(all.size()) == volume;
}

class RandomBoxes {
 public:
  explicit RandomBoxes(uint32_t seed) : random_(seed) {}
  int64_t Pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  // A box of one logical dimension that stays within [0, extent); often cut in equal parts.
  CoverBox Box(int64_t extent) {
    while (true) {
      CoverBox box{"p", {{}}, {}, 1, Pick(0, 7) == 0};
      box.extents = {Pick(1, 3), Pick(1, extent)};
      if (Pick(0, 3) == 0) {
        box = Zigzag(extent, Pick(1, 3));
        if (Pick(0, 1) == 0) {
          std::vector<IndexTerm>& terms = box.map[0].terms;
          terms[Pick(0, static_cast<int64_t>(terms.size()) - 1)].scale += Pick(-1, 1);
        }
      } else if (Pick(0, 1) == 0) {
        const int64_t parts = Pick(1, 2) * Pick(1, 2);
        box.extents = {parts, extent / parts};
        box.map[0].terms = {{0, extent / parts, 1, 0}, {1, 1, 1, 0}};
      } else {
        box.map[0].constant = Pick(0, extent - 1);
        const int64_t terms = Pick(0, 3);
        for (int64_t t = 0; t < terms; ++t) {
          IndexTerm term{static_cast<int32_t>(Pick(0, 1)), Pick(0, 4), Pick(1, 2), Pick(0, 3)};
          if (term.mod > 0 && Pick(0, 2) == 0) term.offset = Pick(0, term.div * term.mod - 1);
          if (Pick(0, 3) == 0) term.gate = Gate(box.extents);
          box.map[0].terms.push_back(term);
        }
      }
      if (box.extents[1] > 0 && Fits(box, extent)) return box;
    }
  }

 private:
  // A digit that is 0 or 1.
  sdfg::IndexDigit Gate(const sdfg::Shape& extents) {
    while (true) {
      const sdfg::IndexDigit gate{static_cast<int32_t>(Pick(0, 1)), Pick(1, 4), Pick(0, 1) * 2};
      if (extents[gate.dim] > 0 && gate.Most(extents[gate.dim]) <= 1) return gate;
    }
  }
  static bool Fits(const CoverBox& box, int64_t extent) {
    for (int64_t i = 0; i < box.extents[0]; ++i) {
      for (int64_t j = 0; j < box.extents[1]; ++j) {
        const int64_t element = ElementAt(box, {i, j})[0];
        if (element < 0 || element >= extent) return false;
      }
    }
    return true;
  }
  std::mt19937 random_;
};

std::string TextOf(const sdfg::Shape& logical, const std::vector<CoverBox>& boxes) {
  std::string text = absl::StrCat("of ", absl::StrJoin(logical, "x"));
  for (const CoverBox& box : boxes) {
    absl::StrAppend(&text, box.overlap ? "; overlap" : ";", " [", absl::StrJoin(box.extents, ", "),
                    "] ->");
    for (const IndexMap& map : box.map) {
      absl::StrAppend(&text, " ", map.constant);
      for (const IndexTerm& term : map.terms) {
        absl::StrAppend(&text, " + ", term.scale, " (i", term.dim, " + ", term.offset, ") / ",
                        term.div, " % ", term.mod);
        if (!term.gated()) continue;
        absl::StrAppend(&text, " where i", term.gate.dim, " / ", term.gate.div, " % ",
                        term.gate.mod, " is 1");
      }
    }
  }
  return text;
}

TEST(Cover, AgreesWithSetsOnRandomMaps) {
  RandomBoxes random(20260801);
  int covered = 0;
  for (int i = 0; i < 40000; ++i) {
    const int64_t extent = random.Pick(1, 12);
    std::vector<CoverBox> boxes;
    for (int64_t b = random.Pick(1, 3); b > 0; --b) boxes.push_back(random.Box(extent));
    sdfg::Shape logical{extent};
    if (random.Pick(0, 3) == 0) {  // a second dimension, cut by the same axis or whole
      const int64_t columns = random.Pick(1, 3);
      logical.push_back(columns);
      for (CoverBox& box : boxes) {
        if (random.Pick(0, 1) == 0 && box.extents[0] <= columns) {
          box.map.push_back({0, {{0, 1, 1, 0}}});
        } else {
          box.map.push_back({0, {{2, 1, 1, 0}}});
          box.extents.push_back(columns);
        }
      }
    }
    const bool covers = CoversBySets(logical, boxes);
    std::vector<const CoverBox*> pointers;
    for (const CoverBox& box : boxes) pointers.push_back(&box);
    covered += covers ? 1 : 0;
    ASSERT_EQ(CheckCoverOf(logical, boxes).ok(), covers)
        << TextOf(logical, boxes) << ": " << Verdict(logical, boxes);
    ASSERT_EQ(CheckCoverByEnumeration(logical, pointers).ok(), covers)
        << TextOf(logical, boxes) << ": " << CheckCoverByEnumeration(logical, pointers);
  }
  EXPECT_GT(covered, 5000) << "maps that cover";
}

}  // namespace
}  // namespace planproof::lineage
