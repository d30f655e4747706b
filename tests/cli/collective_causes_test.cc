// The first line of a report names the collective, the sum or the term that is wrong; and not where
// something else, which looks alike, is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// What stands in a plan; the texts are JSON without the outer brackets.
struct Plan {
  std::string declarations;
  std::string model;  // inputs, parameters, operators, gradients, outputs of the specification
  std::string mesh;
  std::string inputs;
  std::string operators;
  std::string lineage;
};

std::string FirstLine(const Plan& plan) {
  static int number = 0;
  const std::string text = R"({"planproof": 1, "operators": [)" + plan.declarations +
                           R"(], "specification": {)" + plan.model + R"(}, "plan": {"mesh": {)" +
                           plan.mesh + R"(}, "programs": [{"inputs": {)" + plan.inputs +
                           R"(}, "operators": [)" + plan.operators + R"(], "lineage": {)" +
                           plan.lineage + "}}]}}";
  const std::string file =
      TemporaryFile("collective_cause" + std::to_string(++number) + ".json", text);
  const Finished finished = RunProgram("verify --no-cache -j 1 " + file);
  return finished.errors + finished.output.substr(0, finished.output.find('\n'));
}

constexpr char kProved[] = "PROVED";

// A linear layer with data parallelism, whose loss is the mean over all tokens. `end` makes
// "grad.w", as `outputs` wants it, from the gradient "d.w" of a rank's own mean.
std::string Gradient(const std::string& end, const std::string& reduction = "mean",
                     const std::string& output = "{}", const std::string& lineage = "") {
  return FirstLine(
      {.model = R"("inputs": {"x": [8, 6], "t": [8, 4]}, "parameters": {"w": [4, 6]}, "operators": [
         {"op": "linear", "in": ["x", "w"], "out": "y"},
         {"op": "mse_loss", "in": ["y", "t"], "out": "loss", "attrs": {"reduction": ")" +
                reduction + R"("}}],
         "gradients": {"loss": "loss", "of": ["w"]}, "outputs": {"grad.w": )" +
                output + "}",
       .mesh = R"("dp": 4)",
       .inputs = R"("x": {"0": "dp"}, "t": {"0": "dp"}, "w": {}, "grad.loss": {})",
       .operators = R"({"op": "linear", "in": ["x", "w"], "out": "y"},
         {"op": "mse_loss", "in": ["y", "t"], "out": "loss", "attrs": {"reduction": ")" +
                    reduction + R"("}},
         {"backward": "loss", "out": {"y": "grad.y"}},
         {"backward": "y", "out": {"w": "d.w"}},)" +
                    end,
       .lineage = R"("y": {"0": "dp"})" + lineage});
}

TEST(CollectiveCauses, ASumWhereAnAverageIsNeeded) {
  EXPECT_THAT(
      Gradient(
          R"({"op": "all_reduce", "over": "dp", "reduce": "avg", "in": "d.w", "out": "grad.w"})"),
      HasSubstr(kProved));
  EXPECT_THAT(Gradient(R"({"op": "all_reduce", "over": "dp", "in": "d.w", "out": "grad.w"})"),
              HasSubstr("stage grad.w: 4 times too large = size of dp: all_reduce (grad.w) adds "
                        "where an average is needed"));
  EXPECT_THAT(
      Gradient(
          R"({"op": "all_reduce", "over": "dp", "reduce": "avg", "in": "d.w", "out": "grad.w"})",
          "sum"),
      HasSubstr(
          "4 times too small = size of dp: all_reduce (grad.w) averages where a sum is needed"));
  // A factor that no collective is the reason for.
  const std::string scaled = Gradient(R"({"op": "mul", "in": ["d.w", 4], "out": "s.w"},
      {"op": "all_reduce", "over": "dp", "reduce": "avg", "in": "s.w", "out": "grad.w"})");
  EXPECT_THAT(scaled, HasSubstr("4 times too large = size of dp"));
  EXPECT_THAT(scaled, Not(HasSubstr("all_reduce")));
}

