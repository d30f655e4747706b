#include "frontend/plan/local_calls.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "sdfg/coordinate_functions.h"
#include "sdfg/differentiate.h"
#include "sdfg/operator_memory.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using sdfg::AxisId;

constexpr int64_t kMaxVariants = 4096;

// What the operator's attributes mean here. Output axes are still to be set.
CallSite SiteOf(const Operator& op, const std::vector<sdfg::Shape>& shapes,
                const std::vector<sdfg::DType>& dtypes, const std::vector<AxisList>& input_axes,
                const ProgramCoordinates* coordinates) {
  CallSite site;
  site.shapes = shapes;
  site.dtypes = dtypes;
  site.input_axes = input_axes;
  if (coordinates == nullptr) return site;
  std::set<AxisId> special;
  for (const std::string& name : NamesInAttributes(op)) {
    const AxisId axis = coordinates->Find(name);
    if (axis == sdfg::kNone) continue;
    if (coordinates->fixed[axis].has_value()) {
      site.fixed.emplace_back(name, *coordinates->fixed[axis]);
    } else {
      site.varying.emplace_back(name, axis);
      special.insert(axis);
    }
  }
  site.special.assign(special.begin(), special.end());
  return site;
}

// Everything on which the call depends, but for the library, the literals and the graph's axes.
std::string KeyOf(const Operator& op, const CallSite& site) {
  sdfg::FunctionKey key(op.op());
  key.Number(op.inputs_size());
  for (const Operand& operand : op.inputs()) {
    key.Number(operand.kind_case());
    if (operand.kind_case() == Operand::kLiteral) key.Text(operand.literal());
  }
  key.Number(op.attributes_size());
  for (const Attribute& attribute : op.attributes()) {
    key.Text(attribute.name()).Text(attribute.value().SerializeAsString());
  }
  key.Number(static_cast<int64_t>(site.shapes.size()));
  for (const sdfg::Shape& shape : site.shapes) key.List(shape);
  for (const sdfg::DType dtype : site.dtypes) key.Number(static_cast<int64_t>(dtype));
  for (const AxisList& axes : site.input_axes) key.List(axes);
  key.Number(static_cast<int64_t>(site.fixed.size()));
  for (const auto& [name, value] : site.fixed) key.Text(name).Number(value);
  key.Number(static_cast<int64_t>(site.varying.size()));
  for (const auto& [name, axis] : site.varying) key.Text(name).Number(axis);
  return key.Take();
}

AxisList OutputAxes(const CallSite& site) {
  std::set<AxisId> axes(site.special.begin(), site.special.end());
  for (const AxisList& list : site.input_axes) axes.insert(list.begin(), list.end());
  return {axes.begin(), axes.end()};
}

}  // namespace

LocalCalls::LocalCalls(const sdfg::OperatorLibrary& library, RoundedLiterals literals,
                       sdfg::Graph* graph)
    : library_(library),
      literals_(std::move(literals)),
      graph_(*graph),
      adjustable_(library, literals_) {}

absl::StatusOr<std::shared_ptr<const LocalCall>> LocalCalls::Of(
    const Operator& op, const std::vector<sdfg::Shape>& shapes,
    const std::vector<sdfg::DType>& dtypes, const std::vector<AxisList>& input_axes,
    const ProgramCoordinates* coordinates) {
  CallSite site = SiteOf(op, shapes, dtypes, input_axes, coordinates);
  std::string key = KeyOf(op, site);
  if (const auto known = calls_.find(key); known != calls_.end()) return known->second;
  PLAN_ASSIGN_OR_RETURN(std::shared_ptr<const LocalCall> call,
                        Make(op, std::move(site), coordinates));
  return calls_[std::move(key)] = std::move(call);
}

