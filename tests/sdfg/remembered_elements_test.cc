// An element is taken from memory only at the indices at which it was evaluated.
#include <gtest/gtest.h>

#include <random>

#include "sdfg/operator_library.h"
#include "sdfg/symbolic_evaluator.h"

namespace planproof::sdfg {
namespace {

using solver::Affine;

constexpr int64_t kExtent = 16;

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
    t.shape = {kExtent, kExtent};
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

}  // namespace
}  // namespace planproof::sdfg
