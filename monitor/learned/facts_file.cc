#include "monitor/learned/facts_file.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace planproof::monitor::learned {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kFactsFormat = "planproof learned facts";
constexpr size_t kFactsFileLimit = size_t{64} << 20;
constexpr size_t kFactLimit = 1000000;
constexpr int kWindowsOfFactLimit = 1000;
constexpr int kFactsDepthLimit = 8;

OrderedJson ToJson(const Fact& fact) {
  OrderedJson json = {{"form", FormName(fact.form)}};
  if (!fact.phase.empty()) json["phase"] = fact.phase;
  json["subject"] = fact.subject;
  if (!fact.other_phase.empty()) json["other_phase"] = fact.other_phase;
  if (!fact.other.empty()) json["other"] = fact.other;
  if (HasValue(fact.form)) json["value"] = fact.value;
  if (fact.after_first) json["after_first"] = true;
  if (fact.kind == ValueKind::kNumber) json["configuration"] = true;
  if (fact.role != Role::kOther) json["role"] = RoleName(fact.role);
  json["support"] = fact.support;
  json["windows"] = fact.windows;
  return json;
}

// Reads fields of one entry, and remembers the first error.
class FieldReader {
 public:
  FieldReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) Fail("is no object");
  }
  std::string Text(const char* name, bool required) {
    const Json* value = Find(name, required);
    if (value == nullptr) return "";
    if (!value->is_string()) {
      Fail(absl::StrCat(name, " is no text"));
      return "";
    }
    return value->get<std::string>();
  }
  int64_t Number(const char* name, int64_t least, int64_t most) {
    const Json* value = Find(name, true);
    if (value == nullptr) return 0;
    if (!value->is_number_integer() || value->get<double>() < static_cast<double>(least) ||
        value->get<double>() > static_cast<double>(most)) {
      Fail(absl::StrCat(name, " is no whole number from ", least, " to ", most));
      return 0;
    }
    return value->get<int64_t>();
  }
  bool Flag(const char* name) {
    const Json* value = Find(name, false);
    if (value == nullptr) return false;
    if (!value->is_boolean()) Fail(absl::StrCat(name, " is neither true nor false"));
    return value->is_boolean() && value->get<bool>();
  }
  std::vector<std::string> Texts(const char* name) {
    std::vector<std::string> texts;
    const Json* value = Find(name, true);
    if (value == nullptr) return texts;
    if (!value->is_array()) Fail(absl::StrCat(name, " is no list"));
    for (const Json& text : *value) {
      if (text.is_string()) {
        texts.push_back(text.get<std::string>());
      } else {
        Fail(absl::StrCat(name, " has an entry that is no text"));
      }
    }
    return texts;
  }
  void Fail(const std::string& what) {
    if (status_.ok())
      status_ =
          absl::InvalidArgumentError(absl::StrCat(where_, ": ", what, "; learn the file again"));
  }
  const absl::Status& status() const { return status_; }

 private:
  const Json* Find(const char* name, bool required) {
    if (!json_.is_object()) return nullptr;
    const auto at = json_.find(name);
    if (at != json_.end()) return &*at;
    if (required) Fail(absl::StrCat(name, " is missing"));
    return nullptr;
  }
  const Json& json_;
  std::string where_;
  absl::Status status_;
};

bool NeedsOther(Form form) { return form != Form::kReplica && form != Form::kChanges; }

absl::StatusOr<Fact> ReadFact(const Json& json, const std::string& where) {
  FieldReader reader(json, where);
  Fact fact;
  if (!ParseForm(reader.Text("form", true), &fact.form))
    reader.Fail("form is not one of the format's");
  fact.phase = reader.Text("phase", false);
  fact.subject = reader.Text("subject", true);
  fact.other_phase = reader.Text("other_phase", false);
  fact.other = reader.Text("other", NeedsOther(fact.form));
  fact.value = reader.Text("value", HasValue(fact.form));
  fact.after_first = reader.Flag("after_first");
  if (reader.Flag("configuration")) fact.kind = ValueKind::kNumber;
  const std::string role = reader.Text("role", false);
  if (!role.empty() && !ParseRole(role, &fact.role)) reader.Fail("role is not one of the format's");
  fact.support = reader.Number("support", 0, int64_t{1} << 53);
  fact.windows = static_cast<int>(reader.Number("windows", 0, kWindowsOfFactLimit));
  if (!reader.status().ok()) return reader.status();
  return fact;
}

