// A wrong tensor that equals the right one on many inputs is found by nobody who tries a few: none
// is proved. Its right twin is, so that this test can fail.
#include "tests/soundness_cases/special_values.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "frontend/plan/read_plan.h"
#include "inference/relation_inference.h"
#include "strategy/verify.h"
#include "tests/soundness_cases/numeric_judge.h"
#include "tests/temporary_directory.h"

namespace planproof::soundness {
namespace {

// PLANPROOF_SPECIAL_VALUES=all (scripts/acceptance_inference.py) tries every plan.
bool TryAll() {
  const char* chosen = std::getenv("PLANPROOF_SPECIAL_VALUES");
  return chosen != nullptr && std::string(chosen) == "all";
}

class SpecialValues : public testing::TestWithParam<size_t> {
 protected:
  absl::StatusOr<lineage::Problem> Read(const SpecialPlan& plan) {
    const std::string path = directory_.path() + "plan.json";
    std::ofstream(path) << PlanText(value_, plan);
    return plan::ReadPlan({path}, sdfg::OperatorLibrary::BuiltIn());
  }

  static std::string VerdictOf(const lineage::Problem& problem) {
    const inference::RelationInference inference;
    stages::VerifyOptions options;
    options.jobs = 1;
    options.inference = &inference;
    options.explain = false;
    return stages::VerdictName(strategy::Verify(problem, options).verdict);
  }

  void Try(SpecialPlan plan) {
    SCOPED_TRACE(value_.name + " at place " + std::to_string(static_cast<int>(plan.place)) +
                 " on " + std::to_string(plan.ranks) + " ranks");
    plan.wrong = false;
    const auto right = Read(plan);
    ASSERT_TRUE(right.ok()) << right.status();
    EXPECT_EQ(VerdictOf(*right), "PROVED");
    plan.wrong = true;
    for (const bool lineage : {false, true}) {
      plan.lineage = lineage;
      const auto wrong = Read(plan);
      ++tried_;
      if (lineage && !wrong.ok()) continue;  // a relation that cannot be: MALFORMED
      ASSERT_TRUE(wrong.ok()) << wrong.status();
      EXPECT_NE(VerdictOf(*wrong), "PROVED") << PlanText(value_, plan);
      if (lineage) continue;
      const auto judged = Judge(*wrong, 3, 20240607);
      ASSERT_TRUE(judged.ok()) << judged.status();
      EXPECT_FALSE(judged->equal) << "it is not wrong";
    }
  }

  const SpecialValue value_ = ReadSpecialValues()[GetParam()];
  const TemporaryDirectory directory_{"special_values"};
  int tried_ = 0;
};

TEST_P(SpecialValues, AreNoProof) {
  if (TryAll()) {
    for (const Place place : kPlaces) {
      for (const int64_t ranks : {2, 4}) Try({place, ranks});
    }
    std::cout << tried_ << " wrong plans\n";
  } else {
    Try({kPlaces[GetParam() % std::size(kPlaces)], GetParam() % 3 == 0 ? 4 : 2});
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, SpecialValues, testing::Range(size_t{0}, ReadSpecialValues().size()),
                         [](const testing::TestParamInfo<size_t>& info) {
                           return ReadSpecialValues()[info.param].name;
                         });

}  // namespace
}  // namespace planproof::soundness
