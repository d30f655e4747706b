#include "sdfg/reverse_mode.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>

#include "sdfg/collectives.h"

namespace planproof::sdfg {
namespace {

// x -> copy -> copy, the gradient of the last with respect to x.
struct Chain {
  Graph graph;
  std::unordered_map<std::string, TensorId> names;
  TensorId x = Named("x"), y = Named("y"), loss = Named("loss");

  Chain() {
    CopyOf(x, y);
    CopyOf(y, loss);
  }
  TensorId Named(const std::string& name) {
    Tensor tensor;
    tensor.name = name;
    tensor.shape = {4};
    tensor.dtype = DType::kFloat32;
    const TensorId added = graph.AddTensor(std::move(tensor));
    names[name] = added;
    return added;
  }
  void CopyOf(TensorId from, TensorId to) {
    Operator copy;
    copy.name = "copy";
    copy.function = graph.Intern(*Copy({4}, DType::kFloat32));
    copy.inputs = {from};
    copy.outputs = {to};
    graph.AddOperator(std::move(copy));
  }
};

TEST(ReverseModeTest, WhatItAddsForAnOperatorIsMarkedAsADerivative) {
  Chain chain;
  ASSERT_TRUE(AddGradients(&chain.graph, &chain.names, chain.loss, {chain.x}).ok());
  EXPECT_TRUE(chain.names.contains("grad.x"));
  int derivatives = 0;
  for (const Operator& op : chain.graph.operators) {
    EXPECT_EQ(op.derivative, op.name.ends_with(".backward")) << op.name;
    derivatives += op.derivative;
  }
  EXPECT_EQ(derivatives, 2);
}

TEST(ReverseModeTest, ALossThatDoesNotDependOnTheTensorIsAnError) {
  Chain chain;
  const TensorId apart = chain.Named("apart");
  const absl::Status status = AddGradients(&chain.graph, &chain.names, chain.loss, {apart});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(ReverseModeTest, ATakenNameIsAnError) {
  Chain chain;
  chain.Named("grad.x");
  const absl::Status status = AddGradients(&chain.graph, &chain.names, chain.loss, {chain.x});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

}  // namespace
}  // namespace planproof::sdfg
