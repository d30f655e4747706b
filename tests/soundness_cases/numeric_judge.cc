#include "tests/soundness_cases/numeric_judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::soundness {
namespace {

using sdfg::DenseTensor;
using sdfg::TensorId;
using sdfg::TensorRole;
using PremiseKind = lineage::Problem::InputPremise::Kind;

DenseTensor RandomInput(const lineage::Problem& problem, TensorId id, std::mt19937_64* random) {
  const sdfg::Tensor& tensor = problem.logical.tensors[id];
  DenseTensor value;
  value.shape = tensor.shape;
  value.data.resize(sdfg::ElementCount(tensor.shape));
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> small(0, 2);
  for (double& element : value.data) {
    if (tensor.role == TensorRole::kOne) {
      element = 1;
    } else if (tensor.role == TensorRole::kZero) {
      element = 0;
    } else if (tensor.dtype == sdfg::DType::kBool) {
      element = small(*random) > 0;
    } else {
      element = sdfg::IsInteger(tensor.dtype) ? small(*random) : normal(*random);
    }
  }
  for (const auto& premise : problem.premises) {
    if (premise.tensor != id) continue;
    for (double& element : value.data) {
      if (premise.kind == PremiseKind::kPositive) element = std::fabs(element) + 0.01;
      if (premise.kind == PremiseKind::kNonNegative) element = std::fabs(element);
      if (premise.kind == PremiseKind::kIntegerRange) {
        element = std::uniform_int_distribution<int64_t>(premise.low, premise.high - 1)(*random);
      }
    }
    if (premise.kind == PremiseKind::kRowUnmasked) {
      const int64_t row = tensor.shape.back();
      for (size_t at = 0; at < value.data.size(); at += row) value.data[at] = 1;
    }
  }
  return value;
}

// Calls `visit(flat index of the parallel tensor, flat index of the logical tensor)`.
template <typename Visit>
void ForEachElement(const sdfg::Shape& parallel, const sdfg::Shape& logical,
                    const std::vector<lineage::IndexMap>& map, Visit visit) {
  if (std::find(parallel.begin(), parallel.end(), 0) != parallel.end()) return;
  std::vector<int64_t> at(parallel.size(), 0);
  const int64_t count = sdfg::ElementCount(parallel);
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t to = 0;
    for (size_t d = 0; d < logical.size(); ++d) {
      to = to * logical[d] + map[d].ValueAt(at);
    }
    visit(flat, to);
    for (size_t d = parallel.size(); d-- > 0;) {
      if (++at[d] < parallel[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<Judgement> Judge(const lineage::Problem& problem, int samples, uint64_t seed) {
  std::mt19937_64 random(seed);
  Judgement judgement;
  for (int sample = 0; sample < samples; ++sample) {
    std::map<TensorId, DenseTensor> logical_inputs;
    for (size_t id = 0; id < problem.logical.tensors.size(); ++id) {
      if (problem.logical.tensors[id].producer != sdfg::kNone) continue;
      logical_inputs[static_cast<TensorId>(id)] =
          RandomInput(problem, static_cast<TensorId>(id), &random);
    }
    std::map<TensorId, DenseTensor> parallel_inputs;
    for (size_t id = 0; id < problem.parallel.tensors.size(); ++id) {
      const sdfg::Tensor& tensor = problem.parallel.tensors[id];
      if (tensor.producer != sdfg::kNone) continue;
      const lineage::Lineage& lineage = problem.lineage[id];
      const DenseTensor& from = logical_inputs.at(lineage.logical);
      DenseTensor value;
      value.shape = tensor.shape;
      value.data.resize(sdfg::ElementCount(tensor.shape));
      ForEachElement(tensor.shape, from.shape, lineage.map,
                     [&](int64_t to, int64_t at) { value.data[to] = from.data[at]; });
      parallel_inputs[static_cast<TensorId>(id)] = std::move(value);
    }
    auto logical = sdfg::EvaluateDenseGraph(problem.logical, logical_inputs);
    if (!logical.ok()) return logical.status();
    auto parallel = sdfg::EvaluateDenseGraph(problem.parallel, parallel_inputs);
    if (!parallel.ok()) return parallel.status();
    bool finite = false;
    for (const lineage::RequiredRelation& required : problem.required) {
      const DenseTensor& p = (*parallel)[required.parallel];
      const DenseTensor& l = (*logical)[required.lineage.logical];
      ForEachElement(p.shape, l.shape, required.lineage.map, [&](int64_t a, int64_t b) {
        const double x = p.data[a];
        const double y = l.data[b];
        if (!std::isfinite(x) || !std::isfinite(y)) return;
        finite = true;
        if (std::fabs(x - y) <= 1e-8 * (1 + std::fabs(x) + std::fabs(y))) return;
        if (judgement.equal) {
          judgement.difference = absl::StrCat(required.what, "[", b, "]: ", y, " against ", x);
        }
        judgement.equal = false;
      });
    }
    judgement.samples += finite;
  }
  return judgement;
}

}  // namespace planproof::soundness
