#include "monitor/journal/json_frames.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "dumps/json_object.h"
#include "monitor/journal/words.h"

namespace planproof::monitor {
namespace {

using dumps::JsonObject;
using Json = nlohmann::json;

constexpr int kMostNesting = 16;
constexpr int64_t kMostOptimizers = 4096;
constexpr int64_t kMostSteps = int64_t{1} << 53;

// Brackets outside of texts: what is nested deeply takes far more memory than its text.
bool NestsTooDeep(absl::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMostNesting) return true;
  }
  return false;
}

absl::StatusOr<Json> ParseObject(absl::string_view payload) {
  if (NestsTooDeep(payload)) return absl::InvalidArgumentError("JSON that is nested too deeply");
  Json json = Json::parse(payload, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("a JSON object is expected");
  return json;
}

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

std::string TextOr(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

bool TruthOr(const Json& json, const char* key, bool otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

template <class T>
absl::Status ReadNumbers(const Json& json, const char* key, int64_t least, int64_t most,
                         std::vector<T>* numbers) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return absl::OkStatus();
  JsonObject object(json);
  for (const int64_t number : object.Integers(key)) {
    if (number < least || number > most) return Wrong(absl::StrCat("\"", key, "\": ", number));
    numbers->push_back(static_cast<T>(number));
  }
  return object.status();
}

// [start, length].
absl::StatusOr<std::pair<int64_t, int64_t>> ReadSegment(const Json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() ||
      !json[1].is_number_integer()) {
    return Wrong("a segment is [start, length]");
  }
  const auto start = json[0].get<int64_t>(), length = json[1].get<int64_t>();
  if (start < 0 || length < 0 || start >= kMostExtent || length >= kMostExtent)
    return Wrong("a segment that is no part of a tensor");
  return std::pair(start, length);
}

absl::Status ReadPlace(const Json& json, HeldTensor* tensor) {
  if (const auto flat = json.find("flat"); flat != json.end() && !flat->is_null()) {
    absl::StatusOr<std::pair<int64_t, int64_t>> segment = ReadSegment(*flat);
    if (!segment.ok()) return segment.status();
    tensor->flat = *segment;
  }
  const auto place = json.find("place");
  if (place == json.end() || place->is_null()) return absl::OkStatus();
  if (!place->is_array() || place->size() != tensor->of.size())
    return Wrong("\"place\" has another number of dimensions than \"of\"");
  for (const Json& dimension : *place) {
    if (!dimension.is_array()) return Wrong("\"place\" is no list of lists");
    std::vector<std::pair<int64_t, int64_t>>& segments = tensor->place.emplace_back();
    for (const Json& one : dimension) {
      absl::StatusOr<std::pair<int64_t, int64_t>> segment = ReadSegment(one);
      if (!segment.ok()) return segment.status();
      segments.push_back(*segment);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HeldTensor> ReadTensor(const Json& json, int64_t number) {
  JsonObject object(json);
  HeldTensor tensor;
  tensor.name = object.Text("name");
  tensor.of = object.Integers("of");
  tensor.dtype = object.Text("dtype");
  tensor.local = object.Integer("local", 0, kMostExtent);
  if (!object.status().ok()) return object.status();
  if (static_cast<int64_t>(tensor.of.size()) > kMostDimensions) return Wrong("over 16 dimensions");
  for (const int64_t extent : tensor.of) {
    if (extent < 0 || extent >= kMostExtent) return Wrong(absl::StrCat("an extent of ", extent));
  }
  tensor.significand_bits = SignificandFromDtype(tensor.dtype);
  if (absl::Status status = ReadPlace(json, &tensor); !status.ok()) return status;
  if (const auto shared = json.find("shared_with"); shared != json.end() && !shared->is_null()) {
    tensor.shared_with = static_cast<int32_t>(object.Integer("shared_with", 0, number - 1));
    if (!object.status().ok()) return object.status();
  }
  tensor.buffer = TruthOr(json, "buffer", false);
  tensor.trainable = TruthOr(json, "trainable", !tensor.buffer);
  if (absl::Status status = ReadNumbers(json, "optimizers", 0, kMostOptimizers, &tensor.optimizers);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = ReadNumbers(json, "replicas", 0, kMostRanks - 1, &tensor.replicas);
      !status.ok()) {
    return status;
  }
  return tensor;
}

Option ReadOption(const Json& json) {
  Option option;
  if (json.is_boolean()) {
    option.kind = Option::Kind::kBool;
    option.number = json.get<bool>() ? 1 : 0;
  } else if (json.is_number()) {
    option.kind = Option::Kind::kNumber;
    option.number = json.get<double>();
  } else if (json.is_array()) {
    option.kind = Option::Kind::kNumbers;
    for (const Json& number : json)
      option.numbers.push_back(number.is_number() ? number.get<double>() : std::nan(""));
  } else if (!json.is_null()) {
    option.kind = Option::Kind::kText;
    option.text = json.is_string() ? json.get<std::string>() : json.dump();
  }
  return option;
}

// Shapes; what is none is left out.
void ReadOthers(const Json& json, ParameterGroup* group) {
  if (!json.is_array()) return;
  for (const Json& shape : json) {
    std::vector<int64_t> extents;
    bool whole = shape.is_array();
    for (size_t i = 0; whole && i < shape.size(); ++i) {
      whole = shape[i].is_number_integer();
      if (whole) extents.push_back(shape[i].get<int64_t>());
    }
    if (whole) group->others.push_back(std::move(extents));
  }
}

absl::StatusOr<ParameterGroup> ReadGroup(const Json& json, const TensorTable* table) {
  if (!json.is_object()) return Wrong("\"groups\" is no list of objects");
  ParameterGroup group;
  for (const auto& [name, value] : json.items()) {
    if (name == "others") {
      ReadOthers(value, &group);
    } else if (name != "tensors") {
      group.options.emplace_back(name, ReadOption(value));
    }
  }
  const int64_t tensors = table == nullptr ? 0 : static_cast<int64_t>(table->size());
  if (absl::Status status = ReadNumbers(json, "tensors", 0, tensors - 1, &group.tensors);
      !status.ok()) {
    return status;
  }
  return group;
}

absl::Status ReadModules(const Json& json, Header* header) {
  const auto modules = json.find("modules");
  if (modules == json.end()) return absl::OkStatus();
  if (!modules->is_array()) return Wrong("\"modules\" is no list");
  for (const Json& module : *modules) {
    if (!module.is_array() || module.size() != 2 || !module[0].is_string() ||
        !module[1].is_string()) {
      return Wrong("a module is [name, class]");
    }
    header->modules.emplace_back(module[0].get<std::string>(), module[1].get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ReadOptimizers(const Json& json, Header* header) {
  const auto optimizers = json.find("optimizers");
  if (optimizers == json.end()) return absl::OkStatus();
  if (!optimizers->is_array()) return Wrong("\"optimizers\" is no list");
  for (const Json& one : *optimizers) {
    JsonObject object(one);
    OptimizerOfRun optimizer{.name = object.Text("name"), .class_name = object.Text("class")};
    if (object.status().ok() && one.contains("wrapped"))
      optimizer.wrapped_by = object.Texts("wrapped");
    if (!object.status().ok()) return object.status();
    optimizer.kind = OptimizerFromClass(optimizer.class_name);
    header->optimizers.push_back(std::move(optimizer));
  }
  return absl::OkStatus();
}

// [other input, k].
absl::StatusOr<std::pair<std::string, int64_t>> ReadShift(const Json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_string() || !json[1].is_number_integer())
    return Wrong("a shift is [other input, k]");
  return std::pair(json[0].get<std::string>(), json[1].get<int64_t>());
}

absl::StatusOr<BatchInput> ReadInput(const Json& json) {
  JsonObject object(json);
  BatchInput input{.name = object.Text("name"),
                   .dtype = object.Text("dtype"),
                   .shape = object.Integers("shape")};
  const std::string fingerprint = object.Text("fingerprint");
  if (!object.status().ok()) return object.status();
  if (!absl::SimpleHexAtoi(fingerprint, &input.fingerprint))
    return Wrong("\"fingerprint\" is no hexadecimal number");
  if (const auto shifts = json.find("shifts"); shifts != json.end()) {
    if (!shifts->is_array()) return Wrong("\"shifts\" is no list");
    for (const Json& one : *shifts) {
      absl::StatusOr<std::pair<std::string, int64_t>> shift = ReadShift(one);
      if (!shift.ok()) return shift.status();
      input.shifts.push_back(*std::move(shift));
    }
  }
  return input;
}

}  // namespace

absl::StatusOr<Header> ReadHeader(absl::string_view payload) {
  const absl::StatusOr<Json> json = ParseObject(payload);
  if (!json.ok()) return json.status();
  JsonObject object(*json);
  Header header;
  header.rank = static_cast<int>(object.Integer("rank", 0, kMostRanks - 1));
  header.world = static_cast<int>(object.Integer("world", 1, kMostRanks));
  header.every = object.Integer("every", 1, kMostSteps);
  if (!object.status().ok()) return object.status();
  if (header.rank >= header.world) return Wrong("\"rank\" is not below \"world\"");
  header.torch = TextOr(*json, "torch");
  header.device = TextOr(*json, "device");
  header.on_cpu = absl::StartsWith(header.device, "cpu");
  header.program = TextOr(*json, "program");
  if (const auto start = json->find("start"); start != json->end() && start->is_number())
    header.start = start->get<double>();
  if (absl::Status status = ReadModules(*json, &header); !status.ok()) return status;
  if (absl::Status status = ReadOptimizers(*json, &header); !status.ok()) return status;
  return header;
}

absl::StatusOr<TensorTable> ReadTensors(absl::string_view payload) {
  const absl::StatusOr<Json> json = ParseObject(payload);
  if (!json.ok()) return json.status();
  const auto tensors = json->find("tensors");
  if (tensors == json->end() || !tensors->is_array()) return Wrong("\"tensors\" is no list");
  if (static_cast<int64_t>(tensors->size()) > kMostTensors)
    return Wrong(absl::StrCat("over ", kMostTensors, " tensors"));
  TensorTable table;
  table.reserve(tensors->size());
  for (const Json& one : *tensors) {
    absl::StatusOr<HeldTensor> tensor = ReadTensor(one, static_cast<int64_t>(table.size()));
    if (!tensor.ok())
      return Wrong(absl::StrCat("tensor ", table.size(), ": ", tensor.status().message()));
    table.push_back(*std::move(tensor));
  }
  return table;
}

absl::StatusOr<OptimizerOptions> ReadOptions(absl::string_view payload,
                                             std::shared_ptr<const TensorTable> table) {
  const absl::StatusOr<Json> json = ParseObject(payload);
  if (!json.ok()) return json.status();
  JsonObject object(*json);
  OptimizerOptions options;
  options.optimizer = static_cast<int32_t>(object.Integer("optimizer", 0, kMostOptimizers));
  const Json& groups = object.Get("groups");
  if (!object.status().ok()) return object.status();
  if (!groups.is_array()) return Wrong("\"groups\" is no list");
  for (const Json& one : groups) {
    absl::StatusOr<ParameterGroup> group = ReadGroup(one, table.get());
    if (!group.ok()) return group.status();
    options.groups.push_back(*std::move(group));
  }
  options.table = std::move(table);
  return options;
}

absl::StatusOr<BatchOfStep> ReadBatch(absl::string_view payload) {
  const absl::StatusOr<Json> json = ParseObject(payload);
  if (!json.ok()) return json.status();
  JsonObject object(*json);
  BatchOfStep batch{.step = object.Integer("step", 0, kMostSteps)};
  const Json& inputs = object.Get("inputs");
  if (!object.status().ok()) return object.status();
  if (!inputs.is_array()) return Wrong("\"inputs\" is no list");
  for (const Json& one : inputs) {
    absl::StatusOr<BatchInput> input = ReadInput(one);
    if (!input.ok()) return input.status();
    batch.inputs.push_back(*std::move(input));
  }
  return batch;
}

absl::StatusOr<Closing> ReadClosing(absl::string_view payload) {
  const absl::StatusOr<Json> json = ParseObject(payload);
  if (!json.ok()) return json.status();
  JsonObject object(*json);
  Closing closing{.as_planned = object.Text("reason") == "closed",
                  .exception = TextOr(*json, "exception"),
                  .steps = object.Integer("steps", 0, kMostSteps)};
  if (!object.status().ok()) return object.status();
  return closing;
}

absl::StatusOr<NotObserved> ReadNotObserved(absl::string_view payload) {
  const absl::StatusOr<Json> json = ParseObject(payload);
  if (!json.ok()) return json.status();
  JsonObject object(*json);
  NotObserved fact{.what = object.Text("what"), .why = object.Text("why")};
  if (!object.status().ok()) return object.status();
  fact.kind = NotObservedFromText(fact.what);
  return fact;
}

}  // namespace planproof::monitor
