#include "report/json_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "report/json_members.h"
#include "strategy/assumed_relations.h"
#include "strategy/attempt_log.h"

namespace planproof::report {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  static constexpr bool kReads = false;

  template <class T>
  void operator()(const char* key, const T& value) {
    object_[key] = Of(value);
  }
  template <class T>
  void Optional(const char* key, const T& value) {
    if (value != T{}) (*this)(key, value);
  }
  template <class Write>
  void Object(const char* key, const Write& members) {
    Writer inner;
    members(inner);
    object_[key] = inner.Take();
  }
  template <class Resize, class Element>
  void List(const char* key, size_t size, const Resize& /*resize*/, const Element& element) {
    Json list = Json::array();
    for (size_t i = 0; i < size; ++i) {
      Writer inner;
      element(inner, i);
      list.push_back(inner.Take());
    }
    object_[key] = std::move(list);
  }
  Json Take() { return std::move(object_); }

 private:
  static Json Of(const std::string& value) { return value; }
  static Json Of(bool value) { return value; }
  static Json Of(int value) { return value; }
  static Json Of(int64_t value) { return value; }
  static Json Of(double value) { return value; }
  static Json Of(State value) { return StateName(value); }
  static Json Of(stages::Verdict value) { return stages::VerdictName(value); }
  static Json Of(stages::AnchorOutcome value) { return stages::AnchorOutcomeName(value); }
  static Json Of(stages::AssumedRelation::Need value) { return strategy::NeedName(value); }
  static Json Of(stages::Attempt::Form value) { return strategy::NameOf(value); }
  static Json Of(stages::Attempt::Relations value) { return strategy::NameOf(value); }
  static Json Of(stages::Attempt::Method value) { return strategy::NameOf(value); }
  static Json Of(stages::Attempt::Stopped value) { return strategy::NameOf(value); }
  static Json Of(const RankSet& value) { return value; }
  static Json Of(const std::vector<std::pair<std::string, int64_t>>& value) {
    Json counts = Json::object();
    for (const auto& [name, count] : value) counts[name] = count;
    return counts;
  }
  template <class T>
  static Json Of(const std::vector<T>& value) {
    Json list = Json::array();
    for (const T& element : value) list.push_back(Of(element));
    return list;
  }
  template <class T>
  static Json Of(const T& value) {
    Writer inner;
    Members(inner, value);
    return inner.Take();
  }

  Json object_ = Json::object();
};

// Names come from untrusted files: bytes that are no UTF-8 are replaced.
std::string Text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Lists with one element a line.
std::string ByLine(const Json& value, const std::string& margin) {
  if (!value.is_structured() || value.empty()) return Text(value, -1);
  const bool object = value.is_object();
  std::string text = object ? "{" : "[";
  for (auto at = value.begin(); at != value.end(); ++at) {
    text += (at == value.begin() ? "\n" : ",\n") + margin + "  ";
    text += object ? Text(Json(at.key()), -1) + ": " + ByLine(*at, margin + "  ") : Text(*at, -1);
  }
  return text + "\n" + margin + (object ? "}" : "]");
}

std::string Indented(const Json& value) {
  std::string text;
  for (const char c : Text(value, 2)) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

bool IsLong(const std::string& key) { return key == "claims" || key == "graphs" || key == "map"; }

}  // namespace

std::string JsonReport(const Report& report) {
  Writer writer;
  writer("planproof_report", kJsonFormat);
  writer("verdict", report.result.verdict);
  writer("exit_code", stages::VerdictExitCode(report.result.verdict));
  Members(writer, report);
  const Json json = writer.Take();
  std::string text = "{";
  for (auto at = json.begin(); at != json.end(); ++at) {
    text += (at == json.begin() ? "\n  " : ",\n  ") + Text(Json(at.key()), -1) + ": ";
    text += IsLong(at.key()) ? ByLine(*at, "  ") : Indented(*at);
  }
  return text + "\n}\n";
}

std::string JsonReport(const stages::Result& result, const std::vector<std::string>& files) {
  return JsonReport(Describe(result, files));
}

}  // namespace planproof::report