TEST(CollectiveCauses, AMultipleOfATensorIsNotReadInPlaceOfIt) {
  const std::string line =
      Gradient(R"({"op": "all_reduce", "over": "dp", "in": "d.w", "out": "grad.w"})", "mean", "{}",
               R"(, "grad.y": {"0": "dp", "factor": 4})");
  EXPECT_THAT(line, HasSubstr("4 times too large = size of dp: all_reduce (grad.w) adds"));
  EXPECT_THAT(line, Not(HasSubstr("in place of")));
}

TEST(CollectiveCauses, AnotherTensorUnderTheSameNameIsToldApart) {
  const std::string line = FirstLine({.model = R"("inputs": {"a": [4], "b": [4]}, "operators": [
      {"op": "silu", "in": "a", "out": "y"}, {"op": "silu", "in": "b", "out": "z"}],
      "outputs": {"y": {}, "z": {}})",
                                      .mesh = R"("dp": 2)",
                                      .inputs = R"("a": {"of": "b"}, "b": {})",
                                      .operators = R"({"op": "silu", "in": "a", "out": "y"},
      {"op": "silu", "in": "b", "out": "z"})"});
  EXPECT_THAT(line, HasSubstr("stage y: silu (y) reads a, which is b, in place of a"));
}

TEST(CollectiveCauses, AMissingAverageIsNoMissingSum) {
  const std::string forgotten = R"({"op": "identity", "in": "d.w", "out": "grad.w"})";
  EXPECT_THAT(Gradient(forgotten), HasSubstr("stage grad.w: average over dp missing"));
  EXPECT_THAT(Gradient(forgotten, "sum"), HasSubstr("stage grad.w: sum over dp missing"));
}

TEST(CollectiveCauses, WhatOneRankHoldsWhereAReductionIsNeeded) {
  const std::string last =
      R"({"op": "broadcast", "over": "dp", "root": 3, "in": "d.w", "out": "grad.w"})";
  EXPECT_THAT(Gradient(last, "sum"),
              HasSubstr("broadcast (grad.w) keeps what dp 3 holds where a sum over dp is needed"));
  EXPECT_THAT(
      Gradient(last),
      HasSubstr("broadcast (grad.w) keeps what dp 3 holds where an average over dp is needed"));
}

TEST(CollectiveCauses, ARankThatKeepsItsOwnPart) {
  const auto cut = [](const std::string& op) {
    return R"({"op": ")" + op + R"(", "over": "dp", "dim": 0, "in": "d.w", "out": "grad.w"})";
  };
  const std::string shards = R"({"0": "dp"})";
  EXPECT_THAT(Gradient(cut("reduce_scatter"), "sum", shards), HasSubstr(kProved));
  EXPECT_THAT(
      Gradient(cut("chunk"), "sum", shards),
      HasSubstr("chunk (grad.w) keeps its own part: a reduce_scatter over dp would be right"));
  EXPECT_THAT(Gradient(cut("chunk"), "mean", shards),
              HasSubstr("a reduce_scatter over dp that averages would be right"));
  EXPECT_THAT(Gradient(cut("reduce_scatter"), "mean", shards),
              HasSubstr("4 times too large = size of dp: reduce_scatter (grad.w) adds where an "
                        "average is needed"));
  // Every rank has the whole gradient already.
  EXPECT_THAT(
      Gradient(
          R"({"op": "all_reduce", "over": "dp", "in": "d.w", "out": "whole"},)" +
              std::string(
                  R"({"op": "reduce_scatter", "over": "dp", "dim": 0, "in": "whole", "out": "grad.w"})"),
          "sum", shards),
      HasSubstr("reduce_scatter (grad.w) adds over dp what every rank has whole: a chunk would be "
                "right"));
}

