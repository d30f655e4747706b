// Verification under assumptions: what may be concluded from them, and what may not.
#include "strategy/assumed_relations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/assumption_file.h"
#include "strategy/verify.h"
#include "tests/frontend/plan_texts.h"
#include "tests/shape_reduction/small_problem.h"
#include "verdict_cache/store.h"

namespace planproof::strategy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Need = stages::AssumedRelation::Need;

// Two equal layers h = exp(x) scaled and shifted; rows are cut over dp. `first` and `second` are
// what the plan computes for exp, `last` is its last operator.
std::string Plan(const std::string& first, const std::string& second,
                 const std::string& last = R"("op": "all_reduce", "over": "dp")") {
  return absl::StrCat(R"({"planproof": 1,
    "specification": {"inputs": {"x": [8, 4]}, "operators": [
      {"op": "exp", "in": "x", "out": "a.h"}, {"op": "mul", "in": ["a.h", 3], "out": "a.y"},
      {"op": "exp", "in": "a.y", "out": "b.h"}, {"op": "mul", "in": ["b.h", 3], "out": "b.y"},
      {"op": "sum", "in": "b.y", "out": "loss"}], "outputs": {"loss": {}}},
    "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": {"x": {"0": "dp"}}, "operators": [
      {"op": ")",
                      first, R"(", "in": "x", "out": "a.h"},
      {"op": "mul", "in": ["a.h", 3], "out": "a.y"}, {"op": ")",
                      second, R"(", "in": "a.y", "out": "b.h"},
      {"op": "mul", "in": ["b.h", 3], "out": "b.y"}, {"op": "sum", "in": "b.y", "out": "part"},
      {)",
                      last, R"(, "in": "part", "out": "loss"}],
      "lineage": {"a.h": {"0": "dp"}, "a.y": {"0": "dp"}, "b.h": {"0": "dp"}, "b.y": {"0": "dp"}}}]}})");
}

class AssumedRelations : public testing::Test {
 protected:
  ~AssumedRelations() override { std::filesystem::remove_all(directory_); }

  static lineage::Problem Read(const std::string& plan) {
    absl::StatusOr<lineage::Problem> problem = plan::ReadText(plan);
    EXPECT_TRUE(problem.ok()) << problem.status();
    return problem.ok() ? *std::move(problem) : lineage::Problem{};
  }
  static std::vector<lineage::Assumption> Of(const lineage::Problem& problem,
                                             const std::vector<std::string>& tensors) {
    std::vector<lineage::Assumption> all;
    for (const std::string& tensor : tensors) {
      const auto read = frontend::AssumptionsOf(
          absl::StrCat(R"({"assumptions": [{"tensor": ")", tensor, R"(", "reason": "meant"}]})"),
          "a.json", problem);
      EXPECT_TRUE(read.ok()) << read.status();
      if (read.ok()) all.insert(all.end(), read->begin(), read->end());
    }
    return all;
  }
  static stages::Result Run(const std::string& plan, const std::vector<std::string>& assumed,
                            stages::VerifyOptions options = {}) {
    const lineage::Problem problem = Read(plan);
    options.assume = Of(problem, assumed);
    return Verify(problem, options);
  }

  const std::string directory_ = testing::TempDir() + "assumed_" + std::to_string(getpid());
};

TEST_F(AssumedRelations, WhatIsProvedIsProvedUnderThem) {
  EXPECT_EQ(Run(Plan("abs", "exp"), {}).verdict, stages::Verdict::kRefuted);
  const stages::Result result = Run(Plan("abs", "exp"), {"a.h"});
  EXPECT_EQ(result.verdict, stages::Verdict::kProved);
  EXPECT_EQ(VerdictInWords(result), "PROVED under 1 assumption");
  ASSERT_EQ(result.assumed.size(), 1u);
  const stages::AssumedRelation& assumed = result.assumed[0];
  EXPECT_EQ(assumed.tensor, "a.h");
  EXPECT_EQ(assumed.logical, "a.h");
  EXPECT_THAT(assumed.op, HasSubstr("abs"));
  EXPECT_EQ(assumed.relation, "a.h = a.h[4 dp:4 dp + 4, 0:4]");
  EXPECT_EQ(assumed.reason, "meant");
  EXPECT_EQ(assumed.stated_at, "a.json:1");
  EXPECT_EQ(assumed.need, Need::kUsed);
  EXPECT_THAT(result.behind_assumptions, ElementsAre(HasSubstr("abs")));
  EXPECT_LT(result.operators.covered, result.operators.parallel) << "nothing was proved of abs";
}

