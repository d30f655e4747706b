#include "frontend/plan/json_cursor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/remedies.h"
#include "sdfg/limit.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

// Other words for a key, from frameworks and from other parts of the format.
constexpr std::pair<const char*, const char*> kOtherWords[] = {{"input", "in"},
                                                               {"inputs", "in"},
                                                               {"args", "in"},
                                                               {"operands", "in"},
                                                               {"output", "out"},
                                                               {"outputs", "out"},
                                                               {"attributes", "attrs"},
                                                               {"attr", "attrs"},
                                                               {"kwargs", "attrs"},
                                                               {"axis", "over"},
                                                               {"axes", "over"},
                                                               {"group", "over"},
                                                               {"type", "op"},
                                                               {"operator", "op"},
                                                               {"ops", "operators"},
                                                               {"nodes", "operators"},
                                                               {"wrt", "of"},
                                                               {"params", "parameters"},
                                                               {"weights", "parameters"},
                                                               {"axes", "mesh"},
                                                               {"model", "specification"},
                                                               {"spec", "specification"},
                                                               {"version", "planproof"},
                                                               {"handle", "async"}};

// The key that was probably meant, or empty.
std::string Meant(const std::string& key, const std::vector<std::string>& known) {
  for (const auto& [word, meant] : kOtherWords) {
    if (key == word && std::find(known.begin(), known.end(), meant) != known.end()) return meant;
  }
  return "";
}

}  // namespace

absl::Status JsonCursor::Error(const JsonValue& at, const std::string& message) const {
  const std::string pointer = PointerOf(root_, at);
  return absl::InvalidArgumentError(
      absl::StrCat(file_, ":", at.line, ": ", pointer.empty() ? "/" : pointer, ": ", message));
}

absl::Status JsonCursor::WrongKind(const JsonValue& at, const std::string& expected) const {
  return Error(at, absl::StrCat("is ", KindName(at.kind), "; ", expected, " is expected"));
}

absl::Status JsonCursor::Object(const JsonValue& value, std::initializer_list<const char*> known,
                                const std::string& otherwise) const {
  PLAN_RETURN_IF_ERROR(IsObject(value));
  return Keys(value, {known.begin(), known.end()}, otherwise);
}

absl::Status JsonCursor::Keys(const JsonValue& value, const std::vector<std::string>& known,
                              const std::string& otherwise) const {
  for (size_t i = 0; i < value.keys.size(); ++i) {
    if (value.keys[i] == kNote ||
        std::find(known.begin(), known.end(), value.keys[i]) != known.end()) {
      continue;
    }
    return UnknownKey(value.items[i], value.keys[i], known, otherwise);
  }
  return absl::OkStatus();
}

absl::Status JsonCursor::UnknownKey(const JsonValue& at, const std::string& key,
                                    const std::vector<std::string>& known,
                                    const std::string& otherwise) const {
  const std::string meant = Meant(key, known);
  std::string remedy =
      meant.empty() ? DidYouMean(key, known) : absl::StrCat("; did you mean \"", meant, "\"?");
  if (remedy.empty()) {
    remedy = absl::StrCat("; ", otherwise.empty()
                                    ? absl::StrCat("keys here are ", absl::StrJoin(known, ", "))
                                    : otherwise);
  }
  return Error(at, absl::StrCat("key \"", key, "\" is not known", remedy));
}

absl::Status JsonCursor::IsObject(const JsonValue& value, const std::string& expected) const {
  if (value.kind == JsonValue::Kind::kObject) return absl::OkStatus();
  return WrongKind(value, expected);
}

absl::Status JsonCursor::IsArray(const JsonValue& value) const {
  if (value.kind == JsonValue::Kind::kArray) return absl::OkStatus();
  return WrongKind(value, "a list");
}

absl::StatusOr<std::string> JsonCursor::String(const JsonValue& value) const {
  if (value.kind != JsonValue::Kind::kString) return WrongKind(value, "a string");
  return value.text;
}

absl::StatusOr<std::string> JsonCursor::Name(const JsonValue& value) const {
  if (value.kind != JsonValue::Kind::kString) return WrongKind(value, "a name");
  if (value.text.empty()) return Error(value, "is empty; a name is expected");
  if (value.text.size() > 1024) return Error(value, "a name is longer than 1024 bytes");
  for (unsigned char c : value.text) {
    if (c < 0x20 || c == 0x7f) return Error(value, "a name contains a control character");
  }
  return value.text;
}

absl::StatusOr<int64_t> JsonCursor::Integer(const JsonValue& value, int64_t low,
                                            int64_t high) const {
  if (value.kind != JsonValue::Kind::kInteger) return WrongKind(value, "an integer");
  if (value.integer < low || value.integer > high) {
    return Error(value, absl::StrCat(value.integer, " is out of range; ", low, " to ", high,
                                     " is expected"));
  }
  return value.integer;
}

absl::Status JsonCursor::Beyond(const JsonValue& value, const std::string& what, int64_t number,
                                int64_t most) const {
  const absl::Status limit = sdfg::BeyondLimit(what, number, most);
  return absl::Status(limit.code(),
                      std::string(Error(value, std::string(limit.message())).message()));
}

absl::StatusOr<int64_t> JsonCursor::Limited(const JsonValue& value, int64_t low, int64_t most,
                                            const std::string& what) const {
  if (value.kind == JsonValue::Kind::kInteger && value.integer > most) {
    return Beyond(value, what, value.integer, most);
  }
  return Integer(value, low, most);
}

absl::StatusOr<bool> JsonCursor::Boolean(const JsonValue& value) const {
  if (value.kind != JsonValue::Kind::kBool) return WrongKind(value, "true or false");
  return value.boolean;
}

absl::StatusOr<std::vector<std::string>> JsonCursor::Names(const JsonValue& value) const {
  std::vector<std::string> names;
  if (value.kind == JsonValue::Kind::kString) {
    PLAN_ASSIGN_OR_RETURN(std::string name, Name(value));
    names.push_back(std::move(name));
    return names;
  }
  if (value.kind != JsonValue::Kind::kArray) return WrongKind(value, "a name or a list of names");
  for (const JsonValue& item : value.items) {
    PLAN_ASSIGN_OR_RETURN(std::string name, Name(item));
    names.push_back(std::move(name));
  }
  return names;
}

absl::StatusOr<std::vector<int64_t>> JsonCursor::Extents(const JsonValue& value) const {
  PLAN_RETURN_IF_ERROR(IsArray(value));
  if (value.items.size() > 16) return Beyond(value, "dimensions", value.items.size(), 16);
  std::vector<int64_t> extents;
  for (const JsonValue& item : value.items) {
    PLAN_ASSIGN_OR_RETURN(int64_t extent, Limited(item, 0, int64_t{1} << 40, "extent"));
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace planproof::plan
