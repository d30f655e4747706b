// Programs after public bug reports and features (tests/torch/public_traces), as they are and with
// faults next to what is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/gzip_file.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command_line.h"
#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string PublicDirectory(const std::string& program) {
  return RepositoryPath("tests/torch/public_traces/" + program);
}

json PublicTrace(const std::string& program, const std::string& name) {
  return json::parse(
      frontend::torch::ReadGzipFile(absl::StrCat(PublicDirectory(program), "/", name, ".trace"),
                                    1 << 28, 1 << 30)
          .value());
}

// What is printed of the program as it was recorded.
std::string AnswerAbout(const std::string& program, const std::string& options = "") {
  const Finished finished = RunProgram(
      absl::StrCat("verify --no-cache ", options, " ", PublicDirectory(program), "/*.trace"));
  return finished.output + finished.errors;
}

// The same after `put` changed the traces of two ranks.
std::string VerdictWith(const std::string& program,
                        const std::function<void(std::vector<json>*)>& put,
                        const std::string& options = "") {
  std::vector<json> ranks = {PublicTrace(program, "rank0"), PublicTrace(program, "rank1")};
  put(&ranks);
  std::string files = absl::StrCat(PublicDirectory(program), "/reference.trace");
  for (size_t r = 0; r < ranks.size(); ++r) {
    absl::StrAppend(&files, " ", TraceFile(absl::StrCat("public_", program, "_rank", r), ranks[r]));
  }
  const Finished finished = RunProgram(absl::StrCat("verify --no-cache ", options, " ", files));
  return finished.output + finished.errors;
}

// Every operator of the rank with this name.
std::vector<json*> OperatorsNamed(json* rank, const std::string& name) {
  std::vector<json*> found;
  for (json& op : (*rank)["operators"]) {
    if (op.value("op", "") == name) found.push_back(&op);
  }
  EXPECT_FALSE(found.empty()) << name;
  return found;
}

class PublicProgram : public testing::TestWithParam<const char*> {};

TEST_P(PublicProgram, IsProved) {
  EXPECT_THAT(AnswerAbout(GetParam(), "-q"), StartsWith("PROVED"));
}

INSTANTIATE_TEST_SUITE_P(Right, PublicProgram,
                         testing::Values("ring_sigmoid", "ring_sigmoid_cp4", "ring_softplus",
                                         "ring_sum_of_exponentials_backward_cp4",
                                         "ring_log_sigmoid_backward_cp4", "resnet_ddp",
                                         "dt_uneven_mean", "dt_argmax_sharded"),
                         [](const auto& info) { return std::string(info.param); });

// A rank may have no token that counts, and then divides by 0.
class MeanOfMeans : public testing::TestWithParam<const char*> {};

TEST_P(MeanOfMeans, SaysWhichInputLeavesItUndefined) {
  const std::string text = AnswerAbout(GetParam());
  EXPECT_THAT(text, AnyOf(AllOf(StartsWith("REFUTED"), HasSubstr("undefined: division by zero")),
                          AllOf(StartsWith("UNKNOWN"), HasSubstr("has no value unless div"))));
  EXPECT_THAT(text, HasSubstr("try        a rank may have no element of counted that counts"));
}

TEST_P(MeanOfMeans, IsProvedWhereTheConditionIsAccepted) {
  const std::string text = AnswerAbout(GetParam(), "--accept-restrictions");
  EXPECT_THAT(text, StartsWith("PROVED"));
  EXPECT_THAT(text, HasSubstr("restricts"));
}

INSTANTIATE_TEST_SUITE_P(Losses, MeanOfMeans,
                         testing::Values("crash_small", "crash_noopt", "alst_loss"),
                         [](const auto& info) { return std::string(info.param); });

// The derivative of the merges of four blocks but for what comes by way of their normalizers.
TEST(PublicFaults, NormalizersWithoutAGradientAreFound) {
  EXPECT_THAT(AnswerAbout("ring_log_sigmoid_detached_cp4_fault", "-q"), StartsWith("REFUTED"));
}

TEST(PublicFaults, GradientsOfATiedEmbeddingThatAreNotAddedAreNamed) {
  EXPECT_THAT(AnswerAbout("pp_tied", "-q"),
              AllOf(StartsWith("REFUTED"), HasSubstr("embedding.weight"),
                    HasSubstr("sum over ranks 0, 1 missing")));
}

