// An operator of the user's own, from its declaration file to verdicts: examples/own_operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

std::string ReadText(const std::string& path) {
  std::ifstream stream(path);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::string OwnOperator(const std::string& name) {
  return RepositoryPath("examples/own_operator/" + name);
}

// The text with `from`, which must occur, replaced by `to` throughout.
std::string ReplacedThroughout(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

Finished VerifyWith(const std::string& plan, const std::string& declarations) {
  return RunProgram("verify " + plan + " --operators " + declarations);
}

TEST(OwnOperator, IsDeclaredInAtMostFiveLines) {
  const std::string text = ReadText(OwnOperator("squared_relu_linear.op"));
  EXPECT_FALSE(text.empty());
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 5);
}

TEST(OwnOperator, IsUsedInAProofOfTheForwardAndOfBothGradients) {
  const Finished finished =
      VerifyWith(OwnOperator("tp2.json"), OwnOperator("squared_relu_linear.op"));
  EXPECT_EQ(finished.exit_code, 0) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("PROVED"));
  EXPECT_THAT(finished.output, HasSubstr("grad.w1: grad.w1 = "));
  EXPECT_THAT(finished.output, HasSubstr("grad.w2: grad.w2 = "));
  EXPECT_THAT(finished.output, HasSubstr("3 required, 3 claimed"));
}

TEST(OwnOperator, IsNamedInARefutation) {
  const Finished finished =
      VerifyWith(OwnOperator("tp2_broken.json"), OwnOperator("squared_relu_linear.op"));
  EXPECT_EQ(finished.exit_code, 1) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("REFUTED: stage y: 2 times too small"));
  EXPECT_THAT(finished.output, HasSubstr("squared_relu_linear (y), at primer.py:9"));
}

// The plan's own backward of the operator is checked too, not only derived twice alike.
TEST(OwnOperator, AWrongGradientIsRefuted) {
  const std::string plan =
      ReplacedThroughout(ReadText(OwnOperator("tp2.json")), R"({"backward": "h"})",
                         R"({"op": "mul", "in": ["grad.h", 2], "out": "twice"},
        {"backward": "h", "grad": {"h": "twice"}})");
  const Finished finished =
      VerifyWith(TemporaryFile("twice.json", plan), OwnOperator("squared_relu_linear.op"));
  EXPECT_EQ(finished.exit_code, 1) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("REFUTED: stage grad.w1"));
}

// One operator in place of another: the same names, another meaning.
TEST(OwnOperator, ItsDeclarationDecides) {
  const std::string plain = TemporaryFile(
      "plain.op",
      ReplacedThroughout(ReadText(OwnOperator("squared_relu_linear.op")), "ties zero\n", "\n"));
  EXPECT_EQ(VerifyWith(OwnOperator("tp2.json"), plain).exit_code, 64);  // max without a tie rule
  const std::string mean = TemporaryFile(
      "mean.op",
      ReplacedThroughout(ReadText(OwnOperator("squared_relu_linear.op")), "= sum(k", "= mean(k"));
  const Finished finished = VerifyWith(OwnOperator("tp2.json"), mean);
  EXPECT_EQ(finished.exit_code, 1) << finished.output;  // a mean of halves is summed
}

TEST(OwnOperator, WithoutItsDeclarationThePlanIsUnknownAndTheMessageSaysWhatToDo) {
  const Finished finished = RunProgram("verify -q " + OwnOperator("tp2.json"));
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.output, HasSubstr("operator 'squared_relu_linear' is not declared"));
  EXPECT_THAT(finished.output, HasSubstr("--operators"));
}

struct WrongDeclaration {
  const char* kind;
  const char* from;
  const char* to;
  const char* place;  // line and column
  const char* says;
};

class WrongDeclarations : public testing::TestWithParam<WrongDeclaration> {};

TEST_P(WrongDeclarations, AreReportedInOneLineWithPlaceAndRemedy) {
  const WrongDeclaration& wrong = GetParam();
  const std::string file = TemporaryFile(
      "wrong.op",
      ReplacedThroughout(ReadText(OwnOperator("squared_relu_linear.op")), wrong.from, wrong.to));
  for (const std::string& command : {"verify " + OwnOperator("tp2.json") + " --operators " + file,
                                     "operators --operators " + file}) {
    const Finished finished = RunProgram(command);
    EXPECT_EQ(finished.exit_code, 64) << finished.output;
    EXPECT_EQ(finished.output, "");
    EXPECT_EQ(std::count(finished.errors.begin(), finished.errors.end(), '\n'), 1);
    EXPECT_THAT(finished.errors, HasSubstr(file + ":" + wrong.place + ": "));
    EXPECT_THAT(finished.errors, HasSubstr(wrong.says));
    EXPECT_THAT(finished.errors, HasSubstr("expected "));
  }
}

INSTANTIATE_TEST_SUITE_P(
    OwnOperator, WrongDeclarations,
    testing::Values(WrongDeclaration{"Syntax", "w[n, k])\n", "w[n, k]\n", "3:3", "found 'ties'"},
                    WrongDeclaration{"UnfinishedLine", "* w[n, k])\n", "*", "4:48",
                                     "found the end of the file"},
                    WrongDeclaration{"UnknownIndex", "^ 2 * w[n, k]", "^ 2 * w[m, k]", "4:51",
                                     "'m' is not known here"},
                    WrongDeclaration{"UnknownOperand", "^ 2 * w[n, k]", "^ 2 * v[n, k]", "4:49",
                                     "'v' is not known here"},
                    WrongDeclaration{"UnknownFunction", "max(x[b.., k], 0)", "relu(x[b.., k])",
                                     "4:25", "'relu' is no function"},
                    WrongDeclaration{"WrongShape", "^ 2 * w[n, k]", "^ 2 * w[n, k, 0]", "4:49",
                                     "operand 'w' has 2 dimensions, but is read with 3 indices"},
                    WrongDeclaration{"OpenIndex", "sum(k: max(x[b.., k], 0) ^ 2 * w[n, k])",
                                     "max(x[b.., k], 0) ^ 2 * w[n, k]", "4:29",
                                     "index 'k' is not a dimension of the output"},
                    WrongDeclaration{"NoTieRule", "  ties zero\n", "\n", "4:25",
                                     "'max' has a kink"},
                    WrongDeclaration{"BuiltInName", "op squared_relu_linear", "op linear", "2:1",
                                     "operator 'linear' is already declared"}),
    [](const auto& info) { return info.param.kind; });

TEST(OwnOperator, OperandsThatDoNotFitItAreMalformedWithPlaceAndBothExtents) {
  const std::string plan =
      TemporaryFile("shape.json", ReplacedThroughout(ReadText(OwnOperator("tp2.json")),
                                                     R"("w2": [64, 256])", R"("w2": [64, 255])"));
  const Finished finished =
      RunProgram("verify -q " + plan + " --operators " + OwnOperator("squared_relu_linear.op"));
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.output, ContainsRegex("shape.json:9: /specification/operators/1: "));
  EXPECT_THAT(finished.output, HasSubstr("operator squared_relu_linear: operand w has extent 255"));
  EXPECT_THAT(finished.output, HasSubstr("operand x in dimension 1 has extent 256"));
}

}  // namespace
}  // namespace planproof::cli
