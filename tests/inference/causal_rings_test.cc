// Rings of causal attention: masks depend on round and rank, sums are scaled as maxima change, and
// derivatives run back. What is folded has the plan's values; nearest neighbours are not proved.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/plan/read_plan.h"
#include "inference/relation_inference.h"
#include "lineage/rounds/fold_rounds.h"
#include "sdfg/dense_evaluator.h"
#include "strategy/verify.h"

namespace planproof::inference {
namespace {

using sdfg::DenseTensor;
using sdfg::kNone;
using sdfg::TensorId;

// Of eight ranks with four queries and keys each, as `planproof generate --ring` writes it. Text
// may be replaced.
struct CausalRing {
  int ranks = 8;
  int step = 1;
  std::vector<std::pair<std::string, std::string>> instead;

  std::string Forward() const {
    std::string plan;
    for (int r = 0; r < ranks; ++r) {
      const std::string hop =
          R"({"op": "permute", "over": "cp", "shift": STEP, "in": "X[b]", "out": "X[r]"},)";
      std::string round;
      if (r > 0) {
        for (const char* x : {"k", "v"})
          absl::StrAppend(&round, absl::StrReplaceAll(hop, {{"X", x}}), "\n");
      }
      absl::StrAppend(&round, R"(
        {"op": "einsum", "in": ["q", "k[r]"], "out": "s[r]", "attrs": {"equation": "qd,kd->qk"}},)");
      absl::StrAppend(&round,
                      r == 0 ? R"(
        {"op": "online_max_first", "in": "s[r]", "out": "m[r]", "attrs": {"start": "=START"}},)"
                             : R"(
        {"op": "online_max", "in": ["s[r]", "m[b]"], "out": "m[r]", "attrs": {"start": "=START"}},)",
                      R"(
        {"op": "online_weights", "in": ["s[r]", "m[r]"], "out": "w[r]", "attrs": {"start": "=START"}},
        {"op": "sum", "in": "w[r]", "out": "bl[r]", "attrs": {"dim": -1}},
        {"op": "einsum", "in": ["w[r]", "v[r]"], "out": "ba[r]", "attrs": {"equation": "qk,kd->qd"}},)");
      if (r > 0) {
        absl::StrAppend(&round, R"(
        {"op": "sub", "in": ["m[b]", "m[r]"], "out": "change[r]"},
        {"op": "exp", "in": "change[r]", "out": "f[r]"},
        {"op": "mul", "in": ["L[b]", "f[r]"], "out": "ol[r]"},
        {"op": "add", "in": ["ol[r]", "bl[r]"], "out": "L[r]"},
        {"op": "einsum", "in": ["A[b]", "f[r]"], "out": "oa[r]", "attrs": {"equation": "qd,q->qd"}},
        {"op": "add", "in": ["oa[r]", "ba[r]"], "out": "A[r]"},)");
      }
      absl::StrAppend(&plan, Numbered(round, r));
    }
    return plan;
  }

