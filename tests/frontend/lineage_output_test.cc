// Lineage written into plans: what is written reads back to the relation that was meant.
#include "frontend/plan/lineage_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "lineage/multiple.h"
#include "sdfg/operator_library.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using lineage::LineageKind;

// What a plan says of computed tensors.
std::vector<StatedRelation> Stated(const lineage::Problem& problem) {
  std::vector<StatedRelation> stated;
  for (size_t t = 0; t < problem.lineage.size(); ++t) {
    const lineage::Lineage& lineage = problem.lineage[t];
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    if (lineage.kind != LineageKind::kFull || tensor.producer == sdfg::kNone) continue;
    const lineage::Multiple multiple = lineage::AsMultiple(problem.logical, lineage.logical);
    stated.push_back(
        {tensor.name, problem.logical.tensors[multiple.of].name, multiple.factor, lineage.map});
  }
  return stated;
}

// By tensor, as text.
std::map<std::string, std::string> InWords(const std::vector<StatedRelation>& relations) {
  std::map<std::string, std::string> words;
  for (const StatedRelation& relation : relations) {
    std::string text = relation.factor.ToString() + " " + relation.logical;
    for (const sdfg::IndexMap& map : relation.map) {
      text += " | " + std::to_string(map.constant);
      std::vector<std::string> terms;
      for (const sdfg::IndexTerm& t : map.terms) {
        terms.push_back("");
        for (const int64_t number : {int64_t{t.dim}, t.scale, t.div, t.mod, t.offset,
                                     int64_t{t.gate.dim}, t.gate.div, t.gate.mod, t.gate.offset}) {
          terms.back() += " " + std::to_string(number);
        }
      }
      std::sort(terms.begin(), terms.end());
      for (const std::string& term : terms) text += "," + term;
    }
    words[relation.tensor] = text;
  }
  return words;
}

// How many relations of the plan come back from a plan that has no other lineage.
int64_t RoundTrip(const std::string& path) {
  SCOPED_TRACE(path);
  absl::StatusOr<PlanFile> file = ReadPlanFile(path);
  if (!file.ok() || !file->has_plan()) return 0;
  absl::StatusOr<lineage::Problem> problem = ReadPlan({path}, sdfg::OperatorLibrary::BuiltIn());
  if (!problem.ok()) return 0;
  for (Program& program : *file->mutable_plan()->mutable_programs()) program.clear_lineage();
  const std::string bare = testing::TempDir() + "bare" + std::to_string(getpid()) + ".plan";
  std::ofstream(bare, std::ios::binary) << file->SerializeAsString();
  const absl::StatusOr<PlanWithLineage> written = WithLineage({bare}, *problem, Stated(*problem));
  std::filesystem::remove(bare);
  EXPECT_TRUE(written.ok()) << written.status();
  if (!written.ok()) return 0;
  const absl::StatusOr<lineage::Problem> again = ReadText(written->text);
  EXPECT_TRUE(again.ok()) << again.status();
  if (!again.ok()) return 0;
  std::map<std::string, std::string> meant = InWords(Stated(*problem));
  for (const std::string& name : written->unnamed) meant.erase(name);
  EXPECT_EQ(InWords(Stated(*again)), meant);
  return written->stated;
}

TEST(LineageOutput, WhatExamplesSayComesBack) {
  int64_t relations = 0;
  for (const char* directory : {"examples", "examples/daily", "tests/soundness_cases/cases"}) {
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(PLANPROOF_SOURCE_DIR) / directory)) {
      if (entry.path().extension() == ".json") relations += RoundTrip(entry.path());
    }
  }
  EXPECT_GT(relations, 100);
}

TEST(LineageOutput, WhatGeneratedPlansSayComesBack) {
  generator::Strategy pipeline;
  pipeline.data_parallel = 2;
  pipeline.tensor_parallel = 2;
  pipeline.pipeline_parallel = 2;
  pipeline.microbatches = 2;
  pipeline.loss_scale = "1024";
  generator::Strategy zigzag;
  zigzag.context_parallel = 4;
  zigzag.zigzag = true;
  const std::string path = testing::TempDir() + "generated" + std::to_string(getpid()) + ".plan";
  for (const generator::Strategy& strategy : {pipeline, zigzag}) {
    const absl::StatusOr<generator::GeneratedPlans> plans =
        generator::Generate(*generator::NamedModel("gpt-tiny"), {}, strategy);
    ASSERT_TRUE(plans.ok()) << plans.status();
    const absl::StatusOr<PlanFile> whole =
        MergePlanFiles({{"logical", plans->logical}, {"parallel", plans->parallel}});
    ASSERT_TRUE(whole.ok()) << whole.status();
    std::ofstream(path, std::ios::binary) << whole->SerializeAsString();
    EXPECT_GT(RoundTrip(path), 50);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace planproof::plan