absl::StatusOr<FactSet> ReadSet(const std::string& name, const Json& json) {
  FieldReader reader(json, name);
  if (reader.Text("format", true) != kFactsFormat) reader.Fail("format is not learned facts");
  const int64_t version = reader.Number("version", 1, 1 << 20);
  if (reader.status().ok() && version != kFactsVersion)
    reader.Fail(absl::StrCat("version ", version, " is not known"));
  FactSet set;
  const std::string source = reader.Text("source", true);
  if (source == "journal") {
    set.source = SourceKind::kJournal;
  } else if (source != "trace") {
    reader.Fail("source is neither journal nor trace");
  }
  set.references = static_cast<int>(reader.Number("references", 1, 1 << 20));
  set.steps = reader.Number("steps", 0, int64_t{1} << 53);
  set.program = reader.Texts("program");
  set.optimizers = reader.Texts("optimizers");
  set.phases = reader.Texts("phases");
  set.functions = reader.Texts("functions");
  if (!reader.status().ok()) return reader.status();
  const auto facts = json.find("facts");
  if (facts == json.end() || !facts->is_array() || facts->size() > kFactLimit) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": facts is no list of at most ", kFactLimit));
  }
  for (const Json& one : *facts) {
    absl::StatusOr<Fact> fact = ReadFact(one, absl::StrCat(name, ": fact ", set.facts.size()));
    if (!fact.ok()) return fact.status();
    set.facts.push_back(*std::move(fact));
  }
  return set;
}

}  // namespace

std::string WriteFacts(const FactSet& facts) {
  OrderedJson strata = OrderedJson::array();
  for (const Stratum& stratum : facts.strata) {
    strata.push_back({{"form", FormName(stratum.form)},
                      {"package", stratum.package},
                      {"facts", stratum.facts},
                      {"contradicted", stratum.contradicted},
                      {"observations", stratum.observations}});
  }
  const OrderedJson head = {{"format", kFactsFormat},
                            {"version", kFactsVersion},
                            {"source", facts.source == SourceKind::kTrace ? "trace" : "journal"},
                            {"references", facts.references},
                            {"steps", facts.steps},
                            {"expected_false_alarms", facts.expected_false_alarms},
                            {"program", facts.program},
                            {"optimizers", facts.optimizers},
                            {"phases", facts.phases},
                            {"functions", facts.functions},
                            {"strata", strata}};
  const auto replace = OrderedJson::error_handler_t::replace;
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) {
    absl::StrAppend(&text, "\"", key, "\": ", value.dump(-1, ' ', false, replace), ",\n");
  }
  text += "\"facts\": [";
  const char* separator = "\n";
  for (const Fact& fact : facts.facts) {
    absl::StrAppend(&text, separator, ToJson(fact).dump(-1, ' ', false, replace));
    separator = ",\n";
  }
  return text + "\n]\n}\n";
}

absl::StatusOr<FactSet> ParseFacts(const std::string& name, const std::string& text) {
  bool too_deep = false;
  const Json::parser_callback_t depth = [&too_deep](int level, Json::parse_event_t, Json&) {
    too_deep |= level > kFactsDepthLimit;
    return level <= kFactsDepthLimit;
  };
  const Json json = Json::parse(text, depth, false);
  if (json.is_discarded() || too_deep)
    return absl::InvalidArgumentError(absl::StrCat(name, ": is not JSON of learned facts"));
  return ReadSet(name, json);
}

absl::StatusOr<FactSet> ReadFacts(const std::string& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return absl::NotFoundError(absl::StrCat(file, ": cannot be opened"));
  const std::streamoff size = stream.tellg();
  if (size < 0 || static_cast<size_t>(size) > kFactsFileLimit) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": is larger than 64 MiB, or no file"));
  }
  stream.seekg(0);
  std::string text(static_cast<size_t>(size), '\0');
  stream.read(text.data(), size);
  if (!stream) return absl::DataLossError(absl::StrCat(file, ": cannot be read"));
  return ParseFacts(file, text);
}

}  // namespace planproof::monitor::learned