TEST(CollectiveCauses, OneTooMany) {
  EXPECT_THAT(
      Gradient(R"({"op": "all_reduce", "over": "dp", "in": "d.w", "out": "once"},
                          {"op": "all_reduce", "over": "dp", "in": "once", "out": "grad.w"})",
               "sum"),
      HasSubstr("4 times too large = size of dp: all_reduce (grad.w) over dp is one too many"));
}

// The layer norm of a hidden dimension that is cut over tp, of tokens cut over dp.
std::string Normalised(const std::string& center, const std::string& variance) {
  const std::string declarations = R"json(
      "op center_of(x[n, c]) -> m[n] = mean(c: x[n, c])",
      "op variance_of(x[n, c], m[n]) -> v[n] = mean(c: (x[n, c] - m[n]) ^ 2)",
      "op scaled(x[n, c], m[n], v[n]) -> y[n, c] = (x[n, c] - m[n]) * rsqrt(v[n] + 0.5)")json";
  const auto statistic = [](const std::string& name, const std::string& how) {
    return R"({"in": ")" + name + R"(.local", "out": ")" + name + R"(", )" + how + "},";
  };
  return FirstLine(
      {.declarations = declarations,
       .model = R"("inputs": {"x": [6, 8]}, "operators": [
         {"op": "center_of", "in": "x", "out": "m"}, {"op": "variance_of", "in": ["x", "m"], "out": "v"},
         {"op": "scaled", "in": ["x", "m", "v"], "out": "y"}], "outputs": {"y": {"1": ["tp", "sp"]}})",
       .mesh = R"("tp": 2, "sp": 2)",
       .inputs = R"("x": {"1": ["tp", "sp"]})",
       .operators = R"({"op": "center_of", "in": "x", "out": "center.local"},)" +
                    statistic("center", center) +
                    R"({"op": "variance_of", "in": ["x", "center"], "out": "variance.local"},)" +
                    statistic("variance", variance) +
                    R"({"op": "scaled", "in": ["x", "center", "variance"], "out": "y"})"});
}

TEST(CollectiveCauses, GroupsThatAreTooSmall) {
  const std::string whole = R"("op": "all_reduce", "reduce": "avg", "over": ["tp", "sp"])";
  const std::string half = R"("op": "all_reduce", "reduce": "avg", "over": "tp")";
  EXPECT_THAT(Normalised(whole, whole), HasSubstr(kProved));
  EXPECT_THAT(
      Normalised(half, half),
      HasSubstr(
          "all_reduce (center), all_reduce (variance) run over tp: over tp, sp would be right"));
  const std::string one = Normalised(half, whole);
  EXPECT_THAT(one, HasSubstr("all_reduce (center) runs over tp: over tp, sp would be right"));
  EXPECT_THAT(one, Not(HasSubstr("(variance)")));
  const std::string other = Normalised(whole, half);
  EXPECT_THAT(other, HasSubstr("all_reduce (variance) runs over tp: over tp, sp would be right"));
  EXPECT_THAT(other, Not(HasSubstr("(center)")));
}

TEST(CollectiveCauses, ReductionsThatAreMissingWithinAStage) {
  const std::string whole = R"("op": "all_reduce", "reduce": "avg", "over": ["tp", "sp"])";
  const std::string none = R"("op": "identity")";
  EXPECT_THAT(
      Normalised(none, none),
      HasSubstr("average over tp, sp missing after identity (center), identity (variance)"));
  EXPECT_THAT(Normalised(whole, none),
              HasSubstr("average over tp, sp missing after identity (variance)"));
}

TEST(CollectiveCauses, AFactorOfSeveralAxesNamesThem) {
  EXPECT_THAT(
      FirstLine({.model = R"("inputs": {"x": [8, 6]}, "operators": [
           {"op": "sum", "in": "x", "out": "y", "attrs": {"dim": 0}}], "outputs": {"y": {}})",
                 .mesh = R"("dp": 2, "sp": 4)",
                 .inputs = R"("x": {"0": ["dp", "sp"]})",
                 .operators = R"({"op": "sum", "in": "x", "out": "part", "attrs": {"dim": 0}},
           {"op": "all_reduce", "over": ["dp", "sp"], "reduce": "avg", "in": "part", "out": "y"})"}),
      HasSubstr("8 times too small = size of dp times size of sp: all_reduce (y) averages"));
}

