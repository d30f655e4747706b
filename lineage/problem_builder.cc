#include "lineage/problem_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lineage/map_range.h"
#include "sdfg/status_macros.h"

namespace planproof::lineage {

using sdfg::kNone;
using sdfg::TensorId;

namespace {

bool IsTensorOf(const sdfg::Graph& graph, TensorId id) {
  return id >= 0 && static_cast<size_t>(id) < graph.tensors.size();
}

sdfg::Shape LocalShape(const sdfg::Tensor& tensor) {
  return {tensor.shape.begin() + static_cast<int64_t>(tensor.axes.size()), tensor.shape.end()};
}

absl::Status At(const ProblemBuilder::Locate& locate, const ProblemBuilder::Subject& subject,
                const absl::Status& status) {
  return status.ok() || !locate ? status : locate(subject, status);
}

std::string ShapeText(const sdfg::Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace

const Lineage& ProblemBuilder::LineageOf(TensorId tensor) const {
  static const Lineage* const none = new Lineage;
  return static_cast<size_t>(tensor) < lineage_.size() ? lineage_[tensor] : *none;
}

absl::Status ProblemBuilder::CheckFull(TensorId tensor, const Lineage& lineage) const {
  if (!IsTensorOf(parallel, tensor)) return absl::InternalError("a relation of no tensor");
  const std::string& name = parallel.tensors[tensor].name;
  if (lineage.kind != LineageKind::kFull || !IsTensorOf(logical, lineage.logical)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": its relation to the model must say which values it holds"));
  }
  return CheckInside(lineage.map, parallel.tensors[tensor].shape,
                     logical.tensors[lineage.logical].shape);
}

CoverBox ProblemBuilder::BoxOf(TensorId tensor, const Lineage& lineage, Holding holding) const {
  const sdfg::Tensor& held = parallel.tensors[tensor];
  return {std::move(holding.holder), lineage.map, held.shape, static_cast<int>(held.axes.size()),
          holding.overlap};
}

void ProblemBuilder::Claim(TensorId tensor, Lineage lineage) {
  if (lineage_.size() <= static_cast<size_t>(tensor)) lineage_.resize(tensor + 1);
  lineage_[tensor] = std::move(lineage);
}

absl::Status ProblemBuilder::CheckInput(TensorId tensor, const Lineage& lineage) const {
  PLAN_RETURN_IF_ERROR(CheckFull(tensor, lineage));
  if (logical.tensors[lineage.logical].producer != kNone) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", logical.tensors[lineage.logical].name,
        "\" is computed by the model; a program reads inputs, parameters and ", "buffers only"));
  }
  const auto constant = [](sdfg::TensorRole role) {
    return role == sdfg::TensorRole::kOne || role == sdfg::TensorRole::kZero;
  };
  const sdfg::Tensor& model = logical.tensors[lineage.logical];
  const sdfg::Tensor& held = parallel.tensors[tensor];
  if (model.role != held.role && (constant(model.role) || constant(held.role))) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", held.name, " and ", model.name, " have different roles"));
  }
  return absl::OkStatus();
}

absl::Status ProblemBuilder::RelateInput(TensorId tensor, Lineage lineage, Holding holding) {
  PLAN_RETURN_IF_ERROR(CheckInput(tensor, lineage));
  held_[lineage.logical].push_back(BoxOf(tensor, lineage, std::move(holding)));
  Claim(tensor, std::move(lineage));
  return absl::OkStatus();
}

absl::Status ProblemBuilder::RelateConstant(TensorId tensor, Lineage lineage) {
  PLAN_RETURN_IF_ERROR(CheckInput(tensor, lineage));
  Claim(tensor, std::move(lineage));
  return absl::OkStatus();
}

absl::Status ProblemBuilder::AddRequired(Origin origin, TensorId tensor, Lineage lineage,
                                         std::string what, Holding holding) {
  PLAN_RETURN_IF_ERROR(CheckFull(tensor, lineage));
  asked_[{lineage.logical, origin}].push_back(BoxOf(tensor, lineage, std::move(holding)));
  RequiredRelation required;
  required.parallel = tensor;
  required.lineage = std::move(lineage);
  required.what = std::move(what);
  required_.push_back(std::move(required));
  return absl::OkStatus();
}

absl::Status ProblemBuilder::RequireOutput(TensorId tensor, Lineage lineage, std::string what,
                                           Holding holding) {
  return AddRequired(Origin::kStated, tensor, std::move(lineage), std::move(what),
                     std::move(holding));
}

