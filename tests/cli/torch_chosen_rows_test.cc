// Experts that compute with the rows that were sent to them (frontend/torch/chosen_rows.h): what
// was recorded is proved (torch_traces_test.cc), and what does something else with some row is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
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
using testing::StartsWith;

// A proof of these programs takes 2 to 4 seconds; what has none is looked at for no longer than
// this.
constexpr char kLimit[] = "timeout -s TERM 8";

// The operators of a rank of which `which` is true.
std::vector<json*> All(json* rank, const std::function<bool(const json&)>& which) {
  std::vector<json*> found;
  for (json& op : (*rank)["operators"]) {
    if (which(op)) found.push_back(&op);
  }
  EXPECT_FALSE(found.empty());
  return found;
}

std::vector<json*> Named(json* rank, const std::string& name, const std::string& module = "") {
  return All(rank, [&](const json& op) {
    const bool here =
        module.empty() || (op.contains("module") &&
                           (*rank)["strings"][op["module"].get<size_t>()].get<std::string>().find(
                               module) != std::string::npos);
    return here && op.value("op", "").starts_with(name);
  });
}

bool SendsRows(const json& op) { return op.contains("in_splits"); }

json ShapeOf(const json& rank, const json& tensor) {
  return rank["tensors"][tensor["tensor"].get<size_t>()][3];
}

// A tensor like this one, in memory of its own.
json NewTensor(json* rank, const json& like) {
  const json& entry = (*rank)["tensors"][like["tensor"].get<size_t>()];
  const json dtype = entry[1], shape = entry[3];
  int64_t size = 1;
  json strides = json::array();
  for (size_t d = shape.size(); d-- > 0;) {
    strides.insert(strides.begin(), size);
    size *= shape[d].get<int64_t>();
  }
  const size_t storage = (*rank)["storages"].size(), tensor = (*rank)["tensors"].size();
  (*rank)["storages"].push_back({{"dtype", dtype}, {"size", size}});
  (*rank)["tensors"].push_back({storage, dtype, 0, shape, strides});
  return {{"tensor", tensor}};
}

void ExpectNoProof(const std::string& program, const std::vector<json>& ranks,
                   const std::string& reference) {
  std::string files = reference;
  for (size_t r = 0; r < ranks.size(); ++r) {
    absl::StrAppend(&files, " ", TraceFile(absl::StrCat(program, "_rows", r), ranks[r]));
  }
  const Finished finished = RunProgram("verify -q --no-cache " + files, kLimit);
  EXPECT_THAT(finished.output + finished.errors,
              AnyOf(StartsWith("REFUTED"), StartsWith("UNKNOWN"), StartsWith("MALFORMED")));
}

void ExpectNotProved(const std::string& program,
                     const std::function<void(std::vector<json>*)>& put) {
  std::vector<json> ranks = {RankOf(program, 0), RankOf(program, 1)};
  put(&ranks);
  ExpectNoProof(program, ranks, Directory(program) + "/reference.trace");
}

// The same where the model is changed, and the ranks are not.
void ExpectNotProvedOfModel(const std::string& program, const std::function<void(json*)>& put) {
  json reference = ReferenceOf(program);
  put(&reference);
  ExpectNoProof(program, {RankOf(program, 0), RankOf(program, 1)},
                TraceFile(program + "_rows_reference", reference));
}

TEST(ChosenRows, TheChoicesAreListedWithTheVerdict) {
  const Finished finished =
      RunProgram(absl::StrCat("verify --no-cache ", Directory("titan_deepseek_ep"), "/*.trace"));
  EXPECT_THAT(finished.output, StartsWith("PROVED"));
  EXPECT_THAT(finished.output, HasSubstr("the ranks' operators choose what was recorded"));
  EXPECT_THAT(finished.output, HasSubstr("torchtitan/models/common/moe.py"));
}

TEST(ChosenRows, ExpertsThatTakeEachOthersWeights) {
  ExpectNotProved("megatron_moe_alltoall", [](std::vector<json>* ranks) {
    json* rank = ranks->data();
    std::swap(
        (*Named(rank, "aten.mm", "layers.0.mlp.experts.local_experts.0.linear_fc1")[0])["args"][1],
        (*Named(rank, "aten.mm", "layers.0.mlp.experts.local_experts.1.linear_fc1")[0])["args"][1]);
  });
}

TEST(ChosenRows, RowsThatAreSentInOtherPieces) {
  ExpectNotProved("megatron_moe_alltoall", [](std::vector<json>* ranks) {
    json& sent = *All(ranks->data(), SendsRows)[0];
    std::swap(sent["in_splits"][0], sent["in_splits"][1]);
  });
}

