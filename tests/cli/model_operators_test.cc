// Plans of convolutions, poolings, norms and reads at indices that are data: right ones are proved,
// their wrong twins are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::StartsWith;

struct Case {
  const char* inputs;  // of the specification
  const char* model;
  const char* shards;  // of the plan's inputs
  const char* plan;
  const char* outputs;
};

std::string VerifyCase(const Case& c, const std::string& plan) {
  const std::string file = TemporaryFile(
      "model_operators.json",
      absl::StrCat(R"({"planproof": 1, "specification": {"inputs": )", c.inputs,
                   R"(, "parameters": {}, "operators": [)", c.model, R"(], "outputs": )", c.outputs,
                   R"(}, "plan": {"mesh": {"r": 2}, "programs": [{"inputs": )", c.shards,
                   R"(, "operators": [)", plan, "]}]}}"));
  const Finished finished = RunProgram("verify --no-cache " + file);
  return finished.output + finished.errors;
}

void ExpectProvedAndRefuted(const Case& c, const std::string& wrong) {
  EXPECT_THAT(VerifyCase(c, c.plan), StartsWith("PROVED")) << c.plan;
  EXPECT_THAT(VerifyCase(c, wrong), StartsWith("REFUTED")) << wrong;
}

TEST(ModelOperators, ConvolutionsCutByFeatures) {
  const char* model =
      R"({"op": "conv2d", "in": ["x", "w"], "out": "y", "attrs": {"stride": 2, "padding": 1, "dilation": 2}})";
  const char* part =
      R"({"op": "conv2d", "in": ["x", "w"], "out": "p", "attrs": {"stride": 2, "padding": 1, "dilation": 2}}, )";
  const std::string sum =
      absl::StrCat(part, R"({"op": "all_reduce", "over": "r", "in": "p", "out": "y"})");
  ExpectProvedAndRefuted({R"({"x": [2, 4, 9, 9], "w": [6, 4, 3, 3]})", model,
                          R"({"x": {"1": "r"}, "w": {"1": "r"}})", sum.c_str(), R"({"y": {}})"},
                         model);
  // A rank has one of two groups; a wrong one reads the first rank's features.
  ExpectProvedAndRefuted(
      {R"({"x": [2, 4, 6, 6], "w": [8, 2, 3, 3]})",
       R"({"op": "conv2d", "in": ["x", "w"], "out": "y", "attrs": {"groups": 2}})",
       R"({"x": {"1": "r"}, "w": {"0": "r"}})", R"({"op": "conv2d", "in": ["x", "w"], "out": "y"})",
       R"({"y": {"1": "r"}})"},
      R"({"op": "permute", "over": "r", "pairs": [[0, 1], [1, 0]], "in": "x", "out": "other"},
         {"op": "conv2d", "in": ["other", "w"], "out": "y"})");
}

TEST(ModelOperators, Poolings) {
  const char* max =
      R"({"op": "max_pool2d", "in": "x", "out": "y", "attrs": {"kernel_size": 3, "stride": 2, "padding": 1}})";
  // Padding with zeros is no padding of a maximum.
  ExpectProvedAndRefuted(
      {R"({"x": [2, 4, 7, 7]})", max, R"({"x": {"1": "r"}})", max, R"({"y": {"1": "r"}})"},
      R"({"op": "pad", "in": "x", "out": "p", "attrs": {"pad": [1, 1, 1, 1]}},
         {"op": "max_pool2d", "in": "p", "out": "y", "attrs": {"kernel_size": 3, "stride": 2}})");
  const char* mean =
      R"({"op": "avg_pool1d", "in": "x", "out": "y", "attrs": {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": false}})";
  ExpectProvedAndRefuted(
      {R"({"x": [2, 4, 7]})", mean, R"({"x": {"1": "r"}})", mean, R"({"y": {"1": "r"}})"},
      R"({"op": "avg_pool1d", "in": "x", "out": "y", "attrs": {"kernel_size": 3, "stride": 2, "padding": 1}})");
}