absl::Status ProblemBuilder::RequireAsHeld(TensorId tensor, TensorId logical_value, TensorId input,
                                           std::string what, Holding holding) {
  const Lineage& held = LineageOf(input);
  if (!IsTensorOf(parallel, tensor) || !IsTensorOf(logical, logical_value) ||
      held.kind != LineageKind::kFull || parallel.tensors[input].producer != kNone) {
    return absl::InternalError("a value is required as an input is held, which is none");
  }
  const sdfg::Tensor& from = parallel.tensors[input];
  const sdfg::Tensor& to = parallel.tensors[tensor];
  const sdfg::Tensor& value = logical.tensors[logical_value];
  if (value.shape != logical.tensors[held.logical].shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape mismatch: ", logical.tensors[held.logical].name, " is ",
                     ShapeText(logical.tensors[held.logical].shape), ", ", value.name, " is ",
                     ShapeText(value.shape)));
  }
  if (LocalShape(to) != LocalShape(from)) {
    return absl::InvalidArgumentError(absl::StrCat("shape mismatch: the tensor has local shape ",
                                                   ShapeText(LocalShape(to)), ", its relation to ",
                                                   value.name, ShapeText(value.shape), " asks for ",
                                                   ShapeText(LocalShape(from))));
  }
  Lineage required = held;
  required.logical = logical_value;
  // What the relation calls a dimension of `from`, as a dimension of `to`.
  const auto leading = static_cast<int32_t>(from.axes.size());
  const auto move = [&](int32_t* dim) -> absl::Status {
    if (*dim >= leading) {
      *dim += static_cast<int32_t>(to.axes.size()) - leading;
      return absl::OkStatus();
    }
    const sdfg::AxisId axis = from.axes[*dim];
    const auto at = std::find(to.axes.begin(), to.axes.end(), axis);
    if (at == to.axes.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "its relation names ", parallel.axes[axis].name,
          ", but the tensor is the same at every coordinate of ", parallel.axes[axis].name));
    }
    *dim = static_cast<int32_t>(at - to.axes.begin());
    return absl::OkStatus();
  };
  for (IndexMap& map : required.map) {
    for (IndexTerm& term : map.terms) {
      PLAN_RETURN_IF_ERROR(move(&term.dim));
      if (term.gated()) PLAN_RETURN_IF_ERROR(move(&term.gate.dim));
    }
  }
  return AddRequired(Origin::kAsHeld, tensor, std::move(required), std::move(what),
                     std::move(holding));
}

void ProblemBuilder::MustBeRequired(TensorId logical_value) {
  asked_[{logical_value, Origin::kAsHeld}];
}

absl::Status ProblemBuilder::CheckRelated() const {
  for (size_t t = 0; t < parallel.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = parallel.tensors[t];
    if (tensor.producer != kNone ||
        LineageOf(static_cast<TensorId>(t)).kind == LineageKind::kFull) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "nothing computes ", tensor.name, ", and no relation to the model says what it holds"));
  }
  return absl::OkStatus();
}

absl::Status ProblemBuilder::CheckCover(const Locate& locate) const {
  using Kind = Subject::Kind;
  const auto cover = [&](Kind kind, TensorId id, const std::vector<CoverBox>& boxes) {
    const sdfg::Tensor& tensor = logical.tensors[id];
    const absl::Status status = CheckCoverOf(tensor.shape, boxes);
    if (status.ok()) return status;
    return At(
        locate, {kind, id},
        absl::Status(status.code(),
                     absl::StrCat(kind == Kind::kInput ? "input " : "required output ", tensor.name,
                                  ShapeText(tensor.shape), ": ", std::string(status.message()))));
  };
  for (const auto& [id, boxes] : held_) PLAN_RETURN_IF_ERROR(cover(Kind::kInput, id, boxes));
  for (const auto& [output, boxes] : asked_) {
    PLAN_RETURN_IF_ERROR(cover(Kind::kOutput, output.first, boxes));
  }
  return absl::OkStatus();
}

absl::StatusOr<Problem> ProblemBuilder::Build(const Locate& locate) {
  PLAN_RETURN_IF_ERROR(CheckCover(locate));
  return Finish(locate);
}

absl::StatusOr<Problem> ProblemBuilder::Rebuild() { return Finish({}); }

absl::StatusOr<Problem> ProblemBuilder::Finish(const Locate& locate) {
  using Kind = Subject::Kind;
  if (required_.empty()) {
    return At(locate, {Kind::kModel, kNone}, absl::InvalidArgumentError("nothing is required"));
  }
  PLAN_RETURN_IF_ERROR(At(locate, {Kind::kModel, kNone}, logical.Check()));
  PLAN_RETURN_IF_ERROR(At(locate, {Kind::kPlan, kNone}, parallel.Check()));
  PLAN_RETURN_IF_ERROR(At(locate, {Kind::kPlan, kNone}, CheckRelated()));
  Problem problem;
  problem.logical = std::move(logical);
  problem.parallel = std::move(parallel);
  problem.lineage = std::move(lineage_);
  problem.lineage.resize(problem.parallel.tensors.size());
  problem.required = std::move(required_);
  problem.premises = std::move(premises);
  problem.recorded = std::move(recorded);
  problem.schedule = std::move(schedule);
  problem.assumptions = std::move(assumptions);
  problem.warnings = std::move(warnings);
  *this = ProblemBuilder();
  return problem;
}

}  // namespace planproof::lineage
