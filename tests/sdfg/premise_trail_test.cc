// An element that is taken from memory meets the premises that its evaluation met, in the same
// order, whichever elements were evaluated before.
#include "sdfg/premise_trail.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "sdfg/operator_library.h"
#include "sdfg/symbolic_evaluator.h"

namespace planproof::sdfg {
namespace {

using solver::Affine;

constexpr int64_t kExtent = 4;

// Inputs are unknown values; which definitions are granted depends on the tensor.
class Unknowns : public RepresentationPolicy {
 public:
  explicit Unknowns(const Graph& graph) : graph_(graph) {}
  Representation Of(TensorRef t) override {
    Representation r;
    if (graph_.tensors[t.tensor].producer != kNone) return r;
    r.kind = Representation::Kind::kAtom;
    r.tag = static_cast<uint32_t>(t.tensor);
    return r;
  }
  solver::PremiseSource SourceOf(TensorRef t) const override {
    return {.granted = t.tensor % 3 == 0, .number = t.tensor};
  }

 private:
  const Graph& graph_;
};

class PremiseTrailTest : public testing::Test {
 protected:
  TensorId Add(TensorRole role) {
    Tensor t;
    t.shape = {kExtent};
    t.dtype = DType::kFloat32;
    t.role = role;
    return graph_.AddTensor(std::move(t));
  }
  TensorId Apply(const std::string& declaration, const std::vector<TensorId>& inputs) {
    OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
    EXPECT_TRUE(library.AddDeclarations("op f" + declaration, "my.op").ok()) << declaration;
    Operand operand;
    operand.shape = {kExtent};
    operand.dtype = DType::kFloat32;
    const auto f = library.Instantiate("f", std::vector<Operand>(inputs.size(), operand), {});
    EXPECT_TRUE(f.ok()) << f.status();
    Operator op;
    op.inputs = inputs;
    op.outputs = {Add(TensorRole::kIntermediate)};
    op.function = graph_.Intern(*f);
    const TensorId result = op.outputs[0];
    graph_.AddOperator(std::move(op));
    return result;
  }

  // What is met when these elements are evaluated by an evaluator that may remember others.
  static std::vector<std::string> Met(solver::Arena* arena, SymbolicEvaluator* evaluator,
                                      const std::vector<TensorId>& tensors) {
    arena->ClearPremises();
    evaluator->ClearPremisesInBranches();
    for (const TensorId t : tensors) {
      evaluator->ClearFailure();
      const solver::Symbol i = evaluator->symbols()->OfDimension(0, {0, kExtent});
      EXPECT_TRUE(evaluator->Defined({0, t}, {Affine::Of(i)}).has_value()) << evaluator->error();
    }
    std::vector<std::string> met;
    for (const solver::Premise& p : arena->premises()) {
      met.push_back(arena->ToString(p.poly) + " " + std::to_string(static_cast<int>(p.kind)) +
                    (p.granted ? " granted" : "") + (p.needed ? " needed" : "") + " by " +
                    std::to_string(p.number));
    }
    if (evaluator->premises_in_branches()) met.emplace_back("in a branch");
    return met;
  }

