#include "tests/runtime_check/cuda/backend_tolerance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime_check/cancellation.h"
#include "runtime_check/comparison.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/positions.h"
#include "runtime_check/rounding.h"

namespace planproof::runtime_check::cuda {
namespace {

using sdfg::DType;
using sdfg::TensorId;

constexpr int kSamples = 3;

double SumOf(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

// The model's tensors here.
struct Model {
  std::vector<Values> exact;    // in float64
  std::vector<Values> in_type;  // in the type
  Cancellations cancellations;
  std::vector<std::vector<double>> changes;  // by element the mean square, in the type
};

absl::Status RunModel(const lineage::Problem& problem, const Inputs& inputs, DType type,
                      Programs* programs, Model* model) {
  const sdfg::Graph& graph = problem.logical;
  model->exact = InFloat64(inputs);
  absl::Status status = RunGraph(graph, {.arithmetic = DType::kFloat64}, programs, &model->exact);
  if (!status.ok()) return status;
  auto cancellations = CancellationsOf(graph, model->exact, programs, nullptr);
  if (!cancellations.ok()) return cancellations.status();
  model->cancellations = *std::move(cancellations);
  std::vector<Values>& in_type = model->in_type;
  in_type = inputs;
  if (status = RunGraph(graph, {.arithmetic = type}, programs, &in_type); !status.ok())
    return status;
  model->changes.resize(inputs.size());
  for (size_t t = 0; t < in_type.size(); ++t) model->changes[t].assign(in_type[t].size(), 0);
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<Values> tensors =
        Perturbed(inputs, problem, type, Perturbation::kByElement, static_cast<uint64_t>(sample));
    if (status = RunGraph(graph, {.arithmetic = type}, programs, &tensors); !status.ok())
      return status;
    for (size_t t = 0; t < tensors.size(); ++t)
      AddChanges(in_type[t], tensors[t], kSamples, &model->changes[t]);
  }
  // What rounding here makes of the model is no less than what it may make of it there.
  for (size_t t = 0; t < in_type.size(); ++t) {
    std::vector<double> errors(in_type[t].size(), 0);
    AddChanges(model->exact[t], in_type[t], 1, &errors);
    if (SumOf(errors) > SumOf(model->changes[t])) model->changes[t] = std::move(errors);
  }
  return absl::OkStatus();
}

// What devices hold of the plan's inputs.
std::vector<Values> InputsOfPlan(const lineage::Problem& problem, const std::vector<Values>& model,
                                 DType type) {
  const sdfg::Graph& graph = problem.parallel;
  std::vector<Values> tensors(graph.tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const lineage::Lineage& lineage = problem.lineage[t];
    if (graph.tensors[t].producer != sdfg::kNone || lineage.kind != lineage::LineageKind::kFull)
      continue;
    const Values& from = model[lineage.logical];
    tensors[t] = Values::Zeros(graph.tensors[t].shape, graph.tensors[t].dtype, type);
    ForEachPosition(lineage.map, from.shape, tensors[t].shape, [&](int64_t i, int64_t at) {
      if (at >= 0) tensors[t].Copy(i, from, at);
    });
  }
  return tensors;
}

}  // namespace

ToleranceUse ExpectWithinTolerance(const lineage::Problem& problem, DType type, Backend* backend) {
  ToleranceUse use;
  const auto inputs = RandomInputs(problem, type, 0);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  if (!inputs.ok()) return use;
  Programs programs;
  Model model;
  absl::Status status = RunModel(problem, *inputs, type, &programs, &model);
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok()) return use;
  std::vector<Values> tensors = InputsOfPlan(problem, model.in_type, type);
  const sdfg::Graph& graph = problem.parallel;
  RunOptions options{.arithmetic = type};
  options.backend = backend;
  const auto compare = [&](TensorId id, const lineage::Lineage& lineage) {
    if (lineage.kind != lineage::LineageKind::kFull) return;
    Reference reference{&model.exact[lineage.logical], &model.changes[lineage.logical]};
    const sdfg::Tensor& tensor = problem.logical.tensors[lineage.logical];
    const bool rounded = sdfg::IsFloating(tensor.dtype);
    reference.epsilon = EpsilonOf(rounded ? type : DType::kFloat64);
    reference.cancelled_magnitude = model.cancellations.magnitudes[lineage.logical];
    if (rounded) reference.spacing = LeastSpacing(type, *reference.values);
    const Measure measure = Compare(tensors[id], static_cast<int>(graph.tensors[id].axes.size()),
                                    lineage.map, reference);
    EXPECT_FALSE(measure.alarm) << graph.tensors[id].name << ": error " << measure.error
                                << ", expected " << measure.expectation << " times at most "
                                << measure.bound;
    ++use.tensors;
    use.worst = std::max(use.worst, measure.ratio / measure.bound);
  };
  options.produced = [&](TensorId id) {
    compare(id, problem.lineage[id]);
    for (const lineage::RequiredRelation& required : problem.required) {
      if (required.parallel == id) compare(id, required.lineage);
    }
    return absl::OkStatus();
  };
  status = RunGraph(graph, options, &programs, &tensors);
  EXPECT_TRUE(status.ok()) << status;
  return use;
}

}  // namespace planproof::runtime_check::cuda
