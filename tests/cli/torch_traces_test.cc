// PyTorch programs that were recorded (tests/torch/record_all.py), as they are and with faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command_line.h"
#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The communication of a rank.
std::vector<json*> Communications(json* rank) {
  std::vector<json*> found;
  for (json& op : (*rank)["operators"]) {
    if (op.contains("collective")) found.push_back(&op);
  }
  return found;
}
void Remove(json* rank, const std::function<bool(const json&)>& which) {
  json& operators = (*rank)["operators"];
  for (size_t i = 0; i < operators.size(); ++i) {
    if (!which(operators[i])) continue;
    operators.erase(i);
    return;
  }
  ADD_FAILURE() << "nothing is removed";
}

class RecordedProgram : public testing::TestWithParam<const char*> {};

TEST_P(RecordedProgram, ComputesWhatOneProcessComputes) {
  const Finished finished =
      RunProgram(absl::StrCat("verify -q --no-cache ", Directory(GetParam()), "/*.trace"));
  EXPECT_THAT(finished.output, StartsWith("PROVED")) << finished.errors;
}

INSTANTIATE_TEST_SUITE_P(
    Traces, RecordedProgram,
    testing::Values("ddp", "deepspeed_autotp", "deepspeed_ulysses", "deepspeed_zero0",
                    "deepspeed_zero1", "deepspeed_zero1_accumulation", "deepspeed_zero2",
                    "deepspeed_zero2_clip", "deepspeed_zero2_clip_dp4", "deepspeed_zero3",
                    "deepspeed_zero3_clip", "fsdp2", "fsdp2_clip", "fsdp2_tp", "fsdp2_tp_clip",
                    "grad_accumulation", "hf_cohere2", "hf_experts", "hf_experts_dp", "hf_gemma2",
                    "hf_gpt_oss", "hf_gpt_oss_tp4", "hf_llama", "hf_llama_fsdp2", "hf_mistral",
                    "hf_mixtral", "hf_mixtral_tp4", "hf_olmoe", "hf_qwen2", "hf_qwen3",
                    "hf_qwen3_moe", "hf_qwen3_moe_fsdp2", "hsdp", "loss_parallel", "masked_loss",
                    "megatron_16_ranks", "megatron_distributed_optimizer", "megatron_dp",
                    "megatron_dp_tp", "megatron_llama", "megatron_moe_allgather",
                    "megatron_moe_alltoall", "megatron_moe_tp", "megatron_moe_tp_ep4",
                    "megatron_per_token_loss", "megatron_pp", "megatron_pp_tp",
                    "megatron_pp_untied", "megatron_recompute", "megatron_tp", "megatron_tp_clip",
                    "megatron_tp_sp", "pipeline_1f1b", "pipeline_by_hand", "titan_deepseek_ep",
                    "titan_deepseek_fsdp2", "titan_llama_fsdp2", "titan_llama_fsdp2_tp_clip",
                    "titan_llama_tp", "tp", "tp_clip", "tp_mlp", "tp_sp"),
    [](const auto& info) { return std::string(info.param); });

// The model runs its layers twice, too: each is one there, and what a rank runs again is compared
// with it.
TEST(TorchTraces, ALayerThatRunsAgainWithOtherParametersIsRefuted) {
  std::vector<json> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(RankOf("megatron_recompute", rank));
    std::vector<json*> norms;
    for (json& op : ranks.back()["operators"]) {
      if (op.value("op", "") == "aten.native_layer_norm.default") norms.push_back(&op);
    }
    // Two layers with two norms each and the last one, then the last layer again.
    ASSERT_EQ(norms.size(), 9);
    ASSERT_EQ((*norms[5])["args"][2], (*norms[2])["args"][2]);
    (*norms[5])["args"][2] = (*norms[0])["args"][2];
  }
  const std::string report = Verify("megatron_recompute", ranks);
  EXPECT_THAT(report, StartsWith("REFUTED"));
  EXPECT_THAT(report, HasSubstr("decoder.layers.1"));
}

TEST(TorchTraces, AnAverageForASumIsNamed) {
  const std::string report = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) (*Communications(&rank)[0])["reduce"] = "avg";
  });
  EXPECT_THAT(report, StartsWith("REFUTED"));
  EXPECT_THAT(report, HasSubstr("averages where a sum is needed"));
  EXPECT_THAT(report, HasSubstr("models.py:"));
}

TEST(TorchTraces, AnOperatorInPlaceWritesItsFirstOperand) {
  const std::string report = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    json& lerp = FirstOf(&(*ranks)[1], "aten.lerp_.Scalar");
    lerp["args"][0] = lerp["args"][1];
  });
  EXPECT_THAT(report, StartsWith("MALFORMED"));
  EXPECT_THAT(report, HasSubstr("writes other tensors than the operands that it has for that"));
}

