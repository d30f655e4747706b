// Assumptions that are true, and ones that lie: whatever is assumed, what is PROVED under it agrees
// with numbers that have the assumed values.
#include "lineage/assumptions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "shape_reduction/witness.h"
#include "strategy/verify.h"
#include "tests/soundness_cases/manifest.h"

namespace planproof::soundness {
namespace {

using sdfg::TensorId;

constexpr size_t kMostAssumed = 8;  // tensors of one case
constexpr int kInputs = 3;

// The tensor is all of the model's, at each coordinate.
std::vector<lineage::IndexMap> Whole(const sdfg::Tensor& tensor) {
  std::vector<lineage::IndexMap> map;
  for (size_t d = tensor.axes.size(); d < tensor.shape.size(); ++d) {
    lineage::IndexTerm term;
    term.dim = static_cast<int32_t>(d);
    map.push_back({0, {term}});
  }
  return map;
}

// What tensors of the plan may be assumed to be: what the plan says, or (a lie, most likely) some
// tensor of the model of that shape.
std::vector<lineage::Assumption> Possible(const lineage::Problem& problem, bool lie,
                                          std::mt19937_64* random) {
  const lineage::AssumptionCheck check(problem);
  const auto& model = problem.logical.tensors;
  std::vector<lineage::Assumption> all;
  for (size_t t = 0; t < problem.parallel.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    lineage::Assumption assumption{static_cast<TensorId>(t), problem.lineage[t], "meant", "a:1"};
    lineage::Lineage& lineage = assumption.lineage;
    const bool stated = lineage.kind == lineage::LineageKind::kFull;
    if (!stated && !lie) continue;
    if (lie) {
      const sdfg::Shape local(
          tensor.shape.begin() + static_cast<std::ptrdiff_t>(tensor.axes.size()),
          tensor.shape.end());
      const sdfg::Shape shape = stated ? model[lineage.logical].shape : local;
      if (!stated) lineage = {.kind = lineage::LineageKind::kFull, .map = Whole(tensor)};
      const size_t start = (*random)() % model.size();
      for (size_t k = 0; k < model.size(); ++k) {
        const size_t other = (start + k) % model.size();
        if (model[other].shape != shape || model[other].dtype != tensor.dtype) continue;
        lineage.logical = static_cast<TensorId>(other);
        break;
      }
    }
    if (check(assumption).ok()) all.push_back(std::move(assumption));
  }
  std::shuffle(all.begin(), all.end(), *random);
  return all;
}

class AssumedCases : public testing::TestWithParam<Case> {};

TEST_P(AssumedCases, WhatIsProvedUnderThemHoldsInNumbers) {
  if (!GetParam().judge) GTEST_SKIP() << "numbers do not decide it";
  const absl::StatusOr<lineage::Problem> read = plan::ReadPlan(
      {CasesDirectory() + "/cases/" + GetParam().file}, sdfg::OperatorLibrary::BuiltIn());
  if (!read.ok()) return;
  std::mt19937_64 random(7);
  for (const bool lie : {false, true}) {
    const std::vector<lineage::Assumption> possible = Possible(*read, lie, &random);
    for (size_t i = 0; i < std::min(possible.size(), kMostAssumed); ++i) {
      stages::VerifyOptions options;
      options.jobs = 1;
      options.explain = false;
      options.assume = {possible[i]};
      const stages::Result result = strategy::Verify(*read, options);
      if (result.verdict != stages::Verdict::kProved) continue;
      EXPECT_EQ(result.assumed.size(), 1u);
      const auto assumed = lineage::Assume(*read, options.assume);
      ASSERT_TRUE(assumed.ok()) << assumed.status();
      EXPECT_NE(shape_reduction::NumericEqual(assumed->problem, kInputs),
                shape_reduction::NumericVerdict::kDifferent)
          << result.assumed[0].relation;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SoundnessCases, AssumedCases, testing::ValuesIn(ReadManifest()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return info.param.file.substr(0, info.param.file.size() - 5);
                         });

}  // namespace
}  // namespace planproof::soundness
