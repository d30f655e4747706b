#include "lineage/sharding.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::lineage {

absl::StatusOr<Sharding> EqualParts(sdfg::TensorId logical, const sdfg::Shape& logical_shape,
                                    const std::vector<sdfg::Axis>& mesh,
                                    const std::vector<sdfg::AxisId>& axes,
                                    const std::vector<CutDimension>& cuts) {
  Sharding sharding;
  sharding.lineage.kind = LineageKind::kFull;
  sharding.lineage.logical = logical;
  sharding.lineage.map.resize(logical_shape.size());
  sdfg::Shape local = logical_shape;
  std::set<int> dims;
  std::set<sdfg::AxisId> used;
  for (const CutDimension& cut : cuts) {
    if (cut.dim < 0 || static_cast<size_t>(cut.dim) >= logical_shape.size() ||
        !dims.insert(cut.dim).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", cut.dim, " does not exist, or is cut twice"));
    }
    // The innermost axis steps from one part to the next.
    for (auto axis = cut.over.rbegin(); axis != cut.over.rend(); ++axis) {
      const auto at = std::find(axes.begin(), axes.end(), *axis);
      if (*axis < 0 || static_cast<size_t>(*axis) >= mesh.size()) {
        return absl::InvalidArgumentError("it is cut over an axis that the plan does not have");
      }
      if (at == axes.end() || !used.insert(*axis).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", mesh[*axis].name,
                         " cuts two dimensions, or the tensor does not vary over it"));
      }
      if (mesh[*axis].extent < 1 || local[cut.dim] % mesh[*axis].extent != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("dimension ", cut.dim, " of extent ", logical_shape[cut.dim],
                         " does not divide into equal parts over ", mesh[*axis].name));
      }
      local[cut.dim] /= mesh[*axis].extent;
    }
    int64_t step = local[cut.dim];
    for (auto axis = cut.over.rbegin(); axis != cut.over.rend(); ++axis) {
      const auto at = std::find(axes.begin(), axes.end(), *axis) - axes.begin();
      sharding.lineage.map[cut.dim].terms.push_back({static_cast<int32_t>(at), step, 1, 0});
      step *= mesh[*axis].extent;
    }
  }
  for (size_t d = 0; d < local.size(); ++d) {
    sharding.lineage.map[d].terms.push_back({static_cast<int32_t>(axes.size() + d), 1, 1, 0});
  }
  for (sdfg::AxisId axis : axes) sharding.shape.push_back(mesh[axis].extent);
  sharding.shape.insert(sharding.shape.end(), local.begin(), local.end());
  return sharding;
}

absl::StatusOr<sdfg::TensorId> HoldParts(ProblemBuilder* problem, sdfg::TensorId logical,
                                         const std::vector<CutDimension>& cuts, sdfg::Device device,
                                         ProblemBuilder::Holding holding) {
  const sdfg::Tensor& whole = problem->logical.tensors[logical];
  sdfg::Tensor held;
  held.name = whole.name;
  held.dtype = whole.dtype;
  held.role = whole.role;
  held.device = device;
  for (const CutDimension& cut : cuts) {
    held.axes.insert(held.axes.end(), cut.over.begin(), cut.over.end());
  }
  std::sort(held.axes.begin(), held.axes.end());
  PLAN_ASSIGN_OR_RETURN(Sharding parts,
                        EqualParts(logical, whole.shape, problem->parallel.axes, held.axes, cuts));
  held.shape = std::move(parts.shape);
  const sdfg::TensorId id = problem->parallel.AddTensor(std::move(held));
  PLAN_RETURN_IF_ERROR(problem->RelateInput(id, std::move(parts.lineage), std::move(holding)));
  return id;
}

absl::Status RequireParts(ProblemBuilder* problem, sdfg::TensorId tensor, sdfg::TensorId logical,
                          const std::vector<CutDimension>& cuts, std::string what,
                          ProblemBuilder::Holding holding) {
  PLAN_ASSIGN_OR_RETURN(Sharding parts, EqualParts(logical, problem->logical.tensors[logical].shape,
                                                   problem->parallel.axes,
                                                   problem->parallel.tensors[tensor].axes, cuts));
  if (parts.shape != problem->parallel.tensors[tensor].shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shape mismatch: ", problem->parallel.tensors[tensor].name,
        " does not have the shape of these parts of ", problem->logical.tensors[logical].name));
  }
  return problem->RequireOutput(tensor, std::move(parts.lineage), std::move(what),
                                std::move(holding));
}

}  // namespace planproof::lineage
