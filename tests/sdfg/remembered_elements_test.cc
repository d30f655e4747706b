// An element is taken from memory only at the indices at which it was evaluated, and in a branch
// only with what it needs and meets there.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "sdfg/operator_library.h"
#include "sdfg/symbolic_evaluator.h"

namespace planproof::sdfg {
namespace {

using solver::Affine;

constexpr int64_t kLength = 16;

class InputsAreUnknown : public RepresentationPolicy {
 public:
  explicit InputsAreUnknown(const Graph& graph) : graph_(graph) {}
  Representation Of(TensorRef t) override {
    Representation r;
    if (graph_.tensors[t.tensor].producer == kNone) r.kind = Representation::Kind::kAtom;
    return r;
  }

 private:
  const Graph& graph_;
};

class RememberedElementsTest : public testing::Test {
 protected:
  RememberedElementsTest() {
    Tensor t;
    t.shape = {kLength, kLength};
    t.dtype = DType::kFloat32;
    t.role = TensorRole::kInput;
    const TensorId x = graph_.AddTensor(t);
    t.role = TensorRole::kIntermediate;
    for (const char* name : {"exp", "neg"}) {
      Operand operand;
      operand.shape = t.shape;
      operand.dtype = t.dtype;
      const auto f = OperatorLibrary::BuiltIn().Instantiate(name, {operand}, {});
      EXPECT_TRUE(f.ok()) << f.status();
      Operator op;
      op.inputs = {results_.empty() ? x : results_.back()};
      op.outputs = {graph_.AddTensor(t)};
      op.function = graph_.Intern(*f);
      results_.push_back(op.outputs[0]);
      graph_.AddOperator(std::move(op));
    }
  }

  Graph graph_;
  std::vector<TensorId> results_;
};

TEST_F(RememberedElementsTest, IndicesThatDifferInAnyPartAreDifferent) {
  std::mt19937_64 random(7);
  InputsAreUnknown policy(graph_);
  solver::Arena arena;
  SymbolicEvaluator remembering(&arena, {&graph_}, &policy);
  const solver::Symbol symbols[] = {arena.NewFree(0, 3), arena.NewFree(0, 3)};
  const auto index = [&] {
    Affine e(static_cast<int64_t>(random() % 3));
    for (const solver::Symbol s : symbols) {
      e = e + Affine::Of(s, static_cast<int64_t>(random() % 3));
    }
    return e;
  };
  size_t most = 0;
  for (int round = 0; round < 2000; ++round) {
    const Indices at = {index(), index()};
    const TensorId t = results_[random() % results_.size()];
    SymbolicEvaluator forgetful(&arena, {&graph_}, &policy);
    const auto fresh = forgetful.Defined({0, t}, at);
    const auto value = remembering.Defined({0, t}, at);
    ASSERT_TRUE(fresh.has_value() && value.has_value());
    EXPECT_EQ(value->value, fresh->value);
    most = std::max(most, remembering.remembered());
    if (round % 700 == 699) remembering.Forget();
  }
  EXPECT_LT(most, 2 * size_t{27 * 27});  // what is met again is remembered
}

// Selections between elements of other tensors; branches are not taken exactly.
class BranchesThatReadTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 5;

  // Ids have values in [0, kRows].
  class Policy : public InputsAreUnknown {
   public:
    using InputsAreUnknown::InputsAreUnknown;
    Representation Of(TensorRef t) override {
      Representation r = InputsAreUnknown::Of(t);
      r.tag = static_cast<uint32_t>(t.tensor);
      r.int_range = {0, kRows};
      return r;
    }
  };

  TensorId Input(int64_t extent, DType dtype = DType::kFloat32) {
    Tensor t;
    t.shape = {extent};
    t.dtype = dtype;
    t.role = TensorRole::kInput;
    return graph_.AddTensor(std::move(t));
  }

  // The body is that of element i, of the operands' elements.
  TensorId Apply(const std::vector<TensorId>& operands,
                 const std::function<ExprId(IndexFunctionBuilder*, ExprId i)>& body) {
    IndexFunctionBuilder b("f");
    for (const TensorId t : operands) {
      const Tensor& operand = graph_.tensors[t];
      b.AddInput("x" + std::to_string(t), operand.shape, operand.dtype);
    }
    const int y = b.AddOutput("y", Shape{kLength}, DType::kFloat32);
    b.SetBody(y, body(&b, b.Index(b.OutputDims(y)[0])));
    IndexFunction f;
    EXPECT_TRUE(b.Finish(&f).ok());
    Tensor t;
    t.shape = {kLength};
    t.dtype = DType::kFloat32;
    Operator op;
    op.inputs = operands;
    op.outputs = {graph_.AddTensor(std::move(t))};
    op.function = graph_.Intern(f);
    const TensorId result = op.outputs[0];
    graph_.AddOperator(std::move(op));
    return result;
  }

