#include "tests/random/random_rings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/plan/read_plan.h"
#include "inference/relation_inference.h"
#include "lineage/repeated_operators.h"
#include "lineage/rounds/fold_rounds.h"
#include "lineage/rounds/rounds.h"
#include "sdfg/dense_evaluator.h"
#include "stages/problem_check.h"
#include "strategy/verify.h"
#include "tests/random/ring_writer.h"

namespace planproof::random_tests {
namespace {

using lineage::rounds::Family;
using sdfg::DenseTensor;
using sdfg::kNone;
using sdfg::TensorId;

using Tensors = std::map<TensorId, DenseTensor>;
constexpr double kTolerance = 1e-7;

int64_t OffsetOf(const DenseTensor& tensor, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset = offset * tensor.shape[d] + index[d];
  return offset;
}

// Calls `visit` with each index of a tensor that has elements, in order.
template <typename Visit>
void ForEachIndex(const sdfg::Shape& shape, const Visit& visit) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t k = sdfg::ElementCount(shape); k > 0; --k) {
    visit(index);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
}

struct Inputs {
  Tensors model, plan;
};

// Small numbers: no exponential of what is made of them leaves the range of doubles.
Inputs RandomInputs(const lineage::Problem& problem, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(-1.5, 1.5);
  Inputs inputs;
  auto& [model, plan] = inputs;
  for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.logical.tensors[t];
    if (tensor.producer != kNone) continue;
    DenseTensor& values = model[static_cast<TensorId>(t)];
    values.shape = tensor.shape;
    for (int64_t k = 0; k < sdfg::ElementCount(tensor.shape); ++k) {
      const bool truth = tensor.dtype == sdfg::DType::kBool;
      const bool zero = random() % (truth ? 4 : 8) == 0;
      values.data.push_back(zero ? 0 : truth ? 1 : number(random));
    }
  }
  for (size_t t = 0; t < problem.parallel.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    const lineage::Lineage& lineage = problem.lineage[t];
    const bool is_input = tensor.producer == kNone && model.count(lineage.logical) != 0;
    if (!is_input) continue;
    const DenseTensor& from = model.at(lineage.logical);
    DenseTensor& values = plan[static_cast<TensorId>(t)];
    values.shape = tensor.shape;
    ForEachIndex(tensor.shape, [&](const std::vector<int64_t>& index) {
      values.data.push_back(from.data[OffsetOf(from, lineage.LogicalIndex(index))]);
    });
  }
  return inputs;
}

bool Close(double a, double b) { return std::fabs(a - b) <= kTolerance * (1 + std::fabs(a)); }

// How what the plan makes differs from what is required, in words; also where it has no value.
std::string JudgementOf(const lineage::Problem& problem, const Inputs& inputs) {
  const auto model = sdfg::EvaluateDenseGraph(problem.logical, inputs.model);
  if (!model.ok()) return std::string(model.status().message());
  const auto plan = sdfg::EvaluateDenseGraph(problem.parallel, inputs.plan);
  if (!plan.ok()) return std::string(plan.status().message());
  std::string difference;
  for (const lineage::RequiredRelation& required : problem.required) {
    const DenseTensor& want = (*model)[required.lineage.logical];
    const DenseTensor& have = (*plan)[required.parallel];
    size_t k = 0;
    ForEachIndex(have.shape, [&](const std::vector<int64_t>& index) {
      const double x = want.data[OffsetOf(want, required.lineage.LogicalIndex(index))];
      const double y = have.data[k++];
      if (!std::isfinite(x) || Close(x, y) || !difference.empty()) return;
      difference = absl::StrCat(required.what, ": ", x, " is required, the plan has ", y);
    });
  }
  return difference;
}

// What stands for anything in a folded form, where it is what makes the family's members those of
// the plan: of each rank and piece the maximum of the round in which they meet, less the last.
// Where the last is infinite (a quotient by zero), the plan has no value, and any number will do.
DenseTensor LessTheLast(const sdfg::Graph& plan, const lineage::rounds::Rounds& rounds,
                        const Family& family, const std::vector<DenseTensor>& values,
                        const sdfg::Shape& shape) {
  const std::vector<sdfg::AxisId>& axes = plan.tensors[family.members[0]].axes;
  const auto ring = std::find(axes.begin(), axes.end(), rounds.axis) - axes.begin();
  const auto piece = static_cast<std::ptrdiff_t>(axes.size());
  DenseTensor less{shape, {}};
  ForEachIndex(shape, [&](std::vector<int64_t> index) {
    size_t round = 0;
    while ((index[piece] + static_cast<int64_t>(round) * rounds.step) % rounds.count != index[ring])
      ++round;
    index.erase(index.begin() + piece);
    const DenseTensor& at = values[family.members[round]];
    const DenseTensor& last = values[family.members.back()];
    const double end = last.data[OffsetOf(last, index)];
    less.data.push_back(std::isinf(end) ? 0 : at.data[OffsetOf(at, index)] - end);
  });
  return less;
}

