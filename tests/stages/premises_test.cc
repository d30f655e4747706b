#include "stages/premises.h"

#include <gtest/gtest.h>

#include "sdfg/operator_library.h"
#include "stages/conclusion.h"
#include "strategy/verify.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::stages {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using Premise = lineage::Problem::InputPremise;
using Kind = Premise::Kind;

// Rows of w [8, 4] by ids [5], the same on both sides: whatever the premises are, every claim
// holds.
struct Lookup : shape_reduction::SmallProblem {
  TensorId w, ids;

  explicit Lookup(std::vector<Premise> premises) {
    w = Logical("w", {8, 4}, sdfg::TensorRole::kParameter);
    ids = Logical("ids", {5}, sdfg::TensorRole::kInput, DType::kInt64);
    const sdfg::IndexFunction rows = *sdfg::OperatorLibrary::BuiltIn().Instantiate(
        "embedding",
        {{.shape = {5}, .dtype = DType::kInt64}, {.shape = {8, 4}, .dtype = DType::kFloat32}}, {});
    const TensorId y = Apply(&problem.logical, rows, {ids, w});
    const TensorId parallel =
        Apply(&problem.parallel, rows, {Slice(ids, {0}, {5}), Slice(w, {0, 0}, {8, 4})}, 0);
    Claim(parallel, y, {0, 0});
    Require(parallel, y, {0, 0});
    Check();
    problem.premises = std::move(premises);
  }
  Verdict Verified() const {
    VerifyOptions options;
    options.jobs = 1;
    return strategy::Verify(problem, options).verdict;
  }
};

constexpr TensorId kWeight = 0, kIds = 1;

Premise Range(TensorId tensor, int64_t low, int64_t high) {
  Premise premise;
  premise.tensor = tensor;
  premise.kind = Kind::kIntegerRange;
  premise.low = low;
  premise.high = high;
  return premise;
}

Premise Of(TensorId tensor, Kind kind) {
  Premise premise;
  premise.tensor = tensor;
  premise.kind = kind;
  return premise;
}

bool Together(std::vector<Premise> premises) {
  return DeclaredHoldTogether(Lookup(std::move(premises)).problem);
}

TEST(DeclaredHoldTogether, SeesRangesThatMeetAndSignsOfReals) {
  EXPECT_TRUE(Together({}));
  EXPECT_TRUE(Together({Range(kIds, 0, 8)}));
  EXPECT_TRUE(Together({Range(kIds, 0, 6), Range(kIds, 5, 8)}));
  EXPECT_TRUE(Together({Of(kWeight, Kind::kPositive), Of(kWeight, Kind::kNonZero)}));
}

TEST(DeclaredHoldTogether, LeavesTheRestToASample) {
  EXPECT_FALSE(Together({Range(kIds, 0, 5), Range(kIds, 5, 8)}));
  EXPECT_FALSE(Together({Range(kIds, 3, 3)}));
  EXPECT_FALSE(Together({Range(kIds, -8, 0)}));
  EXPECT_FALSE(Together({Of(kIds, Kind::kPositive)}));
  EXPECT_FALSE(Together({Of(kWeight, Kind::kNoTie)}));
  EXPECT_FALSE(Together({Of(kWeight, Kind::kRowUnmasked)}));
}

// What the shortcut must not do: call a statement about no input at all a proof.
TEST(DeclaredHoldTogether, NothingIsProvedUnderPremisesThatNoInputMeets) {
  EXPECT_EQ(Lookup({Range(kIds, 0, 8)}).Verified(), Verdict::kProved);
  EXPECT_EQ(Lookup({Range(kIds, 0, 5), Range(kIds, 5, 8)}).Verified(), Verdict::kUnknown);
  // The premise can be met, but not together with the operator's own: no id is negative.
  EXPECT_EQ(Lookup({Range(kIds, -4, 0)}).Verified(), Verdict::kUnknown);
}

}  // namespace
}  // namespace planproof::stages
