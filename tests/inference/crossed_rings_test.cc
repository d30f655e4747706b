// Rings of several axes of a mesh, whose operators have the same functions and shapes: which
// coordinate is the ring's is told by the axes alone.
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

constexpr int kCrossedRanks = 8;

// Masked products without a softmax: ring 1 over axes b and c, queries and keys cut alike. Ring 2
// over a and b: queries are cut along a, keys travel along b. Masks of ring 2 take the piece to be
// that of rank `axis` along b.
std::string Rounds(int ring, const std::string& axis) {
  std::string plan;
  for (int r = 0; r < kCrossedRanks; ++r) {
    if (r > 0) {
      for (const char* x : {"k", "v"}) {
        absl::StrAppend(&plan, R"({"op": "permute", "over": "b", "shift": 1, "in": ")", x,
                        "I[BEFORE]\", \"out\": \"", x, "I[ROUND]\"},\n");
      }
    }
    absl::StrAppend(&plan, R"(
      {"op": "einsum", "in": ["qI", "kI[ROUND]"], "out": "sI[ROUND]", "attrs": {"equation": "hqd,EQkd->hqk"}},
      {"op": "aten_tril", "in": "sI[ROUND]", "out": "wI[ROUND]", "attrs": {"diagonal": "=START"}},
      {"op": "einsum", "in": ["wI[ROUND]", "vI[ROUND]"], "out": "OUT", "attrs": {"equation": "hqk,EQkd->hqd"}},)");
    if (r > 0) {
      absl::StrAppend(&plan, R"({"op": "add", "in": ["yI[BEFORE]", "bI[ROUND]"], "out": ")",
                      r + 1 < kCrossedRanks ? "yI[ROUND]" : "yI", "\"},\n");
    }
    const std::string own = ring == 1 ? "b" : "a";
    // In round 0 nothing is masked, of each rank another nothing.
    const std::string start = r == 0
                                  ? absl::StrCat("4 + ", own)
                                  : absl::StrCat("4 + (", own, ") * 4 - ((", axis, " + ",
                                                 kCrossedRanks - r, ") % ", kCrossedRanks, ") * 4");
    plan = absl::StrReplaceAll(plan, {{"START", start},
                                      {"OUT", r == 0 ? "yI[ROUND]" : "bI[ROUND]"},
                                      {"EQ", ring == 1 ? "h" : ""}});
    plan = absl::StrReplaceAll(plan, {{"[ROUND]", absl::StrCat("[", r, "]")},
                                      {"[BEFORE]", absl::StrCat("[", r - 1, "]")}});
  }
  return absl::StrReplaceAll(plan, {{"I[", absl::StrCat(ring, "[")},
                                    {"qI", absl::StrCat("q", ring)},
                                    {"yI", absl::StrCat("y", ring)}});
}

lineage::Problem CrossedRings(const std::string& second) {
  std::string rounds = Rounds(1, "b") + second;
  rounds.resize(rounds.rfind(','));
  const std::string text = absl::StrReplaceAll(
      R"--({"planproof": 1, "specification": {
        "inputs": {"q1": [8, 32, 4], "k1": [8, 32, 4], "v1": [8, 32, 4],
                   "q2": [8, 32, 4], "k2": [32, 4], "v2": [32, 4]},
        "operators": [
          {"op": "einsum", "in": ["q1", "k1"], "out": "s1", "attrs": {"equation": "hqd,hkd->hqk"}},
          {"op": "aten_tril", "in": "s1", "out": "w1", "attrs": {"diagonal": 4}},
          {"op": "einsum", "in": ["w1", "v1"], "out": "y1", "attrs": {"equation": "hqk,hkd->hqd"}},
          {"op": "einsum", "in": ["q2", "k2"], "out": "s2", "attrs": {"equation": "hqd,kd->hqk"}},
          {"op": "aten_tril", "in": "s2", "out": "w2", "attrs": {"diagonal": 4}},
          {"op": "einsum", "in": ["w2", "v2"], "out": "y2", "attrs": {"equation": "hqk,kd->hqd"}}],
        "outputs": {"y1": {"0": "c", "1": "b"}, "y2": {"0": "b", "1": "a"}}},
      "plan": {"mesh": {"a": 8, "b": 8, "c": 8}, "programs": [{
        "inputs": {"q1": {"0": "c", "1": "b"}, "k1[0]": {"of": "k1", "0": "c", "1": "b"},
                   "v1[0]": {"of": "v1", "0": "c", "1": "b"}, "q2": {"0": "b", "1": "a"},
                   "k2[0]": {"of": "k2", "0": "b"}, "v2[0]": {"of": "v2", "0": "b"}},
        "operators": [PLAN]}]}})--",
      {{"PLAN", rounds}});
  const auto file = plan::ParsePlanFile(text, "crossed.json");
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return {};
  auto problem =
      plan::BuildProblemFromFiles({{"crossed.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? *std::move(problem) : lineage::Problem{};
}

stages::Verdict VerdictOfCrossed(const lineage::Problem& problem) {
  static const RelationInference relations;
  stages::VerifyOptions options;
  options.jobs = 1;
  options.inference = &relations;
  return strategy::Verify(problem, options).verdict;
}

// Once it was folded as ring 1 is, for which the same functions are right, and PROVED.
TEST(CrossedRings, AMaskOfAnotherAxisIsNotThatOfTheRing) {
  const lineage::Problem wrong = CrossedRings(Rounds(2, "a"));
  EXPECT_FALSE(lineage::rounds::FoldRounds(wrong).has_value());
  EXPECT_EQ(VerdictOfCrossed(wrong), stages::Verdict::kRefuted);
}

}  // namespace
}  // namespace planproof::inference