TEST(ChosenRows, RowsThatAreSentInAnotherOrderOfRanks) {
  ExpectNotProved("megatron_moe_alltoall", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      rank["groups"].push_back({1, 0});
      json& sent = *All(&rank, SendsRows)[0];
      sent["group"] = rank["groups"].size() - 1;
    }
  });
}

TEST(ChosenRows, RowsThatAreSortedInAnotherOrderOnOneRank) {
  ExpectNotProved("megatron_moe_alltoall", [](std::vector<json>* ranks) {
    json& parts = (*Named(&(*ranks)[1], "aten.cat", "layers.0.mlp")[0])["args"][0];
    std::swap(parts[1], parts[2]);
  });
}

TEST(ChosenRows, RowsThatAreSortedInAnotherOrderByIndices) {
  ExpectNotProved("titan_deepseek_ep", [](std::vector<json>* ranks) {
    json& rank = (*ranks)[0];
    // Numbers in order in place of where the rows of each expert are.
    for (json* index : Named(&rank, "aten.index.Tensor", "routed_experts")) {
      const json rows = ShapeOf(rank, (*index)["args"][0]);
      for (const json* range : Named(&rank, "aten.arange", "routed_experts")) {
        const json& numbers = (*range)["out"][0];
        if (rows.size() == 2 && ShapeOf(rank, numbers)[0] == rows[0]) {
          (*index)["args"][1][0] = numbers;
        }
      }
    }
  });
}

TEST(ChosenRows, RowsOfTheTokensThatAnotherLayerChose) {
  ExpectNotProved("megatron_moe_alltoall", [](std::vector<json>* ranks) {
    const std::vector<json*> chosen = Named(ranks->data(), "aten.index_select");
    (*chosen[1])["args"][2] = (*chosen[0])["args"][2];
  });
}

TEST(ChosenRows, RowsThatAreAddedToOtherTokens) {
  ExpectNotProved("megatron_moe_allgather", [](std::vector<json>* ranks) {
    const std::vector<json*> added = Named(ranks->data(), "aten.index_add");
    (*added[0])["args"][2] = (*added[1])["args"][2];
  });
}

TEST(ChosenRows, RowsWithoutTheirProbabilities) {
  ExpectNotProved("megatron_moe_allgather", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      for (json* product : Named(&rank, "aten.mul", "layers.0.mlp.experts.local_experts")) {
        const json by = ShapeOf(rank, (*product)["args"][1]);
        if (by[by.size() - 1] == 1) (*product)["op"] = "aten.add.Tensor";
      }
    }
  });
}

TEST(ChosenRows, ARouterThatChoosesTheWorstExpertsOnOneRank) {
  ExpectNotProved("megatron_moe_allgather", [](std::vector<json>* ranks) {
    (*Named(&(*ranks)[1], "aten.topk")[0])["args"].push_back(false);
  });
}

TEST(ChosenRows, GradientsOfRowsThatAreNotSentBack) {
  ExpectNotProved("megatron_moe_alltoall", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      json* last = All(&rank, SendsRows).back();
      json& operators = rank["operators"];
      operators.erase(last - operators.get_ref<json::array_t&>().data());
    }
  });
}

TEST(ChosenRows, AGradientOfOnlyOneExpertsRows) {
  // The weight's gradient is taken of the other expert's rows, as many of them.
  ExpectNotProved("titan_deepseek_ep", [](std::vector<json>* ranks) {
    const std::vector<json*> products =
        Named(ranks->data(), "aten._grouped_mm", "routed_experts.inner_experts");
    json& offsets = (*products.back())["args"][2];
    offsets = (*Named(ranks->data(), "aten.cumsum", "routed_experts")[1])["out"][0];
  });
}

TEST(ChosenRows, RowsThatAnotherRouterPlaces) {
  // How many rows each expert gets, and so where they are, says a router that is nowhere in the
  // model. It chose the same in the recording; what it chooses of other inputs is not known.
  std::vector<json> ranks = {RankOf("titan_deepseek_ep", 0), RankOf("titan_deepseek_ep", 1)};
  for (json& rank : ranks) {
    const json* router = Named(&rank, "aten.topk")[0];
    json other = *router;
    const json scores = other["args"][0];
    other["args"][0] = NewTensor(&rank, scores);
    for (json& out : other["out"]) out = NewTensor(&rank, out);
    const json negated = {{"op", "aten.neg.default"},
                          {"args", {scores}},
                          {"out", {other["args"][0]}},
                          {"source", other["source"]}};
    (*Named(&rank, "aten.scatter_.value", "moe")[0])["args"][2] = other["out"][1];
    json::array_t& operators = rank["operators"].get_ref<json::array_t&>();
    operators.insert(operators.begin() + (router - operators.data()) + 1, {negated, other});
  }
  const std::string report = Verify("titan_deepseek_ep", ranks);
  EXPECT_THAT(report, StartsWith("UNKNOWN"));
  EXPECT_THAT(report, HasSubstr("cannot be followed through index: another choice"));
}

