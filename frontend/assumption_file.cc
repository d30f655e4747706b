#include "frontend/assumption_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "frontend/load_problem.h"
#include "frontend/plan/json_cursor.h"
#include "frontend/plan/json_form_internal.h"
#include "frontend/plan/json_tree.h"
#include "frontend/plan/plan.pb.h"
#include "frontend/plan/relation.h"
#include "frontend/plan/remedies.h"
#include "sdfg/operator_kind.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend {
namespace {

using plan::JsonCursor;
using plan::JsonValue;
using sdfg::kNone;
using sdfg::TensorId;

constexpr int64_t kMostBytes = int64_t{1} << 22;
constexpr int64_t kMostEntries = 4096;
constexpr int64_t kMostPatterns = 256;  // each is compared with every name
constexpr int64_t kMostAssumed = 1 << 16;
constexpr size_t kLongestReason = 1024;
constexpr int kMostDevices = 1 << 24;

// What the first `*` of the pattern stands for in the name; nothing if they do not match.
std::optional<std::string> Matched(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return std::nullopt;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  if (p != pattern.size()) return std::nullopt;
  const size_t first = pattern.find('*');
  if (first == std::string_view::npos || pattern.find('*', first + 1) != std::string_view::npos)
    return std::string();
  return std::string(name.substr(first, name.size() - (pattern.size() - 1)));
}

bool IsPattern(const std::string& name) { return name.find('*') != std::string::npos; }

// One entry of the file.
struct Entry {
  const JsonValue* at = nullptr;
  std::string name;  // of tensors, or the label of operators; may be a pattern
  bool names_operator = false;
  std::string reason;
  std::optional<plan::Relation> stands_for;
  bool all_devices = false;
  std::vector<int> devices;  // empty, and not all: the name must be that of one tensor
};

struct Match {
  TensorId tensor = kNone;
  std::string star;  // what the pattern's only `*` stands for
};

class EntryReader {
 public:
  explicit EntryReader(const JsonCursor& json) : json_(json) {}

  absl::StatusOr<Entry> Read(const JsonValue& value) const {
    PLAN_RETURN_IF_ERROR(
        json_.Object(value, {"tensor", "operator", "stands_for", "devices", "reason"}));
    Entry entry;
    entry.at = &value;
    const JsonValue* tensor = value.Find("tensor");
    const JsonValue* op = value.Find("operator");
    if ((tensor == nullptr) == (op == nullptr)) {
      return json_.Error(value, "either \"tensor\" or \"operator\" of the plan is expected");
    }
    entry.names_operator = op != nullptr;
    PLAN_ASSIGN_OR_RETURN(entry.name, json_.Name(op != nullptr ? *op : *tensor));
    PLAN_RETURN_IF_ERROR(ReadReason(value, &entry));
    PLAN_RETURN_IF_ERROR(ReadStandsFor(value, &entry));
    PLAN_RETURN_IF_ERROR(ReadDevices(value, &entry));
    return entry;
  }

