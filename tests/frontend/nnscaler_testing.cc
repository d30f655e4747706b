#include "tests/frontend/nnscaler_testing.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::frontend::nnscaler {
namespace {

using sdfg::DenseTensor;
using sdfg::TensorId;

// The element of the logical tensor at which a lineage points, for one index of the parallel one.
int64_t LogicalOffset(const lineage::Lineage& lineage, const sdfg::Shape& shape,
                      const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < lineage.map.size(); ++d) {
    offset = offset * shape[d] + lineage.map[d].ValueAt(index);
  }
  return offset;
}

template <typename Visit>
void ForEach(const sdfg::Shape& shape, const Visit& visit) {
  const int64_t count = sdfg::ElementCount(shape);
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(i, index);
    for (size_t d = shape.size(); d > 0; --d) {
      if (++index[d - 1] < shape[d - 1]) break;
      index[d - 1] = 0;
    }
  }
}

double Difference(const lineage::Lineage& lineage, const DenseTensor& parallel,
                  const DenseTensor& logical) {
  double difference = 0, scale = 1e-9;
  ForEach(parallel.shape, [&](int64_t i, const std::vector<int64_t>& index) {
    const double want = logical.data[LogicalOffset(lineage, logical.shape, index)];
    if (std::isinf(want) && want == parallel.data[i]) return;
    difference = std::max(difference, std::abs(want - parallel.data[i]));
    scale = std::max(scale, std::abs(want));
  });
  return difference / scale;
}

struct SmallPlans {
  std::filesystem::path directory;
  bool written = false;
  SmallPlans()
      : directory(std::filesystem::temp_directory_path() / absl::StrCat("planproof_", getpid())) {
    const std::string command =
        absl::StrCat("python3 -B '", PLANPROOF_SOURCE_DIR,
                     "/tests/frontend/write_nnscaler_plan.py' --all '", directory.string(), "'");
    written = std::system(command.c_str()) == 0;
  }
  ~SmallPlans() {
    std::error_code error;
    std::filesystem::remove_all(directory, error);
  }
};

}  // namespace

std::string SmallPlan(const std::string& plan, const std::string& fault, int seed, int protocol) {
  static const SmallPlans plans;
  if (!plans.written) return "";
  return (plans.directory / absl::StrCat(plan, "-", fault, "-", seed, "-", protocol, ".pkl"))
      .string();
}

std::string PublishedPlan(const std::string& prefix) {
  const char* given = std::getenv("PLANPROOF_SHARED");
  const std::filesystem::path shared =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(PLANPROOF_SOURCE_DIR) / ".." / "shared";
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(shared / "data" / "nnscaler", error)) {
    if (entry.path().filename().string().rfind(prefix, 0) == 0) return entry.path().string();
  }
  return "";
}

absl::StatusOr<lineage::Problem> ReadSmall(const std::string& parallel, const std::string& fault,
                                           const std::string& logical_fault) {
  return ReadPair(SmallPlan("single", logical_fault), SmallPlan(parallel, fault));
}

absl::StatusOr<Judgement> Judge(const lineage::Problem& problem, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::map<TensorId, DenseTensor> logical_inputs, parallel_inputs;
  for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.logical.tensors[t];
    if (tensor.producer != sdfg::kNone || tensor.role == sdfg::TensorRole::kOne) continue;
    DenseTensor values{tensor.shape, {}};
    for (int64_t i = 0; i < sdfg::ElementCount(tensor.shape); ++i) {
      values.data.push_back(sdfg::IsInteger(tensor.dtype) ? std::floor(2 * (uniform(random) + 1))
                                                          : uniform(random));
    }
    logical_inputs[static_cast<TensorId>(t)] = std::move(values);
  }
  for (size_t t = 0; t < problem.parallel.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = problem.parallel.tensors[t];
    if (tensor.producer != sdfg::kNone || tensor.role == sdfg::TensorRole::kOne) continue;
    const lineage::Lineage& lineage = problem.lineage[t];
    if (lineage.kind != lineage::LineageKind::kFull) {
      return absl::InternalError(absl::StrCat("input ", tensor.name, " has no full lineage"));
    }
    const DenseTensor& source = logical_inputs[lineage.logical];
    DenseTensor values{tensor.shape, {}};
    ForEach(tensor.shape, [&](int64_t, const std::vector<int64_t>& index) {
      values.data.push_back(source.data[LogicalOffset(lineage, source.shape, index)]);
    });
    parallel_inputs[static_cast<TensorId>(t)] = std::move(values);
  }
  auto logical = sdfg::EvaluateDenseGraph(problem.logical, logical_inputs);
  if (!logical.ok()) return logical.status();
  auto parallel = sdfg::EvaluateDenseGraph(problem.parallel, parallel_inputs);
  if (!parallel.ok()) return parallel.status();
  Judgement judgement;
  for (const lineage::RequiredRelation& relation : problem.required) {
    const double difference = Difference(relation.lineage, (*parallel)[relation.parallel],
                                         (*logical)[relation.lineage.logical]);
    if (difference >= judgement.required) {
      judgement.required = difference;
      judgement.worst = relation.what;
    }
  }
  for (size_t t = 0; t < problem.lineage.size(); ++t) {
    const lineage::Lineage& lineage = problem.lineage[t];
    if (lineage.kind != lineage::LineageKind::kFull) continue;
    ++judgement.full_lineages;
    const double difference = Difference(lineage, (*parallel)[t], (*logical)[lineage.logical]);
    if (difference >= judgement.proposed) {
      judgement.proposed = difference;
      judgement.worst_proposed = problem.parallel.tensors[t].name;
    }
  }
  return judgement;
}

}  // namespace planproof::frontend::nnscaler
