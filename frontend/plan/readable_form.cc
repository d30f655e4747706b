#include "frontend/plan/readable_form.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontend/plan/json_form.h"
#include "frontend/plan/json_layout.h"
#include "frontend/plan/readable_form_internal.h"
#include "google/protobuf/util/message_differencer.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

constexpr std::pair<Role, const char*> kRoles[] = {{ROLE_INPUT, "inputs"},
                                                   {ROLE_PARAMETER, "parameters"},
                                                   {ROLE_BUFFER, "buffers"},
                                                   {ROLE_ONE, "ones"},
                                                   {ROLE_ZERO, "zeros"}};

constexpr std::pair<Premise::Kind, const char*> kPremises[] = {
    {Premise::POSITIVE, "positive"},
    {Premise::NON_NEGATIVE, "nonnegative"},
    {Premise::NON_ZERO, "nonzero"},
    {Premise::NO_TIE, "no tie"},
    {Premise::ROW_UNMASKED, "row unmasked"}};

// Declarations of operators: one line each.
JsonText DeclarationsText(const std::string& declarations) {
  std::vector<std::string> lines = absl::StrSplit(declarations, '\n');
  if (lines.size() < 2 || !lines.back().empty()) return JsonText::String(declarations);
  lines.pop_back();
  JsonText list = JsonText::List();
  for (const std::string& line : lines) list.Add(JsonText::String(line).OnOneLine());
  return list;
}

JsonText TypeText(const TensorDeclaration& tensor) {
  if (tensor.dtype() != "float32") {
    return JsonText::String(
        absl::StrCat(tensor.dtype(), "[", absl::StrJoin(tensor.shape(), ", "), "]"));
  }
  JsonText shape = JsonText::List();
  for (const int64_t extent : tensor.shape()) shape.Add(JsonText::Number(extent));
  return shape;
}

void AddTensors(const Specification& specification, JsonText* out) {
  for (const auto& [role, key] : kRoles) {
    JsonText tensors = JsonText::Object();
    for (const TensorDeclaration& tensor : specification.tensors()) {
      if (tensor.role() == role) tensors.Add(tensor.name(), TypeText(tensor));
    }
    if (!tensors.empty()) out->Add(key, std::move(tensors));
  }
}

JsonText PremiseText(const Premise& premise) {
  for (const auto& [kind, word] : kPremises) {
    if (premise.kind() == kind) return JsonText::String(word);
  }
  JsonText range = JsonText::List();
  range.Add(JsonText::Number(premise.low())).Add(JsonText::Number(premise.high()));
  return range;
}

void AddPremises(const Specification& specification, JsonText* out) {
  if (specification.premises().empty()) return;
  std::vector<std::pair<std::string, std::vector<JsonText>>> by_tensor;
  for (const Premise& premise : specification.premises()) {
    auto at = std::find_if(by_tensor.begin(), by_tensor.end(),
                           [&](const auto& entry) { return entry.first == premise.tensor(); });
    if (at == by_tensor.end()) at = by_tensor.insert(at, {premise.tensor(), {}});
    at->second.push_back(PremiseText(premise));
  }
  JsonText premises = JsonText::Object();
  for (auto& [tensor, list] : by_tensor) {
    if (list.size() == 1) {
      premises.Add(tensor, std::move(list[0]));
      continue;
    }
    JsonText all = JsonText::List();
    for (JsonText& premise : list) all.Add(std::move(premise));
    premises.Add(tensor, std::move(all));
  }
  out->Add("premises", std::move(premises));
}

void AddGradients(const Specification& specification, JsonText* out) {
  JsonText list = JsonText::List();
  for (const Gradients& gradients : specification.gradients()) {
    JsonText of = JsonText::List();
    for (const std::string& name : gradients.of()) of.Add(JsonText::String(name));
    JsonText entry = JsonText::Object();
    entry.Add("loss", JsonText::String(gradients.loss())).Add("of", std::move(of));
    if (specification.gradients_size() == 1) {
      out->Add("gradients", std::move(entry));
      return;
    }
    list.Add(std::move(entry));
  }
  if (!list.empty()) out->Add("gradients", std::move(list));
}

void AddOutputs(const Specification& specification, JsonText* out) {
  if (specification.outputs().empty()) return;
  const bool list = std::none_of(
      specification.outputs().begin(), specification.outputs().end(),
      [](const RequiredOutput& output) { return output.has_relation() || output.has_on(); });
  JsonText outputs = list ? JsonText::List() : JsonText::Object();
  for (const RequiredOutput& output : specification.outputs()) {
    if (list) {
      outputs.Add(JsonText::String(output.name()));
      continue;
    }
    JsonText relation = RelationText(output.relation());
    if (output.has_on()) relation.Add("on", CoordinatesText(output.on().at()));
    outputs.Add(output.name(), std::move(relation));
  }
  out->Add("outputs", std::move(outputs));
}

JsonText OperatorsText(const google::protobuf::RepeatedPtrField<Operator>& operators);

JsonText LoopText(const Loop& loop) {
  JsonText out = JsonText::Object();
  out.Add("for", JsonText::String(loop.variable()));
  out.Add("from", BoundText(loop.from()));
  out.Add("to", BoundText(loop.to()));
  if (loop.step() != 0) out.Add("step", JsonText::Number(loop.step()));
  out.Add("do", OperatorsText(loop.body()));
  return out;
}

