#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "frontend/nnscaler/reader.h"
#include "tests/frontend/nnscaler_testing.h"

namespace planproof::frontend::nnscaler {
namespace {

constexpr double kClose = 1e-9;

class SmallPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    if (SmallPlan("single").empty()) GTEST_SKIP() << "python3 is not there";
  }

  static void ExpectEquivalent(const std::string& plan, const std::string& fault = "",
                               const std::string& logical_fault = "") {
    absl::StatusOr<lineage::Problem> problem = ReadSmall(plan, fault, logical_fault);
    ASSERT_TRUE(problem.ok()) << problem.status();
    absl::StatusOr<Judgement> judgement = Judge(*problem);
    ASSERT_TRUE(judgement.ok()) << judgement.status();
    EXPECT_LT(judgement->required, kClose) << judgement->worst;
    EXPECT_LT(judgement->proposed, kClose) << judgement->worst_proposed;
    EXPECT_GT(judgement->full_lineages, 5);
  }

  static void ExpectDifferent(const std::string& plan, const std::string& fault,
                              const std::string& where) {
    absl::StatusOr<lineage::Problem> problem = ReadSmall(plan, fault);
    ASSERT_TRUE(problem.ok()) << problem.status();
    absl::StatusOr<Judgement> judgement = Judge(*problem);
    ASSERT_TRUE(judgement.ok()) << judgement.status();
    EXPECT_GT(judgement->required, 1e-3);
    EXPECT_NE(judgement->worst.find(where), std::string::npos) << judgement->worst;
  }

  static void ExpectError(const std::string& plan, const std::string& fault, absl::StatusCode code,
                          const std::string& text) {
    absl::StatusOr<lineage::Problem> problem = ReadSmall(plan, fault);
    ASSERT_FALSE(problem.ok());
    EXPECT_EQ(problem.status().code(), code);
    EXPECT_NE(std::string(problem.status().message()).find(text), std::string::npos)
        << problem.status();
  }
};

TEST_F(SmallPlanTest, EquivalentPlansComputeTheRequiredValues) {
  ExpectEquivalent("single");
  ExpectEquivalent("tp2");
  ExpectEquivalent("dp2nm2");
  ExpectEquivalent("pp2nm2");
}

TEST_F(SmallPlanTest, GradientsOfSeveralUsesAddUp) {
  ExpectEquivalent("single", "accumulated", "accumulated");
  ExpectEquivalent("dp2nm2", "accumulated", "accumulated");
}

// In tp2 they say that the copies' gradients are whole, where each device has one term of two.
TEST_F(SmallPlanTest, TheBackwardOfMultirefHoldsWhateverItsValueMapsSay) {
  ExpectEquivalent("single", "multiref", "multiref");
  ExpectEquivalent("dp2nm2", "multiref", "multiref");
  ExpectEquivalent("tp2", "multiref", "multiref");
}

// Added up like a gradient that is written twice, the piece would come out doubled.
TEST_F(SmallPlanTest, IdsLocalToAnAdapterAreNoContradiction) {
  ExpectEquivalent("tp2", "local_ids");
}

TEST_F(SmallPlanTest, OrderOfTheLogicalOperatorsDoesNotCount) {
  for (int seed = 0; seed < 5; ++seed) {
    absl::StatusOr<lineage::Problem> problem =
        ReadPair(SmallPlan("single", "shuffled", seed), SmallPlan("dp2nm2"));
    ASSERT_TRUE(problem.ok()) << problem.status();
    absl::StatusOr<Judgement> judgement = Judge(*problem);
    ASSERT_TRUE(judgement.ok()) << judgement.status();
    EXPECT_LT(judgement->required, kClose);
  }
}

TEST_F(SmallPlanTest, AllPickleProtocolsReadAlike) {
  for (int protocol = 2; protocol <= 5; ++protocol) {
    absl::StatusOr<Pickle> pickle = Pickle::ReadFile(SmallPlan("tp2", "", 0, protocol));
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    absl::StatusOr<Plan> plan = ReadPlan(*pickle);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->devices.size(), 2);
  }
}