TEST(CollectiveCauses, SumsOfSeveralStatisticsWhereAveragesAreNeeded) {
  const std::string average = R"("op": "all_reduce", "reduce": "avg", "over": ["tp", "sp"])";
  const std::string sum = R"("op": "all_reduce", "over": ["tp", "sp"])";
  EXPECT_THAT(
      Normalised(sum, sum),
      HasSubstr("all_reduce (center), all_reduce (variance) add where an average is needed"));
  const std::string one = Normalised(average, sum);
  EXPECT_THAT(one, HasSubstr("all_reduce (variance) adds where an average is needed"));
  EXPECT_THAT(one, Not(HasSubstr("(center)")));
}

// A product of two ranks' parts, then a bias.
std::string Biased(const std::string& operators, const std::string& bias = "add") {
  return FirstLine(
      {.model = R"("inputs": {"x": [4, 8]}, "parameters": {"w": [6, 8], "b": [6]}, "operators": [
         {"op": "linear", "in": ["x", "w"], "out": "h"}, {"op": ")" +
                bias + R"(", "in": ["h", "b"], "out": "y"}], "outputs": {"y": {}})",
       .mesh = R"("tp": 2, "dp": 3)",
       .inputs = R"("x": {"1": "tp"}, "w": {"1": "tp"}, "b": {})",
       .operators = operators});
}

TEST(CollectiveCauses, ATermThatEveryRankAdds) {
  EXPECT_THAT(Biased(R"({"op": "linear", "in": ["x", "w", "b"], "out": "part"},
                        {"op": "all_reduce", "over": "tp", "in": "part", "out": "y"})"),
              HasSubstr("stage y: b is added 2 times = size of tp"));
  // The whole is too large, not the term.
  const std::string whole = Biased(R"({"op": "linear", "in": ["x", "w"], "out": "part"},
      {"op": "all_reduce", "over": "tp", "in": "part", "out": "h"},
      {"op": "add", "in": ["h", "b"], "out": "half"}, {"op": "mul", "in": ["half", 3], "out": "y"})");
  EXPECT_THAT(whole, HasSubstr("stage y: 3 times too large = size of dp"));
  EXPECT_THAT(whole, Not(HasSubstr("is added")));
}

TEST(CollectiveCauses, ATermThatCountsTooLittleOrWithTheWrongSign) {
  const std::string product = R"({"op": "linear", "in": ["x", "w"], "out": "part"},
      {"op": "all_reduce", "over": "tp", "in": "part", "out": "h"},)";
  EXPECT_THAT(Biased(product + R"({"op": "mul", "in": ["b", 0.5], "out": "b.half"},
                                  {"op": "add", "in": ["h", "b.half"], "out": "y"})"),
              HasSubstr("b.half counts 1/2 of what it must"));
  EXPECT_THAT(Biased(product + R"({"op": "sub", "in": ["h", "b"], "out": "y"})"),
              HasSubstr("b counts with the wrong sign"));
  EXPECT_THAT(Biased(product + R"({"op": "identity", "in": "h", "out": "y"})"),
              Not(HasSubstr("counts")));
}