// The plan has no value where x is not positive, and the model has one: whatever the logarithm
// stands for.
TEST_F(AssumedRelations, WhatTheApproximatedOperatorAsksForIsACondition) {
  for (const stages::Engine engine :
       {stages::Engine::kHybrid, stages::Engine::kSmt, stages::Engine::kAudit}) {
    stages::VerifyOptions options;
    options.engine = engine;
    options.explain = false;
    const stages::Result strict = Run(Plan("log", "exp"), {"a.h"}, options);
    EXPECT_NE(strict.verdict, stages::Verdict::kProved);
    EXPECT_THAT(strict.restrictions, ElementsAre(HasSubstr("log: x[")));
    options.accept_restrictions = true;
    const stages::Result restricted = Run(Plan("log", "exp"), {"a.h"}, options);
    EXPECT_EQ(restricted.verdict, stages::Verdict::kProved);
    EXPECT_EQ(VerdictInWords(restricted), "PROVED under 1 assumption and 1 restriction");
  }
  EXPECT_NE(Run(Plan("reciprocal", "exp"), {"a.h"}).verdict, stages::Verdict::kProved);
  // What reads a logarithm that is proved is defined where the model is.
  EXPECT_EQ(Run(Plan("exp", "log"), {"b.h"}).verdict, stages::Verdict::kProved)
      << "a.y is 3 exp(x), of which there is a logarithm";
}

TEST_F(AssumedRelations, EveryEngineTakesThemForGranted) {
  for (const stages::Engine engine :
       {stages::Engine::kHybrid, stages::Engine::kSmt, stages::Engine::kAudit}) {
    stages::VerifyOptions options;
    options.engine = engine;
    options.explain = false;
    EXPECT_EQ(Run(Plan("abs", "exp"), {"a.h"}, options).verdict, stages::Verdict::kProved);
    EXPECT_NE(Run(Plan("abs", "abs"), {"a.h"}, options).verdict, stages::Verdict::kProved);
  }
}

// The class of a layer whose operator is assumed holds a layer whose operator is not.
TEST_F(AssumedRelations, AnEqualLayerIsNotAssumed) {
  for (const bool use_classes : {true, false}) {
    stages::VerifyOptions options;
    options.use_classes = use_classes;
    EXPECT_EQ(Run(Plan("abs", "abs"), {"a.h"}, options).verdict, stages::Verdict::kRefuted);
    EXPECT_EQ(Run(Plan("abs", "abs"), {"b.h"}, options).verdict, stages::Verdict::kUnknown);
    const stages::Result both = Run(Plan("abs", "abs"), {"*.h"}, options);
    EXPECT_EQ(both.verdict, stages::Verdict::kProved);
    EXPECT_EQ(VerdictInWords(both), "PROVED under 2 assumptions");
  }
}

TEST_F(AssumedRelations, NothingAboutThemIsRemembered) {
  const std::string plan = Plan("abs", "abs");
  const auto remembering = [&](const std::vector<std::string>& assumed, bool explain) {
    verdict_cache::Store store({directory_ + "/s", "1"});
    stages::VerifyOptions options;
    options.stores = {&store};
    options.explain = explain;
    const stages::Result result = Run(plan, assumed, options);
    store.Close();
    return result;
  };
  EXPECT_EQ(remembering({"*.h"}, true).verdict, stages::Verdict::kProved);
  EXPECT_EQ(remembering({}, false).verdict, stages::Verdict::kUnknown);
  EXPECT_EQ(remembering({}, true).verdict, stages::Verdict::kRefuted);
  EXPECT_EQ(remembering({"a.h"}, true).verdict, stages::Verdict::kRefuted);
  const stages::Result again = remembering({"*.h"}, true);
  EXPECT_EQ(again.verdict, stages::Verdict::kProved);
  EXPECT_GT(again.cache.hits, 0) << "what was proved beside them is remembered";
  EXPECT_EQ(again.assumed.size(), 2u);
}

// A relation that the plan states inside of the approximation, and that is false there.
TEST_F(AssumedRelations, TheApproximationAloneIsNeverRefuted) {
  const stages::Result inside = Run(Plan("abs", "exp"), {"b.h"});
  EXPECT_EQ(inside.verdict, stages::Verdict::kUnknown);
  const stages::Result all = Run(Plan("abs", "exp"), {"a.h"});
  EXPECT_EQ(all.verdict, stages::Verdict::kProved);
  const stages::Result another = Run(Plan("abs", "exp", R"("op": "identity")"), {"b.h"});
  EXPECT_EQ(another.verdict, stages::Verdict::kRefuted) << "of an output";
  EXPECT_EQ(another.violations[0].stage, "loss");
}

