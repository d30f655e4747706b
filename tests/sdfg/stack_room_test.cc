#include "sdfg/stack_room.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/graph.h"
#include "sdfg/operator_library.h"
#include "sdfg/symbolic_evaluator.h"
#include "solver/term.h"

namespace planproof::sdfg {
namespace {

// Runs `body` in a thread that has so much stack.
template <typename Body>
void WithStack(size_t bytes, Body body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<Body*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &body), 0);
  pthread_join(thread, nullptr);
}

int DepthUntilShort(int depth) {  // NOLINT(misc-no-recursion)
  volatile char frame[1024] = {};
  frame[depth % 1024] = 1;
  if (StackIsShort() || depth > 1'000'000) return depth;
  return DepthUntilShort(depth + 1) + (frame[0] - frame[0]);
}

TEST(StackRoom, ALongerStackHoldsMore) {
  int small = 0, large = 0;
  WithStack(size_t{4} << 20, [&] { small = DepthUntilShort(0); });
  WithStack(size_t{16} << 20, [&] { large = DepthUntilShort(0); });
  EXPECT_GT(small, 100);
  EXPECT_GT(large, 3 * small);
  EXPECT_LT(large, 1'000'000);
}

class Definitions : public RepresentationPolicy {
 public:
  explicit Definitions(const Graph& graph) : graph_(graph) {}
  Representation Of(TensorRef tensor) override {
    Representation r;
    r.kind = graph_.tensors[tensor.tensor].producer == kNone ? Representation::Kind::kAtom
                                                             : Representation::Kind::kDefinition;
    return r;
  }

 private:
  const Graph& graph_;
};

// What is deeper than the stack is not evaluated, and says so.
TEST(StackRoom, DeepDefinitionsFailWhereTheStackEnds) {
  constexpr int kDepth = 3000;
  Graph graph;
  const Operand operand{Operand::Kind::kTensor, {4}, DType::kFloat32, {}};
  const auto function = OperatorLibrary::BuiltIn().Instantiate("exp", {operand}, {});
  ASSERT_TRUE(function.ok()) << function.status();
  const auto add = [&] {
    Tensor tensor;
    tensor.name = "t" + std::to_string(graph.tensors.size());
    tensor.shape = {4};
    tensor.dtype = DType::kFloat32;
    return graph.AddTensor(std::move(tensor));
  };
  TensorId last = add();
  for (int i = 0; i < kDepth; ++i) {
    Operator op;
    op.name = "exp";
    op.function = graph.Intern(*function);
    op.inputs = {last};
    last = add();
    op.outputs = {last};
    graph.AddOperator(std::move(op));
  }
  const auto evaluate = [&] {
    solver::Arena arena;
    arena.ResetExhausted(100'000'000);
    Definitions policy(graph);
    SymbolicEvaluator evaluator(&arena, {&graph}, &policy);
    const bool ok = evaluator.Element({0, last}, {solver::Affine(0)}).has_value();
    return std::pair(ok, evaluator.error());
  };
  std::pair<bool, std::string> shallow, deep;
  WithStack(size_t{3} << 20, [&] { shallow = evaluate(); });
  WithStack(size_t{512} << 20, [&] { deep = evaluate(); });
  EXPECT_FALSE(shallow.first);
  EXPECT_EQ(shallow.second, "the terms of this claim exceed the work limit");
  EXPECT_TRUE(deep.first) << deep.second;
}

}  // namespace
}  // namespace planproof::sdfg
