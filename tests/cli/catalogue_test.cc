// The catalogue of published bugs (docs/bugs.md): none is proved, and the first lines of the report
// name what was changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;

struct Bug {
  const char* kind;
  int exit_code;      // 1 REFUTED, 2 MALFORMED
  const char* place;  // an operator or tensor that the first lines must name
  const char* cause;  // what they must say
};

void ExpectCaught(const std::string& plan, const Bug& bug) {
  const std::string broken = TemporaryFile(std::string(bug.kind) + ".plan", "");
  const Finished mutated = RunProgram("mutate " + plan + " --kind " + bug.kind + " -o " + broken);
  ASSERT_EQ(mutated.exit_code, 0) << mutated.errors;
  const Finished finished = RunProgram("verify --no-cache -j 1 " + broken);
  EXPECT_EQ(finished.exit_code, bug.exit_code) << finished.output;
  const std::string first = FirstLines(finished.output, 5);
  EXPECT_THAT(first, HasSubstr(bug.place)) << mutated.output;
  EXPECT_THAT(first, HasSubstr(bug.cause)) << mutated.output;
  EXPECT_THAT(first, HasSubstr("device")) << mutated.output;
}

class Catalogue : public testing::TestWithParam<Bug> {};

TEST_P(Catalogue, IsCaughtInLlamaOnEightDevices) {
  const std::string shape = "gbs512_ly2_h32_hi4096_sq128.pkl";
  const std::string model = SharedPlan("llama3_default_dp1_pp1_tp1_nm1_" + shape);
  const std::string plan = SharedPlan("llama3_default_dp2_pp2_tp2_nm2_" + shape);
  if (model.empty() || plan.empty()) GTEST_SKIP() << "SKIPPED: the shared plans are not here";
  ExpectCaught(model + " " + plan, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Bugs, Catalogue,
    testing::Values(Bug{"BR1", 1, "all_reduce (cell 987)", "sum over ranks 0, 1 missing"},
                    Bug{"BR2", 2, "linear_6#550", "nothing produces"},
                    Bug{"BR3", 2, "all_gather (cell 987)", "shape"},
                    Bug{"BR4", 2, "all_reduce (cell 397)", "shape"},
                    Bug{"BR5", 1, "all_reduce (cell 1421)", "sum over ranks 2, 3 missing"},
                    Bug{"BR6", 2, "move (cell 397)", "used on device 2 but held on device 3"},
                    Bug{"BR7", 1, "add (cell 6); devices 0, 4", "is 2, in the model it is 1e-05"},
                    Bug{"BR8", 1, "pow (cell 4); devices 0, 4", "is 1, in the model it is 2"},
                    Bug{"BR9", 1, "add (cell 6); devices 0, 1, 4, 5",
                        "is 2, in the model it is 1e-05"},
                    Bug{"BR10", 1, "multiref.backward (cell 1033)", "which nothing reads"},
                    Bug{"BR11", 1, "apply_rotary_emb.backward (cell 312)",
                        "reads gapply_rotary_emb_1#719 in place of gapply_rotary_emb"},
                    Bug{"BR12", 1, "div (cell 24); devices 0, 4", "2 times too large"},
                    Bug{"BR13", 1, "div (cell 24); devices 0, 1, 4, 5", "2 times too large"},
                    Bug{"BR14", 1, "accumulate microbatches", "contribution of microbatch 1"},
                    Bug{"C2", 2, "embedding (cell 1)", "is produced by"},
                    Bug{"C3", 2, "gfloat_8#774", "nothing produces"}),
    [](const testing::TestParamInfo<Bug>& info) { return std::string(info.param.kind); });

TEST(CatalogueOfExamples, PositionsThatAreNotSlicedAreNamed) {
  ExpectCaught(RepositoryPath("examples/rotary_sp2.json"),
               {"C1", 1, "slice of cosine", "at sp 1 starts at 0, with 8"});
}

TEST(CatalogueOfExamples, AMissingSumOverAnAxisIsNamed) {
  ExpectCaught(RepositoryPath("examples/llama_dp2_pp2_tp2_mb2.json"),
               {"BR1", 1, "all_reduce (x0)", "sum over tp missing"});
}

TEST(CatalogueOfExamples, AMicrobatchLeftOutIsNamed) {
  ExpectCaught(RepositoryPath("examples/llama_dp2_pp2_tp2_mb2.json"),
               {"BR14", 1, "accumulate (acc.n2)", "contribution of microbatch 1"});
}

TEST(CatalogueOfExamples, StepsThatAreExchangedAreNamed) {
  ExpectCaught(RepositoryPath("examples/pipeline_1f1b.json"), {"S1", 2, "(B0:0)", "reads"});
  ExpectCaught(RepositoryPath("examples/pipeline_1f1b.json"),
               {"S2", 2, "move (h)", "program \"stage1\""});
}

TEST(CatalogueOfExamples, ABufferThatIsWrittenInFlightIsNamed) {
  const Finished finished =
      RunProgram("verify -j 1 " + RepositoryPath("examples/pipeline_1f1b_broken.json"));
  EXPECT_EQ(finished.exit_code, 2) << finished.output;
  EXPECT_THAT(FirstLines(finished.output, 5), HasSubstr("while handle \"reduce\" reads it"));
}

class BrokenTwin : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BrokenTwin, IsRefutedWithItsCause) {
  const std::string path = std::string("examples/") + GetParam().first;
  const Finished finished = RunProgram("verify --no-cache -j 1 " + RepositoryPath(path));
  EXPECT_EQ(finished.exit_code, 1) << finished.output;
  EXPECT_THAT(FirstLines(finished.output, 5), HasSubstr(GetParam().second));
}

INSTANTIATE_TEST_SUITE_P(
    Examples, BrokenTwin,
    testing::Values(std::pair("mlp_tp2_broken.json", "sum over tp missing"),
                    std::pair("llama_dp2_pp2_tp2_mb2_broken.json", "sum over tp missing"),
                    std::pair("moe_dp2_ep2_broken.json", "nnscaler_moe_gmm (y.part)")));

}  // namespace
}  // namespace planproof::cli
