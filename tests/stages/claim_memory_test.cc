// What is remembered of a claim is a proof, with its premises under their names, and nothing else.
#include "stages/claim_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "sdfg/index_function.h"

namespace planproof::stages {
namespace {

using lineage::LineageKind;
using sdfg::DType;

class ClaimMemoryTest : public testing::Test {
 protected:
  ClaimMemoryTest() : directory_(testing::TempDir() + "memory_" + std::to_string(getpid())) {
    std::filesystem::remove_all(directory_);
  }
  ~ClaimMemoryTest() override { std::filesystem::remove_all(directory_); }

  // y = 1 / x on both sides.
  struct Instance {
    lineage::Problem problem;
    Claim claim;
  };
  static Instance Reciprocal(const std::string& prefix) {
    Instance out;
    lineage::Problem& p = out.problem;
    sdfg::IndexFunctionBuilder b("reciprocal");
    const int x = b.AddInput("x", {4}, DType::kFloat32);
    const int y = b.AddOutput("y", sdfg::Shape{4}, DType::kFloat32);
    b.SetBody(y, b.Binary(sdfg::Op::kDiv, b.Real(1), b.Element(x, {b.Index(b.OutputDims(y)[0])})));
    sdfg::IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    sdfg::TensorId ids[2][2];
    for (int side = 0; side < 2; ++side) {
      sdfg::Graph& g = side == 0 ? p.logical : p.parallel;
      for (int k = 0; k < 2; ++k) {
        sdfg::Tensor t;
        t.name = prefix + (k == 0 ? "x" : "y");
        t.shape = {4};
        t.dtype = DType::kFloat32;
        t.role = k == 0 ? sdfg::TensorRole::kInput : sdfg::TensorRole::kIntermediate;
        ids[side][k] = g.AddTensor(t);
      }
      sdfg::Operator op;
      op.name = "reciprocal";
      op.function = g.Intern(f);
      op.inputs = {ids[side][0]};
      op.outputs = {ids[side][1]};
      g.AddOperator(op);
    }
    p.lineage.resize(2);
    for (int k = 0; k < 2; ++k) {
      p.lineage[ids[1][k]].kind = LineageKind::kFull;
      p.lineage[ids[1][k]].logical = ids[0][k];
      p.lineage[ids[1][k]].map = {sdfg::IndexMap{0, {{}}}};
    }
    out.claim.parallel = ids[1][1];
    out.claim.target = p.lineage[ids[1][1]];
    return out;
  }

  static ClaimOutcome Proof() {
    ClaimOutcome o;
    o.status = ClaimStatus::kProved;
    o.method = ProofMethod::kNormalForm;
    return o;
  }
  // What is recalled for the instance, after `remembered` was stored for `first`.
  ClaimOutcome Recalled(const Instance& first, const ClaimOutcome& remembered,
                        const Instance& instance, const std::string& engine = "1") {
    std::filesystem::remove_all(directory_);
    {
      verdict_cache::Store store({directory_ + "/s", "1"});
      const Relations relations(first.problem);
      ClaimMemory memory(first.problem, relations, {&store});
      memory.SetClaims({&first.claim});
      memory.Remember(0, remembered);
    }
    verdict_cache::Store store({directory_ + "/s", engine});
    const Relations relations(instance.problem);
    ClaimMemory memory(instance.problem, relations, {&store});
    memory.SetClaims({&instance.claim});
    std::vector<ClaimOutcome> outcomes;
    memory.Recall(&outcomes);
    EXPECT_EQ(outcomes.size(), 1u);
    return outcomes.at(0);
  }

  std::string directory_;
};

TEST_F(ClaimMemoryTest, AProofIsRecalledInAnotherProblem) {
  const ClaimOutcome recalled = Recalled(Reciprocal("a."), Proof(), Reciprocal("b."));
  EXPECT_EQ(recalled.status, ClaimStatus::kProved);
  EXPECT_EQ(recalled.method, ProofMethod::kNormalForm);
}

TEST_F(ClaimMemoryTest, AnotherEngineRecallsNothing) {
  EXPECT_EQ(Recalled(Reciprocal("a."), Proof(), Reciprocal("a."), "2").status,
            ClaimStatus::kUndecided);
}

TEST_F(ClaimMemoryTest, PremisesComeBackUnderTheirNamesOnly) {
  ClaimOutcome proof = Proof();
  proof.premises = {
      {.kind = solver::PremiseKind::kPositive, .operator_name = "log", .term = "a.x[i0]"}};
  const ClaimOutcome same = Recalled(Reciprocal("a."), proof, Reciprocal("a."));
  EXPECT_EQ(same.status, ClaimStatus::kProved);
  EXPECT_EQ(same.premises, proof.premises);
  EXPECT_EQ(Recalled(Reciprocal("a."), proof, Reciprocal("b.")).status, ClaimStatus::kUndecided);
}

TEST_F(ClaimMemoryTest, OnlyProofsWithoutUnfoldingAreRemembered) {
  const auto is_recalled = [this](auto change) {
    ClaimOutcome o = Proof();
    change(&o);
    return Recalled(Reciprocal("a."), o, Reciprocal("a.")).status != ClaimStatus::kUndecided;
  };
  EXPECT_TRUE(is_recalled([](ClaimOutcome*) {}));
  EXPECT_FALSE(is_recalled([](ClaimOutcome* o) { o->status = ClaimStatus::kFailed; }));
  EXPECT_FALSE(is_recalled([](ClaimOutcome* o) { o->status = ClaimStatus::kAbandoned; }));
  EXPECT_FALSE(is_recalled([](ClaimOutcome* o) { o->unsatisfiable = true; }));
  EXPECT_FALSE(is_recalled([](ClaimOutcome* o) { o->method = ProofMethod::kUnfolded; }));
  // Whether the condition holds depends on the rest of the model.
  EXPECT_FALSE(is_recalled([](ClaimOutcome* o) { o->restrictions.emplace_back(); }));
}

}  // namespace
}  // namespace planproof::stages
