#include "tests/random/dense_judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/opaque_functions.h"

namespace planproof::random_tests {
namespace {

using sdfg::DenseTensor;
using sdfg::Graph;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::TensorId;
using sdfg::TensorRole;
using PremiseKind = lineage::Problem::InputPremise::Kind;
using ValuePtr = std::shared_ptr<const DenseTensor>;

constexpr double kTolerance = 1e-9;
// Samples differ in how large their inputs are: offsets such as a norm's epsilon, and branches that
// only large values take, must show.
constexpr double kDeviations[] = {0.6, 0.1, 1.2, 0.3, 2};

// Top-k for real, so that what is chosen matters; other functions by a hash.
absl::StatusOr<double> Opaque(const sdfg::OpaqueCall& call) {
  const shape_reduction::OpaqueName name = shape_reduction::ParseOpaqueName(call.name);
  if (name.base.rfind("topk", 0) != 0 || call.row.empty() || call.scalars.empty()) {
    return sdfg::HashedOpaque(call);
  }
  // A row that is undefined already makes an undefined result, no failure.
  if (std::any_of(call.row.begin(), call.row.end(), [](double x) { return std::isnan(x); })) {
    return call.int_valued ? 0 : std::nan("");
  }
  const auto chosen = shape_reduction::TopK<shape_reduction::DoubleDomain>(
      call.row, name.Get("k", 1), name.Get("groups", 1), name.Get("topk_groups", 1),
      name.Is("group_score", "top2_sum"));
  const int64_t at = std::llround(call.scalars[0]);
  if (!chosen || at < 0 || at >= static_cast<int64_t>(chosen->size())) {
    return absl::InvalidArgumentError(call.name + " is undefined here");
  }
  return call.int_valued ? static_cast<double>((*chosen)[at]) : call.row[(*chosen)[at]];
}

// One operator as a graph of its own.
absl::Status Apply(const Graph& graph, const Operator& op, std::vector<ValuePtr>* values) {
  Graph single;
  single.axes = graph.axes;
  single.axis_device_stride = graph.axis_device_stride;
  std::map<TensorId, TensorId> local;
  std::map<TensorId, DenseTensor> inputs;
  Operator copy = op;
  for (TensorId& input : copy.inputs) {
    if (local.count(input) == 0) {
      sdfg::Tensor tensor = graph.tensors[input];
      tensor.producer = kNone;
      tensor.role = TensorRole::kInput;
      local[input] = single.AddTensor(std::move(tensor));
      inputs[local[input]] = *values->at(input);
    }
    input = local[input];
  }
  for (TensorId& output : copy.outputs) {
    if (output == kNone) continue;
    sdfg::Tensor tensor = graph.tensors[output];
    tensor.producer = kNone;
    local[output] = single.AddTensor(std::move(tensor));
    output = local[output];
  }
  single.AddOperator(std::move(copy));
  auto result = sdfg::EvaluateDenseGraph(single, inputs, Opaque);
  if (!result.ok()) return result.status();
  for (TensorId output : op.outputs) {
    if (output != kNone) {
      (*values)[output] = std::make_shared<DenseTensor>(std::move((*result)[local[output]]));
    }
  }
  return absl::OkStatus();
}

std::vector<bool> Cone(const Graph& graph, std::vector<TensorId> work) {
  std::vector<bool> cone(graph.tensors.size(), false);
  while (!work.empty()) {
    const TensorId id = work.back();
    work.pop_back();
    if (cone[id]) continue;
    cone[id] = true;
    if (graph.tensors[id].producer == kNone) continue;
    for (TensorId input : graph.operators[graph.tensors[id].producer].inputs) work.push_back(input);
  }
  return cone;
}

template <typename Visit>
void ForEachElement(const sdfg::Shape& parallel, const sdfg::Shape& logical,
                    const std::vector<lineage::IndexMap>& map, Visit visit) {
  const int64_t count = sdfg::ElementCount(parallel);
  std::vector<int64_t> at(parallel.size(), 0);
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

// The value of a parallel tensor without producer, which the specification relates to a logical
// one.
ValuePtr Related(const lineage::Problem& problem, TensorId id,
                 const std::vector<ValuePtr>& logical) {
  const sdfg::Tensor& tensor = problem.parallel.tensors[id];
  auto value = std::make_shared<DenseTensor>();
  value->shape = tensor.shape;
  value->data.assign(sdfg::ElementCount(tensor.shape), tensor.role == TensorRole::kOne ? 1 : 0);
  const lineage::Lineage& lineage = problem.lineage[id];
  if (lineage.kind == lineage::LineageKind::kFull) {
    const DenseTensor& from = *logical[lineage.logical];
    ForEachElement(tensor.shape, from.shape, lineage.map,
                   [&](int64_t to, int64_t at) { value->data[to] = from.data[at]; });
  }
  return value;
}

bool SameBits(const DenseTensor& a, const DenseTensor& b) {
  return a.shape == b.shape && (a.data.empty() || std::memcmp(a.data.data(), b.data.data(),
                                                              a.data.size() * sizeof(double)) == 0);
}

}  // namespace

DenseJudge::DenseJudge(const lineage::Problem& base, int samples, int64_t id_range, uint64_t seed)
    : base_(base), count_(samples), id_range_(id_range), seed_(seed), samples_(samples) {}

DenseTensor DenseJudge::RandomInput(const lineage::Problem& problem, TensorId id,
                                    int sample) const {
  const sdfg::Tensor& tensor = problem.logical.tensors[id];
  std::mt19937_64 random(seed_ * 1000003 + static_cast<uint64_t>(sample) * 8191 + id);
  std::normal_distribution<double> normal(0, kDeviations[sample % std::size(kDeviations)]);
  DenseTensor value{tensor.shape, std::vector<double>(sdfg::ElementCount(tensor.shape), 0)};
  const auto below = [&random](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(std::max<int64_t>(bound, 1)));
  };
  for (double& element : value.data) {
    if (tensor.role == TensorRole::kOne) {
      element = 1;
    } else if (tensor.dtype == sdfg::DType::kBool) {
      element = static_cast<double>(below(2));
    } else if (sdfg::IsInteger(tensor.dtype)) {
      element = static_cast<double>(below(id_range_));
    } else if (tensor.role != TensorRole::kZero) {
      // Small parameters: exponentials of what they make must not overflow.
      element =
          below(8) == 0 ? 0 : normal(random) / (tensor.role == TensorRole::kParameter ? 2 : 1);
    }
  }
  for (const auto& premise : problem.premises) {
    if (premise.tensor != id) continue;
    for (double& element : value.data) {
      if (premise.kind == PremiseKind::kPositive) element = std::fabs(element) + 0.01;
      if (premise.kind == PremiseKind::kNonNegative) element = std::fabs(element);
      if (premise.kind == PremiseKind::kNonZero && element == 0) element = 0.5;
      if (premise.kind == PremiseKind::kIntegerRange) {
        element = static_cast<double>(premise.low + below(premise.high - premise.low));
      }
      if (premise.kind == PremiseKind::kRowUnmasked) element = 1;
    }
  }
  return value;
}

absl::StatusOr<const DenseJudge::Sample*> DenseJudge::Base(int sample) {
  if (samples_[sample] != nullptr) return samples_[sample].get();
  auto made = std::make_unique<Sample>();
  std::vector<TensorId> logical_roots, parallel_roots;
  for (const lineage::RequiredRelation& relation : base_.required) {
    logical_roots.push_back(relation.lineage.logical);
    parallel_roots.push_back(relation.parallel);
  }
  const std::vector<bool> logical_cone = Cone(base_.logical, logical_roots);
  made->logical.resize(base_.logical.tensors.size());
  for (size_t id = 0; id < made->logical.size(); ++id) {
    if (base_.logical.tensors[id].producer != kNone) continue;
    made->logical[id] =
        std::make_shared<DenseTensor>(RandomInput(base_, static_cast<TensorId>(id), sample));
  }
  for (const Operator& op : base_.logical.operators) {
    const bool used = std::any_of(op.outputs.begin(), op.outputs.end(),
                                  [&](TensorId id) { return id != kNone && logical_cone[id]; });
    if (!used) continue;
    if (auto status = Apply(base_.logical, op, &made->logical); !status.ok()) return status;
  }
  // All of the parallel graph: a fault may read what was not used before.
  made->parallel.resize(base_.parallel.tensors.size());
  for (size_t id = 0; id < made->parallel.size(); ++id) {
    if (base_.parallel.tensors[id].producer == kNone) {
      made->parallel[id] = Related(base_, static_cast<TensorId>(id), made->logical);
    }
  }
  for (const Operator& op : base_.parallel.operators) {
    if (auto status = Apply(base_.parallel, op, &made->parallel); !status.ok()) return status;
  }
  samples_[sample] = std::move(made);
  return samples_[sample].get();
}

absl::Status DenseJudge::Compare(const lineage::Problem& problem, const std::vector<Value>& logical,
                                 const std::vector<Value>& parallel,
                                 DenseJudgement* judgement) const {
  bool finite = false;
  for (const lineage::RequiredRelation& relation : problem.required) {
    const DenseTensor& p = *parallel[relation.parallel];
    const DenseTensor& l = *logical[relation.lineage.logical];
    double scale = 1e-12;
    for (double value : l.data) {
      if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
    }
    ForEachElement(p.shape, l.shape, relation.lineage.map, [&](int64_t a, int64_t b) {
      const double have = p.data[a], want = l.data[b];
      if (!std::isfinite(want)) return;  // outside the specification's domain
      finite = true;
      const double difference = std::isfinite(have) ? std::fabs(have - want) / scale : HUGE_VAL;
      judgement->worst = std::max(judgement->worst, difference);
      if (difference <= kTolerance || !judgement->equal) return;
      judgement->equal = false;
      judgement->difference = absl::StrCat(relation.what, " element ", b, ": ", want,
                                           " is required, the plan has ", have);
    });
  }
  judgement->samples += finite;
  return absl::OkStatus();
}

absl::StatusOr<DenseJudgement> DenseJudge::Judge(const lineage::Problem& problem) {
  DenseJudgement judgement;
  const Graph& graph = problem.parallel;
  std::vector<TensorId> roots;
  for (const lineage::RequiredRelation& relation : problem.required) {
    roots.push_back(relation.parallel);
  }
  const std::vector<bool> cone = Cone(graph, roots);
  const size_t known = base_.parallel.tensors.size();
  for (int sample = 0; sample < count_ && judgement.equal; ++sample) {
    auto base = Base(sample);
    if (!base.ok()) return base.status();
    std::vector<Value> logical = (*base)->logical;
    for (size_t id = logical.size(); id < problem.logical.tensors.size(); ++id) {
      logical.push_back(
          std::make_shared<DenseTensor>(RandomInput(problem, static_cast<TensorId>(id), sample)));
    }
    std::vector<Value> values((*base)->parallel);
    values.resize(graph.tensors.size());
    for (size_t id = known; id < values.size(); ++id) {
      if (graph.tensors[id].producer == kNone) {
        values[id] = Related(problem, static_cast<TensorId>(id), logical);
      }
    }
    std::vector<bool> changed(graph.tensors.size(), false);
    std::fill(changed.begin() + known, changed.end(), true);
    for (const Operator& op : graph.operators) {
      const bool used = std::any_of(op.outputs.begin(), op.outputs.end(),
                                    [&](TensorId id) { return id != kNone && cone[id]; });
      if (!used) continue;
      bool same = true;
      for (TensorId input : op.inputs) same = same && !changed[input];
      for (size_t k = 0; k < op.outputs.size() && same; ++k) {
        const TensorId id = op.outputs[k];
        if (id == kNone) continue;
        same = static_cast<size_t>(id) < known && base_.parallel.tensors[id].producer != kNone;
        if (!same) break;
        const Operator& before = base_.parallel.operators[base_.parallel.tensors[id].producer];
        same = before.function == op.function && before.inputs == op.inputs &&
               before.outputs == op.outputs && before.lifted == op.lifted;
      }
      if (same) continue;
      if (auto status = Apply(graph, op, &values); !status.ok()) return status;
      for (TensorId id : op.outputs) {
        if (id == kNone) continue;
        changed[id] = static_cast<size_t>(id) >= known || (*base)->parallel[id] == nullptr ||
                      !SameBits(*values[id], *(*base)->parallel[id]);
      }
    }
    if (auto status = Compare(problem, logical, values, &judgement); !status.ok()) return status;
  }
  return judgement;
}

}  // namespace planproof::random_tests