TEST_F(SmallPlanTest, MicrobatchesThatRunDifferentCellsAreSpelledOut) {
  ExpectEquivalent("dp2nm2", "irregular");
  absl::StatusOr<lineage::Problem> problem = ReadSmall("dp2nm2", "irregular");
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->parallel.axes.size(), 1);
}

// Forward and backward add up: what both halves compute and what both read of it.
TEST_F(SmallPlanTest, AFusedAllReduceAddsUpInBothDirections) {
  ExpectEquivalent("tp2in");
  ExpectDifferent("tp2in", "allreduce_identity", "layers.0.weight");
  ExpectDifferent("tp2in", "identity_allreduce", "");
}

// reduce-scatter, all-gather; backward reduce-scatter of the last one's gradient first.
TEST_F(SmallPlanTest, SeveralFusedPrimitivesRunBackwardFromTheLastToTheFirst) {
  ExpectEquivalent("tp2in", "chain");
  ExpectDifferent("tp2in", "chain_split", "layers.0.weight");
  const auto unknown = absl::StatusCode::kUnimplemented;
  ExpectError("tp2in", "chain_plain", unknown, "AllGatherPrim");
  ExpectError("tp2in", "chain_apart", unknown, "only chains are supported");
}

TEST_F(SmallPlanTest, AKeywordOfAPrimitiveIsKnownOrAnError) {
  ExpectError("tp2in", "keyword", absl::StatusCode::kUnimplemented, "keyword op is not known");
  ExpectError("pp2nm2", "move_type", absl::StatusCode::kInvalidArgument,
              "of type float32 as int32");
  ExpectError("pp2nm2", "move_shape", absl::StatusCode::kInvalidArgument,
              "its shape is not that of");
}

TEST_F(SmallPlanTest, AnUnknownElementTypeIsNoTypeOfReals) {
  const auto unknown = absl::StatusCode::kUnimplemented;
  for (const char* plan : {"single", "tp2", "tp2in", "dp2nm2", "pp2nm2"}) {
    ExpectError(plan, "unknown_type", unknown, "element type uint16 is not known");
    ExpectError(plan, "no_type", unknown, "has no element type");
  }
}

// A conversion is in the single-device plan as it is in the other one: read, or refused, in either.
TEST_F(SmallPlanTest, AConversionToAnUnknownElementTypeIsNoIdentity) {
  const auto status = [](const std::string& fault) {
    return ReadPair(SmallPlan("single", fault), SmallPlan("single", fault)).status();
  };
  EXPECT_TRUE(status("conversion").ok()) << status("conversion");
  EXPECT_TRUE(absl::IsUnimplemented(status("unknown_conversion"))) << status("unknown_conversion");
  EXPECT_NE(std::string(status("unknown_conversion").message()).find("torch.uint16 is not known"),
            std::string::npos);
  EXPECT_TRUE(absl::IsInvalidArgument(status("no_conversion"))) << status("no_conversion");
}

// As in a plan of our own: what devices hold of a parameter is all of it.
TEST_F(SmallPlanTest, WhatNoDeviceHoldsOfAParameterIsAHole) {
  ExpectError(
      "tp2", "wrong_slice", absl::StatusCode::kInvalidArgument,
      "parallel plan: input layers.0.weight[4, 6]: hole: nobody holds [2, 4) of dimension 0");
}

TEST_F(SmallPlanTest, FaultyPlansComputeSomethingElse) {
  ExpectDifferent("tp2", "no_all_reduce", "loss");
  ExpectDifferent("dp2nm2", "no_reducer", "gradient");
  ExpectDifferent("dp2nm2", "early_reducer", "gradient");
  ExpectDifferent("dp2nm2", "double_reducer", "gradient");
  ExpectDifferent("dp2nm2", "missing_microbatch", "gradient");
}

