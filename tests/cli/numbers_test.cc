// What numbers say about small plans: no wrong REFUTED, none missed, and no verdict lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A file with a model and a plan of one program; `declarations`: operators that it brings along.
struct Pair {
  std::string inputs, model, outputs;
  std::string mesh, program_inputs, program;
  std::string declarations = "[]";
  std::string more;  // keys of the specification
};

Finished VerifyPair(const Pair& pair, const std::string& options = "") {
  const std::string text = "{\"planproof\": 1, \"operators\": " + pair.declarations +
                           ",\n\"specification\": {\"inputs\": " + pair.inputs +
                           ", \"operators\": " + pair.model + ", \"outputs\": " + pair.outputs +
                           pair.more + "},\n\"plan\": {\"mesh\": " + pair.mesh +
                           ", \"programs\": [{\"inputs\": " + pair.program_inputs +
                           ", \"operators\": " + pair.program + "}]}}\n";
  return RunProgram("verify --no-cache " + options + " " + TemporaryFile("pair.json", text));
}

// where(b, x, 0) against b x.
TEST(Numbers, ATruthValueIsNotAFraction) {
  Pair pair;
  pair.inputs = R"({"b": "bool[8]", "x": [8]})";
  pair.model = R"([{"op": "where", "in": ["b", "x", 0], "out": "y"}])";
  pair.outputs = R"({"y": {"0": "dp"}})";
  pair.mesh = R"({"dp": 2})";
  pair.program_inputs = R"({"b": {"0": "dp"}, "x": {"0": "dp"}})";
  pair.program = R"([{"op": "to", "in": "b", "out": "f", "attrs": {"dtype": "float32"}},
                     {"op": "mul", "in": ["f", "x"], "out": "y"}])";
  const Finished right = VerifyPair(pair);
  EXPECT_NE(right.exit_code, 1) << right.output;
  pair.program = R"([{"op": "to", "in": "b", "out": "f", "attrs": {"dtype": "float32"}},
                     {"op": "sub", "in": [1, "f"], "out": "n"},
                     {"op": "mul", "in": ["n", "x"], "out": "y"}])";
  const Finished wrong = VerifyPair(pair);
  EXPECT_EQ(wrong.exit_code, 1) << wrong.output;
}

// Cross entropy over two ranks, some tokens of which are ignored.
Pair IgnoredTokens(const std::string& program) {
  Pair pair;
  pair.inputs = R"({"x": [8, 16], "t": "int64[8]"})";
  pair.model = R"([{"op": "cross_entropy", "in": ["x", "t"], "out": "loss"}])";
  pair.outputs = R"({"loss": {}})";
  pair.mesh = R"({"dp": 2})";
  pair.program_inputs = R"({"x": {"0": "dp"}, "t": {"0": "dp"}})";
  pair.program = program;
  return pair;
}

std::string SumOverCount(const std::string& ignored) {
  return R"([{"op": "cross_entropy", "in": ["x", "t"], "out": "part",
              "attrs": {"reduction": "sum"}},
             {"op": "all_reduce", "over": "dp", "in": "part", "out": "total"},
             {"op": "ne", "in": ["t", )" +
         ignored + R"(], "out": "m"},
             {"op": "to", "in": "m", "out": "f", "attrs": {"dtype": "float32"}},
             {"op": "sum", "in": "f", "out": "own"},
             {"op": "all_reduce", "over": "dp", "in": "own", "out": "count"},
             {"op": "div", "in": ["total", "count"], "out": "loss"}])";
}

TEST(Numbers, AMeanOfMeansIsRefutedWhereTokensAreIgnored) {
  const Finished wrong = VerifyPair(IgnoredTokens(
      R"([{"op": "cross_entropy", "in": ["x", "t"], "out": "part"},
          {"op": "all_reduce", "over": "dp", "reduce": "avg", "in": "part", "out": "loss"}])"));
  EXPECT_EQ(wrong.exit_code, 1) << wrong.output;
  EXPECT_THAT(wrong.output, StartsWith("REFUTED: stage loss: a mean of means: cross_entropy"));
  EXPECT_THAT(wrong.output, HasSubstr("-100"));
}

