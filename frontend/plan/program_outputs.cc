// What programs claim: lineage of intermediate tensors, required outputs, updated parameters.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/program_builder.h"
#include "frontend/plan/remedies.h"
#include "lineage/multiple.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

using sdfg::AxisId;
using sdfg::TensorId;

absl::Status PlanBuilder::AddLineage(ProgramState* state, bool so_far) {
  for (const NamedRelation& named : state->program->lineage()) {
    const Position at{plan_file_, named.relation().line(),
                      absl::StrCat(state->pointer, "/lineage/", named.name())};
    const auto found = state->scope.find(named.name());
    if (found == state->scope.end()) {
      if (so_far) continue;
      return At(at, absl::StrCat("program \"", state->name, "\" defines no \"", named.name(), "\"",
                                 DidYouMean(named.name(), NamesOf(state->scope))));
    }
    const TensorId id = found->second;
    const sdfg::Tensor& tensor = problem_.parallel.tensors[id];
    if (tensor.producer == sdfg::kNone) {
      return At(at, absl::StrCat("\"", named.name(),
                                 "\" is an input; its relation stands under \"inputs\""));
    }
    const sdfg::Shape local = Local(id);
    absl::StatusOr<ResolvedRelation> resolved = ResolveRelation(
        named.relation(), named.name(), Logical(), state->coordinates, &tensor.axes, &local);
    if (!resolved.ok()) {
      return At(
          at, absl::StrCat(named.name(), " of ", problem_.parallel.Describe(tensor.producer), ": "),
          resolved.status());
    }
    if (!named.relation().factor().empty()) {
      const absl::StatusOr<TensorId> multiple =
          MultipleOf(resolved->logical, named.relation().factor());
      if (!multiple.ok()) return At(at, multiple.status());
      resolved->lineage.logical = *multiple;
    }
    problem_.Claim(id, std::move(resolved->lineage));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorId> PlanBuilder::MultipleOf(TensorId logical, const std::string& factor) {
  const auto [at, fresh] = multiples_.try_emplace({logical, factor}, logical);
  if (!fresh) return at->second;
  const sdfg::Tensor& source = problem_.logical.tensors[logical];
  PLAN_ASSIGN_OR_RETURN(const solver::Rational number, ParseLiteral(factor, logical_.literals));
  if (number.IsZero()) return absl::InvalidArgumentError("\"factor\" is 0");
  if (!sdfg::IsFloating(source.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("\"factor\" is for real numbers, ", source.name,
                                                   " holds ", DTypeName(source.dtype)));
  }
  return at->second = lineage::AddMultiple(logical, number, &problem_.logical);
}

absl::Status PlanBuilder::CheckRequired(const RequiredOutput& output, const Position& at) const {
  if (logical_.names.count(output.name()) == 0) {
    return At(at, absl::StrCat("\"", output.name(), "\" is not defined in the specification",
                               DidYouMean(output.name(), NamesOf(logical_.names))));
  }
  const Relation& relation = output.relation();
  if (relation.partial_size() > 0 || (!relation.of().empty() && relation.of() != output.name())) {
    return At(at, "a required output is the tensor itself, and never partial");
  }
  if (!relation.factor().empty()) {
    return At(at, "a required output is the tensor itself, and no multiple of it");
  }
  for (const Coordinate& coordinate : output.on().at()) {
    const AxisId axis =
        programs_.empty() ? sdfg::kNone : programs_[0]->coordinates.Find(coordinate.axis());
    if (axis == sdfg::kNone || problem_.parallel.axis_device_stride[axis] == 0) {
      return At(at, absl::StrCat("\"on\" names axes of the plan\'s mesh; \"", coordinate.axis(),
                                 "\" is none"));
    }
    if (coordinate.values_size() == 0) {
      return At(at, absl::StrCat("\"on\" names no coordinate of ", coordinate.axis()));
    }
    for (const int64_t value : coordinate.values()) {
      if (value >= 0 && value < problem_.parallel.axes[axis].extent) continue;
      return At(at, absl::StrCat("\"on\": coordinate ", value, " of axis ", coordinate.axis(),
                                 " of extent ", problem_.parallel.axes[axis].extent));
    }
  }
  return absl::OkStatus();
}

std::optional<TensorId> PlanBuilder::ParameterOfGradient(const std::string& output) const {
  constexpr std::string_view kPrefix = "grad.";
  if (output.compare(0, kPrefix.size(), kPrefix) != 0) return std::nullopt;
  const auto parameter = logical_.names.find(output.substr(kPrefix.size()));
  if (parameter == logical_.names.end() ||
      problem_.logical.tensors[parameter->second].role != sdfg::TensorRole::kParameter) {
    return std::nullopt;
  }
  return parameter->second;
}

PlanBuilder::Asked PlanBuilder::WhetherAsked(const RequiredOutput& output,
                                             const ProgramState& state) const {
  const std::optional<TensorId> parameter = ParameterOfGradient(output.name());
  if (parameter.has_value() && read_as_.count({&state, *parameter}) > 0) {
    return Asked::kHoldsParameter;
  }
  if (!output.has_on()) {
    return output.has_relation() || parameter.has_value() ? Asked::kNo : Asked::kEveryDevice;
  }
  for (const Coordinate& coordinate : output.on().at()) {
    const std::optional<int64_t>& fixed =
        state.coordinates.fixed[state.coordinates.Find(coordinate.axis())];
    if (fixed.has_value() && std::find(coordinate.values().begin(), coordinate.values().end(),
                                       *fixed) == coordinate.values().end()) {
      return Asked::kNo;
    }
  }
  return Asked::kNamedDevices;
}

absl::Status PlanBuilder::CheckExcused(const RequiredOutput& output,
                                       const ProgramState& state) const {
  const Position at{plan_file_, state.program->line(), state.pointer};
  const auto refuse = [&](const std::string& why, const std::string& instead) {
    return At(at,
              absl::StrCat("program \"", state.name, "\" claims no \"", output.name(), "\", but ",
                           why, "; name the tensor that holds it under \"outputs\"", instead));
  };
  switch (WhetherAsked(output, state)) {
    case Asked::kNo:
      break;
    case Asked::kHoldsParameter:
      return refuse("reads the parameter", "");
    case Asked::kNamedDevices:
      return refuse("the specification has it \"on\" these devices", "");
    case Asked::kEveryDevice:
      return refuse("a list of outputs asks every device for it",
                    absl::StrCat(", or its devices in the specification: {\"", output.name(),
                                 "\": {\"on\": {\"AXIS\": 0}}}"));
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::AddClaims(const RequiredOutput& output, const Position& at) {
  std::vector<std::string> holders;
  for (auto& state : programs_) {
    const size_t before = problem_.required().size();
    for (const Binding& binding : state->program->outputs()) {
      if (binding.key() != output.name()) continue;
      PLAN_RETURN_IF_ERROR(
          AddClaim(state.get(), output.name(), binding.value(), output.relation()));
    }
    if (problem_.required().size() == before && state->scope.count(output.name()) > 0) {
      PLAN_RETURN_IF_ERROR(AddClaim(state.get(), output.name(), output.name(), output.relation()));
    }
    if (problem_.required().size() > before) holders.push_back(state->name);
  }
  if (holders.empty()) {
    return At(at,
              absl::StrCat("no program claims the required output \"", output.name(),
                           "\"; name the tensor that holds it under \"outputs\" of its program"));
  }
  if (holders.size() < programs_.size()) {
    for (const auto& state : programs_) {
      if (std::find(holders.begin(), holders.end(), state->name) != holders.end()) continue;
      PLAN_RETURN_IF_ERROR(CheckExcused(output, *state));
    }
    if (!output.has_on() && !ParameterOfGradient(output.name()).has_value()) {
      not_everywhere_.emplace_back(output.name(), std::move(holders));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::CheckBindings() const {
  std::set<std::string> known;
  for (const RequiredOutput& output : specification_.outputs()) known.insert(output.name());
  for (const ParameterUpdate& update : specification_.updates()) known.insert(update.updated());
  for (const auto& state : programs_) {
    for (const Binding& binding : state->program->outputs()) {
      if (known.count(binding.key()) > 0) continue;
      return At({plan_file_, state->program->line(), state->pointer + "/outputs"},
                absl::StrCat("the specification requires no output \"", binding.key(), "\"",
                             known.count(binding.value()) > 0
                                 ? absl::StrCat("; the required one comes first, {\"",
                                                binding.value(), "\": \"", binding.key(), "\"}")
                                 : DidYouMean(binding.key(), {known.begin(), known.end()})));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::AddRequired() {
  PLAN_RETURN_IF_ERROR(CheckBindings());
  for (const RequiredOutput& output : specification_.outputs()) {
    const Position at{specification_file_,
                      output.line() > 0 ? output.line() : output.relation().line(),
                      absl::StrCat("/specification/outputs/", output.name())};
    PLAN_RETURN_IF_ERROR(CheckRequired(output, at));
    if (!required_.insert(output.name()).second) {
      return At(at, absl::StrCat("output \"", output.name(), "\" is required twice"));
    }
    PLAN_RETURN_IF_ERROR(AddClaims(output, at));
  }
  AssumeHolders();
  return absl::OkStatus();
}

void PlanBuilder::AssumeHolders() {
  constexpr size_t kMax = 4;
  std::vector<std::string> texts;
  for (const auto& [output, holders] : not_everywhere_) {
    if (texts.size() == kMax) {
      texts.push_back(absl::StrCat("... (", not_everywhere_.size() - kMax, " more)"));
      break;
    }
    const size_t shown = std::min(kMax, holders.size());
    texts.push_back(absl::StrCat(
        output, " (", absl::StrJoin(holders.begin(), holders.begin() + shown, ", "),
        shown < holders.size() ? absl::StrCat(", ... ", holders.size() - shown, " more") : "",
        ")"));
  }
  if (texts.empty()) return;
  problem_.assumptions.push_back(absl::StrCat(
      "outputs are needed only where a program claims them: ", absl::StrJoin(texts, ", ")));
}

// A tensor that is the same on all ranks may be required to be sharded; that is decided by values,
// so it is written out per rank.
absl::StatusOr<TensorId> PlanBuilder::ClaimedTensor(ProgramState* state, const std::string& local,
                                                    const AxisList& axes, const Position& at) {
  const auto found = state->scope.find(local);
  if (found == state->scope.end()) {
    return At(at, absl::StrCat("program \"", state->name, "\" defines no \"", local, "\"",
                               DidYouMean(local, NamesOf(state->scope))));
  }
  TensorId id = found->second;
  for (AxisId axis : axes) {
    const auto first = static_cast<TensorId>(problem_.parallel.tensors.size());
    absl::StatusOr<TensorId> spread = SpreadOver(state, id, axis);
    if (!spread.ok()) return At(at, spread.status());
    // It is made where the tensor is; an input, in the first phase.
    if (state->phases.names.empty()) return At(at, "a program without operators has no schedule");
    SetPlaces(first, *state, std::max(0, problem_.schedule.places[id].phase));
    id = *spread;
  }
  return id;
}

absl::Status PlanBuilder::AddClaim(ProgramState* state, const std::string& logical,
                                   const std::string& local, const Relation& relation) {
  const Position at{plan_file_, state->program->line(),
                    absl::StrCat(state->pointer, "/outputs/", logical)};
  std::vector<std::string> mentioned;
  for (const ShardedDim& dim : relation.dims()) {
    mentioned.insert(mentioned.end(), dim.over().begin(), dim.over().end());
  }
  for (const std::string& expression : relation.map()) {
    for (std::string& name : NamesIn(expression)) mentioned.push_back(std::move(name));
  }
  AxisList axes;
  for (const std::string& name : mentioned) {
    const AxisId axis = state->coordinates.Find(name);
    if (axis != sdfg::kNone && !state->coordinates.fixed[axis].has_value()) axes.push_back(axis);
  }
  PLAN_ASSIGN_OR_RETURN(const TensorId id, ClaimedTensor(state, local, axes, at));
  const sdfg::Shape shape = Local(id);
  absl::StatusOr<ResolvedRelation> resolved =
      ResolveRelation(relation, logical, Logical(), state->coordinates,
                      &problem_.parallel.tensors[id].axes, &shape);
  if (!resolved.ok()) {
    return At(at, absl::StrCat(logical == local ? "" : absl::StrCat(logical, " as "), local, ": "),
              resolved.status(), "; the specification requires this relation");
  }
  const absl::Status required = problem_.RequireOutput(
      id, std::move(resolved->lineage),
      programs_.size() == 1 ? logical : absl::StrCat(logical, " of program ", state->name),
      {absl::StrCat("program ", state->name), resolved->overlap});
  return required.ok() ? required : At(at, required);
}

absl::Status PlanBuilder::CheckClaimsOfUpdates(const ProgramState& state) const {
  for (const Binding& binding : state.program->outputs()) {
    std::string parameter;  // of which the program claims the new value
    bool asked = required_.count(binding.key()) > 0;
    for (const ParameterUpdate& update : specification_.updates()) {
      if (update.updated() != binding.key()) continue;
      const auto id = logical_.names.find(update.parameter());
      asked |= id != logical_.names.end() && read_as_.count({&state, id->second}) > 0;
      parameter = update.parameter();
    }
    if (asked) continue;
    return At(
        {plan_file_, state.program->line(), state.pointer + "/outputs"},
        absl::StrCat("program \"", state.name, "\" claims \"", binding.key(),
                     "\", but does not read ", parameter,
                     ": a new value is required in the relation in which the old one is read"));
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::AddUpdateAsRead(ProgramState* state, const ParameterUpdate& update,
                                          const std::string& local, const ReadAs& as) {
  const std::string& name = update.updated();
  const Position at{plan_file_, state->program->line(),
                    absl::StrCat(state->pointer, "/outputs/", name)};
  const AxisList axes = problem_.parallel.tensors[as.tensor].axes;
  PLAN_ASSIGN_OR_RETURN(const TensorId id, ClaimedTensor(state, local, axes, at));
  const absl::Status required = problem_.RequireAsHeld(
      id, logical_.names.at(name), as.tensor,
      absl::StrCat(name, programs_.size() == 1 ? "" : absl::StrCat(" of program ", state->name),
                   " (in the relation in which ", update.parameter(), " was read)"),
      {absl::StrCat("program ", state->name), as.overlap});
  if (required.ok()) return required;
  return At(at, absl::StrCat(name == local ? "" : absl::StrCat(name, " as "), local, ": ",
                             std::string(required.message()),
                             "; the specification requires this relation"));
}

absl::Status PlanBuilder::AddUpdates() {
  for (const auto& state : programs_) PLAN_RETURN_IF_ERROR(CheckClaimsOfUpdates(*state));
  for (const ParameterUpdate& update : specification_.updates()) {
    const Position at{specification_file_, update.line(),
                      absl::StrCat("/specification/updates/", update.parameter())};
    const auto parameter = logical_.names.find(update.parameter());
    const auto updated = logical_.names.find(update.updated());
    for (const auto& [name, entry] :
         {std::pair{&update.parameter(), parameter}, std::pair{&update.updated(), updated}}) {
      if (entry == logical_.names.end()) {
        return At(at, absl::StrCat("\"", *name, "\" is not defined",
                                   DidYouMean(*name, NamesOf(logical_.names))));
      }
    }
    if (problem_.logical.tensors[parameter->second].producer != sdfg::kNone) {
      return At(at, absl::StrCat("\"", update.parameter(),
                                 "\" is computed; \"updates\" maps what is read to its new value, ",
                                 "{\"w\": \"w.new\"}"));
    }
    if (problem_.logical.tensors[parameter->second].shape !=
        problem_.logical.tensors[updated->second].shape) {
      return At(at, absl::StrCat("shape mismatch: ", update.parameter(), " is ",
                                 ShapeText(problem_.logical.tensors[parameter->second].shape), ", ",
                                 update.updated(), " is ",
                                 ShapeText(problem_.logical.tensors[updated->second].shape)));
    }
    bool any = false;
    for (auto& state : programs_) {
      const auto read = read_as_.find({state.get(), parameter->second});
      if (read == read_as_.end()) continue;
      any = true;
      std::string local = update.updated();
      for (const Binding& binding : state->program->outputs()) {
        if (binding.key() == update.updated()) local = binding.value();
      }
      if (state->scope.count(local) == 0) {
        return At({plan_file_, state->program->line(), state->pointer},
                  absl::StrCat("program \"", state->name, "\" reads parameter ", update.parameter(),
                               " but holds no updated value \"", update.updated(),
                               "\"; name it under \"outputs\""));
      }
      // Each of the parameter's slices that the program holds takes part in the next step.
      for (const ReadAs& as : read->second) {
        const absl::Status claimed = AddUpdateAsRead(state.get(), update, local, as);
        if (!claimed.ok() && read->second.size() > 1) {
          return At({plan_file_, state->program->line(), state->pointer},
                    absl::StrCat("program \"", state->name, "\" reads parameter ",
                                 update.parameter(), " in ", read->second.size(),
                                 " relations, but holds its new value in one; read it in one and ",
                                 "cut or gather it in the program"));
        }
        PLAN_RETURN_IF_ERROR(claimed);
      }
    }
    if (!any) {
      return At(at, absl::StrCat("no program reads parameter \"", update.parameter(), "\""));
    }
  }
  if (problem_.required().empty()) {
    return At({specification_file_, 0, "/specification"},
              "nothing is required; name the outputs under \"outputs\" or \"updates\"");
  }
  return absl::OkStatus();
}

// At the first program that reads it.
absl::Status PlanBuilder::LocateInput(const std::string& logical,
                                      const absl::Status& status) const {
  Position at{plan_file_, 0, "/plan"};
  bool range = false;
  for (const auto& state : programs_) {
    for (const NamedRelation& input : state->program->inputs()) {
      const std::string& of = input.relation().of();
      if ((of.empty() ? input.name() : of) != logical) continue;
      if (at.line == 0) {
        at = {plan_file_, input.relation().line(),
              absl::StrCat(state->pointer, "/inputs/", input.name())};
      }
      for (const ShardedDim& dim : input.relation().dims()) range |= dim.over_size() == 0;
    }
  }
  return At(at, absl::Status(
                    status.code(),
                    absl::StrCat(std::string(status.message()),
                                 range ? "; a range is the same on every device of a program, the "
                                         "name of an axis cuts a dimension into parts"
                                       : "")));
}

absl::Status PlanBuilder::Locate(const lineage::ProblemBuilder::Subject& subject,
                                 const absl::Status& status) const {
  using Kind = lineage::ProblemBuilder::Subject::Kind;
  switch (subject.kind) {
    case Kind::kModel:
      return At({specification_file_, 0, "/specification"}, status);
    case Kind::kInput:
      return LocateInput(problem_.logical.tensors[subject.logical].name, status);
    case Kind::kPlan:
    case Kind::kOutput:
      break;
  }
  return At({plan_file_, 0, "/plan"}, status);
}

}  // namespace planproof::plan