  Graph graph_;
};

TEST_F(PremiseTrailTest, WhatIsTakenFromMemoryMeetsItsPremisesAgain) {
  const TensorId x = Add(TensorRole::kInput);
  const TensorId logarithm = Apply("(x) -> y = log(x)", {x});
  const TensorId twice = Apply("(x) -> y = x + x", {logarithm});
  const TensorId again = Apply("(x) -> y = 3 * x", {twice});
  Unknowns policy(graph_);
  solver::Arena arena;
  SymbolicEvaluator evaluator(&arena, {&graph_}, &policy);
  const auto first = Met(&arena, &evaluator, {logarithm});
  ASSERT_EQ(first.size(), 1u);
  // From memory itself, by what reads it, and by what reads that; each time from the start.
  EXPECT_EQ(Met(&arena, &evaluator, {logarithm}), first);
  EXPECT_EQ(Met(&arena, &evaluator, {twice}), first);
  EXPECT_EQ(Met(&arena, &evaluator, {again}), first);
  EXPECT_EQ(Met(&arena, &evaluator, {again, twice}), first);
}

// Forgotten in the middle of a claim, what is evaluated again is met again.
TEST_F(PremiseTrailTest, WhatWasRewoundIsMetAgain) {
  const TensorId x = Add(TensorRole::kInput);
  const TensorId inverse = Apply("(x) -> y = 1 / x", {x});
  Unknowns policy(graph_);
  solver::Arena arena;
  SymbolicEvaluator evaluator(&arena, {&graph_}, &policy);
  const auto first = Met(&arena, &evaluator, {inverse});
  ASSERT_EQ(first.size(), 1u);
  arena.RewindPremises(0);
  ASSERT_TRUE(arena.premises().empty());
  const solver::Symbol i = evaluator.symbols()->OfDimension(0, {0, kExtent});
  evaluator.Defined({0, inverse}, {Affine::Of(i)});
  EXPECT_EQ(arena.premises().size(), 1u);
}

TEST_F(PremiseTrailTest, APremiseInABranchIsOneAgain) {
  const TensorId x = Add(TensorRole::kInput), y = Add(TensorRole::kInput);
  const TensorId choice =
      Apply("(x[i], y[i]) ties even -> z[i] = where(x[i] > 0, log(y[i]), 0)", {x, y});
  const TensorId reader = Apply("(x) -> y = x + 1", {choice});
  Unknowns policy(graph_);
  solver::Arena arena;
  SymbolicEvaluator evaluator(&arena, {&graph_}, &policy);
  const auto first = Met(&arena, &evaluator, {choice});
  ASSERT_EQ(first.back(), "in a branch");
  EXPECT_EQ(Met(&arena, &evaluator, {reader}), first);
}

// Random graphs: an evaluator that remembers all that was asked before, and one that starts anew.
TEST_F(PremiseTrailTest, RandomOrdersMeetWhatAFreshEvaluationMeets) {
  static const char* const kOperators[] = {"(x) -> y = log(x)",
                                           "(x) -> y = 1 / x",
                                           "(x) -> y = sqrt(x)",
                                           "(x) -> y = exp(x)",
                                           "(x[i]) -> y[i] = x[i] / sum(k: x[k])",
                                           "(x[i]) -> y[i] = sum(k: x[k] * x[i])",
                                           "(x, z) -> y = x + z",
                                           "(x, z) -> y = x * z",
                                           ("(x[i], z[i]) ties even -> y[i] = "
                                            "where(z[i] > 0, x[i], 1 / z[i])")};
  std::mt19937_64 random(5);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  size_t premises = 0, in_branches = 0;
  for (int round = 0; round < 60; ++round) {
    graph_ = Graph();
    std::vector<TensorId> tensors = {Add(TensorRole::kInput), Add(TensorRole::kInput)};
    for (int step = 0; step < 5; ++step) {
      const std::string op = kOperators[pick(std::size(kOperators))];
      std::vector<TensorId> inputs = {tensors[pick(tensors.size())]};
      if (op.find(", z") != std::string::npos) inputs.push_back(tensors[pick(tensors.size())]);
      tensors.push_back(Apply(op, inputs));
    }
    tensors.erase(tensors.begin(), tensors.begin() + 2);
    Unknowns policy(graph_);
    solver::Arena remembering_arena;
    SymbolicEvaluator remembering(&remembering_arena, {&graph_}, &policy);
    for (int claim = 0; claim < 8; ++claim) {
      const std::vector<TensorId> asked = {tensors[pick(tensors.size())],
                                           tensors[pick(tensors.size())]};
      solver::Arena fresh_arena;
      SymbolicEvaluator fresh(&fresh_arena, {&graph_}, &policy);
      fresh_arena.ResetExhausted(100'000);
      remembering_arena.ResetExhausted(100'000);
      const auto expected = Met(&fresh_arena, &fresh, asked);
      const auto found = Met(&remembering_arena, &remembering, asked);
      if (fresh_arena.exhausted() || remembering_arena.exhausted()) break;
      ASSERT_EQ(found.size(), expected.size()) << round;
      premises += found.size();
      in_branches += !found.empty() && found.back() == "in a branch";
      const auto in_branch = [](const std::vector<std::string>& met) {
        return !met.empty() && met.back() == "in a branch";
      };
      EXPECT_EQ(in_branch(found), in_branch(expected)) << round;
    }
  }
  EXPECT_GT(premises, 300u);
  EXPECT_GT(in_branches, 5u);
}

}  // namespace
}  // namespace planproof::sdfg