TEST(Numbers, ASumOverAGlobalCountIsProved) {
  const Finished right = VerifyPair(IgnoredTokens(SumOverCount("-100")));
  EXPECT_EQ(right.exit_code, 0) << right.output;
}

TEST(Numbers, AnotherIgnoredIndexIsRefutedWithoutAnInventedFactor) {
  const Finished wrong = VerifyPair(IgnoredTokens(SumOverCount("-99")));
  EXPECT_EQ(wrong.exit_code, 1) << wrong.output;
  EXPECT_THAT(wrong.output, Not(HasSubstr(" times ")));
}

TEST(Numbers, AMeanOverMicrobatchesIsRefutedWhereTokensAreIgnored) {
  const std::string text = R"({"planproof": 1,
    "specification": {"inputs": {"x": [8, 16], "t": "int64[8]"}, "parameters": {"w": [32, 16]},
      "operators": [{"op": "linear", "in": ["x", "w"], "out": "h"},
                    {"op": "cross_entropy", "in": ["h", "t"], "out": "loss"}],
      "gradients": {"loss": "loss", "of": ["w"]}, "outputs": {"grad.w": {}}},
    "plan": {"mesh": {"dp": 2}, "microbatches": 2, "programs": [{
      "inputs": {"x": {"0": ["dp", "microbatch"]}, "t": {"0": ["dp", "microbatch"]}, "w": {},
                 "grad.loss": {}},
      "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "h"},
        {"op": "cross_entropy", "in": ["h", "t"], "out": "l"},
        {"op": "mul", "in": ["grad.loss", 0.25], "out": "gl"},
        {"backward": "l", "grad": {"l": "gl"}},
        {"backward": "h", "out": {"w": "part"}},
        {"op": "accumulate", "in": "part", "out": "own"},
        {"op": "all_reduce", "over": "dp", "in": "own", "out": "grad.w"}]}]}})";
  const Finished wrong =
      RunProgram("verify --no-cache " + TemporaryFile("microbatches.json", text));
  EXPECT_EQ(wrong.exit_code, 1) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("-100"));
}

// The second of two parts of a vocabulary begins one row too late: at one id only.
TEST(Numbers, AVocabularyPartThatBeginsTooLateIsRefuted) {
  Pair pair;
  pair.inputs = R"({"id": "int64[6]", "w": [5000, 4]})";
  pair.model = R"([{"op": "embedding", "in": ["id", "w"], "out": "y"}])";
  pair.outputs = R"({"y": {}})";
  pair.mesh = R"({"tp": 2})";
  pair.program_inputs = R"({"id": {}, "w": {"0": "tp"}})";
  const auto program = [](const std::string& start) {
    return R"([{"op": "embedding", "in": ["id", "w"], "out": "part", "attrs": {"start": ")" +
           start +
           R"(", "stop": "=tp * 2500 + 2500"}},
               {"op": "all_reduce", "over": "tp", "in": "part", "out": "y"}])";
  };
  pair.program = program("=tp * 2500");
  EXPECT_EQ(VerifyPair(pair).exit_code, 0);
  pair.inputs = R"({"id": "int64[6]", "w": [5000, 4]})";
  pair.model = R"([{"op": "ne", "in": ["id", 2500], "out": "m"},
                   {"op": "to", "in": "m", "out": "f", "attrs": {"dtype": "float32"}}])";
  pair.outputs = R"({"f": {}})";
  pair.program_inputs = R"({"id": {}})";
  pair.program = R"([{"op": "ne", "in": ["id", 2501], "out": "m"},
                     {"op": "to", "in": "m", "out": "f", "attrs": {"dtype": "float32"}}])";
  EXPECT_EQ(VerifyPair(pair).exit_code, 1);
}