TEST(ChosenRows, ValuesOfAnotherLengthAreMalformed) {
  const std::string report = WithFault("megatron_moe_alltoall", [](std::vector<json>* ranks) {
    (*Named(ranks->data(), "aten.topk")[0])["values"][1].erase(0);
  });
  EXPECT_THAT(report, StartsWith("MALFORMED"));
  EXPECT_THAT(report, HasSubstr("expected as many numbers as the result has elements"));
}

TEST(ChosenRows, ChoicesThatDoNotFitTheSizes) {
  // Every token goes to the last two experts of four, which are recorded to have fewer.
  ExpectNotProved("megatron_moe_allgather", [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      json& values = (*Named(&rank, "aten.topk")[0])["values"][1];
      for (size_t k = 0; k < values.size(); ++k) values[k] = k % 2 == 0 ? 2 : 3;
    }
  });
}

// transformers' experts: rows are sorted by expert, sent, put back in the order before, weighted
// and added up for each token.
constexpr char kPutsBack[] = "hf_gpt_oss";

// What puts rows of numbers in places that an order says, in this layer.
json* PutBackIn(json* rank, const std::string& layer) {
  for (json* put : Named(rank, "aten.index_put_", layer)) {
    if (ShapeOf(*rank, (*put)["args"][0]).size() == 2) return put;
  }
  ADD_FAILURE() << "no rows are put back";
  return nullptr;
}

// The product of rows that were put back, [token, choice, width], with their weights.
json* WeightedIn(json* rank, const std::string& layer) {
  return All(rank, [&](const json& op) {
    return op.value("op", "").starts_with("aten.mul") &&
           ShapeOf(*rank, op["args"][0]) == json({8, 2, 16}) &&
           ShapeOf(*rank, op["args"][1]) == json({8, 2, 1}) &&
           (*rank)["strings"][op["module"].get<size_t>()].get<std::string>().find(layer) !=
               std::string::npos;
  })[0];
}

// The same memory, with other strides.
json WithStrides(json* rank, const json& tensor, const json& strides) {
  json view = (*rank)["tensors"][tensor["tensor"].get<size_t>()];
  view[4] = strides;
  (*rank)["tensors"].push_back(view);
  return {{"tensor", (*rank)["tensors"].size() - 1}};
}

TEST(ChosenRows, RowsThatArePutBackByTheOrderAsIfItWereItsInverse) {
  ExpectNotProved(kPutsBack, [](std::vector<json>* ranks) {
    json* rank = ranks->data();
    json* put = PutBackIn(rank, "layers.1");
    const json rows = (*put)["args"][2], order = (*put)["args"][1], source = (*put)["source"];
    const json read = NewTensor(rank, rows);
    (*put)["op"] = "aten.copy_.default";
    (*put)["args"] = {(*put)["args"][0], read};
    const json taken = {
        {"op", "aten.index.Tensor"}, {"args", {rows, order}}, {"out", {read}}, {"source", source}};
    json::array_t& operators = (*rank)["operators"].get_ref<json::array_t&>();
    operators.insert(operators.begin() + (put - operators.data()), taken);
  });
}

TEST(ChosenRows, RowsThatTheModelPutsBackByTheOrder) {
  ExpectNotProvedOfModel(kPutsBack, [](json* model) {
    const json& inverse = *Named(model, "aten.index_put_", "layers.0.mlp.experts")[0];
    for (json* index : Named(model, "aten.index.Tensor", "layers.0.mlp.experts")) {
      if ((*index)["args"][1][0] == inverse["args"][0]) {
        (*index)["args"][1] = inverse["args"][1];
      }
    }
  });
}

TEST(ChosenRows, GradientsThatTheModelPutsByTheOrder) {
  ExpectNotProvedOfModel(kPutsBack, [](json* model) {
    const json inverse = *Named(model, "aten.index_put_", "layers.0.mlp.experts")[0];
    for (json* put : Named(model, "aten.index_put.", "layers.0.mlp.experts")) {
      if ((*put)["args"][1][0] == inverse["args"][0]) (*put)["args"][1] = inverse["args"][1];
    }
  });
}

