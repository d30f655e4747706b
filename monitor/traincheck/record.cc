#include "monitor/traincheck/record.h"

namespace planproof::monitor::traincheck {
namespace {

RecordType TypeOf(std::string_view text) {
  if (text == "function_call (pre)") return RecordType::kCall;
  if (text == "function_call (post)") return RecordType::kReturn;
  if (text == "function_call (post) (exception)") return RecordType::kException;
  if (text == "state_change") return RecordType::kState;
  return RecordType::kOther;
}

std::string_view TextOrNothing(const JsonValue& value) {
  return value.kind == JsonKind::kString ? value.text : std::string_view();
}

void ReadMetaVariables(const JsonValue& value, Record* record) {
  JsonCursor cursor(value);
  std::string_view key;
  JsonValue member;
  while (cursor.Next(&key, &member)) {
    if (key == "step") {
      ReadInteger(member, &record->step);
    } else if (key == "stage" && member.kind == JsonKind::kString) {
      record->stage = member.text;
    }
  }
}

// By length first: most members are told apart by it.
void ReadMember(std::string_view key, const JsonValue& value, Record* record, bool* has_process) {
  switch (key.size()) {
    case 4:
      if (key == "type") record->type = TypeOf(TextOrNothing(value));
      if (key == "args") record->arguments = value;
      break;
    case 6:
      if (key == "obj_id") record->object = value;
      if (key == "kwargs") record->keywords = value;
      break;
    case 8:
      if (key == "function") record->function = TextOrNothing(value);
      if (key == "var_name") record->variable = TextOrNothing(value);
      if (key == "dump_loc") record->place = TextOrNothing(value);
      break;
    case 9:
      if (key == "thread_id") ReadInteger(value, &record->thread);
      if (key == "meta_vars") ReadMetaVariables(value, record);
      break;
    case 10:
      if (key == "process_id") *has_process = ReadInteger(value, &record->process);
      if (key == "attributes") record->attributes = value;
      break;
    case 12:
      if (key == "func_call_id") record->call = TextOrNothing(value);
      break;
    case 13:
      if (key == "return_values") record->results = value;
      break;
    case 15:
      if (key == "proxy_obj_names") record->objects = value;
      break;
    default:
      break;
  }
}

}  // namespace

bool ReadRecord(std::string_view line, Record* record) {
  *record = Record();
  std::string_view rest;
  const JsonValue value = ReadJson(line, &rest);
  if (value.kind != JsonKind::kObject || !rest.empty()) return false;
  JsonCursor cursor(value);
  std::string_view key;
  JsonValue member;
  bool has_process = false;
  while (cursor.Next(&key, &member)) ReadMember(key, member, record, &has_process);
  return cursor.ok() && has_process;
}

TracerAttribute TracerAttributeOf(std::string_view name) {
  for (const std::string_view prefix :
       {std::string_view("_TRAINCHECK_"), std::string_view("_ML_DAIKON_")}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (rest == "data_ID") return TracerAttribute::kDataId;
    if (rest == "grad_ID") return TracerAttribute::kGradientId;
  }
  return TracerAttribute::kNone;
}

}  // namespace planproof::monitor::traincheck