// Sums over more indices than 2^53, and than 64 bits count. What proves nothing refutes nothing.
TEST(Numbers, SumsOverEnormousRangesGiveNoWrongVerdict) {
  Pair pair;
  pair.inputs = R"({"x": [8]})";
  pair.outputs = R"({"y": {}})";
  pair.mesh = R"({"dp": 2})";
  pair.program_inputs = R"({"x": {}})";
  const auto with = [&](const std::string& body, const std::string& k, const std::string& factor) {
    pair.declarations = R"(["op series(x[n]) {k: int, l: int} -> y[n] = )" + body + "\"]";
    pair.model =
        R"([{"op": "series", "in": "x", "out": "y", "attrs": {"k": )" + k + R"(, "l": 16}}])";
    pair.program = R"([{"op": "mul", "in": ["x", )" + factor + R"(], "out": "y"}])";
    return VerifyPair(pair).exit_code;
  };
  const std::string one = " * (sin(x[n]) ^ 2 + cos(x[n]) ^ 2)";  // that is not seen
  for (const std::string k :
       {"1099511627776", "1152921504606846976", "2305843009213693952", "9223372036854775807"}) {
    EXPECT_NE(with("sum(j < k: [j < 5] * x[n])" + one, k, "5"), 1) << k;
    EXPECT_NE(with("sum(j < k: [j < 5] * x[n])", k, "4"), 0) << k;
    EXPECT_NE(with("sum(j < k: x[n])" + one, k, k), 1) << k;
    // A positive sum is not 0.
    EXPECT_NE(with("sum(j < k: sum(i < l: exp(sin(j + 3 * i) * x[n])))", k, "0"), 0) << k;
    EXPECT_NE(with("sum(j < k: sum(i < l: exp(sin(16 * j + i) * x[n])))", k, "0"), 0) << k;
  }
  EXPECT_EQ(with("sum(j < k: [j < 5] * x[n])", "1099511627776", "5"), 0);
  EXPECT_EQ(with("sum(j < k: x[n])", "1099511627776", "1099511627776"), 0);
  EXPECT_EQ(with("sum(j < k: x[n])", "1099511627776", "1099511627775"), 1);
}

// Operands of one shape, one of which is cut over ranks: to exchange them is no explanation.
TEST(Numbers, OperandsThatAreCutInAnotherWayAreNotExchangedInRepairs) {
  Pair pair;
  const auto declaration = [](const std::string& name, const std::string& factor) {
    return "\"op " + name +
           R"op((x[n, (g:groups c), s], w[(g c), s]) {groups: int}",
              "  let m[n1, g1] = mean(c1 < (extent(c)), s1 < (extent(s)): x[n1, (g1 c1), s1])",
              "  -> y[n, (g c), s] = (x[n, (g c), s] - m[n, g]) * w[(g c), s] * )op" +
           factor + "\"";
  };
  pair.declarations =
      "[" + declaration("group_norm1", "1") + ", " + declaration("group_norm2", "2") + "]";
  pair.inputs = R"({"x": [2, 4, 6], "w": [8, 6]})";
  pair.model = R"([
    {"op": "narrow", "in": "w", "out": "w0", "attrs": {"dim": 0, "start": 0, "length": 4}},
    {"op": "narrow", "in": "w", "out": "w1", "attrs": {"dim": 0, "start": 4, "length": 4}},
    {"op": "group_norm1", "in": ["x", "w0"], "out": "y0", "attrs": {"groups": 2}},
    {"op": "group_norm1", "in": ["x", "w1"], "out": "y1", "attrs": {"groups": 2}},
    {"op": "concat", "in": ["y0", "y1"], "out": "y", "attrs": {"dim": 1}}])";
  pair.outputs = R"({"y": {"1": "tp"}})";
  pair.mesh = R"({"tp": 2})";
  pair.program_inputs = R"({"x": {}, "w": {"0": "tp"}})";
  pair.program = R"([{"op": "group_norm2", "in": ["x", "w"], "out": "y", "attrs": {"groups": 2}}])";
  const Finished wrong = VerifyPair(pair);
  EXPECT_EQ(wrong.exit_code, 1) << wrong.output << wrong.errors;
  EXPECT_THAT(wrong.output, StartsWith("REFUTED: stage y: 2 times too large"));
  pair.program = R"([{"op": "group_norm1", "in": ["x", "w"], "out": "y", "attrs": {"groups": 2}}])";
  EXPECT_NE(VerifyPair(pair).exit_code, 1);
}

}  // namespace
}  // namespace planproof::cli