TEST(ChosenRows, RowsThatArePutBackInTheOrderOfAnotherLayer) {
  ExpectNotProved(kPutsBack, [](std::vector<json>* ranks) {
    json* rank = &(*ranks)[1];
    (*PutBackIn(rank, "layers.1"))["args"][1] = (*PutBackIn(rank, "layers.0"))["args"][1];
  });
}

TEST(ChosenRows, RowsThatTheOrderOfAnotherRouterPutsBack) {
  // It chose the same in the recording, and is nowhere in the model.
  std::vector<json> ranks = {RankOf(kPutsBack, 0), RankOf(kPutsBack, 1)};
  json* rank = ranks.data();
  json* put = PutBackIn(rank, "layers.0");
  json* sort = All(rank, [&](const json& op) {
    return op.value("op", "").starts_with("aten.sort") && op["out"][1] == (*put)["args"][1][0];
  })[0];
  json* router = Named(rank, "aten.topk")[0];
  json other = *router, sorted = *sort;
  const json scores = other["args"][0];
  other["args"][0] = NewTensor(rank, scores);
  for (json& out : other["out"]) out = NewTensor(rank, out);
  const json negated = {{"op", "aten.neg.default"},
                        {"args", {scores}},
                        {"out", {other["args"][0]}},
                        {"source", other["source"]}};
  // The first half of its choices, as this rank sorts them.
  json view = (*rank)["tensors"][other["out"][1]["tensor"].get<size_t>()];
  view[3] = ShapeOf(*rank, sorted["args"][0]);
  view[4] = {1};
  (*rank)["tensors"].push_back(view);
  sorted["args"][0] = {{"tensor", (*rank)["tensors"].size() - 1}};
  for (json& out : sorted["out"]) out = NewTensor(rank, out);
  (*put)["args"][1][0] = sorted["out"][1];
  json::array_t& operators = (*rank)["operators"].get_ref<json::array_t&>();
  const auto after = operators.begin() + (router - operators.data()) + 1;
  operators.insert(after, {negated, other, sorted});
  EXPECT_THAT(Verify(kPutsBack, ranks), StartsWith("UNKNOWN"));
}

TEST(ChosenRows, WeightsOfAnotherRouter) {
  ExpectNotProved(kPutsBack, [](std::vector<json>* ranks) {
    json* rank = ranks->data();
    (*WeightedIn(rank, "layers.1"))["args"][1] = (*WeightedIn(rank, "layers.0"))["args"][1];
  });
}

TEST(ChosenRows, TheWeightOfTheFirstChoiceForBoth) {
  ExpectNotProved(kPutsBack, [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      json& weights = (*WeightedIn(&rank, "layers.1"))["args"][1];
      weights = WithStrides(&rank, weights, {2, 0, 1});
    }
  });
}

TEST(ChosenRows, RowsThatAreAddedUpOverTokensForChoices) {
  ExpectNotProved(kPutsBack, [](std::vector<json>* ranks) {
    for (json& rank : *ranks) {
      json& rows = (*WeightedIn(&rank, "layers.0"))["args"][0];
      rows = WithStrides(&rank, rows, {16, 128, 1});
    }
  });
}

TEST(ChosenRows, BiasesOfExpertsInTheOrderBeforeSorting) {
  ExpectNotProved(kPutsBack, [](std::vector<json>* ranks) {
    json* rank = &(*ranks)[1];
    const json& sort = *Named(rank, "aten.sort", "layers.0.mlp.experts")[1];
    for (json* index : Named(rank, "aten.index.Tensor", "layers.0.mlp.experts")) {
      if ((*index)["args"][1][0] == sort["out"][0]) (*index)["args"][1][0] = sort["args"][0];
    }
  });
}

TEST(ChosenRows, AnExpertThatIsGivenNoRowIsNamed) {
  // Of the tokens of the first rank none goes to the last expert.
  std::vector<json> ranks = {RankOf(kPutsBack, 0), RankOf(kPutsBack, 1)};
  for (json& rank : ranks) {
    json& values = (*Named(&rank, "aten.topk")[0])["values"][1];
    for (size_t k = 0; k < 16; ++k) values[k] = k % 3;
  }
  const std::string report = Verify(kPutsBack, ranks);
  EXPECT_THAT(report, HasSubstr("is given no row"));
  EXPECT_THAT(report, HasSubstr("aten.sort.default, at transformers/distributed/"));
}

}  // namespace
}  // namespace planproof::cli
