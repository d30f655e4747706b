// Reads values of files of monitors, and says where they stand if they are wrong.
#ifndef PLANPROOF_MONITOR_PROVED_MONITORS_JSON_H_
#define PLANPROOF_MONITOR_PROVED_MONITORS_JSON_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::monitor {

using MonitorJson = nlohmann::ordered_json;

inline constexpr size_t kMostMonitorText = size_t{1} << 16;
inline constexpr size_t kMostMonitorEntries = 1000000;
inline constexpr int64_t kMostMonitorNumber = int64_t{1} << 48;

// How an enum is spelled in files.
template <typename Enum>
struct MonitorWord {
  Enum value;
  const char* text;
};
template <typename Enum, size_t N>
const char* MonitorTextOf(const MonitorWord<Enum> (&words)[N], Enum value) {
  for (const MonitorWord<Enum>& word : words) {
    if (word.value == value) return word.text;
  }
  return "";
}

// A value of a file, and where it stands. Errors are InvalidArgument, and name the place; lists
// that are too long are ResourceExhausted.
class MonitorValue {
 public:
  MonitorValue(const MonitorJson& json, std::string at) : json_(json), at_(std::move(at)) {}

  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(at_.empty() ? "/" : at_, ": ", what));
  }
  absl::Status Allow(std::initializer_list<const char*> keys) const {
    if (!json_.is_object()) return Error("is no object");
    for (const auto& [key, value] : json_.items()) {
      const auto known = [&key = key](const char* word) { return key == word; };
      if (!std::any_of(keys.begin(), keys.end(), known)) {
        return absl::InvalidArgumentError(absl::StrCat(
            at_, "/", key.substr(0, 64), ": is no key of this version; export the monitors anew"));
      }
    }
    return absl::OkStatus();
  }
  const MonitorJson& json() const { return json_; }
  bool Has(const char* key) const { return json_.contains(key); }
  absl::StatusOr<MonitorValue> At(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return Error(absl::StrCat("has no \"", key, "\""));
    return MonitorValue(*found, absl::StrCat(at_, "/", key));
  }
  absl::StatusOr<std::vector<MonitorValue>> List(size_t most = kMostMonitorEntries) const {
    if (!json_.is_array()) return Error("is no list");
    if (json_.size() > most) {
      return absl::ResourceExhaustedError(absl::StrCat(at_, ": has more than ", most, " entries"));
    }
    std::vector<MonitorValue> values;
    for (size_t k = 0; k < json_.size(); ++k) {
      values.emplace_back(json_[k], absl::StrCat(at_, "/", k));
    }
    return values;
  }
  absl::StatusOr<std::string> Text() const {
    if (!json_.is_string()) return Error("is no text");
    std::string text = json_.get<std::string>();
    if (text.size() > kMostMonitorText) return Error("is too long a text");
    return text;
  }
  absl::StatusOr<int64_t> Whole(int64_t least, int64_t most) const {
    const bool fits = json_.is_number_integer() &&
                      !(json_.is_number_unsigned() &&
                        json_.get<uint64_t>() > static_cast<uint64_t>(kMostMonitorNumber));
    if (!fits) return Error("is no whole number");
    const int64_t number = json_.get<int64_t>();
    if (number < least || number > most) {
      return Error(absl::StrCat("is not between ", least, " and ", most));
    }
    return number;
  }
  absl::StatusOr<double> Real() const {
    if (!json_.is_number() || !std::isfinite(json_.get<double>())) return Error("is no number");
    return json_.get<double>();
  }
  absl::StatusOr<bool> Truth() const {
    if (!json_.is_boolean()) return Error("is neither true nor false");
    return json_.get<bool>();
  }
  template <typename Number>
  absl::StatusOr<std::vector<Number>> Numbers(int64_t most, size_t count) const {
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> values, List(count));
    std::vector<Number> numbers;
    for (const MonitorValue& value : values) {
      PLAN_ASSIGN_OR_RETURN(const int64_t number, value.Whole(0, most));
      numbers.push_back(static_cast<Number>(number));
    }
    return numbers;
  }
  template <typename Enum, size_t N>
  absl::StatusOr<Enum> OneOf(const MonitorWord<Enum> (&words)[N]) const {
    PLAN_ASSIGN_OR_RETURN(const std::string text, Text());
    for (const MonitorWord<Enum>& word : words) {
      if (text == word.text) return word.value;
    }
    return Error("is no word of this version");
  }

 private:
  const MonitorJson& json_;
  std::string at_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_MONITORS_JSON_H_