TEST(CollectiveCauses, ATermThatNothingReads) {
  const std::string model = R"("inputs": {"x": [4, 8]}, "operators": [
      {"op": "silu", "in": "x", "out": "a"}, {"op": "gelu", "in": "x", "out": "b"},
      {"op": "add", "in": ["a", "b"], "out": "y"}], "outputs": {"y": {"0": "dp"}OTHER})";
  const auto plan = [&](const std::string& other) {
    std::string filled = model;
    return FirstLine({.model = filled.replace(filled.find("OTHER"), 5, other),
                      .mesh = R"("dp": 2)",
                      .inputs = R"("x": {"0": "dp"})",
                      .operators = R"({"op": "silu", "in": "x", "out": "a"},
                        {"op": "gelu", "in": "x", "out": "b"}, {"op": "identity", "in": "a", "out": "y"})"});
  };
  EXPECT_THAT(plan(""), HasSubstr("stage y: b, which nothing reads, is not added"));
  // It is an output of its own.
  EXPECT_THAT(plan(R"(, "b": {"0": "dp"})"), Not(HasSubstr("which nothing reads")));
}

TEST(CollectiveCauses, AnOperandFromBeforeTheCollective) {
  const auto plan = [](const std::string& gradient, const std::string& reads) {
    return FirstLine(
        {.declarations = R"("op momentum(m[a], g[a]) -> n[a] = 0.875 * m[a] + g[a]")",
         .model = R"("inputs": {"x": [4, 8], "m": [8]}, "operators": [
           {"op": "mean", "in": "x", "out": "g", "attrs": {"dim": 0}},
           {"op": "momentum", "in": ["m", "g"], "out": "n"}], "outputs": {"n": {}, "g": {}})",
         .mesh = R"("dp": 2)",
         .inputs = R"("x": {"0": "dp"}, "m": {})",
         .operators = R"({"op": "mean", "in": "x", "out": "d", "attrs": {"dim": 0}},)" + gradient +
                      R"({"op": "momentum", "in": ["m", ")" + reads + R"("], "out": "n"})"});
  };
  const std::string averaged =
      R"({"op": "all_reduce", "over": "dp", "reduce": "avg", "in": "d", "out": "g"},)";
  EXPECT_THAT(plan(averaged, "g"), HasSubstr(kProved));
  EXPECT_THAT(plan(averaged, "d"), HasSubstr("momentum (n) reads d from before all_reduce (g)"));
}

TEST(CollectiveCauses, AMeanOfMeansIsNoWrongConstant) {
  const auto plan = [](const std::string& reduce) {
    return FirstLine(
        {.declarations = R"json("op mean_square(x[a, b]) -> y[b] = mean(a: x[a, b] ^ 2)")json",
         .model = R"("inputs": {"x": [8, 4]}, "operators": [
           {"op": "mean_square", "in": "x", "out": "y"}], "outputs": {"y": {}})",
         .mesh = R"("dp": 4)",
         .inputs = R"("x": {"0": "dp"})",
         .operators = R"({"op": "mean_square", "in": "x", "out": "part"},
           {"op": "all_reduce", "over": "dp", "reduce": ")" +
                      reduce + R"(", "in": "part", "out": "y"})"});
  };
  EXPECT_THAT(plan("avg"), HasSubstr(kProved));
  EXPECT_THAT(plan("sum"),
              HasSubstr("stage y: 4 times too large = size of dp: all_reduce (y) adds"));
}

// The constant is twice the model's where the operand has half of its elements.
TEST(CollectiveCauses, AWrongConstantOfAPartIsNoCount) {
  const std::string line =
      FirstLine({.model = R"("inputs": {"x": [8, 4]}, "operators": [
      {"op": "mul", "in": ["x", 0.125], "out": "y"}], "outputs": {"y": {"0": "dp"}})",
                 .mesh = R"("dp": 2)",
                 .inputs = R"("x": {"0": "dp"})",
                 .operators = R"({"op": "mul", "in": ["x", 0.25], "out": "y"})"});
  EXPECT_THAT(line, HasSubstr("a constant of mul (y) is 1/4, in the model it is 1/8"));
}

