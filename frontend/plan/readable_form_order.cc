// What the way through the JSON form changes about a message.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "frontend/plan/readable_form.h"

namespace planproof::plan {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Lines of the plan file; those of sources stay.
void ClearLines(Message* message) {
  const auto* descriptor = message->GetDescriptor();
  const auto* reflection = message->GetReflection();
  if (descriptor == Source::descriptor()) return;
  if (const FieldDescriptor* line = descriptor->FindFieldByName("line")) {
    reflection->ClearField(message, line);
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      ClearLines(reflection->MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      ClearLines(reflection->MutableRepeatedMessage(message, field, i));
    }
  }
}

void EndLine(std::string* declarations) {
  if (!declarations->empty() && declarations->back() != '\n') *declarations += '\n';
}

void ClearEmptyCollectives(google::protobuf::RepeatedPtrField<Operator>* operators) {
  for (Operator& op : *operators) {
    if (op.collective().ByteSizeLong() == 0) op.clear_collective();
    if (op.has_loop()) ClearEmptyCollectives(op.mutable_loop()->mutable_body());
  }
}

void Order(Specification* specification) {
  std::stable_sort(
      specification->mutable_tensors()->begin(), specification->mutable_tensors()->end(),
      [](const TensorDeclaration& a, const TensorDeclaration& b) { return a.role() < b.role(); });
  std::map<std::string, size_t> first;  // place of the first premise about a tensor
  for (const Premise& premise : specification->premises()) {
    first.emplace(premise.tensor(), first.size());
  }
  std::stable_sort(specification->mutable_premises()->begin(),
                   specification->mutable_premises()->end(),
                   [&](const Premise& a, const Premise& b) {
                     return first.at(a.tensor()) < first.at(b.tensor());
                   });
  ClearEmptyCollectives(specification->mutable_operators());
  for (RequiredOutput& output : *specification->mutable_outputs()) {
    if (output.has_on()) output.mutable_relation();
  }
}

void WriteDefaults(Plan* plan) {
  plan->set_microbatches(std::max<int64_t>(1, plan->microbatches()));
  EndLine(plan->mutable_declarations());
  for (Program& program : *plan->mutable_programs()) {
    ClearEmptyCollectives(program.mutable_operators());
    for (Exception& exception : *program.mutable_exceptions()) {
      ClearEmptyCollectives(exception.mutable_operators());
    }
    for (Buffer& buffer : *program.mutable_buffers()) {
      buffer.set_slots(std::max(1, buffer.slots()));
    }
  }
}

}  // namespace

PlanFile InJsonOrder(const PlanFile& file) {
  PlanFile out = file;
  ClearLines(&out);
  out.clear_note();
  EndLine(out.mutable_operators());
  if (out.has_specification()) Order(out.mutable_specification());
  if (out.has_plan()) WriteDefaults(out.mutable_plan());
  return out;
}

}  // namespace planproof::plan
