// Recorded programs whose tensors are related to the reference's by more than equal names, and what
// must not be proved of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Public(const std::string& program) {
  return "../relation_traces/" + program;  // beside tests/torch/traces
}

std::string VerifyPublic(const std::string& program, const std::string& options = "") {
  const Finished finished = RunProgram(
      absl::StrCat("verify --no-cache ", options, " ", Directory(Public(program)), "/*.trace"));
  return finished.output + finished.errors;
}

// With a change of the ranks' traces.
std::string Changed(const std::string& program,
                    const std::function<void(std::vector<json>*)>& change) {
  std::vector<json> ranks = {RankOf(Public(program), 0), RankOf(Public(program), 1)};
  change(&ranks);
  std::string files;
  for (size_t r = 0; r < ranks.size(); ++r) {
    absl::StrAppend(&files, " ", TraceFile(absl::StrCat(program, "_rank", r), ranks[r]));
  }
  const Finished finished = RunProgram(
      absl::StrCat("verify --no-cache ", Directory(Public(program)), "/reference.trace", files));
  return finished.output + finished.errors;
}

TEST(TorchRelations, NamesUnderWrappersAreTheReferences) {
  EXPECT_THAT(VerifyPublic("feat_selective_ac"),
              AllOf(StartsWith("PROVED: "), HasSubstr("_checkpoint_wrapped_module"),
                    HasSubstr("72 names")));
}

TEST(TorchRelations, FlatPiecesWithoutAPlaceAreFoundWhereTheyAreGathered) {
  EXPECT_THAT(VerifyPublic("feat_fsdp1"),
              AllOf(StartsWith("PROVED: "), HasSubstr("_fsdp_wrapped_module"),
                    HasSubstr("flat pieces of 21 parameters")));
}

TEST(TorchRelations, StatesThatTheOptimizerSharesOutAreFoundByTheirUse) {
  EXPECT_THAT(VerifyPublic("feat_zero_redundancy"),
              AllOf(StartsWith("PROVED: "), HasSubstr("63 states of ranks"),
                    HasSubstr("embedding.weight.")));
  // One decay differs: the states are the same, their new values are not.
  EXPECT_THAT(Changed("feat_zero_redundancy",
                      [](std::vector<json>* ranks) {
                        FirstOf(&(*ranks)[1], "aten.lerp_.Scalar")["args"][2] = 0.2;
                      }),
              StartsWith("REFUTED"));
}

// Its values on ranks and in the reference differ in their last bits.
TEST(TorchRelations, AnAverageInADictionaryIsAState) {
  EXPECT_THAT(
      VerifyPublic("feat_ema_ddp"),
      AllOf(StartsWith("PROVED: "), HasSubstr("8 states of ranks"), HasSubstr("feats.py:328")));
  const auto average = [](json* rank) {
    std::vector<json*> found;
    for (json& op : (*rank)["operators"]) {
      if (op.value("op", "") == "aten.lerp_.Scalar") found.push_back(&op);
    }
    return found.back();
  };
  EXPECT_THAT(Changed("feat_ema_ddp",
                      [&](std::vector<json>* ranks) {
                        for (json& rank : *ranks) (*average(&rank))["args"][2] = 0.2;
                      }),
              StartsWith("REFUTED"));
  // Used in another way, it is not known which state it is, and its bits refute nothing.
  const std::string unknown = Changed("feat_ema_ddp", [&](std::vector<json>* ranks) {
    json& strings = (*ranks)[1]["strings"];
    strings.push_back("other.py:7: average.lerp_(p, 0.1)");
    (*average(&(*ranks)[1]))["source"] = strings.size() - 1;
  });
  EXPECT_THAT(unknown, AllOf(StartsWith("UNKNOWN: "), HasSubstr("other.py:7"),
                             HasSubstr("name it in inputs=")));
  // Neither do values that are too far away to be rounding make it the reference's state.
  const std::string other = Changed("feat_ema_ddp", [&](std::vector<json>* ranks) {
    for (json& storage : (*ranks)[0]["storages"]) {
      if (storage.contains("values")) storage["values"][0] = 17.5;
    }
  });
  EXPECT_THAT(other, Not(StartsWith("PROVED")));
}

TEST(TorchRelations, WhatTheReferenceHasIsRequired) {
  EXPECT_THAT(VerifyPublic("F6a_gradient_that_no_rank_has"),
              AllOf(StartsWith("MALFORMED: "), HasSubstr("w: the reference has a gradient of it")));
  EXPECT_THAT(Changed("feat_ema_ddp",
                      [](std::vector<json>* ranks) {
                        for (json& rank : *ranks) {
                          json& results = rank["results"];
                          for (size_t r = 0; r < results.size(); ++r) {
                            if (results[r]["name"] == "average of up.bias") results.erase(r);
                          }
                        }
                      }),
              AllOf(StartsWith("MALFORMED: "),
                    HasSubstr("average of up.bias: an output of the reference that no rank has")));
}

// Megatron's distributed optimizer keeps no gradients, and its optimizer states are shared out.
TEST(TorchRelations, GradientsThatAFrameworkFreesAreListed) {
  const Finished finished = RunProgram(
      absl::StrCat("verify --no-cache ", Directory("megatron_distributed_optimizer"), "/*.trace"));
  EXPECT_THAT(finished.output, AllOf(StartsWith("PROVED: "), HasSubstr("no rank keeps gradients"),
                                     HasSubstr("29 tensors")));
  const Finished ddp = RunProgram(absl::StrCat("verify --no-cache ", Directory("ddp"), "/*.trace"));
  EXPECT_THAT(ddp.output, AllOf(StartsWith("PROVED: "), Not(HasSubstr("gradients"))));
}

TEST(TorchRelations, BothEndsOfAMessageHaveOneType) {
  // Rank 1 allocates the memory that it receives into.
  const std::string report =
      Changed("F7a_broadcast_bfloat16_into_float16", [](std::vector<json>* ranks) {
        json allocation;
        allocation["op"] = "aten.empty.memory_format";
        allocation["args"] = json::array();
        allocation["args"].push_back(json::array({4}));
        allocation["kwargs"]["dtype"]["dtype"] = "float16";
        allocation["out"] = json::array();
        allocation["out"].push_back({{"tensor", 1}});
        json& operators = (*ranks)[1]["operators"];
        operators.insert(operators.begin(), allocation);
      });
  EXPECT_THAT(report, AllOf(StartsWith("MALFORMED: "),
                            HasSubstr("participants of broadcast disagree in type"),
                            HasSubstr("bfloat16[4]"), HasSubstr("float16[4]")));
}

}  // namespace
}  // namespace planproof::cli