  // 1 / x.
  TensorId Inverse(TensorId x) {
    return Apply({x}, [](IndexFunctionBuilder* b, ExprId i) {
      return b->Binary(Op::kDiv, b->Real(1), b->Element(0, {i}));
    });
  }
  // where(y > 0, x, 0).
  TensorId WherePositive(TensorId y, TensorId x) {
    return Apply({y, x}, [](IndexFunctionBuilder* b, ExprId i) {
      return b->Select(b->Binary(Op::kRealLess, b->Real(0), b->Element(0, {i})), b->Element(1, {i}),
                       b->Real(0));
    });
  }
  // where(id < limit, x, 0).
  TensorId WhereBelow(int64_t limit, TensorId ids, TensorId x) {
    return Apply({ids, x}, [limit](IndexFunctionBuilder* b, ExprId i) {
      return b->Select(b->Binary(Op::kIntLess, b->IntElement(0, {i}), b->Int(limit)),
                       b->Element(1, {i}), b->Real(0));
    });
  }

  Graph graph_;
};

TEST_F(BranchesThatReadTest, WhatNeedsNoBranchIsEvaluatedOnce) {
  const TensorId x = Input(kLength), y = Input(kLength), z = Input(kLength);
  const TensorId inverse = Inverse(x);
  const TensorId in_y = WherePositive(y, inverse), in_z = WherePositive(z, inverse);
  Policy policy(graph_);
  solver::Arena arena;
  SymbolicEvaluator evaluator(&arena, {&graph_}, &policy);
  const Indices at = {Affine::Of(arena.NewFree(0, kLength - 1))};
  for (const TensorId t : {in_y, in_z, inverse, in_y})
    EXPECT_TRUE(evaluator.Element({0, t}, at).has_value());
  EXPECT_EQ(evaluator.remembered(), 3u);
  evaluator.SetExactBranches(true);
  evaluator.Forget();
  for (const TensorId t : {in_y, in_z, inverse, in_y})
    EXPECT_TRUE(evaluator.Element({0, t}, at).has_value());
  EXPECT_EQ(evaluator.remembered(), 5u);  // three different values of the quotient
}

TEST_F(BranchesThatReadTest, APremiseIsMetInTheBranchWhereverItWasMetFirst) {
  const TensorId x = Input(kLength), y = Input(kLength);
  const TensorId inverse = Inverse(x), in_branch = WherePositive(y, inverse);
  for (const bool outside_first : {false, true}) {
    Policy policy(graph_);
    solver::Arena arena;
    SymbolicEvaluator evaluator(&arena, {&graph_}, &policy);
    const Indices at = {Affine::Of(arena.NewFree(0, kLength - 1))};
    if (outside_first) {
      EXPECT_TRUE(evaluator.Element({0, inverse}, at).has_value());
      EXPECT_FALSE(evaluator.premises_in_branches());
      EXPECT_EQ(arena.premises().size(), 1u);
    }
    for (int round = 0; round < 2; ++round) {
      arena.ClearPremises();
      evaluator.ClearPremisesInBranches();
      EXPECT_TRUE(evaluator.Element({0, in_branch}, at).has_value());
      EXPECT_TRUE(evaluator.premises_in_branches());
      EXPECT_EQ(arena.premises().size(), 1u);
    }
    arena.ClearPremises();
    evaluator.ClearPremisesInBranches();
    EXPECT_TRUE(evaluator.Element({0, inverse}, at).has_value());
    EXPECT_FALSE(evaluator.premises_in_branches());
    EXPECT_EQ(arena.premises().size(), 1u);
  }
}

// What a condition lets through is not let through without it, or by a weaker one.
TEST_F(BranchesThatReadTest, WhatOneBranchMayReadNoOtherMay) {
  const TensorId w = Input(kRows), ids = Input(kLength, DType::kInt64);
  const TensorId row = Apply({w, ids}, [](IndexFunctionBuilder* b, ExprId i) {
    return b->Element(0, {b->IntElement(1, {i})});
  });
  const TensorId strict = WhereBelow(kRows, ids, row), weak = WhereBelow(kRows + 1, ids, row);
  const TensorId other = WherePositive(Input(kLength), row);
  const TensorId nested = WhereBelow(kRows, ids, other);
  std::vector<TensorId> order = {row, strict, weak, other, nested};
  std::mt19937_64 random(11);
  for (int round = 0; round < 40; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    Policy policy(graph_);
    solver::Arena arena;
    SymbolicEvaluator evaluator(&arena, {&graph_}, &policy);
    const Indices at = {Affine::Of(arena.NewFree(0, kLength - 1))};
    for (const TensorId t : order) {
      evaluator.ClearFailure();
      const bool evaluated = evaluator.Element({0, t}, at).has_value();
      EXPECT_EQ(evaluated, t == strict || t == nested) << t << " in round " << round;
      EXPECT_EQ(evaluated, evaluator.error().empty());
    }
  }
}

}  // namespace
}  // namespace planproof::sdfg
