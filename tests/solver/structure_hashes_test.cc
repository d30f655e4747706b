// Hashes of parts are remembered with the colours that they depend on: what was hashed before,
// under other colours or other binders, changes none.
#include "solver/structure_hashes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "solver/structure.h"

namespace planproof::solver {
namespace {

constexpr uint32_t kA = 1, kB = 2;

// exp(sum over u of a[x, u] exp(sum over v of a[u, v] b[y, v])), with x and y free.
struct Nested {
  Arena arena;
  Symbol x = arena.NewFree(0, 7), y = arena.NewFree(0, 7), u = arena.NewFree(0, 7),
         v = arena.NewFree(0, 7);
  AtomId atom = Build();

  AtomId Build() {
    const PolyId inner = Sum(
        v, arena.Mul(At(kA, Affine::Of(u), Affine::Of(v)), At(kB, Affine::Of(y), Affine::Of(v))));
    const PolyId outer = Sum(u, arena.Mul(At(kA, Affine::Of(x), Affine::Of(u)), arena.Exp(inner)));
    const PolyId exponential = arena.Exp(outer);
    return arena.mono(arena.poly(exponential).terms[0].mono).factors[0].atom;
  }
  PolyId At(uint32_t tag, Affine i, Affine j) { return arena.Element(tag, {i, j}); }
  PolyId Sum(Symbol s, PolyId body) { return arena.Sum({s, {0, 8}}, body); }
  uint64_t Hash(const Colouring& colours) { return Structure::HashAtom(&arena, atom, colours); }
};

TEST(StructureHashes, DoNotDependOnWhatWasHashedBefore) {
  Nested together;
  const std::vector<Colouring> all = {
      {{together.x, 1}},
      {{together.y, 1}},
      {{together.x, 1}, {together.y, 1}},
      {{together.x, 1}, {together.y, 2}},
      {{together.x, 2}, {together.y, 1}},
      {},
      {{together.y, 1}},
  };
  for (size_t i = 0; i < all.size(); ++i) {
    Nested alone;
    EXPECT_EQ(together.Hash(all[i]), alone.Hash(all[i])) << "colouring " << i;
  }
}

TEST(StructureHashes, TellApartColoursThatMatterOnlyInsideNestedSums) {
  Nested term;
  const uint64_t one = term.Hash({{term.x, 1}, {term.y, 1}});
  EXPECT_NE(one, term.Hash({{term.x, 1}, {term.y, 2}}));
  EXPECT_NE(one, term.Hash({{term.x, 2}, {term.y, 1}}));
  EXPECT_NE(one, term.Hash({{term.y, 1}}));
  EXPECT_EQ(one, term.Hash({{term.x, 1}, {term.y, 1}}));
}

TEST(StructureHashes, AnAtomAndAPolynomialOfOneNumberAreTwoParts) {
  StructureHashes hashes;
  hashes.Remember({StructureHashes::Part::kAtom, 7, 5}, 11);
  EXPECT_EQ(hashes.Find({StructureHashes::Part::kPoly, 7, 5}), nullptr);
  EXPECT_EQ(hashes.Find({StructureHashes::Part::kAtom, 7, 6}), nullptr);
  ASSERT_NE(hashes.Find({StructureHashes::Part::kAtom, 7, 5}), nullptr);
  EXPECT_EQ(*hashes.Find({StructureHashes::Part::kAtom, 7, 5}), 11u);
}

}  // namespace
}  // namespace planproof::solver
