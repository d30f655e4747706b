// Rings whose rounds are folded: what is right is proved for any number of ranks, a ring in which
// one round does something else is not, and folded tensors have the values of those they stand for.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/plan/read_plan.h"
#include "inference/relation_inference.h"
#include "lineage/rounds/fold_rounds.h"
#include "lineage/rounds/rounds.h"
#include "sdfg/dense_evaluator.h"
#include "strategy/verify.h"

namespace planproof::inference {
namespace {

using sdfg::DenseTensor;
using sdfg::kNone;
using sdfg::TensorId;

constexpr char kOperators[] = R"--(
 "op next_max(before[b.., i], s[b.., i, j]) stop_gradient ties first",
 "  -> m[b.., i] = max(before[b.., i], max(j: s[b.., i, j]))",
 "op weights(s[b.., i, j], m[b.., i]) -> p[b.., i, j] = exp(s[b.., i, j] - m[b.., i])",
 "op next_sum(before[b.., i], m0[b.., i], m1[b.., i], p[b.., i, j])",
 "  -> l[b.., i] = before[b.., i] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j])",
 "op next_result(before[b.., i, d], m0[b.., i], m1[b.., i], p[b.., i, j], v[b.., j, d])",
 "  -> o[b.., i, d] = before[b.., i, d] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j] * v[b.., j, d])",
 "op finish(o[b.., i, d], l[b.., i]) -> y[b.., i, d] = o[b.., i, d] / l[b.., i]",
 "op probabilities(s[b.., i, j], m[b.., i], l[b.., i]) -> p[b.., i, j] = exp(s[b.., i, j] - m[b.., i]) / l[b.., i]")--";

// A ring of `ranks`, in which text of a round may be replaced: by the name of what it makes.
struct RoundRing {
  int ranks = 8;
  int step = 1;
  std::map<std::string, std::string> instead;  // "k[5]": the operator that makes it
  std::string outputs = R"("o": {"1": "cp"}, "gv": {"1": "cp"}, "gq": {"1": "cp"})";