  std::string Backward() const {
    std::string plan;
    for (int r = ranks - 1; r >= 0; --r) {
      std::string round;
      if (r > 0) {
        round = R"(
        {"backward": "A[r]", "grad": {"A[r]": "gA[r]"}, "out": {"0": "goa[r]", "1": "gba[r]"}},
        {"backward": "oa[r]", "grad": {"oa[r]": "goa[r]"}, "out": {"0": "gA[b]"}},
        {"backward": "L[r]", "grad": {"L[r]": "gL[r]"}, "out": {"0": "gol[r]", "1": "gbl[r]"}},
        {"backward": "ol[r]", "grad": {"ol[r]": "gol[r]"}, "out": {"0": "gL[b]"}},)";
      }
      absl::StrAppend(&round, R"(
        {"backward": "ba[r]", "grad": {"ba[r]": "gba[r]"}, "out": {"0": "gw1[r]", "1": "gv1[r]"}},
        {"backward": "bl[r]", "grad": {"bl[r]": "gbl[r]"}, "out": {"0": "gw2[r]"}},
        {"op": "add", "in": ["gw1[r]", "gw2[r]"], "out": "gw[r]"},
        {"backward": "w[r]", "grad": {"w[r]": "gw[r]"}, "out": {"0": "gs[r]"}},
        {"backward": "s[r]", "grad": {"s[r]": "gs[r]"}, "out": {"0": "gq1[r]", "1": "gk1[r]"}},)");
      if (r < ranks - 1) {
        absl::StrAppend(&round, R"(
        {"op": "permute", "over": "cp", "shift": BACK, "in": "gk[n]", "out": "gkh[r]"},
        {"op": "permute", "over": "cp", "shift": BACK, "in": "gv[n]", "out": "gvh[r]"},
        {"op": "add", "in": ["gkh[r]", "gk1[r]"], "out": "gk[r]"},
        {"op": "add", "in": ["gvh[r]", "gv1[r]"], "out": "gv[r]"},
        {"op": "add", "in": ["gq[n]", "gq1[r]"], "out": "gq[r]"},)");
      }
      absl::StrAppend(&plan, Numbered(round, r));
    }
    return plan;
  }

  std::string Numbered(const std::string& text, int r) const {
    const std::string last = absl::StrCat(ranks - 1);
    const int ahead = (ranks - step) * r % ranks;
    const std::string start = absl::StrCat("(cp) * 4 - (((cp + ", ahead, ") % ", ranks, ") * 4)");
    const auto at = [](int round) { return absl::StrCat("[", round, "]"); };
    return absl::StrReplaceAll(text, {{"[r]", at(r)},
                                      {"[b]", at(r - 1)},
                                      {"[n]", at(r + 1)},
                                      {"START", start},
                                      {"STEP", absl::StrCat(step)},
                                      {"BACK", absl::StrCat(-step)}});
  }

  // Round 0 is its own sum, and the last rounds' sums are what they add up.
  std::string Text() const {
    const std::string last = absl::StrCat("[", ranks - 1, "]");
    std::string plan = absl::StrReplaceAll(absl::StrCat(Forward(), R"(
        {"op": "div", "in": [1, "L[x]"], "out": "i"},
        {"op": "einsum", "in": ["A[x]", "i"], "out": "o", "attrs": {"equation": "qd,q->qd"}},
        {"backward": "o", "grad": {"o": "g"}, "out": {"0": "gA[x]", "1": "gi"}},
        {"backward": "i", "grad": {"i": "gi"}, "out": {"0": "gL[x]"}},)",
                                                        Backward()),
                                           {{"[x]", last}});
    plan = absl::StrReplaceAll(plan, {{"\"L[0]\"", "\"bl[0]\""},
                                      {"\"A[0]\"", "\"ba[0]\""},
                                      {"\"gL[0]\"", "\"gbl[0]\""},
                                      {"\"gA[0]\"", "\"gba[0]\""},
                                      {"\"gq[0]\"", "\"grad.q\""},
                                      {"\"gk[0]\"", "\"grad.k\""},
                                      {"\"gv[0]\"", "\"grad.v\""}});
    for (const char* x : {"gk", "gv", "gq"}) {
      plan = absl::StrReplaceAll(
          plan, {{absl::StrCat("\"", x, last, "\""), absl::StrCat("\"", x, "1", last, "\"")}});
    }
    for (const auto& [from, to] : instead) {
      EXPECT_NE(plan.find(from), std::string::npos) << from;
      plan = absl::StrReplaceAll(plan, {{from, to}});
    }
    plan.pop_back();  // the comma
    return absl::StrReplaceAll(
        R"--({"planproof": 1, "specification": {
          "inputs": {"q": [N, 4], "k": [N, 4], "v": [N, 4], "g": [N, 4]},
          "operators": [
            {"op": "einsum", "in": ["q", "k"], "out": "s", "attrs": {"equation": "qd,kd->qk"}},
            {"op": "causal_mask", "in": "s", "out": "c"},
            {"op": "softmax", "in": "c", "out": "p", "attrs": {"dim": -1}},
            {"op": "einsum", "in": ["p", "v"], "out": "o", "attrs": {"equation": "qk,kd->qd"}},
            {"op": "mul", "in": ["o", "g"], "out": "og"},
            {"op": "sum", "in": "og", "out": "loss"}],
          "gradients": {"loss": "loss", "of": ["q", "k", "v"]},
          "outputs": {"o": {"0": "cp"}, "grad.q": {"0": "cp"}, "grad.k": {"0": "cp"}, "grad.v": {"0": "cp"}}},
        "plan": {"mesh": {"cp": RANKS}, "programs": [{
          "inputs": {"q": {"0": "cp"}, "k[0]": {"of": "k", "0": "cp"}, "v[0]": {"of": "v", "0": "cp"}, "g": {"0": "cp"}},
          "operators": [PLAN]}]}})--",
        {{"N,", absl::StrCat(4 * ranks, ",")}, {"RANKS", absl::StrCat(ranks)}, {"PLAN", plan}});
  }
};

