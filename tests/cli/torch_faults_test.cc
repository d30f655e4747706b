// Faults in recorded PyTorch programs: each is refuted, and the first line says where it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

struct Fault {
  const char* name;
  const char* program;
  int world;
  std::function<void(std::vector<json>*)> put;
  std::vector<const char*> first_line;
  const char* verdict = "REFUTED";
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

// The operators of one rank that match; those left out are gone.
template <typename Matches>
std::vector<json*> All(json* rank, const Matches& matches) {
  std::vector<json*> found;
  for (json& op : (*rank)["operators"]) {
    if (matches(op)) found.push_back(&op);
  }
  return found;
}

json* At(const std::vector<json*>& found, int which) {
  return found.at(which < 0 ? found.size() + which : which);
}

// Reductions among more than one rank; `which` counts from the end if it is negative.
json* Reduction(json* rank, const char* reduce, int which, const char* kind = "") {
  return At(All(rank,
                [&](const json& op) {
                  return op.value("reduce", "") == reduce &&
                         (*kind == '\0' || op["collective"] == kind) &&
                         (*rank)["groups"][op["group"].get<int>()].size() > 1;
                }),
            which);
}

using Put = std::function<void(std::vector<json>*)>;

Put Reduces(const char* before, const char* after, int which, const char* kind = "") {
  return [=](std::vector<json>* ranks) {
    for (json& rank : *ranks) (*Reduction(&rank, before, which, kind))["reduce"] = after;
  };
}

// A reduction in place, whose operand then stays what it is.
Put DoesNotReduce(int which) {
  return [=](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      json* op = At(All(&rank,
                        [&](const json& each) {
                          return each.value("op", "").starts_with("c10d.allreduce_") &&
                                 each.value("reduce", "") == "sum" &&
                                 rank["groups"][each["group"].get<int>()].size() > 1;
                        }),
                    which);
      json& operators = rank["operators"];
      operators.erase(op - &operators[0]);
    }
  };
}

Put LeavesOut(const char* collective, int which) {
  return [=](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      json* op = At(
          All(&rank, [&](const json& each) { return each.value("collective", "") == collective; }),
          which);
      json& operators = rank["operators"];
      operators.erase(op - &operators[0]);
    }
  };
}

// On these ranks, all if there are none.
Put Changes(std::vector<int> on, const char* operation, int which,
            const std::function<void(json*)>& change) {
  return [=](std::vector<json>* ranks) {
    for (size_t r = 0; r < ranks->size(); ++r) {
      if (!on.empty() && std::find(on.begin(), on.end(), r) == on.end()) continue;
      change(At(All(&(*ranks)[r], [&](const json& op) { return op.value("op", "") == operation; }),
                which));
    }
  };
}
Put Constant(std::vector<int> on, const char* operation, int which, double value) {
  return Changes(std::move(on), operation, which, [=](json* op) { (*op)["args"][1] = value; });
}
Put Function(std::vector<int> on, const char* operation, int which, const char* other) {
  return Changes(std::move(on), operation, which, [=](json* op) {
    (*op)["op"] = other;
    (*op)["args"] = json::array({(*op)["args"][0]});
    op->erase("kwargs");
  });
}

