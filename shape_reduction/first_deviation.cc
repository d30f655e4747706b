#include "shape_reduction/first_deviation.h"

#include <string>
#include <utility>

#include "shape_reduction/comparison.h"
#include "shape_reduction/domain_floating.h"

namespace planproof::shape_reduction {

using lineage::LineageKind;
using sdfg::TensorId;

namespace {

// Whose operator it is, at which coordinates, on which devices.
void LocateDeviation(const sdfg::Graph& graph, Deviation* deviation) {
  const sdfg::Tensor& tensor = graph.tensors[deviation->tensor];
  deviation->op = tensor.producer;
  int64_t shift = 0;
  for (size_t k = 0; k < tensor.axes.size(); ++k) {
    const sdfg::AxisId axis = tensor.axes[k];
    deviation->coordinates +=
        (k == 0 ? "" : ", ") + graph.axes[axis].name + " " + std::to_string(deviation->index[k]);
    if (axis < static_cast<sdfg::AxisId>(graph.axis_device_stride.size())) {
      shift += graph.axis_device_stride[axis] * deviation->index[k];
    }
  }
  if (tensor.device >= 0) {
    deviation->devices.push_back(static_cast<sdfg::Device>(tensor.device + shift));
  } else if (deviation->op != sdfg::kNone) {
    for (sdfg::Device device : graph.operators[deviation->op].devices) {
      deviation->devices.push_back(static_cast<sdfg::Device>(device + shift));
    }
  }
}

}  // namespace

Deviation FirstDeviation(const lineage::Problem& problem,
                         const std::vector<lineage::Lineage>& lineage,
                         const std::vector<BlockTensorPtr<double>>& inputs, ReducedOptions limits,
                         double tolerance, ProgramCache* programs) {
  Deviation deviation;
  ProblemEvaluation<DoubleDomain> evaluation(problem, programs);
  ReducedOptions all = limits;
  all.cone_of.clear();
  if (!evaluation.EvaluateLogical(inputs, all).ok()) return deviation;
  const int64_t max_elements = limits.max_elements;
  limits.skip_too_fine = true;
  limits.free_intermediates = true;
  limits.on_produced = [&](TensorId id) {
    if (id >= static_cast<TensorId>(lineage.size()) || lineage[id].kind != LineageKind::kFull) {
      return true;
    }
    BlockTensorPtr<double> claimed;
    if (!evaluation.Claimed(id, lineage[id], max_elements, &claimed).ok()) return true;
    const Difference difference = CompareTensors(*claimed, *evaluation.parallel()[id], tolerance);
    if (!difference.found) return true;
    deviation.found = true;
    deviation.tensor = id;
    deviation.index = difference.index;
    deviation.logical_value = difference.left;
    deviation.parallel_value = difference.right;
    return false;
  };
  // It ends with an error where a deviation is found, too.
  evaluation.EvaluateParallel(limits).IgnoreError();
  if (deviation.found) LocateDeviation(problem.parallel, &deviation);
  return deviation;
}

}  // namespace planproof::shape_reduction