TEST_F(AssumedRelations, AnotherFaultIsRefutedAlthoughTheyHold) {
  const stages::Result result = Run(Plan("abs", "exp", R"("op": "identity")"), {"a.h"});
  EXPECT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_EQ(VerdictInWords(result), "REFUTED under 1 assumption");
  ASSERT_FALSE(result.violations.empty());
  EXPECT_EQ(result.violations[0].cause, "sum over dp missing") << "and not the approximation";
}

TEST_F(AssumedRelations, WhatAnApproximatedOperatorReadsMustBeRight) {
  const stages::Result wrong = Run(Plan("abs", "abs"), {"b.h"});
  EXPECT_EQ(wrong.verdict, stages::Verdict::kUnknown) << "no output is wrong, if b.h has its value";
  ASSERT_FALSE(wrong.violations.empty());
  EXPECT_EQ(wrong.violations[0].stage, "a.h");
  EXPECT_EQ(wrong.violations[0].verdict, stages::Verdict::kUnknown);
  EXPECT_FALSE(wrong.violations[0].witness_place.empty()) << "how it differs is known";
  EXPECT_THAT(wrong.violations[0].advice, HasSubstr("if it is a part of the approximation"));
  const stages::Result right = Run(Plan("exp", "abs"), {"b.h"});
  EXPECT_EQ(right.verdict, stages::Verdict::kProved);
  EXPECT_THAT(right.behind_assumptions, ElementsAre(HasSubstr("abs (b.h)")));
  EXPECT_THAT(right.relations,
              testing::Contains(HasSubstr("operand of what is assumed, a.y: a.y = a.y[")));
}

// Where the plan states no relation in between, reports say what nothing was proved of.
TEST_F(AssumedRelations, WhatIsStatedNowhereIsListedAsUnproved) {
  std::string plan = Plan("abs", "exp");
  const std::string stated = R"("a.h": {"0": "dp"}, "a.y": {"0": "dp"}, )";
  const size_t at = plan.find(stated);
  ASSERT_NE(at, std::string::npos);
  const stages::Result result = Run(plan.erase(at, stated.size()), {"b.h"});
  EXPECT_EQ(result.verdict, stages::Verdict::kProved);
  EXPECT_EQ(result.behind_assumptions.size(), 3u) << "abs, mul and exp";
}

// What the model computes for another output is needed to see that this one is wrong.
TEST_F(AssumedRelations, NumbersHaveTheModelsValueWhereTheOutputDoesNotNeedIt) {
  const std::string plan = R"({"planproof": 1,
    "specification": {"inputs": {"x": [8, 4]}, "operators": [
      {"op": "exp", "in": "x", "out": "h"}, {"op": "mul", "in": ["h", 3], "out": "first"},
      {"op": "mul", "in": ["x", 2], "out": "second"}],
      "outputs": {"first": {"0": "dp"}, "second": {"0": "dp"}}},
    "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": {"x": {"0": "dp"}}, "operators": [
      {"op": "abs", "in": "x", "out": "h"}, {"op": "mul", "in": ["h", 3], "out": "first"},
      {"op": "add", "in": ["x", "h"], "out": "second"}], "lineage": {"h": {"0": "dp"}}}]}})";
  const stages::Result result = Run(plan, {"h"});
  EXPECT_EQ(result.verdict, stages::Verdict::kRefuted);
  ASSERT_FALSE(result.violations.empty());
  EXPECT_EQ(result.violations[0].stage, "second");
}

TEST_F(AssumedRelations, OneThatIsNotNeededIsCalledSo) {
  const stages::Result right = Run(Plan("exp", "exp"), {"a.h"});
  EXPECT_EQ(right.verdict, stages::Verdict::kProved);
  EXPECT_EQ(VerdictInWords(right), "PROVED under 1 assumption") << "it was not proved without";
  EXPECT_EQ(right.assumed[0].need, Need::kProvable);
  EXPECT_THAT(InWords(right.assumed[0]), HasSubstr("not needed: the rest implies it"));
  const stages::Result one = Run(Plan("abs", "exp"), {"*.h"});
  ASSERT_EQ(one.assumed.size(), 2u);
  EXPECT_EQ(one.assumed[0].need, Need::kUsed);
  EXPECT_EQ(one.assumed[1].need, Need::kProvable) << "given a.h";
}

