#include "tests/sdfg/differentiate_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

namespace planproof::sdfg {

using B = IndexFunctionBuilder;

namespace {

DenseTensor RandomTensor(const Shape& shape, std::mt19937* random) {
  std::uniform_real_distribution<double> uniform(0.3, 1.7);
  DenseTensor result{shape, std::vector<double>(ElementCount(shape))};
  for (double& value : result.data) value = uniform(*random);
  return result;
}

}  // namespace

IndexFunction FinishedFunction(B* builder) {
  IndexFunction f;
  const absl::Status status = builder->Finish(&f);
  EXPECT_TRUE(status.ok()) << status;
  return f;
}

void ExpectGradients(const IndexFunction& f, std::vector<DenseTensor> inputs) {
  std::mt19937 random(7);
  std::vector<int> wrt;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    if (i >= inputs.size()) inputs.push_back(RandomTensor(f.inputs[i].shape, &random));
    if (f.inputs[i].dtype == kReal) wrt.push_back(static_cast<int>(i));
  }
  std::vector<int> outputs;
  std::vector<DenseTensor> all = inputs;
  for (size_t o = 0; o < f.outputs.size(); ++o) {
    outputs.push_back(static_cast<int>(o));
    all.push_back(RandomTensor(f.outputs[o].shape(f.vars), &random));
  }
  const auto derivative = Differentiate(f, wrt, outputs);
  ASSERT_TRUE(derivative.ok()) << derivative.status() << "\n" << ToString(f);
  const auto gradients = EvaluateDense(*derivative, all);
  ASSERT_TRUE(gradients.ok()) << gradients.status() << "\n" << ToString(*derivative);
  const auto loss = [&](const std::vector<DenseTensor>& at) {
    const auto values = EvaluateDense(f, at);
    EXPECT_TRUE(values.ok()) << values.status();
    double sum = 0;
    for (size_t o = 0; o < outputs.size(); ++o) {
      for (size_t i = 0; i < (*values)[o].data.size(); ++i) {
        sum += (*values)[o].data[i] * all[inputs.size() + o].data[i];
      }
    }
    return sum;
  };
  for (size_t k = 0; k < wrt.size(); ++k) {
    const DenseTensor& gradient = (*gradients)[k];
    EXPECT_EQ(gradient.shape, f.inputs[wrt[k]].shape);
    for (size_t i = 0; i < gradient.data.size(); ++i) {
      constexpr double kStep = 1e-5;
      std::vector<DenseTensor> moved = inputs;
      moved[wrt[k]].data[i] = inputs[wrt[k]].data[i] + kStep;
      const double up = loss(moved);
      moved[wrt[k]].data[i] = inputs[wrt[k]].data[i] - kStep;
      const double expected = (up - loss(moved)) / (2 * kStep);
      ASSERT_NEAR(gradient.data[i], expected, 1e-6 * (1 + std::fabs(expected)))
          << "d_" << f.inputs[wrt[k]].name << " element " << i << "\n"
          << ToString(f) << "\n"
          << ToString(*derivative);
    }
  }
}

std::string Derivative(const IndexFunction& f) {
  std::vector<int> wrt;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].dtype == kReal) wrt.push_back(static_cast<int>(i));
  }
  const auto derivative = Differentiate(f, wrt, {0});
  EXPECT_TRUE(derivative.ok()) << derivative.status();
  return derivative.ok() ? ToString(*derivative) : "";
}

IndexFunction OneInput(const Shape& in, const Shape& out, const OneInputBody& body) {
  B b("f");
  b.AddInput("x", in, kReal);
  const int y = b.AddOutput("y", out, kReal);
  std::vector<ExprId> indices;
  for (VarId var : b.OutputDims(y)) indices.push_back(b.Index(var));
  b.SetBody(y, body(b, indices));
  return FinishedFunction(&b);
}

IndexFunction Movement(const Shape& in, const Shape& out, const IndicesOf& map) {
  return OneInput(in, out,
                  [&](B& b, const std::vector<ExprId>& i) { return b.Element(0, map(b, i)); });
}

}  // namespace planproof::sdfg