// The input's gradient is no required output: nothing that counts is wrong.
TEST_F(SmallPlanTest, AMissingSumOfTheInputGradientShowsInItsProposedLineageOnly) {
  absl::StatusOr<lineage::Problem> problem = ReadSmall("tp2", "no_backward_all_reduce");
  ASSERT_TRUE(problem.ok()) << problem.status();
  absl::StatusOr<Judgement> judgement = Judge(*problem);
  ASSERT_TRUE(judgement.ok()) << judgement.status();
  EXPECT_LT(judgement->required, kClose);
}

TEST_F(SmallPlanTest, ContradictionsAreMalformed) {
  const auto malformed = absl::StatusCode::kInvalidArgument;
  ExpectError("tp2", "two_index_maps", malformed, "two index maps");
  ExpectError("tp2", "two_value_maps", malformed, "two value maps");
  ExpectError("tp2", "two_producers", malformed, "two producers");
  ExpectError("dp2nm2", "batch_ratio", malformed, "no pair");
  ExpectError("tp2", "big_shape", absl::StatusCode::kResourceExhausted, "2^60 elements");
}

TEST_F(SmallPlanTest, StaticFaultsAreMalformedAndNamed) {
  const auto malformed = absl::StatusCode::kInvalidArgument;
  ExpectError("tp2", "gather_for_reduce", malformed, "shape mismatch at all_gather");
  ExpectError("tp2", "gather_on_one_rank", malformed, "device 1 runs AllGatherPrim");
  ExpectError("tp2", "missing_adapter", malformed, "unmatched communication");
  ExpectError("tp2", "wait_cycle", malformed, "wait cycle");
  ExpectError("tp2", "dangling_gradient", malformed, "dangling tensor");
  ExpectError("dp2nm2", "dangling_gradient", malformed, "dangling tensor");
  ExpectError("pp2nm2", "wrong_rank", malformed, "unmatched communication");
  ExpectError("pp2nm2", "crossed_moves", malformed, "wait cycle: device 0 waits in MovePrim");
}

// Devices execute in the order of their cells.
TEST_F(SmallPlanTest, WhatIsOverwrittenIsReadByNothingAfterwards) {
  for (const std::string plan : {"single", "tp2", "dp2nm2"}) {
    ExpectEquivalent(plan, "inplace", "inplace");
    const auto error = [&plan](const std::string& fault, const std::string& logical_fault) {
      return std::string(ReadSmall(plan, fault, logical_fault).status().message());
    };
    EXPECT_THAT(
        error("inplace_read", "accumulated"),
        testing::AllOf(testing::StartsWith("parallel plan: overwritten operand: relu, cell"),
                       testing::HasSubstr("at model.py:6 computes in place (inplace) and "
                                          "overwrites linear#"),
                       testing::HasSubstr("after which add, cell"),
                       testing::HasSubstr("at model.py:7 reads linear#"),
                       testing::HasSubstr("on device 0")));
    EXPECT_THAT(error("inplace_view", "inplace_view"),
                testing::AllOf(testing::StartsWith("logical plan: overwritten operand: relu"),
                               testing::HasSubstr("reads view#"),
                               testing::HasSubstr("which may lie in the same memory")));
    EXPECT_THAT(error("inplace_backward", "inplace_backward"),
                testing::AllOf(testing::StartsWith("logical plan: overwritten operand: silu"),
                               testing::HasSubstr("after which backward, cell")));
  }
}

TEST_F(SmallPlanTest, AnUndeclaredOperatorIsUnknownNotMalformed) {
  ExpectError("tp2", "unknown_operator", absl::StatusCode::kNotFound, "frobnicate");
}

