// Relations that lie: whatever inference returns, no plan is proved that is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "frontend/plan/read_plan.h"
#include "inference/relation_inference.h"
#include "lineage/map_range.h"
#include "stages/verify.h"
#include "tests/soundness_cases/manifest.h"

namespace planproof::soundness {
namespace {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::TensorId;

// Takes what is inferred, and changes some of it; makes up relations for other tensors.
class Liar : public stages::LineageInference {
 public:
  explicit Liar(uint64_t seed) : seed_(seed) {}

  stages::CompletedProblem Complete(const lineage::Problem& problem,
                                    const stages::StopRequest* stop) const override {
    stages::CompletedProblem completed = inference::RelationInference().Complete(problem, stop);
    std::mt19937_64 random(seed_);
    const sdfg::Graph& parallel = problem.parallel;
    for (size_t t = 0; t < parallel.tensors.size(); ++t) {
      Lineage& lineage = completed.problem.lineage[t];
      if (parallel.tensors[t].producer == sdfg::kNone || random() % 2 == 0) continue;
      lineage = random() % 2 == 0 && lineage.kind == LineageKind::kFull
                    ? Changed(completed.problem, lineage, &random)
                    : MadeUp(completed.problem, parallel.tensors[t].shape, &random);
      const auto& target = completed.problem.logical.tensors[lineage.logical];
      if (!lineage::CheckInside(lineage.map, parallel.tensors[t].shape, target.shape).ok() ||
          sdfg::IsInteger(target.dtype) != sdfg::IsInteger(parallel.tensors[t].dtype)) {
        lineage = {};
      }
    }
    return completed;
  }

 private:
  // Another tensor of the same shape, or another element.
  static Lineage Changed(const lineage::Problem& problem, Lineage lineage,
                         std::mt19937_64* random) {
    const auto& tensors = problem.logical.tensors;
    if ((*random)() % 2 == 0 || lineage.map.empty()) {
      const size_t start = (*random)() % tensors.size();
      for (size_t k = 0; k < tensors.size(); ++k) {
        const size_t other = (start + k) % tensors.size();
        if (tensors[other].shape == tensors[lineage.logical].shape) {
          lineage.logical = static_cast<TensorId>(other);
          break;
        }
      }
      return lineage;
    }
    sdfg::IndexMap& map = lineage.map[(*random)() % lineage.map.size()];
    switch ((*random)() % 3) {
      case 0:
        map.constant += (*random)() % 2 == 0 ? 1 : -1;
        break;
      case 1:
        if (!map.terms.empty()) map.terms.erase(map.terms.begin());
        break;
      default:
        std::swap(lineage.map.front(), lineage.map.back());
    }
    return lineage;
  }

  static Lineage MadeUp(const lineage::Problem& problem, const sdfg::Shape& shape,
                        std::mt19937_64* random) {
    Lineage lineage;
    lineage.kind = LineageKind::kFull;
    lineage.provenance = lineage::Provenance::kInferred;
    lineage.logical = static_cast<TensorId>((*random)() % problem.logical.tensors.size());
    for (size_t d = 0; d < problem.logical.tensors[lineage.logical].shape.size(); ++d) {
      sdfg::IndexMap map;
      if (!shape.empty() && (*random)() % 4 != 0) {
        sdfg::IndexTerm term;
        term.dim = static_cast<int32_t>((*random)() % shape.size());
        map.terms.push_back(term);
      }
      lineage.map.push_back(map);
    }
    return lineage;
  }

  const uint64_t seed_;
};

class AdversarialInference : public testing::TestWithParam<Case> {};

TEST_P(AdversarialInference, ProvesNothingWrong) {
  const absl::StatusOr<lineage::Problem> read = plan::ReadPlan(
      {CasesDirectory() + "/cases/" + GetParam().file}, sdfg::OperatorLibrary::BuiltIn());
  if (!read.ok()) return;
  lineage::Problem problem = *read;
  inference::DiscardLineage(&problem);
  const auto& allowed = GetParam().verdicts;
  const auto allows = [&](const stages::Result& result) {
    const std::string verdict = stages::VerdictName(result.verdict);
    return verdict == "UNKNOWN" ||
           std::find(allowed.begin(), allowed.end(), verdict) != allowed.end();
  };
  stages::VerifyOptions options;
  options.jobs = 1;
  const inference::RelationInference honest;
  options.inference = &honest;
  EXPECT_TRUE(allows(stages::Verify(problem, options))) << GetParam().catches;
  for (const uint64_t seed : {1, 2}) {
    const Liar liar(seed);
    options.inference = &liar;
    options.explain = false;
    const stages::Result result = stages::Verify(problem, options);
    EXPECT_TRUE(allows(result)) << stages::VerdictName(result.verdict) << " by lies of seed "
                                << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(SoundnessCases, AdversarialInference, testing::ValuesIn(ReadManifest()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return info.param.file.substr(0, info.param.file.size() - 5);
                         });

}  // namespace
}  // namespace planproof::soundness
