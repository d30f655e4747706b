#include "report/sarif_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "report/phrases.h"
#include "strategy/assumed_relations.h"

namespace planproof::report {
namespace {

using Json = nlohmann::ordered_json;
using sdfg::SourceLocation;
using stages::Verdict;
using stages::Violation;

// "value-differs" of "value differs".
std::string RuleId(const Violation& violation) {
  std::string id;
  for (const char c :
       violation.kind.empty() ? stages::VerdictName(violation.verdict) : violation.kind) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      id += c;
    } else if (c >= 'A' && c <= 'Z') {
      id += static_cast<char>(c - 'A' + 'a');
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  return id;
}

const char* Level(Verdict verdict) { return verdict == Verdict::kUnknown ? "warning" : "error"; }

const char* Help(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRefuted:
      return "Inputs are known for which an output of the plan differs from the model's. The "
             "report names the stage, what is suspected, and such inputs.";
    case Verdict::kMalformed:
      return "The plan is no plan: it cannot be run as it is written, whatever the inputs are.";
    case Verdict::kProved:
    case Verdict::kUnknown:
      break;
  }
  return "Neither a proof nor a counterexample was found. The plan may be right; what is missing "
         "for a proof is named.";
}

Json Rule(const Violation& violation) {
  const std::string name =
      violation.kind.empty() ? stages::VerdictName(violation.verdict) : violation.kind;
  return {{"id", RuleId(violation)},
          {"shortDescription", {{"text", name}}},
          {"fullDescription",
           {{"text", std::string(stages::VerdictName(violation.verdict)) + ": " + name}}},
          {"help", {{"text", Help(violation.verdict)}}},
          {"defaultConfiguration", {{"level", Level(violation.verdict)}}},
          {"properties", {{"tags", {"correctness", stages::VerdictName(violation.verdict)}}}}};
}

// A path as a reference (RFC 3986).
std::string Uri(const std::string& path) {
  constexpr char kHex[] = "0123456789ABCDEF";
  constexpr char kPlain[] = "-._~/!$&'()*+,;=@";
  std::string uri = path.starts_with('/') ? "file://" : "";
  const bool relative = uri.empty();
  for (const char c : path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || std::string_view(kPlain).find(c) != std::string_view::npos) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return relative && uri.empty() ? "." : uri;
}

Json PhysicalLocation(const SourceLocation& place) {
  Json artifact = {{"uri", Uri(place.file)}};
  if (!place.file.starts_with('/')) artifact["uriBaseId"] = "%SRCROOT%";
  Json location = {{"artifactLocation", std::move(artifact)}};
  Json region = {{"startLine", std::max(1, place.line)}};  // code scanning asks for one
  if (!place.text.empty() && place.line > 0) region["snippet"] = {{"text", place.text}};
  location["region"] = std::move(region);
  return location;
}

// Each once.
Json LogicalLocations(const Violation& violation) {
  Json locations = Json::array();
  std::set<std::string> known;
  const auto add = [&](const char* where, const char* kind, const std::string& name) {
    const std::string whole = std::string(where) + "/" + name;
    if (name.empty() || !known.insert(whole).second) return;
    locations.push_back({{"name", name}, {"fullyQualifiedName", whole}, {"kind", kind}});
  };
  add("stage", "stage", violation.stage);
  add("model", "operator", violation.logical_operator);
  for (const std::string& op : violation.parallel_operators) add("plan", "operator", op);
  return locations;
}

// All that the finding says, a line each.
std::string Message(const Report& report, const Violation& violation) {
  std::string text = violation.stage.empty() ? "" : "stage " + violation.stage + ": ";
  text += !violation.cause.empty()  ? violation.cause
          : !violation.kind.empty() ? violation.kind
                                    : violation.message;
  const auto add = [&text](const char* label, const std::string& what) {
    if (!what.empty()) text += std::string("\n") + label + ": " + what;
  };
  if (NamesWhereRelationsEnd(violation)) add("missing", WhereRelationsEnd(report.result));
  add("logical", LogicalSide(violation));
  add("parallel", ParallelSide(violation));
  add("lineage", violation.lineage);
  add("witness", WitnessValues(violation, /*exactly=*/false));
  if (violation.message != violation.cause) add("that is", violation.message);
  add("try", violation.advice);
  return text;
}

// Where it stands, and what else is concerned.
void AddPlaces(const Report& report, const Violation& violation, Json* result) {
  struct Labelled {
    SourceLocation place;
    std::string label;
  };
  std::vector<Labelled> places;
  for (const SourceLocation& place : violation.parallel_places) {
    if (!place.file.empty()) places.push_back({place, "the plan's operator"});
  }
  if (!violation.logical_place.file.empty())
    places.push_back({violation.logical_place, "the model's operator"});
  if (places.empty() && !report.files.empty()) places.push_back({{report.files.back(), 0, ""}, ""});
  Json location = Json::object();
  if (!places.empty()) location["physicalLocation"] = PhysicalLocation(places[0].place);
  Json logical = LogicalLocations(violation);
  if (!logical.empty()) location["logicalLocations"] = std::move(logical);
  if (!location.empty()) (*result)["locations"] = Json::array({std::move(location)});
  Json related = Json::array();
  for (size_t i = 1; i < places.size(); ++i) {
    related.push_back({{"id", i},
                       {"message", {{"text", places[i].label}}},
                       {"physicalLocation", PhysicalLocation(places[i].place)}});
  }
  if (!related.empty()) (*result)["relatedLocations"] = std::move(related);
}

}  // namespace

