// Reads a JSON report. It may come from anybody: every member has its type checked, every position
// that it mentions exists, and nothing is deep.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "report/json_members.h"
#include "report/json_report.h"
#include "report/text_layout.h"
#include "strategy/assumed_relations.h"
#include "strategy/attempt_log.h"

namespace planproof::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 16;
constexpr int kLargest = 1 << 30;  // of ranks, positions and lines: sums of two are numbers, too
constexpr stages::Verdict kVerdicts[] = {stages::Verdict::kProved, stages::Verdict::kUnknown,
                                         stages::Verdict::kRefuted, stages::Verdict::kMalformed};
constexpr stages::AssumedRelation::Need kNeeds[] = {stages::AssumedRelation::Need::kUsed,
                                                    stages::AssumedRelation::Need::kProvable,
                                                    stages::AssumedRelation::Need::kNoEffect};

bool VerdictFromName(const std::string& name, stages::Verdict* verdict) {
  for (const stages::Verdict known : kVerdicts) {
    if (name != stages::VerdictName(known)) continue;
    *verdict = known;
    return true;
  }
  return false;
}

// The first thing that is wrong, and where the reader is.
struct Progress {
  std::vector<std::string> path;
  std::string error;

  bool Fail(const std::string& expected) {
    if (error.empty()) {
      std::string pointer;
      for (const std::string& step : path) absl::StrAppend(&pointer, "/", step);
      error = absl::StrCat(OneLine(pointer, 200), " is to be ", expected);
    }
    return false;
  }
};

class Reader {
 public:
  static constexpr bool kReads = true;

  Reader(const Json& object, Progress* progress) : object_(object), progress_(progress) {}

  template <class T>
  void operator()(const char* key, T& value) {
    Enter(key, [&](const Json& json) { Read(json, &value); });
  }
  template <class T>
  void Optional(const char* key, T& value) {
    (*this)(key, value);
  }
  template <class Take>
  void Object(const char* key, const Take& members) {
    Enter(key, [&](const Json& json) { ReadObject(json, members); });
  }
  template <class Resize, class Element>
  void List(const char* key, size_t /*size*/, const Resize& resize, const Element& element) {
    Enter(key, [&](const Json& json) {
      if (!json.is_array()) {
        progress_->Fail("a list");
        return;
      }
      resize(json.size());
      Each(json, [&](const Json& entry, size_t i) {
        ReadObject(entry, [&](Reader& inner) { element(inner, i); });
      });
    });
  }

 private:
  template <class Take>
  void Enter(const char* key, const Take& take) {
    const auto at = object_.find(key);
    if (at == object_.end() || !progress_->error.empty()) return;
    progress_->path.emplace_back(key);
    take(*at);
    progress_->path.pop_back();
  }
  template <class Take>
  void Each(const Json& list, const Take& take) {
    for (size_t i = 0; i < list.size() && progress_->error.empty(); ++i) {
      progress_->path.push_back(std::to_string(i));
      take(list[i], i);
      progress_->path.pop_back();
    }
  }
  template <class Take>
  void ReadObject(const Json& json, const Take& members) {
    if (!json.is_object()) {
      progress_->Fail("an object");
      return;
    }
    Reader inner(json, progress_);
    members(inner);
  }

