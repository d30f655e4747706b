// Rings over scores that a mask makes -infinity: until a rank has seen an unmasked key, its maximum
// is no number, and what holds for all numbers need not hold for it.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/plan/read_plan.h"
#include "inference/relation_inference.h"
#include "lineage/rounds/fold_rounds.h"
#include "strategy/verify.h"

namespace planproof::inference {
namespace {

// Each of eight ranks has one key, and adds up scores in rounds in which the maximum so far is a
// number: without a mask in all of them.
struct MaskedRing {
  std::string hidden = "-inf";  // added to the score of a masked key
  std::string keep = "t[i, j] + b[j]";
  std::string first = "s[i, 0]";  // what a round takes the maximum of
  bool bias_travels = false;      // made before the first round; else in each, of the mask

  std::string Plan() const {
    std::string plan;
    const auto add = [&](const std::string& text, int r) {
      absl::StrAppend(&plan, plan.empty() ? "" : ",\n",
                      absl::StrReplaceAll(text, {{"[r]", absl::StrCat("[", r, "]")},
                                                 {"[b]", absl::StrCat("[", r - 1, "]")}}));
    };
    const std::string travels = bias_travels ? "b" : "mask";
    for (int r = 0; r < 8; ++r) {
      for (const std::string& what : {std::string("k"), travels}) {
        if (r == 0) break;
        add(absl::StrReplaceAll(
                R"({"op": "permute", "over": "cp", "shift": 1, "in": "X[b]", "out": "X[r]"})",
                {{"X", what}}),
            r);
      }
      if (r == 0 || !bias_travels) add(R"({"op": "hide", "in": "mask[r]", "out": "b[r]"})", r);
      add(R"({"op": "einsum", "in": ["q", "k[r]"], "out": "t[r]", "attrs": {"equation": "qd,kd->qk"}})",
          r);
      add(R"({"op": "keep", "in": ["t[r]", "b[r]"], "out": "s[r]"})", r);
      if (r == 0) add(R"({"op": "first_max", "in": "s[r]", "out": "m[r]"})", r);
      if (r > 0) add(R"({"op": "next_max", "in": ["m[b]", "s[r]"], "out": "m[r]"})", r);
      add(R"({"op": "seen", "in": ["t[r]", "m[r]"], "out": "y[r]"})", r);
      if (r == 1) add(R"({"op": "add", "in": ["y[b]", "y[r]"], "out": "S[r]"})", r);
      if (r > 1) add(R"({"op": "add", "in": ["S[b]", "y[r]"], "out": "S[r]"})", r);
    }
    return plan;
  }

  std::string Text() const {
    return absl::StrReplaceAll(
        R"--({"planproof": 1, "operators": [
        "op hide(mask[j]) -> b[j] = where(mask[j] != 0, 0, HIDDEN)",
        "op keep(t[i, j], b[j]) ties first -> s[i, j] = KEEP",
        "op first_max(s[i, j]) ties first -> m[i] = FIRST",
        "op next_max(before[i], s[i, j]) stop_gradient ties first -> m[i] = max(before[i], FIRST)",
        "op seen(t[i, j], m[i]) -> y[i] = where(exp(m[i]) > 0, t[i, 0], 0)"],
      "specification": {
        "inputs": {"q": [32, 4], "k": [8, 4], "mask": "bool[8]"},
        "premises": {"mask": "row unmasked"},
        "operators": [
          {"op": "einsum", "in": ["q", "k"], "out": "t", "attrs": {"equation": "qd,kd->qk"}},
          {"op": "hide", "in": "mask", "out": "b"},
          {"op": "keep", "in": ["t", "b"], "out": "s"},
          {"op": "max", "in": "s", "out": "m", "attrs": {"dim": -1}},
          {"op": "sum", "in": "t", "out": "S", "attrs": {"dim": -1}},
          {"op": "add", "in": ["S", "m"], "out": "o"}],
        "outputs": {"o": {"0": "cp"}}},
      "plan": {"mesh": {"cp": 8}, "programs": [{
        "inputs": {"q": {"0": "cp"}, "k[0]": {"of": "k", "0": "cp"}, "mask[0]": {"of": "mask", "0": "cp"}},
        "operators": [PLAN, {"op": "add", "in": ["S[7]", "m[7]"], "out": "o"}]}]}})--",
        {{"HIDDEN", hidden}, {"KEEP", keep}, {"FIRST", first}, {"PLAN", Plan()}});
  }

  lineage::Problem Problem() const {
    const auto file = plan::ParsePlanFile(Text(), "masks.json");
    EXPECT_TRUE(file.ok()) << file.status();
    if (!file.ok()) return {};
    auto problem =
        plan::BuildProblemFromFiles({{"masks.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
    EXPECT_TRUE(problem.ok()) << problem.status();
    return problem.ok() ? *std::move(problem) : lineage::Problem{};
  }

  stages::Verdict Verdict() const {
    static const RelationInference relations;
    stages::VerifyOptions options;
    options.jobs = 1;
    options.inference = &relations;
    return strategy::Verify(Problem(), options).verdict;
  }
};

TEST(RingMasks, WithoutAMaskAllRoundsCount) {
  for (const bool travels : {false, true}) {
    MaskedRing ring;
    ring.hidden = "0";
    ring.bias_travels = travels;
    EXPECT_TRUE(lineage::rounds::FoldRounds(ring.Problem()).has_value());
    EXPECT_EQ(ring.Verdict(), stages::Verdict::kProved);
  }
}

// A rank whose own key is masked leaves its score out, though all results are finite. Generalised
// to any number, the maximum of that round would be one.
TEST(RingMasks, AMaximumThatMayBeInfiniteIsNotGeneralised) {
  for (const bool travels : {false, true}) {
    for (const char* first : {"s[i, 0]", "max(s[i, 0], s[i, 0])", "max(j: s[i, j])"}) {
      MaskedRing ring;
      ring.first = first;
      ring.bias_travels = travels;
      EXPECT_FALSE(lineage::rounds::FoldRounds(ring.Problem()).has_value()) << first;
      EXPECT_NE(ring.Verdict(), stages::Verdict::kProved) << first << travels;
    }
  }
}

TEST(RingMasks, NorIsOneBehindAnotherMaximum) {
  MaskedRing ring;
  ring.keep = "max(t[i, j] + b[j], 2 * t[i, j] + b[j])";
  EXPECT_FALSE(lineage::rounds::FoldRounds(ring.Problem()).has_value());
  EXPECT_NE(ring.Verdict(), stages::Verdict::kProved);
}

}  // namespace
}  // namespace planproof::inference
