// One operator of a program: local operators, exceptions for single ranks.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/collective_keys.h"
#include "frontend/plan/program_builder.h"
#include "frontend/plan/remedies.h"
#include "sdfg/narrow_types.h"
#include "sdfg/operator_memory.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

using sdfg::AxisId;
using sdfg::TensorId;

namespace {
// Whether the boxes have coordinates in common; axes not named are all.
bool Overlap(const CoordinateBox& a, const CoordinateBox& b) {
  for (const auto& [axis, values] : a) {
    for (const auto& [other_axis, others] : b) {
      if (axis == other_axis && std::find_first_of(values.begin(), values.end(), others.begin(),
                                                   others.end()) == values.end()) {
        return false;
      }
    }
  }
  return true;
}

// What is overwritten would be another thing on these ranks than on the others.
std::string InPlaceOnSomeRanks(const Operator& op) {
  return absl::StrCat(op.op(), " (", NameOf(op),
                      ") computes in place (\"inplace\") on some of its ",
                      "ranks only; leave \"inplace\" out of an operator with an exception and of ",
                      "what runs instead");
}

}  // namespace

absl::Status PlanBuilder::RunOperator(ProgramState* state, int index) {
  const Operator& op = state->program->operators(index);
  const Position at = WhereOperator(*state, index);
  const auto first = static_cast<TensorId>(problem_.parallel.tensors.size());
  absl::StatusOr<Definitions> definitions = Build(state, op, at, true);
  if (absl::IsInvalidArgument(definitions.status())) {
    // What is claimed of an earlier tensor and cannot be is nearer to the mistake.
    PLAN_RETURN_IF_ERROR(AddLineage(state, /*so_far=*/true));
  }
  if (!definitions.ok()) return definitions.status();
  std::set<int> exceptions;
  for (const auto& [name, id] : *definitions) {
    const auto found = state->exceptions.find(name);
    if (found != state->exceptions.end())
      exceptions.insert(found->second.begin(), found->second.end());
  }
  GivenBoxes given;
  for (int e : exceptions) {
    const Exception& exception = state->program->exceptions(e);
    const Position where{plan_file_, exception.line(),
                         absl::StrCat(state->pointer, "/exceptions/", e)};
    if (ComputesInPlace(op)) return At(where, InPlaceOnSomeRanks(op));
    PLAN_RETURN_IF_ERROR(
        CheckTakePart(*state, Replaced(*state, op, exception.replace()), exception, where));
    PLAN_RETURN_IF_ERROR(RunException(state, exception, where, &given, &*definitions));
  }
  SetPlaces(first, *state, state->phases.of_operator[index], index);
  for (auto& [name, id] : *definitions) {
    if (!state->scope.emplace(name, id).second) {
      return At(at, absl::StrCat("\"", name, "\" is defined twice in program \"", state->name,
                                 "\": single assignment; give the new value its own name"));
    }
    state->all_names.insert(name);  // default names of gradients
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::RunException(ProgramState* state, const Exception& exception,
                                       const Position& position, GivenBoxes* given,
                                       Definitions* definitions) {
  CoordinateBox box;
  for (const Coordinate& coordinate : exception.at()) {
    const AxisId axis = state->coordinates.Find(coordinate.axis());
    if (axis == sdfg::kNone) {
      return At(position, state->coordinates.NotInTheMesh(coordinate.axis()));
    }
    if (state->coordinates.fixed[axis].has_value()) {
      return At(position, absl::StrCat("axis ", coordinate.axis(), " is fixed in program \"",
                                       state->name, "\"; change the program itself"));
    }
    if (coordinate.values_size() == 0) {
      return At(position, absl::StrCat("\"at\" names no coordinate of ", coordinate.axis()));
    }
    for (int64_t value : coordinate.values()) {
      if (value < 0 || value >= problem_.parallel.axes[axis].extent) {
        return At(position, absl::StrCat("coordinate ", value, " of axis ", coordinate.axis(),
                                         " of extent ", problem_.parallel.axes[axis].extent));
      }
    }
    box.emplace_back(axis,
                     std::vector<int64_t>(coordinate.values().begin(), coordinate.values().end()));
  }
  if (box.empty()) return At(position, "\"at\" names no coordinate");
  std::vector<std::string> temporaries;
  std::unordered_map<std::string, TensorId> variants;
  absl::Status status;
  for (int i = 0; i < exception.operators_size() && status.ok(); ++i) {
    const Position at{plan_file_, exception.operators(i).line(),
                      absl::StrCat(position.pointer, "/with/", i)};
    if (!exception.operators(i).async().empty() || exception.operators(i).op() == kWait) {
      return At(at, "an exception starts nothing and waits for nothing: all ranks do");
    }
    if (!exception.operators(i).phase().empty()) {
      return At(at, "an exception runs in the phase of what it replaces; leave \"phase\" out");
    }
    if (ComputesInPlace(exception.operators(i))) {
      return At(at, InPlaceOnSomeRanks(exception.operators(i)));
    }
    absl::StatusOr<Definitions> built = Build(state, exception.operators(i), at, false);
    if (!built.ok()) {
      status = built.status();
      break;
    }
    for (const auto& [name, id] : *built) {
      const bool replaces =
          std::any_of(definitions->begin(), definitions->end(),
                      [&name = name](const auto& entry) { return entry.first == name; });
      if (replaces) {
        if (!variants.emplace(name, id).second)
          status = At(at, absl::StrCat("\"", name, "\" is defined twice in one exception"));
      } else if (state->scope.emplace(name, id).second) {
        temporaries.push_back(name);
      } else {
        status = At(at, absl::StrCat("\"", name, "\" is already defined"));
      }
    }
  }
  for (const std::string& name : temporaries) state->scope.erase(name);
  PLAN_RETURN_IF_ERROR(status);
  if (variants.count(exception.replace()) == 0) {
    return At(position, absl::StrCat("its operators define no \"", exception.replace(), "\""));
  }
  for (auto& [name, id] : *definitions) {
    const auto variant = variants.find(name);
    if (variant == variants.end()) continue;
    std::vector<CoordinateBox>& others = (*given)[name];
    if (std::any_of(others.begin(), others.end(),
                    [&](const CoordinateBox& other) { return Overlap(box, other); })) {
      return At(position, absl::StrCat("another exception gives \"", name,
                                       "\" at some of the same coordinates"));
    }
    others.push_back(box);
    const sdfg::Shape local = Local(id);
    if (Local(variant->second) != local) {
      return At(position,
                absl::StrCat("shape mismatch: ", name, " has local shape ", ShapeText(local),
                             ", in the exception ", ShapeText(Local(variant->second))));
    }
    // Who reads it computes, and communicates, in one type on all ranks.
    const sdfg::DType usual = problem_.parallel.tensors[id].dtype;
    const sdfg::DType other = problem_.parallel.tensors[variant->second].dtype;
    if (usual != other) {
      return At(position,
                absl::StrCat("element types differ: ", name, " holds ", sdfg::DTypeName(usual),
                             ", in the exception ", sdfg::DTypeName(other), "; convert it back"));
    }
    AxisList axes = UnionOfAxes({id, variant->second});
    for (const auto& [axis, values] : box) axes.push_back(axis);
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    const sdfg::Tensor& regular = problem_.parallel.tensors[id];
    absl::StatusOr<sdfg::IndexFunction> select =
        sdfg::SelectInBox(problem_.parallel.axes, problem_.parallel.tensors[variant->second].axes,
                          regular.axes, axes, box, local, regular.dtype);
    if (!select.ok()) return At(position, select.status());
    std::vector<sdfg::AxisCoordinates> where;
    for (const auto& [axis, values] : box) {
      where.push_back({axis, {values.begin(), values.end()}});
    }
    const sdfg::SourceLocation source{position.file, position.line, ""};
    problem_.parallel.tensors[id].name = FullName(*state, name + "@regular");
    problem_.parallel.tensors[variant->second].name = FullName(*state, name + "@exception");
    id = AddOperator(*state, "exception", name, problem_.parallel.Intern(*std::move(select)), false,
                     axes, {variant->second, id}, {name}, source, {}, {})[0];
    sdfg::Operator& added = problem_.parallel.operators.back();
    added.kind = sdfg::OperatorKind::kRankOverride;
    added.override_at = std::move(where);
    added.memory.view = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<Definitions> PlanBuilder::Build(ProgramState* state, const Operator& op,
                                               const Position& position, bool record) {
  if (!op.channel().empty() && op.op() != "move") {
    return At(position, "\"channel\" is for moves");
  }
  if ((!op.backward().empty() || op.op() == kWait) && op.attributes_size() > 0) {
    return At(position, absl::StrCat(op.backward().empty() ? "a wait" : "a backward operator",
                                     " has no attributes (\"", op.attributes(0).name(), "\")"));
  }
  // Whether the operator is known is said first: its name may be another spelling of a collective.
  const bool collective = op.backward().empty() && IsCollective(op);
  const absl::Status keys = CheckCollectiveKeys(op, collective);
  if (collective && !keys.ok()) return At(position, keys);
  absl::StatusOr<Definitions> built = BuildKnown(state, op, position, record);
  if (built.ok() && !keys.ok()) return At(position, keys);
  return built;
}

absl::StatusOr<Definitions> PlanBuilder::BuildKnown(ProgramState* state, const Operator& op,
                                                    const Position& position, bool record) {
  if (op.async().empty() && !op.backward().empty()) return BuildBackward(state, op, position);
  if (op.op() == kWait) return BuildWait(state, op, position);
  if (IsCollective(op)) {
    absl::StatusOr<Definitions> definitions = BuildCollective(state, op, position);
    if (!definitions.ok() || op.async().empty()) return definitions;
    return Start(state, op, position, *definitions);
  }
  if (!op.async().empty()) return At(position, "\"async\" is for collectives and moves");
  return BuildLifted(state, op, position, record);
}

std::string PlanBuilder::MadeLater(const ProgramState& state, const std::string& name) const {
  constexpr std::string_view kPrefix = "grad.";
  if (name.compare(0, kPrefix.size(), kPrefix) != 0) return "";
  const std::string tensor = name.substr(kPrefix.size());
  for (int i = state.next + 1; i < state.program->operators_size(); ++i) {
    const Operator& op = state.program->operators(i);
    const auto forward = state.forward.find(op.backward());
    if (op.backward().empty() || op.produces_size() > 0 || forward == state.forward.end()) continue;
    const std::vector<std::string>& read = forward->second.input_names;
    if (std::find(read.begin(), read.end(), tensor) == read.end()) continue;
    return absl::StrCat("; operator ", i, ", the backward of ", op.backward(),
                        ", makes it and must come first");
  }
  return "";
}

std::string PlanBuilder::RemedyFor(const ProgramState& state, const std::string& name) const {
  if (solver::Rational number; solver::Rational::Parse(name, &number)) {
    return name.find('/') == std::string::npos
               ? "; a number stands without quotes"
               : absl::StrCat("; an exact number is written {\"literal\": \"", name, "\"}");
  }
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    return absl::StrCat("; no program is named \"", name.substr(0, colon), "\"",
                        Known("programs", NamesOf(by_name_)));
  }
  if (std::string later = MadeLater(state, name); !later.empty()) return later;
  const auto model = logical_.names.find(name);
  if (model != logical_.names.end() &&
      problem_.logical.tensors[model->second].producer == sdfg::kNone) {
    return "; the specification has it: list it under \"inputs\"";
  }
  const std::string near =
      DidYouMean(name, std::vector<std::string>(state.all_names.begin(), state.all_names.end()));
  if (!near.empty() || name.rfind("grad.", 0) != 0) return near;
  std::vector<std::string> gradients;
  for (const auto& [known, id] : state.scope) {
    if (known.rfind("grad.", 0) == 0) gradients.push_back(known);
  }
  return Known("gradients so far", gradients);
}

absl::StatusOr<TensorId> PlanBuilder::Lookup(ProgramState* state, const std::string& name,
                                             bool remote_allowed) {
  if (const auto found = state->scope.find(name); found != state->scope.end()) {
    return found->second;
  }
  if (state->all_names.count(name) > 0) {
    if (const std::string places = InFlight(*state, name); !places.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is read before ", places));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name,
                     "\" is read before it is written; operators of a program run in "
                     "the order given"));
  }
  const size_t colon = name.find(':');
  const auto owner =
      colon == std::string::npos ? by_name_.end() : by_name_.find(name.substr(0, colon));
  if (owner == by_name_.end()) {
    for (const auto& other : programs_) {
      if (other.get() != state && other->all_names.count(name) > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", name, "\" is not on these devices: program \"", other->name,
                         "\" holds it; move \"", other->name, ":", name, "\" first"));
      }
    }
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not defined in program \"",
                                                   state->name, "\"", RemedyFor(*state, name)));
  }
  ProgramState* from = owner->second;
  const auto found = from->scope.find(name.substr(colon + 1));
  if (found == from->scope.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("program \"", from->name, "\" defines no \"", name.substr(colon + 1), "\""));
  }
  if (from == state) return found->second;
  if (!remote_allowed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name, "\" is on other devices; only a collective or a move reads it: ",
        "{\"op\": \"move\", \"in\": \"", name, "\", \"out\": \"", name.substr(colon + 1), "\"}"));
  }
  // An axis that varies there and is fixed here: the instance on the matching devices.
  TensorId id = found->second;
  for (size_t d = 0; d < problem_.parallel.tensors[id].axes.size();) {
    const AxisId axis = problem_.parallel.tensors[id].axes[d];
    if (!state->coordinates.fixed[axis].has_value()) {
      ++d;
      continue;
    }
    const sdfg::Tensor& tensor = problem_.parallel.tensors[id];
    const int64_t coordinate = *state->coordinates.fixed[axis];
    PLAN_ASSIGN_OR_RETURN(
        sdfg::FunctionPointer instance,
        functions_.Get(KeyOf("instance", tensor).Number(d).Number(coordinate).Take(), [&] {
          return sdfg::SelectCoordinate(tensor.shape, tensor.dtype, static_cast<int>(d),
                                        coordinate);
        }));
    AxisList axes = tensor.axes;
    axes.erase(axes.begin() + d);
    const sdfg::SourceLocation source = tensor.source;
    const std::string label =
        absl::StrCat(name.substr(colon + 1), "@", problem_.parallel.axes[axis].name,
                     *state->coordinates.fixed[axis]);
    id = AddOperator(*from, "instance", label, std::move(instance), false, axes, {id},
                     {absl::StrCat(label, "@", state->name)}, source, {}, {})[0];
    problem_.parallel.operators.back().kind = sdfg::OperatorKind::kSelectInstance;
  }
  return id;
}