// Synchronised batch norm by sums of x and of its squares.
TEST(ModelOperators, SynchronisedBatchNorm) {
  const char* model =
      R"({"op": "batch_norm", "in": ["x", null, null, "g", "b"], "out": "y", "attrs": {"training": true}})";
  const char* plan =
      R"({"op": "sum", "in": "x", "out": "s1", "attrs": {"dim": [0, 2]}},
         {"op": "mul", "in": ["x", "x"], "out": "xx"},
         {"op": "sum", "in": "xx", "out": "s2", "attrs": {"dim": [0, 2]}},
         {"op": "all_reduce", "over": "r", "in": "s1", "out": "t1"},
         {"op": "all_reduce", "over": "r", "in": "s2", "out": "t2"},
         {"op": "div", "in": ["t1", 24], "out": "mean"}, {"op": "div", "in": ["t2", 24], "out": "square"},
         {"op": "mul", "in": ["mean", "mean"], "out": "mm"}, {"op": "sub", "in": ["square", "mm"], "out": "var"},
         {"op": "batch_norm", "in": ["x", "mean", "var", "g", "b"], "out": "y"})";
  ExpectProvedAndRefuted({R"({"x": [4, 2, 6], "g": [2], "b": [2]})", model,
                          R"({"x": {"0": "r"}, "g": {}, "b": {}})", plan, R"({"y": {"0": "r"}})"},
                         model);
}

TEST(ModelOperators, IndicesThatAreData) {
  const char* clip =
      R"({"op": "take", "in": ["x", "i"], "out": "y", "attrs": {"axis": 0, "mode": "clip"}})";
  ExpectProvedAndRefuted(
      {R"({"x": [8, 4], "i": "int64[6]"})", clip, R"({"x": {}, "i": {"0": "r"}})", clip,
       R"({"y": {"0": "r"}})"},
      R"({"op": "take", "in": ["x", "i"], "out": "y", "attrs": {"axis": 0, "mode": "fill", "fill_value": 0}})");
  const char* start =
      R"({"op": "dynamic_slice", "in": ["x", "i", 0], "out": "y", "attrs": {"slice_sizes": [3, 4]}})";
  ExpectProvedAndRefuted(
      {R"({"x": [8, 4], "i": "int64[1]"})", start, R"({"x": {}, "i": {}})", start, R"({"y": {}})"},
      R"({"op": "dynamic_slice", "in": ["x", 1, 0], "out": "y", "attrs": {"slice_sizes": [3, 4]}})");
  // Every rank adds its rows; what they are added to is added once.
  const char* add =
      R"({"op": "sub", "in": ["x", "x"], "out": "z"}, {"op": "index_add", "in": ["z", "i", "s"], "out": "y", "attrs": {"dim": 0}})";
  const char* parts =
      R"({"op": "sub", "in": ["x", "x"], "out": "z"}, {"op": "index_add", "in": ["z", "i", "s"], "out": "p", "attrs": {"dim": 0}},
         {"op": "all_reduce", "over": "r", "in": "p", "out": "y"})";
  ExpectProvedAndRefuted({R"({"x": [8, 4], "i": "int64[6]", "s": [6, 4]})", add,
                          R"({"x": {}, "i": {"0": "r"}, "s": {"0": "r"}})", parts, R"({"y": {}})"},
                         add);
}

// A promise that only the plan makes is not in the model.
TEST(ModelOperators, APlanMayNotPromiseMoreThanTheModel) {
  const Case c = {
      R"({"x": [8, 4], "i": "int64[6]"})",
      R"({"op": "take", "in": ["x", "i"], "out": "y", "attrs": {"axis": 0, "mode": "clip"}})",
      R"({"x": {}, "i": {"0": "r"}})",
      R"({"op": "index_select", "in": ["x", "i"], "out": "y", "attrs": {"dim": 0}})",
      R"({"y": {"0": "r"}})"};
  EXPECT_THAT(VerifyCase(c, c.plan), testing::Not(StartsWith("PROVED")));
}

}  // namespace
}  // namespace planproof::cli
