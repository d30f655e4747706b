// Certificates say what to claim, and are believed in nothing.
#include "inference/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "strategy/verify.h"

namespace planproof::inference {
namespace {

namespace fs = std::filesystem;
using stages::ProvedRelation;

lineage::Problem Read(const std::string& file) {
  auto problem = plan::ReadPlan({std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + file},
                                sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  if (problem.ok()) DiscardLineage(&*problem);
  return *std::move(problem);
}

stages::Result Verify(const lineage::Problem& problem, const stages::LineageInference& inference) {
  stages::VerifyOptions options;
  options.jobs = 1;
  options.explain = false;
  options.keep_relations = true;
  options.inference = &inference;
  return strategy::Verify(problem, options);
}

std::vector<std::string> DailyPlans() {
  std::vector<std::string> plans;
  for (const auto& entry :
       fs::directory_iterator(std::string(PLANPROOF_SOURCE_DIR) + "/examples/daily")) {
    if (entry.path().extension() == ".json") {
      plans.push_back("daily/" + entry.path().filename().string());
    }
  }
  std::sort(plans.begin(), plans.end());
  return plans;
}

class CertificateOfPlan : public testing::TestWithParam<std::string> {};

TEST_P(CertificateOfPlan, IsEnoughForTheProof) {
  const lineage::Problem problem = Read(GetParam());
  const stages::Result first = Verify(problem, RelationInference());
  ASSERT_EQ(first.verdict, stages::Verdict::kProved);
  const std::string text = ToText(CertificateOf(first));
  const auto certificate = FromText(text);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  const CertifiedRelations certified(*certificate, /*infer_rest=*/false);
  const stages::Result again = Verify(problem, certified);
  EXPECT_EQ(again.verdict, stages::Verdict::kProved);
  EXPECT_EQ(again.inference.classes, 0);
  EXPECT_EQ(ToText({CertificateOf(again).relations, certificate->unrelated}), text);
}

// Another slice, other ranks, another factor, another tensor.
bool Tamper(const lineage::Problem& problem, std::mt19937_64* random, ProvedRelation* relation) {
  const auto tensor = problem.logical.FindTensor(relation->logical);
  if (!tensor.ok()) return false;
  const sdfg::Shape& shape = problem.logical.tensors[*tensor].shape;
  switch ((*random)() % 4) {
    case 0: {
      for (sdfg::IndexMap& map : relation->map) {
        if (map.terms.empty()) continue;
        map.constant += map.constant > 0 ? -1 : 1;
        return true;
      }
      return false;
    }
    case 1: {
      for (sdfg::IndexMap& map : relation->map) {
        if (map.terms.size() < 2) continue;
        map.terms.erase(map.terms.begin());
        return true;
      }
      return false;
    }
    case 2:
      relation->factor = relation->factor * solver::Rational(2);
      return true;
    default: {
      const size_t start = (*random)() % problem.logical.tensors.size();
      for (size_t k = 0; k < problem.logical.tensors.size(); ++k) {
        const sdfg::Tensor& other =
            problem.logical.tensors[(start + k) % problem.logical.tensors.size()];
        if (other.shape != shape || other.name == relation->logical) continue;
        relation->logical = other.name;
        return true;
      }
      return false;
    }
  }
}

TEST_P(CertificateOfPlan, IsNotBelievedWhereItWasTamperedWith) {
  const lineage::Problem problem = Read(GetParam());
  const Certificate right = CertificateOf(Verify(problem, RelationInference()));
  ASSERT_FALSE(right.relations.empty());
  std::mt19937_64 random(7);
  int tampered = 0;
  for (int k = 0; k < 100 && tampered < 15; ++k) {
    Certificate wrong = right;
    ProvedRelation& relation = wrong.relations[random() % wrong.relations.size()];
    const ProvedRelation before = relation;
    if (!Tamper(problem, &random, &relation)) continue;
    ++tampered;
    const CertifiedRelations certified(wrong, /*infer_rest=*/false);
    const stages::Result result = Verify(problem, certified);
    for (const ProvedRelation& proved : result.proved_relations) {
      if (proved.tensor != relation.tensor || proved.number != relation.number) continue;
      // Some tensors are two things at once: a gradient and its only contribution.
      if (proved.logical != before.logical) continue;
      EXPECT_EQ(proved.map, before.map) << proved.text;
      EXPECT_EQ(proved.factor, before.factor) << proved.text;
    }
  }
  EXPECT_GE(tampered, 10);
}

INSTANTIATE_TEST_SUITE_P(Certificates, CertificateOfPlan, testing::ValuesIn(DailyPlans()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return fs::path(info.param).stem().string();
                         });

TEST(CertificateTest, OfTheRightPlanDoesNotProveTheBrokenOne) {
  const Certificate certificate =
      CertificateOf(Verify(Read("llama_dp2_pp2_tp2_mb2.json"), RelationInference()));
  ASSERT_FALSE(certificate.relations.empty());
  for (const bool infer_rest : {false, true}) {
    const CertifiedRelations certified(certificate, infer_rest);
    EXPECT_NE(Verify(Read("llama_dp2_pp2_tp2_mb2_broken.json"), certified).verdict,
              stages::Verdict::kProved);
  }
}

TEST(CertificateTest, SavesInferenceWhereAPlanHasChanged) {
  const lineage::Problem problem = Read("llama_dp2_pp2_tp2_mb2.json");
  Certificate old = CertificateOf(Verify(problem, RelationInference()));
  const size_t all = old.relations.size();
  // A tenth of the tensors have other names in it.
  for (size_t k = 0; k < all; k += 10) old.relations[k].tensor = "renamed";
  const CertifiedRelations certified(old, /*infer_rest=*/true);
  const stages::Result result = Verify(problem, certified);
  EXPECT_EQ(result.verdict, stages::Verdict::kProved);
  const stages::Result anew = Verify(problem, RelationInference());
  EXPECT_LE(result.inference.classes * 5, anew.inference.classes);
}

TEST(CertificateTest, SaysWhereItIsWrong) {
  const auto error = [](const std::string& text) {
    const auto certificate = FromText(text);
    EXPECT_FALSE(certificate.ok()) << text;
    return std::string(certificate.status().message());
  };
  EXPECT_EQ(error("{"), "is no JSON");
  EXPECT_EQ(error("[]"), ": is no object");
  EXPECT_EQ(error(R"({"planproof_certificate": 2, "relations": []})"),
            "/planproof_certificate: is another version; write it anew");
  EXPECT_EQ(error(R"({"planproof_certificate": 1, "relations": [], "x": 1})"),
            "/x: is no key of a certificate");
  const std::string head = R"({"planproof_certificate": 1, "relations": [)";
  EXPECT_EQ(error(head + "{}]}"), "/relations/0/tensor: is missing");
  const std::string names = R"({"tensor": {"name": "a"}, "is": {"name": "b"}, )";
  EXPECT_EQ(error(head + names + R"("factor": "0", "map": []}]})"),
            "/relations/0/factor: is no number other than 0");
  EXPECT_EQ(error(head + names + R"("map": [{"constant": 0, "terms": [{"index": -1}]}]}]})"),
            "/relations/0/map/0/terms/0: is no digit of an index");
  EXPECT_EQ(error(head + names + R"("map": [{"constant": 99999999999999999, "terms": []}]}]})"),
            "/relations/0/map/0/constant: is too large");
}

}  // namespace
}  // namespace planproof::inference