TEST(TorchTraces, AnotherConstantOnOneRankIsNamed) {
  const std::string report = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    FirstOf(&(*ranks)[1], "aten.lerp_.Scalar")["args"][2] = 0.2;
  });
  EXPECT_THAT(report, StartsWith("REFUTED"));
  EXPECT_THAT(report, HasSubstr("device 1"));
}

TEST(TorchTraces, AWriteThatIsLeftOutIsNoticed) {
  const std::string report = WithFault(
      "tp_mlp",
      [](std::vector<json>* ranks) {
        Remove(&(*ranks)[0],
               [](const json& op) { return op.value("op", "").starts_with("aten.addcmul_"); });
      },
      "--no-explain");
  EXPECT_THAT(report, StartsWith("UNKNOWN"));
}

TEST(TorchTraces, AReductionThatIsLeftOutIsNoticed) {
  const std::string report = WithFault(
      "ddp",
      [](std::vector<json>* ranks) {
        for (json& rank : *ranks) {
          Remove(&rank, [](const json& op) { return op.contains("collective"); });
        }
      },
      "--no-explain");
  EXPECT_THAT(report, StartsWith("UNKNOWN"));
}

TEST(TorchTraces, MemoryThatNobodyWroteIsEqualToNothing) {
  // The buckets of gradients are not filled: both graphs could be said to read zeros there.
  const std::string report = WithFault("ddp", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      Remove(&rank, [](const json& op) { return op.value("op", "").starts_with("aten.mul.out"); });
    }
  });
  EXPECT_THAT(report, StartsWith("MALFORMED"));
  EXPECT_THAT(report, HasSubstr("reads memory that nothing has written"));
}

TEST(TorchTraces, ARankThatLeavesACollectiveOutIsMalformed) {
  const std::string report = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    Remove(&(*ranks)[1], [](const json& op) { return op.contains("collective"); });
  });
  EXPECT_THAT(report, StartsWith("MALFORMED"));
  EXPECT_THAT(report, AnyOf(HasSubstr("never takes part"), HasSubstr("disagree"),
                            HasSubstr("that no operator allocated")));
}

TEST(TorchTraces, AReadBeforeTheWaitIsMalformed) {
  const std::string report = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    Remove(&(*ranks)[0], [](const json& op) { return op.contains("wait"); });
  });
  EXPECT_THAT(report, StartsWith("MALFORMED"));
  EXPECT_THAT(report, HasSubstr("wait for it before"));
}

TEST(TorchTraces, ANewValueThatIsMissingIsMalformed) {
  const std::string report =
      WithFault("tp_mlp", [](std::vector<json>* ranks) { (*ranks)[0]["results"].erase(0); });
  EXPECT_THAT(report, StartsWith("MALFORMED"));
}

TEST(TorchTraces, ANewValueThatIsSaidToLieElsewhereIsMalformed) {
  const auto updated = [](json* rank) -> json& {
    for (json& result : (*rank)["results"]) {
      if (result["kind"] == "updated" && result.contains("place")) return result;
    }
    ADD_FAILURE();
    return (*rank)["results"][0];
  };
  const std::string elsewhere = WithFault("tp_mlp", [&](std::vector<json>* ranks) {
    json& result = updated(&(*ranks)[1]);
    for (json& ranges : result["place"]) ranges[0][0] = 0;
  });
  EXPECT_THAT(elsewhere, StartsWith("MALFORMED"));
  EXPECT_THAT(elsewhere, HasSubstr("the new value is said to be another part of the whole"));
  const std::string summand = WithFault("tp_mlp", [&](std::vector<json>* ranks) {
    updated(&(*ranks)[1])["reduce"] = "sum";
    updated(&(*ranks)[1])["group"] = 0;
  });
  EXPECT_THAT(summand, StartsWith("MALFORMED"));
  EXPECT_THAT(summand, HasSubstr("reduce: stands at outputs and gradients only"));
}

TEST(TorchTraces, APartThatNobodyHoldsIsMalformed) {
  const std::string report = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    for (json& input : (*ranks)[1]["inputs"]) {
      if (input["name"] == "up.weight") input["place"][0][0][0] = 0;
    }
  });
  EXPECT_THAT(report, StartsWith("MALFORMED"));
}

// What an operator is told again must be what the trace says of memory.
TEST(TorchTraces, SizesOfAGatheredBufferAreThoseOfItsPart) {
  const std::vector<std::function<void(json*)>> changes = {
      [](json* args) { (*args)[2][0] = (*args)[2][0].get<int>() + 1; },
      [](json* args) { (*args)[3] = (*args)[3].get<int>() - 1; },
      [](json* args) { (*args)[4] = 1 - (*args)[4].get<int>(); },
  };
  for (size_t c = 0; c < changes.size(); ++c) {
    const std::string report = WithFault("fsdp2", [&](std::vector<json>* ranks) {
      for (json& rank : *ranks) {
        for (json& op : rank["operators"]) {
          if (op.value("op", "").starts_with("fsdp.all_gather_copy_in")) changes[c](&op["args"]);
        }
      }
    });
    EXPECT_THAT(report, StartsWith("MALFORMED")) << c;
    EXPECT_THAT(report, HasSubstr("that is written; record again")) << c;
  }
}

