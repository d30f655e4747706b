#include "tests/models/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace planproof::generator {
namespace {

using sdfg::DenseTensor;
using sdfg::TensorId;

// The element of the logical tensor that a lineage gives for the parallel element number `flat`.
int64_t MappedElement(const std::vector<sdfg::IndexMap>& map, const sdfg::Shape& parallel,
                      const sdfg::Shape& logical, int64_t flat) {
  std::vector<int64_t> index(parallel.size());
  for (size_t d = parallel.size(); d-- > 0; flat /= parallel[d]) index[d] = flat % parallel[d];
  int64_t element = 0;
  for (size_t d = 0; d < map.size(); ++d) {
    element = element * logical[d] + map[d].ValueAt(index);
  }
  return element;
}

std::map<TensorId, DenseTensor> RandomInputs(const lineage::Problem& problem, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<TensorId, std::pair<int64_t, int64_t>> ranges;
  std::map<TensorId, bool> nonnegative;
  for (const auto& premise : problem.premises) {
    using Kind = lineage::Problem::InputPremise::Kind;
    if (premise.kind == Kind::kIntegerRange) ranges[premise.tensor] = {premise.low, premise.high};
    if (premise.kind == Kind::kNonNegative) nonnegative[premise.tensor] = true;
  }
  std::map<TensorId, DenseTensor> inputs;
  for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.logical.tensors[t];
    const auto id = static_cast<TensorId>(t);
    if (tensor.producer != sdfg::kNone || tensor.role == sdfg::TensorRole::kOne) continue;
    DenseTensor& value = inputs[id];
    value.shape = tensor.shape;
    for (int64_t i = 0; i < sdfg::ElementCount(tensor.shape); ++i) {
      const double uniform = static_cast<double>(random() >> 11) / 9007199254740992.0;
      if (const auto range = ranges.find(id); range != ranges.end()) {
        const auto [low, high] = range->second;
        value.data.push_back(std::floor(low + uniform * static_cast<double>(high - low)));
      } else {
        value.data.push_back(nonnegative[id] ? 0.1 + uniform : 2 * uniform - 1);
      }
    }
  }
  return inputs;
}

// Minus score and group or expert, best first, of all groups and of the experts of the chosen ones.
struct Ranking {
  std::vector<std::pair<double, size_t>> groups, experts;
  size_t active_groups = 1, active = 0;
};

absl::StatusOr<Ranking> RankExperts(const sdfg::OpaqueCall& call) {
  int64_t active = 0, groups = 1, active_groups = 1;
  if (std::sscanf(call.name.c_str(),
                  "topk_index(k=%ld,groups=%ld,topk_groups=%ld,group_score=top2_sum)", &active,
                  &groups, &active_groups) != 3) {
    return absl::UnimplementedError(call.name);
  }
  const size_t size = call.row.size() / groups;
  Ranking ranking;
  ranking.active = static_cast<size_t>(active);
  ranking.active_groups = static_cast<size_t>(active_groups);
  std::vector<std::pair<double, size_t>>& best = ranking.groups;
  for (size_t g = 0; g * size < call.row.size(); ++g) {
    std::vector<double> scores(call.row.begin() + g * size, call.row.begin() + (g + 1) * size);
    std::sort(scores.rbegin(), scores.rend());
    best.push_back({-scores[0] - scores[1], g});
  }
  std::sort(best.begin(), best.end());
  std::vector<std::pair<double, size_t>>& experts = ranking.experts;
  for (int64_t i = 0; i < active_groups; ++i) {
    for (size_t e = best[i].second * size; e < (best[i].second + 1) * size; ++e) {
      experts.push_back({-call.row[e], e});
    }
  }
  std::sort(experts.begin(), experts.end());
  return ranking;
}

// Between the first `count` of the list and whatever comes next.
double LeastDistance(const std::vector<std::pair<double, size_t>>& list, size_t count) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count && i + 1 < list.size(); ++i) {
    least = std::min(least, list[i + 1].first - list[i].first);
  }
  return least;
}

}  // namespace

absl::StatusOr<double> ChooseExperts(const sdfg::OpaqueCall& call) {
  const absl::StatusOr<Ranking> ranking = RankExperts(call);
  if (!ranking.ok()) return ranking.status();
  return static_cast<double>(ranking->experts[static_cast<size_t>(call.scalars[0])].second);
}

absl::StatusOr<double> GateMargin(const sdfg::OpaqueCall& call) {
  const absl::StatusOr<Ranking> ranking = RankExperts(call);
  if (!ranking.ok()) return ranking.status();
  return std::min(LeastDistance(ranking->groups, ranking->active_groups),
                  LeastDistance(ranking->experts, ranking->active));
}

absl::StatusOr<Comparison> CompareInNumbers(const lineage::Problem& problem, uint64_t seed) {
  constexpr int kSeedsTried = 16;
  Comparison result;
  const auto choose = [&result](const sdfg::OpaqueCall& call) -> absl::StatusOr<double> {
    const absl::StatusOr<double> margin = GateMargin(call);
    if (!margin.ok()) return margin.status();
    result.margin = std::min(result.margin, *margin);
    return ChooseExperts(call);
  };
  absl::StatusOr<std::vector<DenseTensor>> logical;
  for (int tried = 0; tried == 0 || !(result.margin > kGateMargin); ++tried) {
    if (tried == kSeedsTried) {
      return absl::NotFoundError("no inputs with a gate margin above 1e-6");
    }
    result = Comparison();
    result.seed = seed + tried;
    logical = sdfg::EvaluateDenseGraph(problem.logical, RandomInputs(problem, result.seed), choose);
    if (!logical.ok()) return logical.status();
  }
  std::map<TensorId, DenseTensor> local;
  for (size_t t = 0; t < problem.parallel.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    if (tensor.producer != sdfg::kNone) continue;
    const lineage::Lineage& lineage = problem.lineage[t];
    DenseTensor& value = local[static_cast<TensorId>(t)];
    value.shape = tensor.shape;
    for (int64_t i = 0; i < sdfg::ElementCount(tensor.shape); ++i) {
      const DenseTensor& source = (*logical)[lineage.logical];
      value.data.push_back(source.data[MappedElement(lineage.map, tensor.shape, source.shape, i)]);
    }
  }
  const auto parallel = sdfg::EvaluateDenseGraph(problem.parallel, local, ChooseExperts);
  if (!parallel.ok()) return parallel.status();
  for (const lineage::RequiredRelation& required : problem.required) {
    const DenseTensor& have = (*parallel)[required.parallel];
    const DenseTensor& want = (*logical)[required.lineage.logical];
    double difference = 0, size = 0;
    for (size_t i = 0; i < have.data.size(); ++i) {
      const double wanted = want.data[MappedElement(required.lineage.map, have.shape, want.shape,
                                                    static_cast<int64_t>(i))];
      difference += std::pow(have.data[i] - wanted, 2);
      size += wanted * wanted;
    }
    if (!(std::sqrt(difference) <= 1e-9 * std::sqrt(size))) {
      result.different = required.what;
      break;
    }
  }
  return result;
}

absl::StatusOr<std::string> DifferenceInNumbers(const lineage::Problem& problem, uint64_t seed) {
  const absl::StatusOr<Comparison> result = CompareInNumbers(problem, seed);
  if (!result.ok()) return result.status();
  return result->different;
}

}  // namespace planproof::generator
