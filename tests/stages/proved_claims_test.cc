// What counts as shown rests on nothing that is not.
#include <gtest/gtest.h>

#include <vector>

#include "stages/claim_table.h"
#include "stages/cone.h"
#include "stages/proof_search.h"
#include "stages/relations.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::stages {
namespace {

using sdfg::TensorId;

// The model takes exponentials: y of x, u of y, z of u, w of z, and v of x. The plan does so, too,
// without saying what its u is; or it takes something else for y, of which all rest but v.
struct Chain : shape_reduction::SmallProblem {
  TensorId py, pu, pz, pw, pv;

  explicit Chain(const char* first) {
    const TensorId x = Logical("x", {8});
    const TensorId px = Slice(x, {0}, {8});
    const TensorId y = Next(x), u = Next(y), z = Next(u), w = Next(z), v = Next(x);
    py = Apply(&problem.parallel, shape_reduction::Instantiate(first, {{8}}), {px}, 0);
    pu = NextOfPlan(py);
    pz = NextOfPlan(pu);
    pw = NextOfPlan(pz);
    pv = NextOfPlan(px);
    Claim(py, y, {0});
    Claim(pz, z, {0});
    Require(pw, w, {0});
    Require(pv, v, {0});
  }

  TensorId Next(TensorId t) {
    return Apply(&problem.logical, shape_reduction::Instantiate("exp", {{8}}), {t});
  }
  TensorId NextOfPlan(TensorId t) {
    return Apply(&problem.parallel, shape_reduction::Instantiate("exp", {{8}}), {t}, 0);
  }

  // By tensor, whether all claims about it are shown; and whether what is required is.
  struct Shown {
    std::vector<bool> tensors;
    bool required = false;
  };
  Shown Decided() const {
    Relations relations(problem);
    ClaimTable table(problem, ConeOfRequired(problem));
    VerifyOptions options;
    options.jobs = 1;
    ProofSearch search(problem, options, &table, &relations);
    search.DecideAll();
    Shown shown{std::vector<bool>(problem.parallel.tensors.size(), true), search.RequiredProved()};
    const std::vector<bool> claims = search.ProvedClaims();
    for (size_t c = 0; c < claims.size(); ++c) {
      if (!claims[c]) shown.tensors[table.claims()[c].parallel] = false;
    }
    return shown;
  }
};

TEST(ProvedClaims, AllOfARightPlanAreShown) {
  const Chain plan("exp");
  const Chain::Shown shown = plan.Decided();
  EXPECT_TRUE(shown.required);
  for (const TensorId t : {plan.py, plan.pz, plan.pw, plan.pv}) EXPECT_TRUE(shown.tensors[t]) << t;
}

// z and w are proved of a y that is not what it is said to be.
TEST(ProvedClaims, WhatRestsOnAClaimThatFailedIsNotShown) {
  const Chain plan("neg");
  const Chain::Shown shown = plan.Decided();
  EXPECT_FALSE(shown.required);
  EXPECT_FALSE(shown.tensors[plan.py]);
  EXPECT_FALSE(shown.tensors[plan.pz]);  // through u, which has no claim
  EXPECT_FALSE(shown.tensors[plan.pw]);  // and through z
  EXPECT_TRUE(shown.tensors[plan.pv]);
}

}  // namespace
}  // namespace planproof::stages