absl::StatusOr<std::shared_ptr<const LocalCall>> LocalCalls::Make(
    const Operator& op, CallSite site, const ProgramCoordinates* coordinates) {
  auto call = std::make_shared<LocalCall>();
  call->op = op.op();
  call->special = site.special;
  int64_t count = 1;
  for (const AxisId axis : site.special) {
    count *= graph_.axes[axis].extent;
    if (count > kMaxVariants) {
      return absl::ResourceExhaustedError(absl::StrCat("attributes of ", op.op(), " depend on ",
                                                       count, " or more coordinates; at ", "most ",
                                                       kMaxVariants, " are supported"));
    }
  }
  std::vector<int64_t> point(site.special.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const NameResolver resolve = [&](const std::string& name) -> std::optional<NameMeaning> {
      const AxisId axis = coordinates == nullptr ? sdfg::kNone : coordinates->Find(name);
      if (axis == sdfg::kNone) return std::nullopt;
      if (coordinates->fixed[axis].has_value()) return NameMeaning{*coordinates->fixed[axis], -1};
      const auto at = std::find(site.special.begin(), site.special.end(), axis);
      // Any coordinate will do for a text that is no expression and should have been one.
      if (at == site.special.end()) return NameMeaning{0, -1};
      return NameMeaning{point[at - site.special.begin()], -1};
    };
    PLAN_ASSIGN_OR_RETURN(sdfg::IndexFunction variant,
                          Instantiate(library_, op, site.shapes, site.dtypes, literals_, resolve));
    call->variants.push_back(std::move(variant));
    for (size_t axis = point.size(); axis-- > 0;) {
      if (++point[axis] < graph_.axes[site.special[axis]].extent) break;
      point[axis] = 0;
    }
  }
  const sdfg::IndexFunction& first = call->variants[0];
  call->output_axes = site.output_axes = OutputAxes(site);
  sdfg::IndexFunction function = first;
  if (!site.special.empty()) {
    PLAN_ASSIGN_OR_RETURN(
        function,
        sdfg::CombineByCoordinate(call->variants, graph_.axes, site.special, site.input_axes,
                                  site.output_axes, sdfg::OperatorLibrary::IsDataMovement(first)));
  }
  call->function = graph_.Intern(std::move(function));
  call->attributes = AttributeTexts(op);
  call->memory.one_pass = true;  // one declaration for all outputs is one kernel
  if (ComputesInPlace(op) && !site.shapes.empty()) call->memory.overwrites = 0;
  call->memory.view = call->memory.overwrites == sdfg::kNone && sdfg::MayBeView(op.op(), first);
  call->adjustable = adjustable_.Of(op, std::move(site), graph_.axes);
  return call;
}

absl::StatusOr<const LocalDerivative*> LocalCalls::DerivativeOf(
    const std::shared_ptr<const LocalCall>& call, const std::vector<int>& wrt,
    const std::vector<int>& output_gradients, const std::vector<AxisList>& operand_axes,
    const AxisList& output_axes) {
  sdfg::FunctionKey parts("derivative");
  parts.Number(static_cast<int64_t>(reinterpret_cast<intptr_t>(call.get())));
  parts.List(wrt).List(output_gradients);
  if (!call->special.empty()) {
    for (const AxisList& axes : operand_axes) parts.List(axes);
    parts.List(output_axes);
  }
  std::string key = parts.Take();
  const auto known = derivatives_.find(key);
  if (known != derivatives_.end()) return &known->second.derivative;
  std::vector<sdfg::IndexFunction> variants;
  for (const sdfg::IndexFunction& variant : call->variants) {
    PLAN_ASSIGN_OR_RETURN(sdfg::IndexFunction derivative,
                          sdfg::Differentiate(variant, wrt, output_gradients));
    variants.push_back(std::move(derivative));
  }
  LocalDerivative derivative;
  derivative.may_be_view = sdfg::MayBeView(absl::StrCat(call->op, ".backward"), variants[0]);
  sdfg::IndexFunction function = variants[0];
  if (!call->special.empty()) {
    PLAN_ASSIGN_OR_RETURN(
        function,
        sdfg::CombineByCoordinate(variants, graph_.axes, call->special, operand_axes, output_axes,
                                  sdfg::OperatorLibrary::IsDataMovement(call->variants[0])));
  }
  derivative.function = graph_.Intern(std::move(function));
  return &derivatives_.try_emplace(std::move(key), Derived{call, std::move(derivative)})
              .first->second.derivative;
}

}  // namespace planproof::plan
