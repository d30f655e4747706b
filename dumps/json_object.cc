#include "dumps/json_object.h"

#include "absl/strings/str_cat.h"

namespace planproof::dumps {

JsonObject::JsonObject(const nlohmann::json& object) : object_(object) {
  if (!object.is_object()) Refuse("an object is expected");
}

const nlohmann::json& JsonObject::Get(const char* key) {
  static const nlohmann::json* const none = new nlohmann::json();
  if (!object_.is_object()) return *none;
  const auto found = object_.find(key);
  if (found != object_.end()) return *found;
  Refuse(absl::StrCat("\"", key, "\" is missing"));
  return *none;
}

std::string JsonObject::Text(const char* key) {
  const nlohmann::json& value = Get(key);
  if (value.is_string()) return value.get<std::string>();
  Refuse(absl::StrCat("\"", key, "\" is no text"));
  return "";
}

int64_t JsonObject::Integer(const char* key, int64_t least, int64_t most) {
  const nlohmann::json& value = Get(key);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) &&
                    value.get<int64_t>() >= least && value.get<int64_t>() <= most;
  if (fits) return value.get<int64_t>();
  Refuse(absl::StrCat("\"", key, "\" is no whole number from ", least, " to ", most));
  return least;
}

std::vector<int64_t> JsonObject::Integers(const char* key) {
  std::vector<int64_t> numbers;
  const nlohmann::json& value = Get(key);
  bool all = value.is_array();
  for (size_t i = 0; all && i < value.size(); ++i) {
    all = value[i].is_number_integer();
    if (all) numbers.push_back(value[i].get<int64_t>());
  }
  if (!all) Refuse(absl::StrCat("\"", key, "\" is no list of whole numbers"));
  return numbers;
}

std::vector<std::string> JsonObject::Texts(const char* key) {
  std::vector<std::string> texts;
  const nlohmann::json& value = Get(key);
  bool all = value.is_array();
  for (size_t i = 0; all && i < value.size(); ++i) {
    all = value[i].is_string();
    if (all) texts.push_back(value[i].get<std::string>());
  }
  if (!all) Refuse(absl::StrCat("\"", key, "\" is no list of texts"));
  return texts;
}

void JsonObject::Refuse(const std::string& what) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(what);
}

}  // namespace planproof::dumps