  std::string Line(const std::string& made, const std::string& text) const {
    const auto other = instead.find(made);
    return absl::StrCat(other == instead.end() ? text : other->second, ",\n");
  }
  static std::string Op(const std::string& name, const std::string& in, const std::string& out,
                        const std::string& equation = "") {
    return absl::StrCat(R"({"op": ")", name, R"(", "in": [)", in, R"(], "out": ")", out, "\"",
                        equation.empty() ? ""
                        : equation == "dim"
                            ? R"(, "attrs": {"dim": -1})"
                            : absl::StrCat(R"(, "attrs": {"equation": ")", equation, "\"}"),
                        "}");
  }
  std::string Hop(const std::string& in, const std::string& out, int by = 0) const {
    return absl::StrCat(R"({"op": "permute", "over": "cp", "shift": )", by == 0 ? step : by,
                        R"(, "in": ")", in, R"(", "out": ")", out, "\"}");
  }

  std::string Text() const {
    const std::string n = absl::StrCat(4 * ranks);
    std::string plan;
    const auto at = [](const char* name, int round) { return absl::StrCat(name, "[", round, "]"); };
    const auto q = [&](const char* name, int round) {
      return absl::StrCat("\"", at(name, round), "\"");
    };
    const auto add = [&](const std::string& made, const std::string& text) {
      absl::StrAppend(&plan, Line(made, text));
    };
    for (int r = 0; r < ranks; ++r) {
      if (r > 0) {
        add(at("k", r), Hop(at("k", r - 1), at("k", r)));
        add(at("v", r), Hop(at("v", r - 1), at("v", r)));
      }
      add(at("s", r), Op("einsum", absl::StrCat("\"q\", ", q("k", r)), at("s", r), "qd,kd->qk"));
      if (r == 0) {
        add(at("m", 0), Op("max", q("s", 0), at("m", 0), "dim"));
        add(at("w", 0), Op("weights", absl::StrCat(q("s", 0), ", ", q("m", 0)), at("w", 0)));
        add(at("l", 0), Op("sum", q("w", 0), at("l", 0), "dim"));
        add(at("a", 0),
            Op("einsum", absl::StrCat(q("w", 0), ", ", q("v", 0)), at("a", 0), "qk,kd->qd"));
      } else {
        add(at("m", r), Op("next_max", absl::StrCat(q("m", r - 1), ", ", q("s", r)), at("m", r)));
        add(at("w", r), Op("weights", absl::StrCat(q("s", r), ", ", q("m", r)), at("w", r)));
        add(at("l", r),
            Op("next_sum",
               absl::StrCat(q("l", r - 1), ", ", q("m", r - 1), ", ", q("m", r), ", ", q("w", r)),
               at("l", r)));
        add(at("a", r), Op("next_result",
                           absl::StrCat(q("a", r - 1), ", ", q("m", r - 1), ", ", q("m", r), ", ",
                                        q("w", r), ", ", q("v", r)),
                           at("a", r)));
      }
    }
    const int last = ranks - 1;
    absl::StrAppend(
        &plan, Line("o", Op("finish", absl::StrCat("\"a[", last, "]\", \"l[", last, "]\""), "o")));
    for (int r = 0; r < ranks; ++r) {
      add(at("p", r),
          Op("probabilities", absl::StrCat(q("s", r), ", ", q("m", last), ", ", q("l", last)),
             at("p", r)));
      // What a gradient of values, and one of queries, would be for g.
      add(at("dv", r), Op("einsum", absl::StrCat(q("p", r), ", \"g\""), at("dv", r), "qk,qd->kd"));
      add(at("dq", r),
          Op("einsum", absl::StrCat(q("p", r), ", ", q("k", r)), at("dq", r), "qk,kd->qd"));
      if (r == 0) continue;
      const std::string so_far = r == 1 ? at("dv", 0) : at("sum.dv", r - 1);
      const std::string of_queries = r == 1 ? at("dq", 0) : at("sum.dq", r - 1);
      add(at("handed", r), Hop(so_far, at("handed", r)));
      add(at("sum.dv", r),
          Op("add", absl::StrCat(q("handed", r), ", ", q("dv", r)), at("sum.dv", r)));
      add(at("sum.dq", r),
          Op("add", absl::StrCat("\"", of_queries, "\", ", q("dq", r)), at("sum.dq", r)));
    }
    absl::StrAppend(&plan, Line("gv", Hop(absl::StrCat("sum.dv[", last, "]"), "gv")));
    absl::StrAppend(&plan, Op("mul", absl::StrCat("\"sum.dq[", last, "]\", 1.0"), "gq"));
    return absl::StrReplaceAll(
        R"({"planproof": 1, "operators": [OPERATORS], "specification": {
          "inputs": {"q": [N, 4], "k": [N, 4], "v": [N, 4], "g": [N, 4]},
          "operators": [
            {"op": "einsum", "in": ["q", "k"], "out": "s", "attrs": {"equation": "qd,kd->qk"}},
            {"op": "softmax", "in": "s", "out": "p", "attrs": {"dim": -1}},
            {"op": "einsum", "in": ["p", "v"], "out": "o", "attrs": {"equation": "qk,kd->qd"}},
            {"op": "einsum", "in": ["p", "g"], "out": "gv", "attrs": {"equation": "qk,qd->kd"}},
            {"op": "einsum", "in": ["p", "k"], "out": "gq", "attrs": {"equation": "qk,kd->qd"}}],
          "outputs": {OUTPUTS}},
        "plan": {"mesh": {"cp": RANKS}, "programs": [{
          "inputs": {"q": {"0": "cp"}, "k[0]": {"of": "k", "0": "cp"}, "v[0]": {"of": "v", "0": "cp"}, "g": {"0": "cp"}},
          "operators": [PLAN]}]}})",
        {{"OPERATORS", kOperators},
         {"OUTPUTS", absl::StrReplaceAll(outputs, {{"\"1\"", "\"0\""}})},
         {"RANKS", absl::StrCat(ranks)},
         {"PLAN", plan},
         {"N,", n + ","}});
  }
};

