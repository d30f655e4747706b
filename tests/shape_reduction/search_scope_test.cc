#include "shape_reduction/search_scope.h"

#include <gtest/gtest.h>

#include "sdfg/collectives.h"
#include "shape_reduction/witness.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::Graph;
using sdfg::TensorId;

// exp, then negation, then both outputs; the parallel graph can be wrong at either place.
struct Chain {
  SmallProblem p;
  TensorId exp, neg, square;  // parallel

  Chain(const char* second, const char* third) {
    Graph *logical = &p.problem.logical, *parallel = &p.problem.parallel;
    const sdfg::Shape shape = {8, 16};
    const TensorId x = p.Logical("x", shape);
    const TensorId e = p.Apply(logical, Instantiate("exp", {shape}), {x});
    const TensorId n = p.Apply(logical, Instantiate("neg", {shape}), {e});
    const TensorId s = p.Apply(logical, Instantiate("mul", {shape, shape}), {x, x});
    const TensorId px = p.Slice(x, {0, 0}, shape);
    exp = p.Apply(parallel, Instantiate("exp", {shape}), {px}, 0);
    neg = p.Apply(parallel, Instantiate(second, {shape}), {exp}, 0);
    square = p.Apply(parallel, Instantiate(third, {shape, shape}), {px, px}, 0);
    p.Claim(exp, e, {0, 0});
    p.Claim(neg, n, {0, 0});
    p.Claim(square, s, {0, 0});
    p.Require(neg, n, {0, 0});
    p.Require(square, s, {0, 0});
    p.Check();
  }
  Witness Search(std::vector<TensorId> suspects) const {
    WitnessOptions options;
    options.suspects = std::move(suspects);
    return SearchWitness(p.problem, options);
  }
};

TEST(SearchScopeTest, OnlyWhatDependsOnASuspectIsCompared) {
  const Chain chain("neg", "mul");
  const SearchScope scope = ScopeOfSuspects(chain.p.problem, {chain.neg});
  EXPECT_EQ(scope.required, std::vector<int>{0});
  EXPECT_EQ(scope.parallel_cone, std::vector<TensorId>{chain.neg});
  EXPECT_TRUE(scope.trusted[chain.exp]);
  EXPECT_FALSE(scope.trusted[chain.neg]);
  EXPECT_FALSE(scope.trusted[chain.square]) << "nothing needs it";
}

TEST(SearchScopeTest, WithoutSuspectsEverythingIsInDoubt) {
  const Chain chain("neg", "mul");
  const SearchScope scope = ScopeOfSuspects(chain.p.problem, {});
  EXPECT_EQ(scope.required, (std::vector<int>{0, 1}));
  EXPECT_FALSE(scope.trusted[chain.exp]);
}

TEST(SearchScopeTest, ASuspectWithoutConsequencesPutsAllOutputsInDoubt) {
  Chain chain("neg", "mul");
  const TensorId unused =
      chain.p.Apply(&chain.p.problem.parallel, Instantiate("neg", {{8, 16}}), {chain.exp}, 0);
  chain.p.problem.lineage.resize(chain.p.problem.parallel.tensors.size());
  EXPECT_EQ(ScopeOfSuspects(chain.p.problem, {unused}).required.size(), 2u);
}

TEST(SearchScopeTest, TheFaultIsFoundFromItsSuspect) {
  const Chain wrong("sin", "mul");
  const Witness witness = wrong.Search({wrong.neg});
  ASSERT_EQ(witness.outcome, Witness::Outcome::kConfirmed) << witness.message;
  EXPECT_EQ(witness.required, 0);
}

// Trust in what was not shown hides a fault; it never makes one up.
TEST(SearchScopeTest, AWrongSuspicionRefutesNothing) {
  const Chain wrong("sin", "mul");
  EXPECT_EQ(wrong.Search({wrong.square}).outcome, Witness::Outcome::kNone);
  const Chain right("neg", "mul");
  EXPECT_EQ(right.Search({right.neg, right.square}).outcome, Witness::Outcome::kNone);
}

}  // namespace
}  // namespace planproof::shape_reduction