// How the folded form's required outputs differ from the plan's on these inputs, in words.
std::string DifferenceOf(const lineage::Problem& problem, const lineage::Problem& folded,
                         const Tensors& inputs) {
  std::vector<TensorId> required;
  for (const auto& relation : problem.required) required.push_back(relation.parallel);
  const auto rounds = lineage::rounds::FindRounds(problem.parallel, required);
  if (!rounds.has_value()) return "folded without rounds";
  const auto values = sdfg::EvaluateDenseGraph(problem.parallel, inputs);
  if (!values.ok()) return std::string(values.status().message());
  std::map<std::string, TensorId> named;
  for (size_t t = 0; t < folded.parallel.tensors.size(); ++t)
    named.try_emplace(folded.parallel.tensors[t].name, static_cast<TensorId>(t));
  Tensors own;
  for (const auto& [t, tensor] : inputs) own[named.at(problem.parallel.tensors[t].name)] = tensor;
  for (const Family& family : rounds->families) {
    if (family.kind != Family::Kind::kMaximum) continue;
    const std::string name = problem.parallel.tensors[family.members[0]].name + ", less the last";
    const TensorId anything = named.at(name);
    DenseTensor less = LessTheLast(problem.parallel, *rounds, family, *values,
                                   folded.parallel.tensors[anything].shape);
    for (const double x : less.data) {
      if (std::isnan(x)) return "";  // neither has a value here
      if (std::isinf(x)) return absl::StrCat(name, " is no number");
    }
    own[anything] = std::move(less);
  }
  const auto again = sdfg::EvaluateDenseGraph(folded.parallel, own);
  if (!again.ok()) return std::string(again.status().message());
  for (size_t r = 0; r < problem.required.size(); ++r) {
    const DenseTensor& a = (*values)[problem.required[r].parallel];
    const DenseTensor& b = (*again)[folded.required[r].parallel];
    for (size_t k = 0; k < a.data.size(); ++k) {
      if (!std::isfinite(a.data[k]) || Close(a.data[k], b.data[k])) continue;
      return absl::StrCat(problem.required[r].what, ", element ", k, ": ", a.data[k], ", folded ",
                          b.data[k]);
    }
  }
  return "";
}

void Verify(const lineage::Problem& problem, RingTrial* trial) {
  static const inference::RelationInference relations;
  stages::VerifyOptions options;
  options.jobs = 1;
  options.stage_timeout_s = 10;
  options.explain = false;
  options.inference = &relations;
  const auto start = std::chrono::steady_clock::now();
  const stages::Result result = strategy::Verify(problem, options);
  trial->verify_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  trial->verdict = result.verdict;
  if (!result.violations.empty()) trial->reason = result.violations[0].message;
}

}  // namespace

RandomRing MakeRandomRing(uint64_t seed, bool wrong) {
  RandomRing ring;
  ring.seed = seed;
  RingWriter writer(seed);
  writer.Write();
  if (wrong) ring.fault = writer.PutInFault();
  ring.ranks = writer.ranks();
  ring.steps = writer.steps();
  ring.text = writer.Text();
  const auto file = plan::ParsePlanFile(ring.text, "ring.json");
  auto problem = file.ok() ? plan::BuildProblemFromFiles({{"ring.json", *file}},
                                                         sdfg::OperatorLibrary::BuiltIn())
                           : absl::StatusOr<lineage::Problem>(file.status());
  if (!problem.ok()) {
    std::cerr << "seed " << seed << ": " << problem.status() << "\n" << ring.text << "\n";
    std::abort();  // the writer is wrong
  }
  ring.problem = *std::move(problem);
  return ring;
}

RingTrial TryRandomRing(const RandomRing& ring, int samples, bool verify) {
  RingTrial trial;
  if (verify) Verify(ring.problem, &trial);
  const auto merged = lineage::WithoutRepeatedOperators(ring.problem);
  const lineage::Problem& problem = merged.has_value() ? *merged : ring.problem;
  const auto folded = lineage::rounds::FoldRounds(problem);
  trial.folded = folded.has_value() && stages::CheckProblem(*folded).ok();
  for (int k = 0; k < samples; ++k) {
    const Inputs inputs = RandomInputs(problem, ring.seed * 64 + static_cast<uint64_t>(k));
    if (trial.example.empty()) trial.example = JudgementOf(problem, inputs);
    if (trial.folded && trial.difference.empty())
      trial.difference = DifferenceOf(problem, *folded, inputs.plan);
  }
  trial.equal = trial.example.empty();
  return trial;
}

void RingSummary::Add(const RingTrial& trial) {
  ++rings;
  false_proofs += trial.FalseProof() ? 1 : 0;
  differences += trial.difference.empty() ? 0 : 1;
  ++counts[absl::StrCat(trial.folded ? "folded" : "not folded", ", ",
                        trial.equal ? "equal" : "different", ", ",
                        stages::VerdictName(trial.verdict))];
}

std::string RingSummary::Table() const {
  std::string text;
  for (const auto& [name, number] : counts)
    absl::StrAppendFormat(&text, "%-32s %d\n", name, number);
  absl::StrAppend(&text, rings, " rings; false PROVED: ", false_proofs,
                  ", folded forms of other values: ", differences, "\n");
  return text;
}

}  // namespace planproof::random_tests