JsonText OperatorsText(const google::protobuf::RepeatedPtrField<Operator>& operators) {
  JsonText list = JsonText::List();
  for (const Operator& op : operators) {
    list.Add(op.has_loop() ? LoopText(op.loop()) : OperatorText(op).OnOneLine());
  }
  return list;
}

JsonText SpecificationText(const Specification& specification) {
  JsonText out = JsonText::Object();
  AddTensors(specification, &out);
  if (!specification.operators().empty()) {
    out.Add("operators", OperatorsText(specification.operators()));
  }
  AddGradients(specification, &out);
  AddPremises(specification, &out);
  JsonText literals = JsonText::Object();
  for (const RoundedLiteral& literal : specification.literals()) {
    literals.Add(literal.literal(), JsonText::String(literal.exact()));
  }
  if (!literals.empty()) out.Add("literals", std::move(literals));
  AddOutputs(specification, &out);
  JsonText updates = JsonText::Object();
  for (const ParameterUpdate& update : specification.updates()) {
    updates.Add(update.parameter(), JsonText::String(update.updated()));
  }
  if (!updates.empty()) out.Add("updates", std::move(updates));
  if (!specification.relations().empty()) {
    out.Add("relations", NamedRelationsText(specification.relations()));
  }
  return out;
}

JsonText ExceptionText(const Exception& exception) {
  JsonText out = JsonText::Object();
  out.Add("at", CoordinatesText(exception.at()));
  out.Add("replace", JsonText::String(exception.replace()));
  if (exception.operators_size() == 1 && !exception.operators(0).has_loop()) {
    out.Add("with", OperatorText(exception.operators(0)).OnOneLine());
  } else {
    out.Add("with", OperatorsText(exception.operators()));
  }
  return out;
}

JsonText ProgramText(const Program& program) {
  JsonText out = JsonText::Object();
  if (!program.name().empty()) out.Add("name", JsonText::String(program.name()));
  if (!program.devices().empty()) out.Add("devices", CoordinatesText(program.devices()));
  if (!program.inputs().empty()) out.Add("inputs", NamedRelationsText(program.inputs()));
  if (!program.operators().empty()) out.Add("operators", OperatorsText(program.operators()));
  if (!program.exceptions().empty()) {
    JsonText exceptions = JsonText::List();
    for (const Exception& exception : program.exceptions())
      exceptions.Add(ExceptionText(exception));
    out.Add("exceptions", std::move(exceptions));
  }
  if (!program.lineage().empty()) out.Add("lineage", NamedRelationsText(program.lineage()));
  if (!program.outputs().empty()) out.Add("outputs", BindingsText(program.outputs()));
  if (!program.buffers().empty()) out.Add("buffers", BuffersText(program.buffers()));
  if (!program.schedule().empty()) out.Add("schedule", ScheduleText(program.schedule()));
  return out;
}

JsonText PlanText(const Plan& plan) {
  JsonText out = JsonText::Object();
  JsonText mesh = JsonText::Object();
  for (const MeshAxis& axis : plan.mesh()) mesh.Add(axis.name(), JsonText::Number(axis.extent()));
  out.Add("mesh", std::move(mesh));
  if (plan.microbatches() > 1) out.Add("microbatches", JsonText::Number(plan.microbatches()));
  if (!plan.declarations().empty()) out.Add("declarations", DeclarationsText(plan.declarations()));
  JsonText programs = JsonText::List();
  for (const Program& program : plan.programs()) programs.Add(ProgramText(program));
  out.Add("programs", std::move(programs));
  return out;
}

JsonText FileText(const PlanFile& file) {
  JsonText out = JsonText::Object();
  out.Add("planproof", JsonText::Number(file.version()));
  if (!file.operators().empty()) out.Add("operators", DeclarationsText(file.operators()));
  if (file.has_specification()) out.Add("specification", SpecificationText(file.specification()));
  if (file.has_plan()) out.Add("plan", PlanText(file.plan()));
  return out;
}

// The place of the first difference, in the message's own words.
std::string FirstDifference(const PlanFile& wanted, const PlanFile& read) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string report;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(wanted, read);
  return report.substr(0, report.find('\n'));
}

}  // namespace

absl::StatusOr<std::string> WriteReadableForm(const PlanFile& file) {
  if (file.has_problem()) {
    return absl::InvalidArgumentError(
        "a raw problem has no readable form: its operators are index functions; convert the plan "
        "of "
        "which it was made, or list its operators with planproof show --operators");
  }
  const PlanFile wanted = InJsonOrder(file);
  std::string text = FileText(wanted).Document();
  const absl::StatusOr<PlanFile> read = ReadJsonForm(text, "the JSON form");
  if (!read.ok()) return read.status();
  const PlanFile again = InJsonOrder(*read);
  if (!google::protobuf::util::MessageDifferencer::Equals(again, wanted)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JSON form has no words for all that the file says (",
                     FirstDifference(wanted, again), ")"));
  }
  return text;
}

}  // namespace planproof::plan
