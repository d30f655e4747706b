#include "shape_reduction/problem_evaluation.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "shape_reduction/domain_floating.h"
#include "shape_reduction/domain_interval.h"
#include "shape_reduction/domain_mpfi.h"

namespace planproof::shape_reduction {
namespace {

template <typename D>
BlockTensorPtr<typename D::Value> Convert(const BlockTensorPtr<double>& tensor) {
  if constexpr (std::is_same_v<D, DoubleDomain>) {
    return tensor;
  } else {
    auto result = std::make_shared<BlockTensor<typename D::Value>>();
    result->dims = tensor->dims;
    result->int_valued = tensor->int_valued;
    result->ints = tensor->ints;
    result->values.reserve(tensor->values.size());
    for (double value : tensor->values) result->values.push_back(D::FromDouble(value));
    return result;
  }
}

}  // namespace

template <typename D>
ProblemEvaluation<D>::ProblemEvaluation(const lineage::Problem& problem, ProgramCache* programs,
                                        bool enclose, PartitionsByExtent compared)
    : problem_(problem), evaluator_(programs, enclose, std::move(compared)) {
  const size_t tensors = std::min(problem.lineage.size(), problem.parallel.tensors.size());
  for (size_t id = 0; id < tensors; ++id) {
    const lineage::Lineage& lineage = problem.lineage[id];
    if (problem.parallel.tensors[id].producer == sdfg::kNone &&
        lineage.kind == lineage::LineageKind::kFull &&
        problem.logical.tensors[lineage.logical].producer != sdfg::kNone) {
      given_.push_back(lineage.logical);
    }
  }
}

template <typename D>
absl::Status ProblemEvaluation<D>::EvaluateLogical(
    const std::vector<BlockTensorPtr<double>>& inputs, const ReducedOptions& required) {
  ReducedOptions options = required;
  if (!options.cone_of.empty()) {
    options.cone_of.insert(options.cone_of.end(), given_.begin(), given_.end());
  }
  logical_.assign(problem_.logical.tensors.size(), nullptr);
  for (size_t id = 0; id < inputs.size(); ++id) {
    if (inputs[id] != nullptr) logical_[id] = evaluator_.Intern(Convert<D>(inputs[id]));
  }
  OpenPremises open;
  absl::Status status = evaluator_.Evaluate(problem_.logical, options, &logical_, &open);
  NotePremises(problem_.logical, open);
  return status;
}

template <typename D>
absl::Status ProblemEvaluation<D>::EvaluateParallel(const ReducedOptions& options,
                                                    const std::vector<char>* trusted) {
  const sdfg::Graph& graph = problem_.parallel;
  parallel_.assign(graph.tensors.size(), nullptr);
  for (size_t id = 0; id < graph.tensors.size(); ++id) {
    const sdfg::Tensor& tensor = graph.tensors[id];
    const bool read = trusted != nullptr && (*trusted)[id] != 0;
    if ((tensor.producer != sdfg::kNone && !read) || tensor.role == sdfg::TensorRole::kOne ||
        tensor.role == sdfg::TensorRole::kZero) {
      continue;
    }
    if (id >= problem_.lineage.size() || problem_.lineage[id].kind != lineage::LineageKind::kFull) {
      continue;  // an error if something reads it
    }
    if (options.skip_too_fine && logical_[problem_.lineage[id].logical] == nullptr) continue;
    absl::Status status = Claimed(static_cast<sdfg::TensorId>(id), problem_.lineage[id],
                                  options.max_elements, &parallel_[id]);
    if (options.skip_too_fine && absl::IsResourceExhausted(status)) continue;
    if (!status.ok()) {
      return absl::Status(status.code(), tensor.name + ": " + std::string(status.message()));
    }
  }
  OpenPremises open;
  absl::Status status = evaluator_.Evaluate(graph, options, &parallel_, &open);
  NotePremises(graph, open);
  return status;
}

template <typename D>
absl::Status ProblemEvaluation<D>::Claimed(sdfg::TensorId parallel, const lineage::Lineage& lineage,
                                           int64_t max_elements, Ptr* result) {
  const Ptr& value = logical_[lineage.logical];
  if (value == nullptr) {
    return absl::FailedPreconditionError("no value for the logical tensor " +
                                         problem_.logical.tensors[lineage.logical].name);
  }
  return evaluator_.Read(problem_.parallel.tensors[parallel].shape,
                         problem_.logical.tensors[lineage.logical].shape, lineage.map, value,
                         max_elements, result);
}

template <typename D>
void ProblemEvaluation<D>::NotePremises(const sdfg::Graph& graph, const OpenPremises& open) {
  if (open.empty() || !open_premise_.empty()) return;
  open_premise_ = graph.Describe(open[0].op) + ": " + open[0].check.text;
}

template class ProblemEvaluation<DoubleDomain>;
template class ProblemEvaluation<LongDoubleDomain>;
template class ProblemEvaluation<IntervalDomain>;
template class ProblemEvaluation<MpfiDomain>;

}  // namespace planproof::shape_reduction
