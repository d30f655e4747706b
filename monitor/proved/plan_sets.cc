#include "monitor/proved/plan_sets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::monitor {
namespace {

using sdfg::TensorId;

constexpr int64_t kMostRanksOfPlan = 1 << 16;

// What a result of the model is of a parameter.
struct ResultOfParameter {
  TensorId parameter = sdfg::kNone;
  SetKind kind = SetKind::kParameter;
};

class PlanSets {
 public:
  explicit PlanSets(const lineage::Problem& problem) : problem_(problem) {
    const sdfg::Graph& model = problem.logical;
    std::map<std::string, TensorId> by_name;
    for (size_t t = 0; t < model.tensors.size(); ++t) {
      by_name.emplace(model.tensors[t].name, static_cast<TensorId>(t));
    }
    for (size_t t = 0; t < model.tensors.size(); ++t) {
      if (!IsParameter(static_cast<TensorId>(t))) continue;
      // So does reverse mode name it (sdfg/reverse_mode.h).
      const auto gradient = by_name.find(absl::StrCat("grad.", model.tensors[t].name));
      if (gradient == by_name.end()) continue;
      gradients_[gradient->second] = static_cast<TensorId>(t);
    }
  }

  ExportRequest Make() {
    ExportRequest request;
    std::map<TensorId, ExportedSet> sets;  // by the model's result
    std::set<TensorId> in_parts;
    for (size_t k = 0; k < problem_.required.size(); ++k) {
      const TensorId result = problem_.required[k].lineage.logical;
      const std::optional<ResultOfParameter> of = ParameterOf(result);
      if (!of) continue;
      ExportedSet& set = sets[result];
      set.name = problem_.logical.tensors[of->parameter].name;
      set.set = of->kind == SetKind::kGradient ? "gradient" : "parameter";
      set.kind = of->kind;
      set.of = problem_.logical.tensors[result].shape;
      set.model_after = result;
      set.model_before = of->kind == SetKind::kGradient ? sdfg::kNone : of->parameter;
      if (!AddParts(static_cast<int32_t>(k), &set)) in_parts.insert(result);
    }
    for (auto& [result, set] : sets) {
      if (in_parts.count(result) == 0 && !set.parts.empty()) {
        request.sets.push_back(std::move(set));
      }
    }
    request.world = World();
    return request;
  }

 private:
  bool IsParameter(TensorId tensor) const {
    const sdfg::Tensor& held = problem_.logical.tensors[tensor];
    return held.producer == sdfg::kNone && held.role == sdfg::TensorRole::kParameter;
  }

  std::optional<ResultOfParameter> ParameterOf(TensorId result) const {
    const auto gradient = gradients_.find(result);
    if (gradient != gradients_.end()) {
      return ResultOfParameter{gradient->second, SetKind::kGradient};
    }
    std::set<TensorId> parameters, seen;
    AddParametersBelow(result, problem_.logical.tensors[result].shape, &parameters, &seen);
    if (parameters.size() != 1) return std::nullopt;
    return ResultOfParameter{*parameters.begin(), SetKind::kParameter};
  }

  // Parameters from whose elements those of the tensor are computed, one from one.
  void AddParametersBelow(TensorId tensor, const sdfg::Shape& shape, std::set<TensorId>* found,
                          std::set<TensorId>* seen) const {
    if (problem_.logical.tensors[tensor].shape != shape || !seen->insert(tensor).second) return;
    if (IsParameter(tensor)) found->insert(tensor);
    const sdfg::OperatorId producer = problem_.logical.tensors[tensor].producer;
    if (producer == sdfg::kNone) return;
    const sdfg::Operator& op = problem_.logical.operators[producer];
    if (op.function == nullptr) return;
    for (const sdfg::Node& node : op.function->nodes) {
      if (node.op == sdfg::Op::kSum || node.op == sdfg::Op::kOpaque) return;
    }
    for (const TensorId input : op.inputs) AddParametersBelow(input, shape, found, seen);
  }

  // One part for each rank of the required tensor; false if a rank has several.
  bool AddParts(int32_t required, ExportedSet* set) const {
    const sdfg::Graph& plan = problem_.parallel;
    const TensorId id = problem_.required[required].parallel;
    const sdfg::Tensor& tensor = plan.tensors[id];
    std::vector<int64_t> coordinates(tensor.axes.size(), 0);
    int64_t instances = 1;
    for (size_t a = 0; a < tensor.axes.size(); ++a) instances *= tensor.shape[a];
    if (instances > kMostRanksOfPlan) return false;
    for (int64_t k = 0; k < instances; ++k) {
      int64_t left = k, rank = tensor.device;
      for (size_t a = tensor.axes.size(); a-- > 0;) {
        coordinates[a] = left % tensor.shape[a];
        left /= tensor.shape[a];
        rank += coordinates[a] * plan.axis_device_stride[tensor.axes[a]];
      }
      ExportedPart part;
      part.rank = static_cast<int32_t>(rank);
      part.after = id;
      part.required = required;
      part.coordinates = coordinates;
      const bool again = std::any_of(set->parts.begin(), set->parts.end(),
                                     [&](const auto& other) { return other.rank == part.rank; });
      if (again || rank < 0) return false;
      set->parts.push_back(std::move(part));
    }
    return AddCopies(set);
  }

  // A tensor that does not vary over an axis of the mesh is held by all ranks along it.
  bool AddCopies(ExportedSet* set) const {
    const sdfg::Graph& plan = problem_.parallel;
    for (size_t a = 0; a < plan.axes.size(); ++a) {
      const int64_t stride = plan.axis_device_stride[a];
      const auto axis = static_cast<sdfg::AxisId>(a);
      const std::vector<sdfg::AxisId>& own = plan.tensors[set->parts.back().after].axes;
      if (stride == 0 || std::find(own.begin(), own.end(), axis) != own.end()) continue;
      if (IsFixedByPrograms(axis)) continue;
      const size_t parts = set->parts.size();
      for (int64_t i = 1; i < plan.axes[a].extent; ++i) {
        for (size_t k = 0; k < parts; ++k) {
          ExportedPart copy = set->parts[k];
          copy.rank += static_cast<int32_t>(i * stride);
          set->parts.push_back(std::move(copy));
        }
        if (set->parts.size() > kMostRanksOfPlan) return false;
      }
    }
    return true;
  }

  // Programs run at single coordinates of it, as stages of a pipeline do.
  bool IsFixedByPrograms(sdfg::AxisId axis) const {
    const int64_t stride = problem_.parallel.axis_device_stride[axis];
    const int64_t extent = problem_.parallel.axes[axis].extent;
    return std::any_of(problem_.parallel.tensors.begin(), problem_.parallel.tensors.end(),
                       [&](const sdfg::Tensor& tensor) {
                         return tensor.device > 0 && tensor.device / stride % extent != 0;
                       });
  }

  int32_t World() const {
    int64_t last = 0;
    for (const sdfg::Tensor& tensor : problem_.parallel.tensors) {
      int64_t rank = tensor.device;
      for (const sdfg::AxisId axis : tensor.axes) {
        rank +=
            (problem_.parallel.axes[axis].extent - 1) * problem_.parallel.axis_device_stride[axis];
      }
      last = std::max(last, rank);
    }
    return static_cast<int32_t>(std::min(last, kMostRanksOfPlan) + 1);
  }

  const lineage::Problem& problem_;
  std::map<TensorId, TensorId> gradients_;  // to the parameter
};

}  // namespace

ExportRequest RequestOfPlan(const lineage::Problem& problem) { return PlanSets(problem).Make(); }

}  // namespace planproof::monitor