lineage::Problem ProblemOf(const CausalRing& ring) {
  const auto file = plan::ParsePlanFile(ring.Text(), "ring.json");
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return {};
  auto problem =
      plan::BuildProblemFromFiles({{"ring.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? *std::move(problem) : lineage::Problem{};
}

stages::Verdict VerdictOf(const CausalRing& ring) {
  static const RelationInference relations;
  stages::VerifyOptions options;
  options.jobs = 1;
  options.inference = &relations;
  return strategy::Verify(ProblemOf(ring), options).verdict;
}

TEST(CausalRings, ARightRingIsFoldedAndProved) {
  for (const int ranks : {8, 9, 24}) {
    for (const int step : {1, ranks - 1}) {
      CausalRing ring;
      ring.ranks = ranks;
      ring.step = step;
      const auto folded = lineage::rounds::FoldRounds(ProblemOf(ring));
      ASSERT_TRUE(folded.has_value()) << ranks << " " << step;
      EXPECT_LT(folded->parallel.operators.size(), 45) << ranks;
      EXPECT_EQ(VerdictOf(ring), stages::Verdict::kProved) << ranks << " " << step;
    }
  }
}

std::map<std::string, TensorId> TensorsByName(const sdfg::Graph& graph) {
  std::map<std::string, TensorId> named;
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    named.try_emplace(graph.tensors[t].name, static_cast<TensorId>(t));
  return named;
}

// The largest of all scores of each query, also those that a mask hides.
double LargestScore(const DenseTensor& q, const DenseTensor& k, int query) {
  double largest = -HUGE_VAL;
  for (size_t key = 0; key < k.data.size() / 4; ++key) {
    double score = 0;
    for (size_t d = 0; d < 4; ++d) score += q.data[query * 4 + d] * k.data[key * 4 + d];
    largest = std::max(largest, score);
  }
  return largest;
}

// The folded graph, where its free inputs say what the ring's maxima are, computes what the ring
// does.
void ExpectSameValues(const CausalRing& ring) {
  const lineage::Problem problem = ProblemOf(ring);
  const auto folded = lineage::rounds::FoldRounds(problem);
  ASSERT_TRUE(folded.has_value());
  std::mt19937 random(ring.ranks);
  std::uniform_real_distribution<double> number(-2, 2);
  std::map<TensorId, DenseTensor> inputs, folded_inputs;
  const std::map<std::string, TensorId> names = TensorsByName(problem.parallel);
  const std::map<std::string, TensorId> others = TensorsByName(folded->parallel);
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
  const int n = ring.ranks;
  const auto maxima = [&](int r) -> const DenseTensor& {
    return (*values)[names.at(absl::StrCat("m[", r, "]"))];
  };
  const DenseTensor &q = inputs.at(names.at("q")), &k = inputs.at(names.at("k[0]"));
  const TensorId last = others.at(absl::StrCat("m[", n - 1, "], less the last"));
  const TensorId free = others.at("m[0], less the last");
  DenseTensor of_last{folded->parallel.tensors[last].shape, {}};
  DenseTensor less{folded->parallel.tensors[free].shape, {}};
  for (int c = 0; c < n; ++c) {
    for (int i = 0; i < 4; ++i)
      of_last.data.push_back(maxima(n - 1).data[c * 4 + i] - LargestScore(q, k, c * 4 + i));
    for (int p = 0; p < n; ++p) {
      int round = 0;
      while ((p + round * ring.step) % n != c) ++round;
      for (int i = 0; i < 4; ++i)
        less.data.push_back(maxima(round).data[c * 4 + i] - maxima(n - 1).data[c * 4 + i]);
    }
  }
  folded_inputs[last] = std::move(of_last);
  folded_inputs[free] = std::move(less);
  const auto again = sdfg::EvaluateDenseGraph(folded->parallel, folded_inputs);
  ASSERT_TRUE(again.ok()) << again.status();
  size_t compared = 0;
  for (const std::string name : {"o", "grad.q", "grad.k", "grad.v"}) {
    const DenseTensor &a = (*values)[names.at(name)], &b = (*again)[others.at(name)];
    ASSERT_EQ(a.shape, b.shape);
    for (size_t i = 0; i < a.data.size(); ++i) {
      // What depends on a query without keys has no value; in the folded form where it is masked,
      // too.
      if (std::isnan(b.data[i])) continue;
      ++compared;
      ASSERT_NEAR(a.data[i], b.data[i], 1e-9 * (1 + std::abs(a.data[i]))) << name << " " << i;
    }
  }
  EXPECT_GE(compared, size_t{16} * (n - 1));
}

TEST(CausalRings, FoldedTensorsHaveTheValuesOfWhatTheyStandFor) {
  for (const int ranks : {8, 11}) {
    for (const int step : {1, ranks - 1}) {
      CausalRing ring;
      ring.ranks = ranks;
      ring.step = step;
      ExpectSameValues(ring);
    }
  }
}

struct CausalDeviation {
  std::string what, from, to;
  bool folds = false;  // all rounds do the same
};

class CausalRingDeviates : public testing::TestWithParam<CausalDeviation> {};

TEST_P(CausalRingDeviates, IsNotProved) {
  CausalRing ring;
  ring.instead = {{GetParam().from, GetParam().to}};
  EXPECT_EQ(lineage::rounds::FoldRounds(ProblemOf(ring)).has_value(), GetParam().folds);
  EXPECT_NE(VerdictOf(ring), stages::Verdict::kProved);
  if (GetParam().folds) ExpectSameValues(ring);
}

std::string WeightsStart(const std::string& round, const std::string& start) {
  return absl::StrCat("\"out\": \"w[", round, "]\", \"attrs\": {\"start\": \"=", start);
}

INSTANTIATE_TEST_SUITE_P(
    All, CausalRingDeviates,
    testing::Values(
        // Of all ranks and rounds.
        CausalDeviation{"a_key_more", "* 4)\"", "* 4) + 1\""},
        CausalDeviation{"a_block_more", "* 4)\"", "* 4) + 4\""},
        CausalDeviation{"twice_the_block", "(cp) * 4 -", "(cp) * 8 -"},
        CausalDeviation{"piece_times_three", "% 8) * 4)", "% 8) * 3)"},
        CausalDeviation{"changes_turned", R"("in": ["m[3]", "m[4]"])", R"("in": ["m[4]", "m[3]"])"},
        CausalDeviation{"gradients_subtracted", R"({"op": "add", "in": ["gw1)",
                        R"({"op": "sub", "in": ["gw1)", true},
        // Of one round.
        CausalDeviation{"first_round_sees_less", WeightsStart("0", "(cp)"),
                        WeightsStart("0", "0 - 1 + (cp)"), true},
        CausalDeviation{"one_round_sees_all", WeightsStart("3", "(cp)"),
                        WeightsStart("3", "64 + (cp)")},
        CausalDeviation{"one_round_sees_none", WeightsStart("3", "(cp)"),
                        WeightsStart("3", "0 - 64 + (cp)")},
        CausalDeviation{"last_round_a_block_off", WeightsStart("7", "(cp)"),
                        WeightsStart("7", "4 + (cp)")},
        CausalDeviation{"piece_of_the_round_before", "((cp + 5) % 8) * 4", "((cp + 6) % 8) * 4"},
        // On one rank: (cp + 5) / 8 - (cp + 4) / 8 is 1 on rank 3.
        CausalDeviation{"one_rank_a_block_off", WeightsStart("7", "(cp)"),
                        WeightsStart("7", "4 * ((cp + 5) / 8 - (cp + 4) / 8) + (cp)")},
        // Sums and their derivatives.
        CausalDeviation{"factor_of_another_round", R"("in": ["L[3]", "f[4]"])",
                        R"("in": ["L[3]", "f[3]"])"},
        CausalDeviation{"not_scaled", R"({"op": "add", "in": ["ol[4]", "bl[4]"], "out": "L[4]"})",
                        R"({"op": "add", "in": ["L[3]", "bl[4]"], "out": "L[4]"})"},
        CausalDeviation{"sum_of_another_block", R"("in": ["oa[4]", "ba[4]"])",
                        R"("in": ["oa[4]", "ba[3]"])"},
        CausalDeviation{"weights_to_an_old_maximum", R"("in": ["s[4]", "m[4]"], "out": "w[4]")",
                        R"("in": ["s[4]", "m[3]"], "out": "w[4]")"},
        CausalDeviation{"gradient_not_scaled", R"("grad": {"ba[4]": "gba[4]"})",
                        R"("grad": {"ba[4]": "gA[7]"})"},
        CausalDeviation{"gradient_of_the_round_after", R"("grad": {"bl[4]": "gbl[4]"})",
                        R"("grad": {"bl[4]": "gbl[5]"})"},
        CausalDeviation{"home_the_wrong_way", R"("shift": -1)", R"("shift": 1)"},
        CausalDeviation{"one_gradient_the_wrong_way", R"("shift": -1, "in": "gk[4]")",
                        R"("shift": 1, "in": "gk[4]")"},
        CausalDeviation{"one_gradient_twice", R"("in": ["gq[4]", "gq1[3]"])",
                        R"("in": ["gq[4]", "gq1[4]"])"},
        CausalDeviation{"no_last_hop_home", R"("in": ["gkh[0]", "gk1[0]"])",
                        R"("in": ["gk[1]", "gk1[0]"])"},
        CausalDeviation{"last_gradient_dropped", R"("in": ["gkh[0]", "gk1[0]"])",
                        R"("in": ["gkh[0]", "gkh[0]"])"},
        CausalDeviation{"gradient_of_values_handed_on", R"("in": ["gkh[3]", "gk1[3]"])",
                        R"("in": ["gvh[3]", "gk1[3]"])"},
        CausalDeviation{"values_the_wrong_way", R"("shift": 1, "in": "v[4]")",
                        R"("shift": -1, "in": "v[4]")"},
        // Maxima of no keys: (cp + 8) / 8 - (cp + 7) / 8 is 1 on rank 0.
        CausalDeviation{
            "no_first_maximum_of_one_rank", R"("out": "m[0]", "attrs": {"start": "=(cp))",
            R"("out": "m[0]", "attrs": {"start": "=0 - 64 * ((cp + 8) / 8 - (cp + 7) / 8) + (cp))"},
        CausalDeviation{"no_first_maximum_of_one_query",
                        R"("out": "m[0]", "attrs": {"start": "=(cp))",
                        R"("out": "m[0]", "attrs": {"start": "=0 - 1 + (cp))"}),
    [](const testing::TestParamInfo<CausalDeviation>& deviation) { return deviation.param.what; });

}  // namespace
}  // namespace planproof::inference
