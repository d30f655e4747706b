// The JSON form of a program's schedule and of its buffers.
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/plan/json_form_internal.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

constexpr int kMaxJsonLoops = 8;
constexpr char kStep[] =
    "a step is expected: \"PHASE\", \"PHASE:MICROBATCH\", \"PHASE:FIRST..END\" or "
    "{\"for\": \"i\", \"from\": 0, \"to\": 4, \"do\": [...]}";

// "F0", "F0:i-3", "F0:0..4".
absl::Status ReadStep(const JsonCursor& json, const JsonValue& value, ScheduleItem* out) {
  PLAN_ASSIGN_OR_RETURN(const std::string text, json.Name(value));
  const size_t colon = text.find(':');
  out->set_phase(text.substr(0, colon));
  if (out->phase().empty()) return json.Error(value, kStep);
  if (colon == std::string::npos) return absl::OkStatus();
  const std::string microbatches = text.substr(colon + 1);
  const size_t dots = microbatches.find("..");
  out->set_microbatch(microbatches.substr(0, dots));
  if (out->microbatch().empty()) return json.Error(value, kStep);
  if (dots == std::string::npos) return absl::OkStatus();
  out->set_until(microbatches.substr(dots + 2));
  if (out->until().empty()) return json.Error(value, kStep);
  return absl::OkStatus();
}

absl::Status ReadItems(const JsonCursor& json, const JsonValue& value, int depth,
                       google::protobuf::RepeatedPtrField<ScheduleItem>* out);

absl::Status ReadLoop(const JsonCursor& json, const JsonValue& value, int depth,
                      ScheduleItem* out) {
  PLAN_RETURN_IF_ERROR(json.Object(value, {"for", "from", "to", "do"}));
  const auto bound = [&](const char* key, std::string* text) -> absl::Status {
    const JsonValue* item = value.Find(key);
    if (item == nullptr) {
      return json.Error(value, absl::StrCat("a loop needs the key \"", key, "\""));
    }
    if (item->kind == JsonValue::Kind::kInteger) {
      *text = item->text;
      return absl::OkStatus();
    }
    PLAN_ASSIGN_OR_RETURN(*text, json.Name(*item));
    return absl::OkStatus();
  };
  const JsonValue* variable = value.Find("for");
  const JsonValue* body = value.Find("do");
  if (variable == nullptr || body == nullptr) return json.Error(value, kStep);
  PLAN_ASSIGN_OR_RETURN(*out->mutable_variable(), json.Name(*variable));
  PLAN_RETURN_IF_ERROR(bound("from", out->mutable_from()));
  PLAN_RETURN_IF_ERROR(bound("to", out->mutable_to()));
  if (depth == kMaxJsonLoops) {
    return json.Error(value, absl::StrCat("loops are nested more than ", kMaxJsonLoops, " deep"));
  }
  return ReadItems(json, *body, depth + 1, out->mutable_body());
}

absl::Status ReadItems(const JsonCursor& json, const JsonValue& value, int depth,
                       google::protobuf::RepeatedPtrField<ScheduleItem>* out) {
  if (value.kind != JsonValue::Kind::kArray) {
    return json.WrongKind(value, "a list of steps, such as [\"F0:0\", \"B0:0\"],");
  }
  if (value.items.empty()) return json.Error(value, "is empty; steps are expected");
  for (const JsonValue& item : value.items) {
    ScheduleItem* step = out->Add();
    step->set_line(item.line);
    if (item.kind == JsonValue::Kind::kObject) {
      PLAN_RETURN_IF_ERROR(ReadLoop(json, item, depth, step));
    } else if (item.kind == JsonValue::Kind::kString) {
      PLAN_RETURN_IF_ERROR(ReadStep(json, item, step));
    } else {
      return json.Error(item, kStep);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadSchedule(const JsonCursor& json, const JsonValue& value,
                          google::protobuf::RepeatedPtrField<ScheduleItem>* out) {
  return ReadItems(json, value, 0, out);
}

absl::Status ReadBuffers(const JsonCursor& json, const JsonValue& value,
                         google::protobuf::RepeatedPtrField<Buffer>* out) {
  PLAN_RETURN_IF_ERROR(json.IsObject(value));
  for (size_t i = 0; i < value.items.size(); ++i) {
    const JsonValue& item = value.items[i];
    Buffer* buffer = out->Add();
    buffer->set_tensor(value.keys[i]);
    buffer->set_slots(1);
    buffer->set_line(item.line);
    const JsonValue* name = &item;
    if (item.kind == JsonValue::Kind::kObject) {
      PLAN_RETURN_IF_ERROR(json.Object(item, {"name", "slots"}));
      name = item.Find("name");
      if (name == nullptr) return json.Error(item, "the key \"name\" is expected");
      if (const JsonValue* slots = item.Find("slots")) {
        PLAN_ASSIGN_OR_RETURN(int64_t count, json.Limited(*slots, 1, 1 << 20, "slots of a buffer"));
        buffer->set_slots(static_cast<int32_t>(count));
      }
    }
    PLAN_ASSIGN_OR_RETURN(*buffer->mutable_name(), json.Name(*name));
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