std::string SarifReport(const Report& report) {
  Json rules = Json::array(), results = Json::array();
  std::vector<std::string> known;
  for (const Violation* violation : WorstFirst(report.result)) {
    const std::string id = RuleId(*violation);
    auto at = std::find(known.begin(), known.end(), id);
    if (at == known.end()) {
      at = known.insert(known.end(), id);
      rules.push_back(Rule(*violation));
    }
    Json result = {{"ruleId", id},
                   {"ruleIndex", at - known.begin()},
                   {"level", Level(violation->verdict)},
                   {"message", {{"text", Message(report, *violation)}}}};
    AddPlaces(report, *violation, &result);
    result["partialFingerprints"] = {{"stageOfRule/v1", id + ":" + violation->stage}};
    result["properties"] = {{"verdict", stages::VerdictName(violation->verdict)},
                            {"devices", violation->devices},
                            {"microbatches", violation->microbatches},
                            {"witnessInputs", violation->witness_inputs}};
    results.push_back(std::move(result));
  }
  Json notifications = Json::array();
  for (const std::string& warning : report.result.warnings)
    notifications.push_back({{"level", "warning"}, {"message", {{"text", warning}}}});
  for (const std::string& assumed : AssumedInWords(report.result))
    notifications.push_back(
        {{"level", "note"}, {"message", {{"text", "assumed and not proved: " + assumed}}}});
  const Json invocation = {
      {"executionSuccessful", true},
      {"exitCode", stages::VerdictExitCode(report.result.verdict)},
      {"exitCodeDescription", strategy::VerdictInWords(report.result)},
      {"toolExecutionNotifications", std::move(notifications)},
  };
  const Json run = {
      {"tool",
       {{"driver",
         {{"name", "planproof"},
          {"semanticVersion", report.version},
          {"rules", std::move(rules)}}}}},
      {"invocations", Json::array({invocation})},
      {"columnKind", "utf16CodeUnits"},
      {"results", std::move(results)},
      {"properties",
       {{"verdict", stages::VerdictName(report.result.verdict)},
        {"files", report.files},
        {"premises", report.result.premises},
        {"assumptions", report.result.assumptions},
        {"assumed", AssumedInWords(report.result)},
        {"restrictions", report.result.restrictions},
        {"anchor", stages::AnchorOutcomeName(report.result.anchor.outcome)},
        {"recorded", RecordedInWords(report.result)}}},
  };
  // By name: compilers differ in whether braces around one array or object make an array of it.
  const Json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({run})}};
  return log.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace planproof::report
