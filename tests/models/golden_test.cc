// The generator's logical graphs against independent models in JAX: make_goldens.py in this
// directory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "frontend/plan/specification.h"
#include "generator/generate.h"
#include "nlohmann/json.hpp"
#include "sdfg/dense_evaluator.h"
#include "tests/models/numbers.h"

namespace planproof::generator {
namespace {

using sdfg::DenseTensor;
using Tensors = std::map<std::string, DenseTensor>;

Tensors FromJson(const nlohmann::json& object) {
  Tensors tensors;
  for (const auto& [name, entry] : object.items()) {
    DenseTensor tensor;
    for (int64_t extent : entry["shape"]) tensor.shape.push_back(extent);
    for (double value : entry["values"]) tensor.data.push_back(value);
    tensors[name] = std::move(tensor);
  }
  return tensors;
}

nlohmann::json ReadGolden(const std::string& name) {
  std::ifstream stream(std::string(PLANPROOF_SOURCE_DIR) + "/tests/models/goldens/" + name);
  return nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
}

// Evaluates the logical graph of one step. Inputs that `inputs` does not give (moments before the
// first step) are 0.
void Evaluate(const ModelConfig& model, int64_t sequences, int64_t step, const Tensors& inputs,
              Tensors* all) {
  TrainingConfig training;
  training.step = step;
  Strategy strategy;
  strategy.sequences_per_microbatch = sequences;
  strategy.dispatch = model.dispatch;
  const auto plans = Generate(model, training, strategy);
  ASSERT_TRUE(plans.ok()) << plans.status();
  sdfg::OperatorLibrary library = sdfg::OperatorLibrary::CopyOfBuiltIn();
  ASSERT_TRUE(library.AddDeclarations(plans->logical.operators(), "logical").ok());
  const auto logical = plan::BuildLogicalModel(plans->logical.specification(), "logical", library);
  ASSERT_TRUE(logical.ok()) << logical.status();
  std::map<sdfg::TensorId, DenseTensor> values;
  for (size_t t = 0; t < logical->graph.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = logical->graph.tensors[t];
    if (tensor.producer != sdfg::kNone || tensor.role == sdfg::TensorRole::kOne) continue;
    const auto given = inputs.find(tensor.name);
    const bool moment = tensor.name.find(".exp_avg") != std::string::npos;
    ASSERT_TRUE(given != inputs.end() || moment) << tensor.name;
    DenseTensor value{tensor.shape, std::vector<double>(sdfg::ElementCount(tensor.shape), 0)};
    if (given != inputs.end()) value = given->second;
    ASSERT_EQ(value.shape, tensor.shape) << tensor.name;
    values[static_cast<sdfg::TensorId>(t)] = std::move(value);
  }
  const auto result = sdfg::EvaluateDenseGraph(logical->graph, values, ChooseExperts);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const auto& [name, id] : logical->names) (*all)[name] = (*result)[id];
}

// The Frobenius norm of the difference relative to that of the expected tensor; rows that are zero
// are so exactly. `vanishes`: the tensor is zero by an identity, up to rounding on both sides.
void ExpectClose(const DenseTensor& expected, const DenseTensor& actual, const std::string& name,
                 bool vanishes) {
  ASSERT_EQ(expected.shape, actual.shape) << name;
  if (vanishes) {
    for (double element : actual.data) EXPECT_LE(std::abs(element), 1e-12) << name;
    return;
  }
  const size_t row = static_cast<size_t>(expected.shape.back());
  for (size_t at = 0; at < expected.data.size(); at += row) {
    const auto zero = [&](const DenseTensor& tensor) {
      return std::all_of(tensor.data.begin() + at, tensor.data.begin() + at + row,
                         [](double element) { return element == 0; });
    };
    EXPECT_TRUE(!zero(expected) || zero(actual)) << name << ", row " << at / row;
  }
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    difference += std::pow(expected.data[i] - actual.data[i], 2);
    size += std::pow(expected.data[i], 2);
  }
  EXPECT_LE(std::sqrt(difference), 1e-9 * std::sqrt(size)) << name;
}

