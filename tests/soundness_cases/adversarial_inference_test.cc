// Relations that lie: whatever inference returns, no plan is proved that is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "frontend/plan/read_plan.h"
#include "inference/relation_inference.h"
#include "strategy/verify.h"
#include "tests/soundness_cases/manifest.h"

namespace planproof::soundness {
namespace {

using sdfg::TensorId;

// Takes what is inferred, and changes some of it; makes up relations for other tensors.
class Liar : public stages::LineageInference {
 public:
  explicit Liar(uint64_t seed) : seed_(seed) {}

  stages::InferredRelations Infer(const lineage::Problem& problem,
                                  const stages::StopRequest* stop) const override {
    stages::InferredRelations inferred = inference::RelationInference().Infer(problem, stop);
    std::mt19937_64 random(seed_);
    std::map<TensorId, stages::InferredRelation> of_tensor;
    for (const auto& relation : inferred.relations) of_tensor[relation.parallel] = relation;
    const sdfg::Graph& parallel = problem.parallel;
    for (size_t t = 0; t < parallel.tensors.size(); ++t) {
      if (random() % 2 == 0) continue;
      const TensorId tensor = static_cast<TensorId>(t);
      const auto found = of_tensor.find(tensor);
      of_tensor[tensor] = random() % 2 == 0 && found != of_tensor.end()
                              ? Changed(problem, found->second, &random)
                              : MadeUp(problem, tensor, &random);
    }
    inferred.relations.clear();
    for (const auto& [tensor, relation] : of_tensor) inferred.relations.push_back(relation);
    return inferred;
  }

 private:
  // Another tensor of the same shape, or another element.
  // A lie: another tensor, another factor, another element.
  static stages::InferredRelation Changed(const lineage::Problem& problem,
                                          stages::InferredRelation relation,
                                          std::mt19937_64* random) {
    const auto& tensors = problem.logical.tensors;
    if ((*random)() % 4 == 0) {
      relation.factor = relation.factor * solver::Rational((*random)() % 2 == 0 ? 2 : -1);
      return relation;
    }
    if ((*random)() % 2 == 0 || relation.map.empty()) {
      const size_t start = (*random)() % tensors.size();
      for (size_t k = 0; k < tensors.size(); ++k) {
        const size_t other = (start + k) % tensors.size();
        if (tensors[other].shape == tensors[relation.logical].shape) {
          relation.logical = static_cast<TensorId>(other);
          break;
        }
      }
      return relation;
    }
    sdfg::IndexMap& map = relation.map[(*random)() % relation.map.size()];
    switch ((*random)() % 3) {
      case 0:
        map.constant += (*random)() % 2 == 0 ? 1 : -1;
        break;
      case 1:
        if (!map.terms.empty()) map.terms.erase(map.terms.begin());
        break;
      default:
        std::swap(relation.map.front(), relation.map.back());
    }
    return relation;
  }

  static stages::InferredRelation MadeUp(const lineage::Problem& problem, TensorId tensor,
                                         std::mt19937_64* random) {
    const sdfg::Shape& shape = problem.parallel.tensors[tensor].shape;
    stages::InferredRelation relation;
    relation.parallel = tensor;
    relation.logical = static_cast<TensorId>((*random)() % problem.logical.tensors.size());
    for (size_t d = 0; d < problem.logical.tensors[relation.logical].shape.size(); ++d) {
      sdfg::IndexMap map;
      if (!shape.empty() && (*random)() % 4 != 0) {
        sdfg::IndexTerm term;
        term.dim = static_cast<int32_t>((*random)() % shape.size());
        map.terms.push_back(term);
      }
      relation.map.push_back(map);
    }
    return relation;
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
  EXPECT_TRUE(allows(strategy::Verify(problem, options))) << GetParam().catches;
  for (const uint64_t seed : {1, 2}) {
    const Liar liar(seed);
    options.inference = &liar;
    options.explain = false;
    const stages::Result result = strategy::Verify(problem, options);
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