  bool Read(const Json& json, std::string* value) {
    if (!json.is_string()) return progress_->Fail("text");
    *value = json.get<std::string>();
    return true;
  }
  bool Read(const Json& json, bool* value) {
    if (!json.is_boolean()) return progress_->Fail("true or false");
    *value = json.get<bool>();
    return true;
  }
  bool Read(const Json& json, double* value) {
    if (!json.is_number()) return progress_->Fail("a number");
    *value = json.get<double>();
    return true;
  }
  bool Read(const Json& json, int64_t* value) {
    const bool fits = json.is_number_integer() &&
                      (!json.is_number_unsigned() ||
                       json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
    if (!fits) return progress_->Fail("a whole number");
    *value = json.get<int64_t>();
    return true;
  }
  bool Read(const Json& json, int* value) {
    int64_t number = 0;
    if (!Read(json, &number)) return false;
    if (number < -kLargest || number > kLargest) return progress_->Fail("a smaller number");
    *value = static_cast<int>(number);
    return true;
  }
  bool Read(const Json& json, State* value) {
    std::string name;
    if (!Read(json, &name)) return false;
    return StateFromName(name, value) || progress_->Fail("a state, such as \"proved\"");
  }
  bool Read(const Json& json, stages::Verdict* value) {
    std::string name;
    if (!Read(json, &name)) return false;
    return VerdictFromName(name, value) || progress_->Fail("PROVED, REFUTED, MALFORMED or UNKNOWN");
  }
  bool Read(const Json& json, stages::AnchorOutcome* value) {
    std::string name;
    if (!Read(json, &name)) return false;
    return stages::AnchorOutcomeFromName(name, value) ||
           progress_->Fail("an outcome, such as \"anchored\"");
  }
  bool Read(const Json& json, stages::AssumedRelation::Need* value) {
    std::string name;
    if (!Read(json, &name)) return false;
    for (const stages::AssumedRelation::Need known : kNeeds) {
      if (name != strategy::NeedName(known)) continue;
      *value = known;
      return true;
    }
    return progress_->Fail("used, provable or no effect");
  }
  bool Read(const Json& json, stages::Attempt::Form* value) { return ReadNamed(json, value); }
  bool Read(const Json& json, stages::Attempt::Relations* value) { return ReadNamed(json, value); }
  bool Read(const Json& json, stages::Attempt::Method* value) { return ReadNamed(json, value); }
  bool Read(const Json& json, stages::Attempt::Stopped* value) { return ReadNamed(json, value); }
  // One of an enumeration of stages::Attempt, whose enumerators beyond the last have no name.
  template <class T>
  bool ReadNamed(const Json& json, T* value) {
    std::string name;
    if (!Read(json, &name)) return false;
    for (int known = 0; *strategy::NameOf(static_cast<T>(known)) != 0; ++known) {
      if (name != strategy::NameOf(static_cast<T>(known))) continue;
      *value = static_cast<T>(known);
      return true;
    }
    return progress_->Fail("a name that attempts have");
  }
  bool Read(const Json& json, std::pair<int, int>* range) {
    if (!json.is_array() || json.size() != 2) return progress_->Fail("a first and a last rank");
    if (!Read(json[0], &range->first) || !Read(json[1], &range->second)) return false;
    const bool ordered = 0 <= range->first && range->first <= range->second;
    return ordered || progress_->Fail("a first and a last rank");
  }
  bool Read(const Json& json, std::vector<std::pair<std::string, int64_t>>* counts) {
    if (!json.is_object()) return progress_->Fail("an object of numbers");
    for (auto at = json.begin(); at != json.end(); ++at) {
      if (!Read(*at, &counts->emplace_back(at.key(), 0).second)) return false;
    }
    return true;
  }
  template <class T>
  bool Read(const Json& json, std::vector<T>* list) {
    if (!json.is_array()) return progress_->Fail("a list");
    list->resize(json.size());
    Each(json, [&](const Json& entry, size_t i) { Read(entry, &(*list)[i]); });
    return progress_->error.empty();
  }
  template <class T>
  bool Read(const Json& json, T* value) {
    ReadObject(json, [&](Reader& inner) { Members(inner, *value); });
    return progress_->error.empty();
  }

  const Json& object_;
  Progress* progress_;
};

bool AllBelow(const std::vector<int>& positions, size_t size) {
  return std::all_of(positions.begin(), positions.end(),
                     [size](int at) { return at >= 0 && static_cast<size_t>(at) < size; });
}

bool Holds(const Graph& graph) {
  return std::all_of(graph.operators.begin(), graph.operators.end(), [&](const auto& op) {
    return AllBelow(op.inputs, graph.tensors.size()) && AllBelow(op.outputs, graph.tensors.size());
  });
}

// Positions that members mention are there.
bool Holds(const Report& report) {
  const LayerMap& map = report.map;
  const bool cells = std::all_of(map.cells.begin(), map.cells.end(), [&](const MapCell& cell) {
    return AllBelow({cell.layer}, map.layers.size()) && AllBelow({cell.kind}, map.kinds.size()) &&
           AllBelow({cell.ranks}, map.rank_sets.size()) &&
           AllBelow(cell.operators, map.operators.size());
  });
  const bool findings =
      std::all_of(report.graphs.begin(), report.graphs.end(), [&](const FindingGraphs& graphs) {
        return AllBelow(graphs.logical, report.logical.operators.size()) &&
               AllBelow(graphs.parallel, report.parallel.operators.size()) &&
               graphs.suspected >= 0 &&
               static_cast<size_t>(graphs.suspected) <= graphs.parallel.size();
      });
  return cells && findings && Holds(report.logical) && Holds(report.parallel);
}

}  // namespace

absl::StatusOr<Report> ReadJsonReport(const std::string& text) {
  bool deep = false;
  const Json json = Json::parse(
      text,
      [&deep](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
        deep = deep || depth > kDeepest;
        return !deep;
      },
      /*allow_exceptions=*/false);
  if (deep || !json.is_object()) {
    return absl::InvalidArgumentError(
        "this is no JSON report (planproof verify ... --json FILE writes one)");
  }
  const auto format = json.find("planproof_report");
  if (!json.contains("verdict") || (format != json.end() && !format->is_number_integer())) {
    return absl::InvalidArgumentError(
        "this is JSON, but no report (planproof verify ... --json FILE writes one)");
  }
  if (format != json.end() && *format != kJsonFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report has format ", OneLine(format->dump(), 30), ", this program reads ",
                     kJsonFormat, ": read it with the one that wrote it"));
  }
  Report report;
  Progress progress;
  Reader reader(json, &progress);
  reader("verdict", report.result.verdict);
  Members(reader, report);
  if (progress.error.empty() && !Holds(report))
    progress.error = "it mentions an operator, a tensor or a set of ranks that is not there";
  if (!progress.error.empty())
    return absl::InvalidArgumentError(absl::StrCat("no report: ", progress.error));
  return report;
}

}  // namespace planproof::report