// An argument that the reader does not know may mean anything.
TEST(TorchTraces, AnArgumentThatNothingReadsIsNamed) {
  for (const char* op : {"aten.gelu.default", "aten.mse_loss.default", "aten.mul_.Tensor"}) {
    const auto more = [&](const std::function<void(json*)>& change) {
      return WithFault("tp_mlp", [&](std::vector<json>* ranks) {
        for (json& rank : *ranks) change(&FirstOf(&rank, op));
      });
    };
    const std::string named = more([](json* each) { (*each)["kwargs"]["scale"] = 2; });
    EXPECT_THAT(named, StartsWith("UNKNOWN")) << op;
    EXPECT_THAT(named, HasSubstr(absl::StrCat("the argument scale of ", op))) << op;
    const std::string beyond = more([](json* each) {
      for (int k = 0; k < 8; ++k) (*each)["args"].push_back(2);
    });
    EXPECT_THAT(beyond, AnyOf(StartsWith("UNKNOWN"), StartsWith("MALFORMED"))) << op;
  }
  const std::string said = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    FirstOf(&(*ranks)[0], "aten.mul_.Tensor")["kwargs"]["non_blocking"] = true;
  });
  EXPECT_THAT(said, StartsWith("PROVED"));
}

TEST(TorchTraces, AnUnknownOperatorIsNamedWithItsPlace) {
  const std::string report = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    FirstOf(&(*ranks)[0], "aten.gelu.default")["op"] = "aten.new_gelu.default";
  });
  EXPECT_THAT(report, StartsWith("UNKNOWN"));
  EXPECT_THAT(report, HasSubstr("aten.new_gelu.default"));
  EXPECT_THAT(report, HasSubstr("models.py:"));
  // What it writes is then not looked at.
  const std::string in_place = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    json& op = FirstOf(&(*ranks)[0], "aten.lerp_.Scalar");
    op["op"] = "aten._fused_lerp_.default";
    op["args"] = json::array({op["args"]});
  });
  EXPECT_THAT(in_place, StartsWith("UNKNOWN"));
  EXPECT_THAT(in_place, HasSubstr("aten._fused_lerp_.default"));
}

TEST(TorchTraces, ANumberFromATensorIsNoConstant) {
  // The step counter is read from the tensor, so another recorded value changes nothing, but a
  // counter that is not counted does.
  const std::string same = WithFault("tp_mlp", [](std::vector<json>* ranks) {
    for (json& op : (*ranks)[0]["operators"]) {
      if (op.contains("item")) op["out"][0] = 17.0;
    }
  });
  EXPECT_THAT(same, StartsWith("PROVED"));
  const std::string stale = WithFault(
      "tp_mlp",
      [](std::vector<json>* ranks) {
        Remove(&(*ranks)[0], [](const json& op) {
          return op.value("op", "") == "aten.add_.Tensor" && op["args"].size() > 1 &&
                 op["args"][1] == 1;
        });
      },
      "--no-explain");
  EXPECT_THAT(stale, Not(StartsWith("PROVED")));
}

TEST(TorchTraces, WhatIsNoTraceIsRefusedInOneLine) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {R"({"planproof_torch_trace": 3})", "record the program again"},
      {R"({"planproof_torch_trace": 1, "world": 1, "rank": 1, "operators": []})", "no rank"},
      {R"({"planproof_torch_trace": 1, "world": 1, "rank": 0, "operators": [], "storages":
          [{"dtype": "float32", "size": 4}], "tensors": [[0, "float32", 1, [4], [1]]]})",
       "exceeds its storage"},
      {R"({"planproof_torch_trace": 1, "world": 1, "rank": 0, "operators": [{"op": "aten.add",
          "args": [{"tensor": 0}]}]})",
       "no tensor 0"},
      {R"({"planproof_torch_trace": 1, "world": 1, "rank": 0, "operators": [{"wait": 1, "x": 2}]})",
       "\"x\" is not known"},
  };
  for (const auto& [text, expected] : mistakes) {
    const std::string file = TemporaryFile("mistake.json", text);
    RunCommand(absl::StrCat("gzip -c ", file, " > ", file, ".trace"));
    const Finished finished =
        RunProgram(absl::StrCat("verify -q --no-cache ", file, ".trace ", file, ".trace"));
    EXPECT_THAT(finished.output, StartsWith("MALFORMED")) << text;
    EXPECT_THAT(finished.output, HasSubstr(expected)) << text;
  }
  const std::string cut = TemporaryFile("cut.trace", std::string("\x1f\x8b\x08\x00\x00\x00", 6));
  EXPECT_THAT(RunProgram(absl::StrCat("verify -q ", cut, " ", cut)).output, HasSubstr("cut short"));
}

}  // namespace
}  // namespace planproof::cli