void ExpectTwoSteps(const std::string& golden_name, const ModelConfig& model, int64_t sequences) {
  const nlohmann::json golden = ReadGolden(golden_name);
  ASSERT_TRUE(golden.is_object()) << golden_name;
  Tensors inputs = FromJson(golden["inputs"]);
  ASSERT_EQ(golden["steps"].size(), 2u);
  const std::vector<std::string> vanishing = golden.value("vanishing", std::vector<std::string>());
  for (int64_t step = 1; step <= 2; ++step) {
    Tensors all;
    Evaluate(model, sequences, step, inputs, &all);
    if (testing::Test::HasFatalFailure()) return;
    int compared = 0;
    for (const auto& [name, expected] : FromJson(golden["steps"][step - 1])) {
      ASSERT_TRUE(all.count(name) == 1) << name;
      ExpectClose(
          expected, all.at(name), name + " of step " + std::to_string(step),
          std::any_of(vanishing.begin(), vanishing.end(),
                      [&name = name](const std::string& tensor) { return tensor == name; }));
      ++compared;
      const size_t suffix = name.rfind(".new");
      if (suffix != std::string::npos) inputs[name.substr(0, suffix)] = all.at(name);
    }
    EXPECT_GT(compared, 20);
  }
}

ModelConfig SmallLlama() {
  ModelConfig model;
  model.layers = 2;
  model.hidden = 8;
  model.feed_forward = 12;
  model.heads = 4;
  model.key_value_heads = 2;
  model.head_size = 2;
  model.vocabulary = 16;
  model.sequence = 4;
  return model;
}

TEST(ModelsGoldenTest, LlamaMatchesJax) { ExpectTwoSteps("llama.json", SmallLlama(), 2); }

TEST(ModelsGoldenTest, QwenMatchesJax) {
  ModelConfig model = SmallLlama();
  model.norm_epsilon = "1e-6";
  model.query_key_value_bias = true;
  ExpectTwoSteps("qwen.json", model, 2);
}

TEST(ModelsGoldenTest, GptMatchesJax) {
  ModelConfig model = SmallLlama();
  model.family = Family::kGpt;
  model.key_value_heads = 4;
  model.feed_forward = 32;
  model.tied_embedding = true;
  ExpectTwoSteps("gpt.json", model, 2);
}

ModelConfig SmallDeepSeek() {
  ModelConfig model;
  model.family = Family::kDeepSeek;
  model.layers = 2;
  model.dense_layers = 1;
  model.hidden = 8;
  model.feed_forward = 12;
  model.heads = 2;
  model.vocabulary = 16;
  model.sequence = 4;
  model.norm_epsilon = "1e-6";
  model.query_rank = 6;
  model.key_value_rank = 4;
  model.plain_size = 4;
  model.rotary_size = 2;
  model.value_size = 4;
  model.routed_experts = 8;
  model.shared_experts = 1;
  model.active_experts = 2;
  model.expert_groups = 4;
  model.active_groups = 2;
  model.expert_width = 8;
  model.sigmoid_gate = true;
  model.gate_bias = true;
  model.route_scale = "2.5";
  return model;
}

TEST(ModelsGoldenTest, DeepSeekMatchesJax) { ExpectTwoSteps("deepseek.json", SmallDeepSeek(), 2); }

// The form in which tokens are sent to slots of their experts is that of both graphs of a plan with
// dispatch, where no proof would see a mistake: it is the same function.
TEST(ModelsGoldenTest, DispatchedDeepSeekMatchesJax) {
  ModelConfig model = SmallDeepSeek();
  model.dispatch = true;
  ExpectTwoSteps("deepseek.json", model, 2);
}

}  // namespace
}  // namespace planproof::generator
