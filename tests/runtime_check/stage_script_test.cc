#include "runtime_check/stage_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using shape_reduction::Instantiate;
using shape_reduction::SmallProblem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Three operators, of which the plan has `second` in place of the second; all are claimed.
absl::StatusOr<StageScript> ScriptOfChain(const char* second, const std::string& name,
                                          const std::string& stage = "") {
  SmallProblem small;
  const TensorId x = small.Logical(name, {3});
  TensorId logical = x, parallel = small.Slice(x, {0}, {3});
  for (const char* op : {"exp", "exp", "exp"}) {
    const bool wrong = logical != x && small.problem.logical.operators.size() == 1;
    logical = small.Apply(&small.problem.logical, Instantiate(op, {{3}}), {logical});
    parallel = small.Apply(&small.problem.parallel, Instantiate(wrong ? second : op, {{3}}),
                           {parallel}, 0);
    small.problem.logical.tensors[logical].name = name + "'";
    small.problem.parallel.operators.back().source.text = name;
    small.problem.parallel.operators.back().name = name;
    if (small.problem.logical.operators.size() < 3) small.Claim(parallel, logical, {0});
  }
  small.Require(parallel, logical, {0});
  small.problem.lineage.resize(small.problem.parallel.tensors.size());
  small.Check();
  const auto inputs = RandomInputs(small.problem, DType::kFloat64, 1);
  if (!inputs.ok()) return inputs.status();
  Programs programs;
  return WriteStageScript(small.problem, *inputs, stage, name, &programs);
}

TEST(StageScript, ItHasTheOperatorsOfTheStageAndWhatTheyStartWith) {
  const auto script = ScriptOfChain("sin", "x");
  ASSERT_TRUE(script.ok()) << script.status();
  EXPECT_THAT(script->python, HasSubstr("\nmodel_x__2 = np.exp(model_x_)\n"));
  EXPECT_THAT(script->python, HasSubstr(" = np.sin(plan_"));
  EXPECT_THAT(script->python, Not(HasSubstr("model_x__3")));
  EXPECT_THAT(script->python, Not(HasSubstr("import math")));
  EXPECT_THAT(script->python, Not(HasSubstr("def ")));
  ASSERT_EQ(script->arrays.size(), 1u);
  EXPECT_EQ(script->arrays[0].name, "model_x_");
  EXPECT_EQ(script->arrays[0].reals.size(), 3u);
}

// Relations that somebody claims are taken where the numbers bear them out.
TEST(StageScript, BoundariesAreThoseThatAReplayConfirms) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {4});
  const TensorId y = small.Apply(&small.problem.logical, Instantiate("exp", {{4}}), {x});
  const TensorId z = small.Apply(&small.problem.logical, Instantiate("sin", {{4}}), {y});
  const TensorId held = small.Slice(x, {2}, {2});
  const TensorId part = small.Apply(&small.problem.parallel, Instantiate("exp", {{2}}), {held}, 0);
  const TensorId end = small.Apply(&small.problem.parallel, Instantiate("sin", {{2}}), {part}, 0);
  small.Require(end, z, {2});
  small.problem.lineage.resize(small.problem.parallel.tensors.size());
  small.Check();
  const auto inputs = RandomInputs(small.problem, DType::kFloat64, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  Programs programs;
  const auto taken = [&](TensorId logical, std::vector<sdfg::IndexMap> map) {
    const auto more =
        WithConfirmed(small.problem, {{part, logical, std::move(map)}}, *inputs, &programs);
    return more.ok() && more->lineage[part].kind == lineage::LineageKind::kFull;
  };
  EXPECT_TRUE(taken(y, {{2, {{.dim = 0}}}}));
  EXPECT_FALSE(taken(y, {{0, {{.dim = 0}}}}));        // other elements
  EXPECT_FALSE(taken(z, {{2, {{.dim = 0}}}}));        // another tensor
  EXPECT_FALSE(taken(y, {{2, {{.dim = 1 << 28}}}}));  // of a tensor with more dimensions
  EXPECT_FALSE(taken(y, {}));
}

TEST(StageScript, WhereNothingDiffersThereIsNone) {
  EXPECT_EQ(ScriptOfChain("exp", "x").status().code(), absl::StatusCode::kNotFound);
}

// Names, source texts and titles with quotes and ends of lines stay within their line.
TEST(StageScript, TextOfThePlanNeverBecomesALine) {
  const auto script = ScriptOfChain("sin", "\"\"\"\nimport os\r\nowned = 1\n'\"\"\"\\");
  ASSERT_TRUE(script.ok()) << script.status();
  int lines = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(script->python, '\n'))) {
    EXPECT_THAT(line, Not(StartsWith("import os")));
    EXPECT_THAT(line, Not(StartsWith("owned")));
    EXPECT_THAT(line, Not(HasSubstr("\r")));
    lines += line.starts_with("\"\"\"") ? 1 : 0;
  }
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(std::count(script->python.begin(), script->python.end(), '\\'), 0);
}

}  // namespace
}  // namespace planproof::runtime_check