// A problem that comes with an assumption in it, as from a reader: also where the user approves
// another one, so that the result lists some.
TEST_F(AssumedRelations, AProblemBringsNone) {
  const lineage::Problem problem = Read(Plan("sin", "sin"));
  const auto smuggled = lineage::Assume(problem, Of(problem, {"a.h"}));
  ASSERT_TRUE(smuggled.ok()) << smuggled.status();
  stages::VerifyOptions options;
  for (const bool another : {false, true}) {
    if (another) options.assume = Of(problem, {"b.h"});
    const stages::Result result = Verify(smuggled->problem, options);
    EXPECT_EQ(result.verdict, stages::Verdict::kMalformed) << another;
    ASSERT_FALSE(result.violations.empty());
    EXPECT_THAT(result.violations[0].message, HasSubstr("only who verifies it may state"));
  }
}

TEST_F(AssumedRelations, WhatAProblemCannotHaveIsRefused) {
  const lineage::Problem problem = Read(Plan("exp", "exp"));
  stages::VerifyOptions options;
  options.assume = Of(problem, {"a.h"});
  options.assume[0].tensor = problem.required[0].parallel;
  const stages::Result result = Verify(problem, options);
  EXPECT_EQ(result.verdict, stages::Verdict::kUnknown);
  EXPECT_EQ(result.violations[0].kind, "assumption refused");
  options.assume = Of(problem, {"a.h"});
  options.assume[0].lineage.map[0].constant += 1000;
  EXPECT_EQ(Verify(problem, options).verdict, stages::Verdict::kUnknown)
      << "outside of the model's tensor";
}

// Two ranks that are spelled out. Each computes -abs(x) of its half, the second perhaps -exp(x) as
// the model does.
class SpelledOut {
 public:
  explicit SpelledOut(const char* of_second) {
    using shape_reduction::Instantiate;
    sdfg::Graph* model = &small_.problem.logical;
    sdfg::Graph* plan = &small_.problem.parallel;
    const sdfg::TensorId x = small_.Logical("x", {8});
    const sdfg::TensorId h = small_.Apply(model, Instantiate("exp", {{8}}), {x});
    const sdfg::TensorId y = small_.Apply(model, Instantiate("neg", {{8}}), {h});
    for (const int rank : {0, 1}) {
      const sdfg::TensorId part = small_.Slice(x, {4 * rank}, {4}, rank);
      const char* op = rank == 0 ? "abs" : of_second;
      h_[rank] = small_.Apply(plan, Instantiate(op, {{4}}), {part}, rank);
      const sdfg::TensorId out = small_.Apply(plan, Instantiate("neg", {{4}}), {h_[rank]}, rank);
      small_.Claim(h_[rank], h, {4 * rank});
      small_.Require(out, y, {4 * rank});
      small_.problem.required.back().what = "y";
    }
    small_.Check();
  }
  stages::Result Run(const std::vector<int>& assumed_ranks, bool fold) {
    stages::VerifyOptions options;
    options.fold_ranks = fold;
    for (const int rank : assumed_ranks) {
      options.assume.push_back({h_[rank], small_.problem.lineage[h_[rank]], "meant", "a.json:1"});
    }
    return Verify(small_.problem, options);
  }

 private:
  shape_reduction::SmallProblem small_;
  sdfg::TensorId h_[2];
};

TEST(AssumedOnRanks, EachRankIsAssumedByItself) {
  for (const bool fold : {true, false}) {
    const stages::Result both = SpelledOut("abs").Run({0, 1}, fold);
    EXPECT_EQ(both.verdict, stages::Verdict::kProved) << fold;
    EXPECT_EQ(both.assumed.size(), 2u);
    EXPECT_EQ(SpelledOut("abs").Run({0}, fold).verdict, stages::Verdict::kRefuted)
        << "rank 1 is wrong";
    EXPECT_EQ(SpelledOut("abs").Run({1}, fold).verdict, stages::Verdict::kRefuted)
        << "rank 0 is wrong";
    EXPECT_EQ(SpelledOut("exp").Run({0}, fold).verdict, stages::Verdict::kProved)
        << "rank 1 is right";
    EXPECT_EQ(SpelledOut("exp").Run({1}, fold).verdict, stages::Verdict::kRefuted);
  }
}

}  // namespace
}  // namespace planproof::strategy