TEST_F(SmallPlanTest, LocationsComeFromTheComments) {
  absl::StatusOr<lineage::Problem> problem = ReadSmall("tp2");
  ASSERT_TRUE(problem.ok());
  bool found = false;
  for (const sdfg::Operator& op : problem->parallel.operators) {
    if (op.name == "sum") {
      found = true;
      EXPECT_EQ(op.source.file, "model.py");
      EXPECT_EQ(op.source.line, 9);
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(SmallPlanTest, EveryParameterPieceAndLossIsRequired) {
  absl::StatusOr<lineage::Problem> problem = ReadSmall("tp2");
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->required.size(), 2 * 2 + 2);
}

TEST(ReaderTest, AMissingFileIsMalformed) {
  EXPECT_EQ(ReadPair("/nonexistent/a.pkl", "/nonexistent/b.pkl").status().code(),
            absl::StatusCode::kInvalidArgument);
}

// ---- The published plans.

struct Published {
  const char* logical;
  const char* parallel;
  int64_t copies, microbatches;
  int warnings;
};

class PublishedPlanTest : public testing::TestWithParam<Published> {};

TEST_P(PublishedPlanTest, ReadsCompletely) {
  const std::string logical = PublishedPlan(GetParam().logical);
  const std::string parallel = PublishedPlan(GetParam().parallel);
  if (logical.empty() || parallel.empty()) {
    GTEST_SKIP() << "the published plans are not there (set PLANPROOF_SHARED)";
  }
  absl::StatusOr<lineage::Problem> problem = ReadPair(logical, parallel);
  ASSERT_TRUE(problem.ok()) << problem.status();
  ASSERT_EQ(problem->parallel.axes.size(), 2);
  EXPECT_EQ(problem->parallel.axes[0].extent, GetParam().copies);
  EXPECT_EQ(problem->parallel.axes[1].extent, GetParam().microbatches);
  EXPECT_EQ(problem->warnings.size(), GetParam().warnings);
  EXPECT_EQ(problem->lineage.size(), problem->parallel.tensors.size());
  for (size_t t = 0; t < problem->lineage.size(); ++t) {
    if (problem->parallel.tensors[t].producer != sdfg::kNone) continue;
    EXPECT_EQ(problem->lineage[t].kind, lineage::LineageKind::kFull)
        << problem->parallel.tensors[t].name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PublishedPlanTest,
    testing::Values(Published{"mlp_mgener_dp1", "mlp_mgener_dp2", 2, 2, 0},
                    Published{"gpt_mgener_dp1_pp1_tp1", "gpt_mgener_dp1_pp1_tp2", 1, 1, 0},
                    Published{"gpt_mgener_dp1_pp1_tp1", "gpt_mgener_dp2", 2, 2, 0},
                    Published{"llama3_default_dp1_", "llama3_default_dp2_", 2, 2, 0},
                    Published{"llama3_default_dp1_", "llama3_default_dp16_pp4_tp8_nm2_", 16, 2, 16},
                    Published{"llama3_default_dp1_", "llama3_default_dp16_pp4_tp8_nm8_", 16, 8, 16},
                    Published{"moe_default_dp1_", "moe_default_dp2_", 2, 2, 0}));

TEST(PublishedPairTest, PlansOfDifferentModelsAreNoPair) {
  const std::string logical = PublishedPlan("mlp_mgener_dp1");
  const std::string parallel = PublishedPlan("llama3_default_dp2_");
  if (logical.empty()) GTEST_SKIP() << "the published plans are not there (set PLANPROOF_SHARED)";
  absl::StatusOr<lineage::Problem> problem = ReadPair(logical, parallel);
  ASSERT_FALSE(problem.ok());
  EXPECT_NE(std::string(problem.status().message()).find("no pair"), std::string::npos);
}

TEST(PublishedPairTest, AParallelPlanIsNoLogicalOne) {
  const std::string plan = PublishedPlan("mlp_mgener_dp2");
  if (plan.empty()) GTEST_SKIP() << "the published plans are not there (set PLANPROOF_SHARED)";
  EXPECT_EQ(ReadPair(plan, plan).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace planproof::frontend::nnscaler