std::vector<Fault> Faults() {
  return {
      {"GradientsAreNotSummed", "ddp", 2, DoesNotReduce(0), {"down.weight", "sum over dp missing"}},
      {"GradientsAreAveragedInPlaceOfSummed",
       "ddp",
       2,
       Reduces("sum", "avg", 0),
       {"down.bias", "2 times too small", "all_reduce (up: ", "averages where a sum is needed"}},
      {"LocalGradientNorm", "megatron_tp_clip", 2, DoesNotReduce(-1), {"norm"}},
      {"NormWeightsAreAveraged",
       "tp_sp",
       2,
       Reduces("sum", "avg", -1),
       {"norm.weight", "averages where a sum is needed"}},
      {"InputGradientOfMegatronIsAveraged",
       "megatron_llama",
       2,
       Reduces("sum", "avg", -1, "reduce_scatter"),
       {"decoder.layers.0.self_attention.linear_qkv", "reduce_scatter"}},
      {"NormWeightsOfMegatronAreAveraged",
       "megatron_llama",
       2,
       Reduces("sum", "avg", -2),
       {"layernorm.weight", "2 times too small", "averages where a sum is needed"}},
      {"RowParallelOutputIsAveraged",
       "hf_llama",
       2,
       Reduces("sum", "avg", 2),
       {"model.layers.0.mlp.down_proj", "all_reduce"}},
      {"SequenceParallelOutputIsAveraged",
       "titan_llama_tp",
       2,
       Reduces("sum", "avg", 3, "reduce_scatter"),
       {"layers.1.attention.wo", "reduce_scatter"}},
      {"ColumnParallelGradientIsAveraged",
       "hf_qwen3",
       2,
       Reduces("sum", "avg", -1),
       {"model.layers.0.self_attn.q_proj", "averages where a sum is needed"}},
      {"GradientsAreSummedInPlaceOfAveraged",
       "fsdp2",
       2,
       Reduces("avg", "sum", -1, "reduce_scatter"),
       {"gradient of embedding.weight", "2 times gradient of embedding.weight"}},
      {"MeanOfMeans",
       "grad_accumulation",
       2,
       Reduces("sum", "avg", 0),
       {"down.bias", "2 times too small", "averages where a sum is needed"}},
      {"AnotherDecayOnOneRank",
       "fsdp2_tp_clip",
       4,
       Constant({3}, "aten.mul_.Tensor", 3, 0.9998),
       {"aten.mul_.Tensor", "0.9998", "in the model it is 0.999"}},
      {"AnotherDecayOnTheSecondStage",
       "megatron_pp_tp",
       4,
       Constant({2, 3}, "aten.mul_.Tensor", 3, 0.9998),
       {"decoder.layers.1", "0.9998", "in the model it is 0.999"}},
      {"AnotherDecayBesideExperts",
       "hf_mixtral",
       2,
       Constant({}, "aten.mul_.Tensor", 3, 0.4995),
       {"aten.mul_.Tensor", "0.4995", "in the model it is 0.999"}},
      {"AnotherActivation",
       "megatron_pp",
       2,
       Function({1}, "aten.gelu.default", 0, "aten.silu.default"),
       {"gelu (decoder.layers.1.mlp", "silu", "mlp.py:"}},
      {"AnotherActivationOnOneRank",
       "hsdp",
       4,
       Function({2}, "aten.silu.default", 1, "aten.sigmoid.default"),
       {"layers.1.mlp", "sigmoid", "on device 2"}},
      {"ACollectiveIsLeftOut",
       "fsdp2_tp",
       4,
       LeavesOut("all_reduce", 0),
       {"that no operator allocated", ".py:"},
       "MALFORMED"},
      {"RowParallelOutputIsNotSummed",
       "tp",
       2,
       LeavesOut("all_reduce", 1),
       {"layers.0", "that no operator allocated", "models.py:"},
       "MALFORMED"},
      {"WeightsAreStale", "deepspeed_zero1", 2, LeavesOut("all_gather", -1), {"new value of"}},
  };
}

class FaultOfProgram : public testing::TestWithParam<Fault> {};

TEST_P(FaultOfProgram, IsRefutedAndPlaced) {
  const Fault& fault = GetParam();
  std::vector<json> ranks;
  for (int rank = 0; rank < fault.world; ++rank) ranks.push_back(RankOf(fault.program, rank));
  fault.put(&ranks);
  const std::string report = Verify(fault.program, ranks);
  EXPECT_THAT(report, StartsWith(fault.verdict));
  const std::string first_line = report.substr(0, report.find('\n'));
  for (const char* part : fault.first_line) EXPECT_THAT(first_line, HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(Traces, FaultOfProgram, testing::ValuesIn(Faults()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace planproof::cli