 private:
  absl::Status ReadReason(const JsonValue& value, Entry* entry) const {
    const JsonValue* reason = value.Find("reason");
    if (reason == nullptr) {
      return json_.Error(value, "a \"reason\" is expected: reports say why this may be assumed");
    }
    PLAN_ASSIGN_OR_RETURN(entry->reason, json_.String(*reason));
    if (entry->reason.find_first_not_of(' ') == std::string::npos) {
      return json_.Error(*reason, "is empty; reports say why this may be assumed");
    }
    if (entry->reason.size() > kLongestReason) {
      return json_.Error(*reason, absl::StrCat("is longer than ", kLongestReason, " bytes"));
    }
    const bool control = std::any_of(entry->reason.begin(), entry->reason.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    return control ? json_.Error(*reason, "contains a control character") : absl::OkStatus();
  }

  absl::Status ReadStandsFor(const JsonValue& value, Entry* entry) const {
    const JsonValue* stands_for = value.Find("stands_for");
    if (stands_for == nullptr) return absl::OkStatus();
    plan::Relation& relation = entry->stands_for.emplace();
    if (stands_for->kind == JsonValue::Kind::kString) {
      PLAN_ASSIGN_OR_RETURN(*relation.mutable_of(), json_.Name(*stands_for));
    } else {
      PLAN_RETURN_IF_ERROR(plan::ReadRelation(json_, *stands_for, &relation));
      if (relation.of().empty()) {
        return json_.Error(*stands_for, "says no tensor of the model; add \"of\"");
      }
      if (relation.partial_size() > 0 || !relation.factor().empty()) {
        return json_.Error(*stands_for,
                           "an assumed tensor has the model's values; \"partial\" and \"factor\" "
                           "are for lineage that the plan states");
      }
    }
    const auto stars = std::count(entry->name.begin(), entry->name.end(), '*');
    if (IsPattern(relation.of()) && stars != 1) {
      return json_.Error(*stands_for, absl::StrCat("its * is what the * of \"", entry->name,
                                                   "\" stands for; write one there"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadDevices(const JsonValue& value, Entry* entry) const {
    const JsonValue* devices = value.Find("devices");
    if (devices == nullptr) return absl::OkStatus();
    if (devices->kind == JsonValue::Kind::kString && devices->text == "all") {
      entry->all_devices = true;
      return absl::OkStatus();
    }
    if (devices->kind != JsonValue::Kind::kArray || devices->items.empty()) {
      return json_.Error(*devices, "\"all\" or a list of devices is expected");
    }
    for (const JsonValue& item : devices->items) {
      PLAN_ASSIGN_OR_RETURN(const int64_t device, json_.Integer(item, 0, kMostDevices));
      entry->devices.push_back(static_cast<int>(device));
    }
    return absl::OkStatus();
  }

  const JsonCursor& json_;
};

// Finds the tensors that entries mean, and what they stand for.
class Resolver {
 public:
  Resolver(const JsonCursor& json, const lineage::Problem& problem)
      : json_(json), problem_(problem), check_(problem), axes_(problem.parallel.axes) {
    const sdfg::Graph& graph = problem.parallel;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      const auto op = static_cast<sdfg::OperatorId>(o);
      by_label_[graph.operators[o].label].push_back(op);
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      by_name_[graph.tensors[t].name].push_back(static_cast<TensorId>(t));
    }
    const sdfg::Graph& model = problem.logical;
    for (size_t t = 0; t < model.tensors.size(); ++t) {
      const sdfg::OperatorId producer = model.tensors[t].producer;
      if (producer != kNone && model.operators[producer].kind == sdfg::OperatorKind::kMultiple)
        continue;
      if (!logical_.try_emplace(model.tensors[t].name, static_cast<TensorId>(t)).second)
        several_.insert(model.tensors[t].name);
    }
    for (const lineage::MeshAxis& axis : problem.mesh) {
      const auto same = [&](const sdfg::Axis& a) { return a.name == axis.name; };
      if (std::any_of(axes_.begin(), axes_.end(), same)) continue;
      axes_.push_back({axis.name, axis.extent});
      of_device_.push_back(axis);
    }
  }

  absl::Status Add(const Entry& entry) {
    if (IsPattern(entry.name) && ++patterns_ > kMostPatterns) {
      return json_.Beyond(*entry.at, "patterns", patterns_, kMostPatterns);
    }
    std::vector<Match> matches = entry.names_operator ? OutputsOf(entry) : TensorsOf(entry);
    if (matches.empty()) return NoMatch(entry);
    PLAN_RETURN_IF_ERROR(SelectDevices(entry, &matches));
    for (const Match& match : matches) PLAN_RETURN_IF_ERROR(AddOne(entry, match));
    return absl::OkStatus();
  }
  std::vector<lineage::Assumption> Take() { return std::move(assumptions_); }

 private:
  template <class Ids>
  static std::vector<std::pair<Ids, std::string>> Find(const std::map<std::string, Ids>& by_name,
                                                       const std::string& name) {
    std::vector<std::pair<Ids, std::string>> found;
    if (!IsPattern(name)) {
      const auto at = by_name.find(name);
      if (at != by_name.end()) found.emplace_back(at->second, "");
      return found;
    }
    for (const auto& [known, ids] : by_name) {
      if (std::optional<std::string> star = Matched(name, known))
        found.emplace_back(ids, *std::move(star));
    }
    return found;
  }

  std::vector<Match> TensorsOf(const Entry& entry) const {
    std::vector<Match> matches;
    const bool pattern = IsPattern(entry.name);
    for (const auto& [tensors, star] : Find(by_name_, entry.name)) {
      for (const TensorId t : tensors) {
        // A pattern is of what the plan computes; a name says which tensor is meant.
        if (pattern && problem_.parallel.tensors[t].producer == kNone) continue;
        matches.push_back({t, star});
      }
    }
    return matches;
  }

  std::vector<Match> OutputsOf(const Entry& entry) const {
    std::vector<Match> matches;
    for (const auto& [operators, star] : Find(by_label_, entry.name)) {
      for (const sdfg::OperatorId op : operators) {
        for (const TensorId t : problem_.parallel.operators[op].outputs) {
          if (t != kNone) matches.push_back({t, star});
        }
      }
    }
    return matches;
  }

  absl::Status NoMatch(const Entry& entry) const {
    const char* what = entry.names_operator ? "operator" : "tensor";
    const std::vector<std::string> known =
        entry.names_operator ? plan::NamesOf(by_label_) : plan::NamesOf(by_name_);
    std::string near = IsPattern(entry.name) ? "" : plan::DidYouMean(entry.name, known);
    if (near.empty()) near = "; planproof show --operators lists them";
    return json_.Error(
        *entry.at, absl::StrCat("no ", what, " of the plan is called \"", entry.name, "\"", near));
  }

  absl::Status SelectDevices(const Entry& entry, std::vector<Match>* matches) const {
    const sdfg::Graph& graph = problem_.parallel;
    const auto device = [&](const Match& match) { return graph.tensors[match.tensor].device; };
    for (const int wanted : entry.devices) {
      const auto there = [&](const Match& match) { return device(match) == wanted; };
      if (std::any_of(matches->begin(), matches->end(), there)) continue;
      return json_.Error(*entry.at, absl::StrCat("\"", entry.name, "\" is not computed on device ",
                                                 wanted, " (of the first rank that has it)"));
    }
    if (!entry.devices.empty()) {
      const auto elsewhere = [&](const Match& match) {
        const auto& on = entry.devices;
        return std::find(on.begin(), on.end(), device(match)) == on.end();
      };
      matches->erase(std::remove_if(matches->begin(), matches->end(), elsewhere), matches->end());
    }
    if (IsPattern(entry.name) || entry.names_operator) return absl::OkStatus();
    std::map<sdfg::Device, int> on_device;
    for (const Match& match : *matches) {
      if (++on_device[device(match)] == 1) continue;
      return json_.Error(*entry.at,
                         absl::StrCat("several tensors of one device are called \"", entry.name,
                                      "\"; name the one that is meant by \"operator\""));
    }
    if (matches->size() > 1 && !entry.all_devices && entry.devices.empty()) {
      return json_.Error(*entry.at,
                         absl::StrCat("\"", entry.name, "\" is computed on ", matches->size(),
                                      " devices; say on which with "
                                      "\"devices\", a list or \"all\""));
    }
    return absl::OkStatus();
  }

  absl::Status AddOne(const Entry& entry, const Match& match) {
    if (static_cast<int64_t>(assumptions_.size()) >= kMostAssumed) {
      return json_.Beyond(*entry.at, "assumed tensors", kMostAssumed + 1, kMostAssumed);
    }
    const sdfg::Tensor& tensor = problem_.parallel.tensors[match.tensor];
    const auto [before, fresh] = line_of_.try_emplace(match.tensor, entry.at->line);
    if (!fresh) {
      return json_.Error(*entry.at, absl::StrCat("\"", tensor.name, "\" is assumed at line ",
                                                 before->second, ", too; leave one out"));
    }
    lineage::Assumption& assumption = assumptions_.emplace_back();
    assumption.tensor = match.tensor;
    assumption.reason = entry.reason;
    assumption.place = absl::StrCat(json_.file(), ":", entry.at->line);
    PLAN_ASSIGN_OR_RETURN(assumption.lineage, RelationOf(entry, match));
    const absl::Status status = check_(assumption);
    return status.ok() ? status : json_.Error(*entry.at, std::string(status.message()));
  }

  absl::StatusOr<lineage::Lineage> RelationOf(const Entry& entry, const Match& match) const {
    const sdfg::Tensor& tensor = problem_.parallel.tensors[match.tensor];
    if (!entry.stands_for.has_value()) {
      const lineage::Lineage& own = problem_.lineage[match.tensor];
      if (own.kind == lineage::LineageKind::kFull) return own;
      return json_.Error(
          *entry.at, own.kind == lineage::LineageKind::kNone
                         ? absl::StrCat("the plan does not say what \"", tensor.name,
                                        "\" is; say for which tensor of the model it stands with "
                                        "\"stands_for\"")
                         : absl::StrCat("\"", tensor.name,
                                        "\" is a term of a sum; assume the sum, or say with "
                                        "\"stands_for\" for what it stands"));
    }
    plan::Relation relation = *entry.stands_for;
    if (const size_t star = relation.of().find('*'); star != std::string::npos) {
      std::string of = relation.of();
      relation.set_of(of.replace(star, 1, match.star));
    }
    if (several_.count(relation.of()) != 0) {
      return json_.Error(*entry.at, absl::StrCat("several tensors of the model are called \"",
                                                 relation.of(), "\"; assume another one"));
    }
    plan::ProgramCoordinates coordinates{&axes_, {}};
    coordinates.fixed.resize(problem_.parallel.axes.size());
    for (const lineage::MeshAxis& axis : of_device_) {
      coordinates.fixed.emplace_back(std::max(tensor.device, 0) / axis.stride % axis.extent);
    }
    const sdfg::Shape local(tensor.shape.begin() + static_cast<std::ptrdiff_t>(tensor.axes.size()),
                            tensor.shape.end());
    absl::StatusOr<plan::ResolvedRelation> resolved = plan::ResolveRelation(
        relation, relation.of(), {&problem_.logical, &logical_}, coordinates, &tensor.axes, &local);
    if (resolved.ok()) return std::move(resolved->lineage);
    return json_.Error(*entry.at, absl::StrCat("\"", tensor.name,
                                               "\": ", std::string(resolved.status().message())));
  }

  const JsonCursor& json_;
  const lineage::Problem& problem_;
  const lineage::AssumptionCheck check_;
  std::map<std::string, std::vector<TensorId>> by_name_;           // of the plan
  std::map<std::string, std::vector<sdfg::OperatorId>> by_label_;  // of the plan
  std::unordered_map<std::string, TensorId> logical_;
  std::set<std::string> several_;  // names of more than one tensor of the model
  std::vector<sdfg::Axis> axes_;   // of the plan, then those of ranks that are spelled out
  std::vector<lineage::MeshAxis> of_device_;  // of the latter
  std::map<TensorId, int> line_of_;
  std::vector<lineage::Assumption> assumptions_;
  int64_t patterns_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<lineage::Assumption>> AssumptionsOf(std::string_view text,
                                                               const std::string& file,
                                                               const lineage::Problem& problem) {
  PLAN_ASSIGN_OR_RETURN(const JsonValue root, plan::ParseJson(text, file));
  const JsonCursor json(root, file);
  PLAN_RETURN_IF_ERROR(json.Object(root, {"assumptions"}));
  const JsonValue* list = root.Find("assumptions");
  if (list == nullptr) return json.Error(root, "a list \"assumptions\" is expected");
  PLAN_RETURN_IF_ERROR(json.IsArray(*list));
  if (list->items.empty()) {
    return json.Error(*list, "states no assumption; leave the file out to prove all of the plan");
  }
  const auto count = static_cast<int64_t>(list->items.size());
  if (count > kMostEntries) return json.Beyond(*list, "assumptions", count, kMostEntries);
  const EntryReader reader(json);
  Resolver resolver(json, problem);
  for (const JsonValue& item : list->items) {
    PLAN_ASSIGN_OR_RETURN(const Entry entry, reader.Read(item));
    PLAN_RETURN_IF_ERROR(resolver.Add(entry));
  }
  return resolver.Take();
}

absl::StatusOr<std::vector<lineage::Assumption>> ReadAssumptions(const std::string& path,
                                                                 const lineage::Problem& problem) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path, kMostBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::vector<lineage::Assumption>> assumptions =
      AssumptionsOf(*text, path, problem);
  if (assumptions.ok()) return assumptions;
  return UsageError(assumptions.status().code(), std::string(assumptions.status().message()));
}

}  // namespace planproof::frontend