// One tensor that is cut over two axes, gathered; and one that every rank has, cut.
std::string Reordered(const std::string& held, const std::string& op, const std::string& required) {
  return FirstLine({.model = R"("inputs": {"x": [12, 4]}, "operators": [
           {"op": "silu", "in": "x", "out": "y"}], "outputs": {"y": )" +
                             required + "}",
                    .mesh = R"("a": 2, "b": 3)",
                    .inputs = R"("x": )" + held,
                    .operators = R"({"op": "silu", "in": "x", "out": "z"}, )" + op});
}

TEST(CollectiveCauses, AxesInTheOtherOrder) {
  const auto run = [](const std::string& op, const std::string& over) {
    return R"({"op": ")" + op + R"(", "dim": 0, "over": )" + over + R"(, "in": "z", "out": "y"})";
  };
  const std::string ab = R"(["a", "b"])", ba = R"(["b", "a"])";
  EXPECT_THAT(Reordered(R"({"0": ["a", "b"]})", run("all_gather", ab), "{}"), HasSubstr(kProved));
  EXPECT_THAT(Reordered(R"({"0": ["a", "b"]})", run("all_gather", ba), "{}"),
              HasSubstr("all_gather (y) runs over b, a: over a, b would be right"));
  EXPECT_THAT(Reordered("{}", run("chunk", ab), R"({"0": ["a", "b"]})"), HasSubstr(kProved));
  EXPECT_THAT(Reordered("{}", run("chunk", ab), R"({"0": ["b", "a"]})"),
              HasSubstr("chunk (y) runs over a, b: over b, a would be right"));
  // Other rows, but not those of another order.
  EXPECT_THAT(Reordered(R"({"map": ["(i0 + 2 * b + 6 * a + 1) % 12", "i1"], "shape": [2, 4]})",
                        run("all_gather", ba), "{}"),
              Not(HasSubstr("would be right")));
}

// Columns are cut over tp, tokens over dp: the scatter's own sum is over one of them.
TEST(CollectiveCauses, AReductionOverTooFewAxes) {
  const auto plan = [](const std::string& over) {
    return FirstLine({.model = R"("inputs": {"x": [8, 6]}, "operators": [
           {"op": "sum", "in": "x", "out": "y", "attrs": {"dim": 0}}], "outputs": {"y": {}})",
                      .mesh = R"("dp": 2, "sp": 2)",
                      .inputs = R"("x": {"0": ["dp", "sp"]})",
                      .operators = R"({"op": "sum", "in": "x", "out": "part", "attrs": {"dim": 0}},
           {"op": "all_reduce", "over": )" +
                                   over + R"(, "in": "part", "out": "y"})"});
  };
  EXPECT_THAT(plan(R"(["dp", "sp"])"), HasSubstr(kProved));
  EXPECT_THAT(plan(R"("sp")"),
              HasSubstr("stage y: all_reduce (y) runs over sp: over sp, dp would be right"));
}

TEST(CollectiveCauses, AShiftTheOtherWay) {
  const auto plan = [](int shift) {
    return FirstLine({.model = R"("inputs": {"x": [6, 4]}, "operators": [
           {"op": "silu", "in": "x", "out": "a"},
           {"op": "narrow", "in": "a", "out": "last", "attrs": {"dim": 0, "start": 4, "length": 2}},
           {"op": "narrow", "in": "a", "out": "first", "attrs": {"dim": 0, "start": 0, "length": 4}},
           {"op": "concat", "in": ["last", "first"], "out": "y", "attrs": {"dim": 0}}], "outputs": {"y": {"0": "cp"}})",
                      .mesh = R"("cp": 3)",
                      .inputs = R"("x": {"0": "cp"})",
                      .operators = R"({"op": "silu", "in": "x", "out": "a"},
           {"op": "permute", "over": "cp", "shift": )" +
                                   std::to_string(shift) + R"(, "in": "a", "out": "y"})"});
  };
  EXPECT_THAT(plan(1), HasSubstr(kProved));
  EXPECT_THAT(plan(-1), HasSubstr("permute (y) shifts by -1 where a shift by 1 over cp is needed"));
}

}  // namespace
}  // namespace planproof::cli