absl::StatusOr<Definitions> PlanBuilder::BuildLifted(ProgramState* state, const Operator& op,
                                                     const Position& position, bool record) {
  ForwardRecord forward;
  std::vector<sdfg::Shape> shapes;
  std::vector<sdfg::DType> dtypes;
  for (const Operand& operand : op.inputs()) {
    if (operand.kind_case() != Operand::kTensor) continue;
    absl::StatusOr<TensorId> input = Lookup(state, operand.tensor(), false);
    if (!input.ok()) {
      return At(position, absl::StrCat(op.op(), ": ", std::string(input.status().message())));
    }
    forward.input_names.push_back(operand.tensor());
    forward.inputs.push_back(*input);
    shapes.push_back(Local(*input));
    dtypes.push_back(problem_.parallel.tensors[*input].dtype);
  }
  std::vector<AxisList> input_axes;
  for (TensorId input : forward.inputs) {
    input_axes.push_back(problem_.parallel.tensors[input].axes);
  }
  absl::StatusOr<std::shared_ptr<const LocalCall>> call =
      calls_.Of(op, shapes, dtypes, input_axes, &state->coordinates);
  if (absl::IsUnimplemented(call.status()) && !CollectiveLike(op.op()).empty()) {
    return At(position, absl::UnimplementedError(
                            absl::StrCat("operator '", op.op(), "' is not declared; did you mean",
                                         " the collective '", CollectiveLike(op.op()), "'?")));
  }
  if (!call.ok()) return At(position, call.status());
  forward.call = *std::move(call);
  const LocalCall& made = *forward.call;
  if (static_cast<size_t>(op.outputs_size()) > made.function->outputs.size()) {
    return At(position, absl::StrCat(op.op(), " has ", made.function->outputs.size(),
                                     " outputs, not ", op.outputs_size()));
  }
  forward.output_names.assign(op.outputs().begin(), op.outputs().end());
  const std::vector<TensorId> ids = AddOperator(
      *state, op.op(), NameOf(op), made.function, made.special.empty(), made.output_axes,
      forward.inputs, forward.output_names, SourceOf(op, position), made.attributes, {});
  problem_.parallel.operators.back().adjustable = made.adjustable;
  problem_.parallel.operators.back().memory = made.memory;
  Definitions definitions;
  for (size_t o = 0; o < forward.output_names.size(); ++o) {
    definitions.emplace_back(forward.output_names[o], ids[o]);
  }
  if (record) {
    const std::string name = NameOf(op);
    if (!state->forward.emplace(name, std::move(forward)).second) {
      return At(position, absl::StrCat("two operators are named \"", name, "\""));
    }
  }
  return definitions;
}

}  // namespace planproof::plan