lineage::Problem ProblemOf(const RoundRing& ring) {
  const auto file = plan::ParsePlanFile(ring.Text(), "ring.json");
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return {};
  auto problem =
      plan::BuildProblemFromFiles({{"ring.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? *std::move(problem) : lineage::Problem{};
}

stages::Result Verified(const RoundRing& ring, bool explain = false) {
  static const RelationInference relations;
  stages::VerifyOptions options;
  options.jobs = 1;
  options.explain = explain;
  options.inference = &relations;
  return strategy::Verify(ProblemOf(ring), options);
}

std::string First(const stages::Result& result) {
  return result.violations.empty() ? "" : result.violations[0].message;
}

TEST(RingRounds, ARightRingOfAnyLengthIsProved) {
  for (const int ranks : {8, 9, 31, 64}) {
    for (const int step : {1, ranks - 1}) {
      RoundRing ring;
      ring.ranks = ranks;
      ring.step = step;
      const auto folded = lineage::rounds::FoldRounds(ProblemOf(ring));
      ASSERT_TRUE(folded.has_value()) << ranks;
      EXPECT_LT(folded->parallel.operators.size(), 30) << ranks;
      const stages::Result result = Verified(ring);
      EXPECT_EQ(result.verdict, stages::Verdict::kProved) << ranks << ": " << First(result);
    }
  }
}

struct Deviation {
  std::string what, made, instead;
};

class OneRoundDiffers : public testing::TestWithParam<Deviation> {};

TEST_P(OneRoundDiffers, IsNotProved) {
  RoundRing ring;
  ring.instead = {{GetParam().made, GetParam().instead}};
  ASSERT_NE(ring.Text(), RoundRing().Text());
  EXPECT_NE(Verified(ring).verdict, stages::Verdict::kProved);
}

std::string NameOf(const testing::TestParamInfo<Deviation>& info) { return info.param.what; }

INSTANTIATE_TEST_SUITE_P(
    All, OneRoundDiffers,
    testing::Values(
        Deviation{"hop_backwards", "k[5]", RoundRing().Hop("k[4]", "k[5]", 7)},
        Deviation{"hop_of_two", "v[5]", RoundRing().Hop("v[4]", "v[5]", 2)},
        Deviation{"hop_from_earlier", "k[5]", RoundRing().Hop("k[3]", "k[5]")},
        Deviation{"keys_for_values", "v[5]", RoundRing().Hop("k[4]", "v[5]")},
        Deviation{"scores_of_last_keys", "s[5]",
                  RoundRing::Op("einsum", R"("q", "k[4]")", "s[5]", "qd,kd->qk")},
        Deviation{"scores_of_own_keys", "s[5]",
                  RoundRing::Op("einsum", R"("q", "k[0]")", "s[5]", "qd,kd->qk")},
        Deviation{"weights_by_old_maximum", "w[5]",
                  RoundRing::Op("weights", R"("s[5]", "m[4]")", "w[5]")},
        Deviation{"sum_from_older_maximum", "l[5]",
                  RoundRing::Op("next_sum", R"("l[4]", "m[3]", "m[5]", "w[5]")", "l[5]")},
        Deviation{"sum_to_older_maximum", "l[5]",
                  RoundRing::Op("next_sum", R"("l[4]", "m[4]", "m[4]", "w[5]")", "l[5]")},
        Deviation{"sum_scaled_the_other_way", "l[5]",
                  RoundRing::Op("next_sum", R"("l[4]", "m[5]", "m[4]", "w[5]")", "l[5]")},
        Deviation{"sum_leaves_a_round_out", "l[5]",
                  RoundRing::Op("next_sum", R"("l[3]", "m[4]", "m[5]", "w[5]")", "l[5]")},
        Deviation{"sum_of_other_weights", "l[5]",
                  RoundRing::Op("next_sum", R"("l[4]", "m[4]", "m[5]", "w[4]")", "l[5]")},
        Deviation{
            "result_of_other_values", "a[5]",
            RoundRing::Op("next_result", R"("a[4]", "m[4]", "m[5]", "w[5]", "v[4]")", "a[5]")},
        Deviation{
            "result_of_keys", "a[5]",
            RoundRing::Op("next_result", R"("a[4]", "m[4]", "m[5]", "w[5]", "k[5]")", "a[5]")},
        Deviation{"first_sum_of_scores", "l[0]", RoundRing::Op("sum", R"("s[0]")", "l[0]", "dim")},
        Deviation{"first_result_of_keys", "a[0]",
                  RoundRing::Op("einsum", R"("w[0]", "k[0]")", "a[0]", "qk,kd->qd")},
        Deviation{"last_sum_too_early", "o", RoundRing::Op("finish", R"("a[7]", "l[6]")", "o")},
        Deviation{"last_result_too_early", "o", RoundRing::Op("finish", R"("a[6]", "l[7]")", "o")},
        Deviation{"statistics_of_a_round", "p[5]",
                  RoundRing::Op("probabilities", R"("s[5]", "m[7]", "l[6]")", "p[5]")},
        Deviation{"maximum_of_a_round", "p[5]",
                  RoundRing::Op("probabilities", R"("s[5]", "m[6]", "l[7]")", "p[5]")},
        Deviation{"scores_of_another_round", "p[5]",
                  RoundRing::Op("probabilities", R"("s[4]", "m[7]", "l[7]")", "p[5]")},
        Deviation{"twice_the_same_gradient", "sum.dq[5]",
                  RoundRing::Op("add", R"("sum.dq[4]", "dq[4]")", "sum.dq[5]")},
        Deviation{"a_gradient_left_out", "sum.dq[5]",
                  RoundRing::Op("add", R"("sum.dq[3]", "dq[5]")", "sum.dq[5]")},
        Deviation{"subtracted", "sum.dq[5]",
                  RoundRing::Op("sub", R"("sum.dq[4]", "dq[5]")", "sum.dq[5]")},
        Deviation{"not_handed_on", "sum.dv[5]",
                  RoundRing::Op("add", R"("sum.dv[4]", "dv[5]")", "sum.dv[5]")},
        Deviation{"handed_back", "handed[5]", RoundRing().Hop("sum.dv[4]", "handed[5]", 7)},
        Deviation{"handed_on_too_far", "gv", RoundRing().Hop("sum.dv[7]", "gv", 2)},
        Deviation{"not_brought_home", "gv", RoundRing::Op("mul", R"("sum.dv[7]", 1.0)", "gv")},
        Deviation{"home_a_round_early", "gv", RoundRing().Hop("sum.dv[6]", "gv")}),
    NameOf);

TEST(RingRounds, WhatAnotherOperatorReadsOfOneRoundIsNotFolded) {
  RoundRing ring;
  ring.instead = {{"o", absl::StrCat(RoundRing::Op("finish", R"("a[7]", "l[7]")", "o"), ",\n",
                                     RoundRing::Op("mul", R"("s[5]", 0)", "seen"))}};
  EXPECT_FALSE(lineage::rounds::FoldRounds(ProblemOf(ring)).has_value());
}

// What all rounds read alike is of no round, whatever is found later: folded as if each read its
// own maximum, this ring would be a right one.
TEST(RingRounds, TheFirstMaximumReadInAllRoundsIsNotThatOfEachRound) {
  RoundRing ring;
  for (int r = 1; r < 8; ++r) {
    ring.instead[absl::StrCat("w[", r, "]")] = RoundRing::Op(
        "weights", absl::StrCat("\"s[", r, "]\", \"m[0]\""), absl::StrCat("w[", r, "]"));
  }
  const lineage::Problem problem = ProblemOf(ring);
  // Not even found; and what is found all the same is not folded.
  EXPECT_FALSE(lineage::rounds::FindRounds(problem.parallel, {}).has_value());
  EXPECT_FALSE(lineage::rounds::FoldRounds(problem).has_value());
  EXPECT_NE(Verified(ring).verdict, stages::Verdict::kProved);
}

TEST(RingRounds, AMaximumThatIsLateIsNoFault) {
  RoundRing ring;  // any number will do
  ring.instead = {{"m[5]", RoundRing::Op("next_max", R"("m[4]", "s[4]")", "m[5]")}};
  EXPECT_FALSE(lineage::rounds::FoldRounds(ProblemOf(ring)).has_value());
  EXPECT_EQ(Verified(ring, /*explain=*/true).verdict, stages::Verdict::kProved);
}

std::map<std::string, TensorId> Named(const sdfg::Graph& graph) {
  std::map<std::string, TensorId> named;
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    named.try_emplace(graph.tensors[t].name, static_cast<TensorId>(t));
  return named;
}

// The folded graph, on what the ring's inputs and maxima are, computes what the ring does.
void ExpectSameValues(const RoundRing& ring) {
  const lineage::Problem problem = ProblemOf(ring);
  const auto folded = lineage::rounds::FoldRounds(problem);
  ASSERT_TRUE(folded.has_value());
  std::mt19937 random(ring.ranks);
  std::uniform_real_distribution<double> number(-2, 2);
  std::map<TensorId, DenseTensor> inputs, folded_inputs;
  const std::map<std::string, TensorId> names = Named(problem.parallel);
  const std::map<std::string, TensorId> others = Named(folded->parallel);
  for (size_t t = 0; t < problem.parallel.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    if (tensor.producer != kNone) continue;
    DenseTensor values{tensor.shape, {}};
    for (int64_t i = 0; i < sdfg::ElementCount(tensor.shape); ++i)
      values.data.push_back(number(random));
    folded_inputs[others.at(tensor.name)] = values;
    inputs[static_cast<TensorId>(t)] = std::move(values);
  }
  const auto values = sdfg::EvaluateDenseGraph(problem.parallel, inputs);
  ASSERT_TRUE(values.ok()) << values.status();
  // What maxima are less the last: of rank c and piece p in round (c - p) / step.
  const TensorId free = others.at("m[0], less the last");
  DenseTensor less{folded->parallel.tensors[free].shape, {}};
  const DenseTensor& last = (*values)[names.at(absl::StrCat("m[", ring.ranks - 1, "]"))];
  for (int c = 0; c < ring.ranks; ++c) {
    for (int p = 0; p < ring.ranks; ++p) {
      int round = 0;
      while ((p + round * ring.step) % ring.ranks != c) ++round;
      const DenseTensor& m = (*values)[names.at(absl::StrCat("m[", round, "]"))];
      for (int i = 0; i < 4; ++i) less.data.push_back(m.data[c * 4 + i] - last.data[c * 4 + i]);
    }
  }
  folded_inputs[free] = std::move(less);
  const auto again = sdfg::EvaluateDenseGraph(folded->parallel, folded_inputs);
  ASSERT_TRUE(again.ok()) << again.status();
  for (const std::string name : {"o", "gv", "gq"}) {
    const DenseTensor &a = (*values)[names.at(name)], &b = (*again)[others.at(name)];
    ASSERT_EQ(a.shape, b.shape);
    for (size_t i = 0; i < a.data.size(); ++i)
      ASSERT_NEAR(a.data[i], b.data[i], 1e-9 * (1 + std::abs(a.data[i]))) << name << " " << i;
  }
}

TEST(RingRounds, FoldedTensorsHaveTheValuesOfWhatTheyStandFor) {
  for (const int ranks : {8, 11}) {
    for (const int step : {1, ranks - 1}) {
      RoundRing ring;
      ring.ranks = ranks;
      ring.step = step;
      ExpectSameValues(ring);
    }
  }
}

// All rings run wrong in the same way: what is folded is still what they do.
TEST(RingRounds, ARingThatIsWrongInEveryRoundIsFoldedAndNotProved) {
  RoundRing ring;
  for (int r = 0; r < 8; ++r) {
    const std::string at = absl::StrCat("[", r, "]");
    ring.instead["dv" + at] =
        RoundRing::Op("einsum", absl::StrCat("\"w", at, "\", \"g\""), "dv" + at, "qk,qd->kd");
  }
  ExpectSameValues(ring);
  EXPECT_NE(Verified(ring).verdict, stages::Verdict::kProved);
}

}  // namespace
}  // namespace planproof::inference