TEST(PublicFaults, GradientsThatReachNoOptimizerAreNamedWithTheAxisOfTheirSum) {
  EXPECT_THAT(AnswerAbout("feat_hsdp_all_reduce_fault", "-q"),
              AllOf(StartsWith("MALFORMED"), HasSubstr("sum over replicate missing in gradients"),
                    HasSubstr("21 parameters")));
}

// The blocks of a ring, weighted with what belongs to the other one.
TEST(PublicFaults, AWrongWeightOfARingsBlockIsNotProved) {
  const std::string text = VerdictWith("ring_sigmoid", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      json& before = (*rank.find("operators"))[23];
      ASSERT_EQ(before["op"], "aten.sub.Tensor");
      std::swap(before["args"][0], before["args"][1]);
    }
  });
  EXPECT_THAT(text, Not(StartsWith("PROVED")));
}

TEST(PublicFaults, AWrongLogarithmInARingIsNotProved) {
  const std::string text = VerdictWith("ring_softplus", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      for (json* op : OperatorsNamed(&rank, "aten.add.Tensor")) {
        if ((*op)["args"][1].is_number()) (*op)["args"][1] = 2;
      }
    }
  });
  EXPECT_THAT(text, Not(StartsWith("PROVED")));
}

// The mean begins a row later, and takes the row that was padded.
TEST(PublicFaults, AMeanOfPaddedRowsIsNotProved) {
  const std::string text = VerdictWith("dt_uneven_mean", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      const json& mean = *OperatorsNamed(&rank, "aten.mean.dim")[0];
      rank["tensors"][mean["args"][0]["tensor"].get<size_t>()][2] = 8;
    }
  });
  EXPECT_THAT(text, Not(StartsWith("PROVED")));
}

// Where the largest element is among all columns: the start of the rank's own is left out, is that
// of another rank, and maxima and places are put together in different orders.
TEST(PublicFaults, APlaceOfTheLargestThatIsCountedFromElsewhereIsRefuted) {
  for (const int start : {0, 3, 8}) {
    const std::string text = VerdictWith("dt_argmax_sharded", [&](std::vector<json>* ranks) {
      (*OperatorsNamed(&(*ranks)[1], "aten.add.Tensor")[0])["args"][1] = start;
    });
    EXPECT_THAT(text, StartsWith("REFUTED")) << start;
  }
  for (const size_t which : {0, 1}) {
    const std::string text = VerdictWith("dt_argmax_sharded", [&](std::vector<json>* ranks) {
      for (json& rank : *ranks) {
        json& parts = (*OperatorsNamed(&rank, "aten.cat.default")[which])["args"][0];
        std::swap(parts[0], parts[1]);
      }
    });
    EXPECT_THAT(text, StartsWith("REFUTED")) << which;
  }
}

// Both in the other order: right but for rows whose largest element is there twice.
TEST(PublicFaults, APlaceOfTheLargestInBlocksInAnotherOrderIsNotProved) {
  const std::string text = VerdictWith("dt_argmax_sharded", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      for (json* cat : OperatorsNamed(&rank, "aten.cat.default")) {
        std::swap((*cat)["args"][0][0], (*cat)["args"][0][1]);
      }
    }
  });
  EXPECT_THAT(text, Not(StartsWith("PROVED")));
}

TEST(PublicFaults, AnImageNetworkWithAnotherSlopeOnOneRankIsRefuted) {
  const std::string text = VerdictWith("resnet_ddp", [](std::vector<json>* ranks) {
    (*OperatorsNamed(&(*ranks)[1], "aten.leaky_relu_backward.default")[0])["args"][2] = 0.02;
  });
  EXPECT_THAT(text, StartsWith("REFUTED"));
}

TEST(PublicFaults, AnImageNetworkWithAnotherNormOnOneRankIsNotProved) {
  const std::string text = VerdictWith(
      "resnet_ddp",
      [](std::vector<json>* ranks) {
        (*OperatorsNamed(&(*ranks)[1], "aten.native_group_norm.default")[0])["args"][7] = 1e-3;
      },
      "--no-explain");
  EXPECT_THAT(text, Not(StartsWith("PROVED")));
}

// The gradient of a convolution's bias is not divided by the number of ranks.
TEST(PublicFaults, AGradientOfAConvolutionThatIsNotAveragedIsRefuted) {
  const std::string text = VerdictWith("resnet_ddp", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) (*OperatorsNamed(&rank, "aten.mul.out")[5])["args"][1] = 1.0;
  });
  EXPECT_THAT(text, StartsWith("REFUTED"));
}

}  // namespace
}  // namespace planproof::cli
