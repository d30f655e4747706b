// The tables of a trace: storages, tensors, groups, names.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontend/torch/gzip_file.h"
#include "frontend/torch/number_conversion.h"
#include "frontend/torch/trace_parser.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

constexpr int64_t kMostPacked = int64_t{256} << 20;
constexpr int64_t kMostBytes = int64_t{2} << 30;
constexpr int64_t kMostOperators = 4'000'000;
constexpr int64_t kMostExtent = int64_t{1} << 48;
constexpr int64_t kMostValues = 4096;
constexpr int64_t kMostRanks = 1 << 20;

// The real type of which a complex one's elements are two; kUnknown if it is none.
sdfg::DType RealTypeOf(sdfg::DType dtype) {
  if (dtype == sdfg::DType::kComplex64) return sdfg::DType::kFloat32;
  if (dtype == sdfg::DType::kComplex128) return sdfg::DType::kFloat64;
  return sdfg::DType::kUnknown;
}

}  // namespace

absl::StatusOr<const plan::JsonValue*> TraceParser::Needed(const Json& object,
                                                           const char* key) const {
  const Json* value = object.Find(key);
  if (value == nullptr) return at_.Error(object, absl::StrCat("the key '", key, "' is missing"));
  return value;
}

absl::StatusOr<int32_t> TraceParser::Number(const Json& json, size_t count,
                                            const char* what) const {
  if (json.kind != Json::Kind::kInteger) return at_.WrongKind(json, absl::StrCat("a ", what));
  if (json.integer < 0 || json.integer >= static_cast<int64_t>(count)) {
    return at_.Error(json, absl::StrCat("there is no ", what, " ", json.integer, " of ", count));
  }
  return static_cast<int32_t>(json.integer);
}

absl::StatusOr<std::vector<TensorNumber>> TraceParser::TensorsAt(const Json* json) const {
  std::vector<TensorNumber> tensors;
  if (json == nullptr) return tensors;
  PLAN_RETURN_IF_ERROR(at_.IsArray(*json));
  for (const Json& item : json->items) {
    PLAN_ASSIGN_OR_RETURN(tensors.emplace_back(), TensorAt(item));
  }
  return tensors;
}

absl::StatusOr<std::string> TraceParser::Text(const Json* number) const {
  if (number == nullptr || number->kind == Json::Kind::kNull) return std::string();
  PLAN_ASSIGN_OR_RETURN(const int32_t at, Number(*number, strings_.size(), "string"));
  return strings_[at];
}

absl::StatusOr<std::vector<int64_t>> TraceParser::Integers(const Json& json, int64_t low,
                                                           int64_t high) const {
  PLAN_RETURN_IF_ERROR(at_.IsArray(json));
  std::vector<int64_t> numbers;
  for (const Json& item : json.items) {
    PLAN_ASSIGN_OR_RETURN(numbers.emplace_back(), at_.Integer(item, low, high));
  }
  return numbers;
}

absl::StatusOr<std::pair<int64_t, int64_t>> TraceParser::Pair(const Json& json, int64_t low,
                                                              int64_t high) const {
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> pair, Integers(json, low, high));
  if (pair.size() != 2) return at_.Error(json, "two numbers are expected");
  return std::make_pair(pair[0], pair[1]);
}

absl::StatusOr<solver::Rational> TraceParser::Real(const Json& json) const {
  if (json.kind == Json::Kind::kInteger) return solver::Rational(json.integer);
  double value = 0;
  if (json.kind != Json::Kind::kReal) return at_.WrongKind(json, "a number");
  if (!absl::SimpleAtod(json.text, &value) || !std::isfinite(value)) {
    return at_.Error(json, "is no finite double");
  }
  return solver::Rational::FromDouble(value);
}

absl::StatusOr<bool> TraceParser::RealOrMinusInfinity(const Json& json,
                                                      solver::Rational* value) const {
  const Json* word = json.kind == Json::Kind::kObject ? json.Find("float") : nullptr;
  if (word == nullptr) {
    PLAN_ASSIGN_OR_RETURN(*value, Real(json));
    return false;
  }
  if (word->text == "-inf") return true;
  return absl::UnimplementedError(
      absl::StrCat(at_.Error(*word, absl::StrCat("the constant ", word->text)).message(),
                   " has no declared meaning; masks are read as 0 and -inf"));
}

absl::Status TraceParser::Each(const Json* list, absl::Status (TraceParser::*read)(const Json&)) {
  if (list == nullptr) return absl::OkStatus();
  PLAN_RETURN_IF_ERROR(at_.IsArray(*list));
  for (const Json& item : list->items) PLAN_RETURN_IF_ERROR((this->*read)(item));
  return absl::OkStatus();
}

absl::Status TraceParser::Groups(const Json& json) {
  PLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> ranks, Integers(json, 0, trace_.world - 1));
  if (std::set<int64_t>(ranks.begin(), ranks.end()).size() != ranks.size()) {
    return at_.Error(json, "a rank stands twice in one group");
  }
  trace_.groups.emplace_back(ranks.begin(), ranks.end());
  return absl::OkStatus();
}

absl::Status TraceParser::Axes(const Json& json) {
  PLAN_RETURN_IF_ERROR(at_.IsArray(json));
  if (json.items.size() != 2) return at_.Error(json, "a name and an extent are expected");
  PLAN_ASSIGN_OR_RETURN(std::string name, at_.Name(json.items[0]));
  PLAN_ASSIGN_OR_RETURN(const int64_t extent, at_.Integer(json.items[1], 1, kMostRanks));
  trace_.axes.emplace_back(std::move(name), extent);
  return absl::OkStatus();
}

// Whether a tensor of that type can hold the number.
absl::Status TraceParser::IsElement(const Json& json, sdfg::DType dtype,
                                    const solver::Rational& value) const {
  if (sdfg::IsFloating(dtype) || HoldsExactly(dtype, value)) return absl::OkStatus();
  return at_.Error(json, absl::StrCat(value.ToString(), " is no ", sdfg::DTypeName(dtype)));
}

absl::Status TraceParser::ReadStorage(const Json& json) {
  PLAN_RETURN_IF_ERROR(
      at_.Object(json, {"dtype", "size", "uniform", "values", "digest", "carried"}));
  Storage storage;
  PLAN_ASSIGN_OR_RETURN(const Json* dtype, Needed(json, "dtype"));
  PLAN_ASSIGN_OR_RETURN(const std::string name, at_.String(*dtype));
  storage.dtype = sdfg::DTypeFromName(name);
  PLAN_ASSIGN_OR_RETURN(const Json* size, Needed(json, "size"));
  PLAN_ASSIGN_OR_RETURN(storage.size, at_.Limited(*size, 0, kMostExtent, "size of a storage"));
  if (const sdfg::DType real = RealTypeOf(storage.dtype); real != sdfg::DType::kUnknown) {
    storage.dtype = real;
    storage.size *= 2;
  }
  if (storage.dtype == sdfg::DType::kUnknown) {
    return absl::UnimplementedError(
        absl::StrCat(at_.Error(*dtype, absl::StrCat("element type ", name)).message(),
                     " has no declared meaning; use one of docs/torch-trace.md"));
  }
  if (const Json* uniform = json.Find("uniform"); uniform != nullptr) {
    solver::Rational value;
    PLAN_ASSIGN_OR_RETURN(const bool infinite, RealOrMinusInfinity(*uniform, &value));
    if (!infinite) {
      PLAN_RETURN_IF_ERROR(IsElement(*uniform, storage.dtype, value));
      storage.uniform = std::move(value);
    } else {
      storage.minus_infinity = {true};
    }
  }
  if (const Json* values = json.Find("values"); values != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.IsArray(*values));
    if (static_cast<int64_t>(values->items.size()) != storage.size || storage.size > kMostValues) {
      return at_.Error(*values,
                       absl::StrCat("the storage has ", storage.size, " elements (of at most ",
                                    kMostValues, " values may be listed)"));
    }
    for (const Json& value : values->items) {
      PLAN_ASSIGN_OR_RETURN(const bool infinite,
                            RealOrMinusInfinity(value, &storage.values.emplace_back()));
      if (!infinite) PLAN_RETURN_IF_ERROR(IsElement(value, storage.dtype, storage.values.back()));
      storage.minus_infinity.push_back(infinite);
    }
  }
  if (const Json* digest = json.Find("digest"); digest != nullptr) {
    PLAN_ASSIGN_OR_RETURN(storage.digest, at_.Name(*digest));
    if (storage.digest.size() != 64) return at_.Error(*digest, "is no SHA-256");
  }
  if (const Json* carried = json.Find("carried"); carried != nullptr) {
    if (carried->kind != Json::Kind::kBool) return at_.WrongKind(*carried, "true");
    storage.carried = carried->boolean;
  }
  trace_.storages.push_back(std::move(storage));
  return absl::OkStatus();
}

absl::Status TraceParser::WithinStorage(const Json& json, const Tensor& tensor) const {
  const Storage& storage = trace_.storages[tensor.storage];
  if (tensor.dtype != storage.dtype) {
    return absl::UnimplementedError(absl::StrCat(
        at_.Error(json, "").message(), "a storage of ", sdfg::DTypeName(storage.dtype),
        " is looked at as ", sdfg::DTypeName(tensor.dtype), ", which has no declared meaning"));
  }
  int64_t last = tensor.offset;
  for (size_t k = 0; k < tensor.shape.size(); ++k) {
    if (tensor.shape[k] == 0) return absl::OkStatus();
    const int64_t steps = tensor.shape[k] - 1;
    if (steps != 0 && tensor.strides[k] > (storage.size - last) / steps)
      last = storage.size;
    else
      last += steps * tensor.strides[k];
  }
  if (last < storage.size) return absl::OkStatus();
  return at_.Error(json,
                   absl::StrCat("the tensor exceeds its storage of ", storage.size, " elements"));
}

absl::Status TraceParser::ReadTensor(const Json& json) {
  PLAN_RETURN_IF_ERROR(at_.IsArray(json));
  const std::vector<Json>& items = json.items;
  if (items.size() != 5 && items.size() != 6) {
    return at_.Error(json, "expected [storage, dtype, offset, shape, strides, flags]");
  }
  Tensor tensor;
  PLAN_ASSIGN_OR_RETURN(tensor.storage, Number(items[0], trace_.storages.size(), "storage"));
  PLAN_ASSIGN_OR_RETURN(const std::string name, at_.String(items[1]));
  tensor.dtype = sdfg::DTypeFromName(name);
  PLAN_ASSIGN_OR_RETURN(tensor.offset, at_.Integer(items[2], 0, kMostExtent));
  PLAN_ASSIGN_OR_RETURN(tensor.shape, Integers(items[3], 0, kMostExtent));
  PLAN_ASSIGN_OR_RETURN(tensor.strides, Integers(items[4], 0, kMostExtent));
  if (tensor.shape.size() != tensor.strides.size() || tensor.shape.size() > 16) {
    return at_.Error(json, "expected a stride per dimension, and at most 16 dimensions");
  }
  if (items.size() == 6) {
    PLAN_ASSIGN_OR_RETURN(const int64_t flags, at_.Integer(items[5], 0, 3));
    tensor.conjugate = (flags & 1) != 0;
    tensor.negative = (flags & 2) != 0;
  }
  if (const sdfg::DType real = RealTypeOf(tensor.dtype); real != sdfg::DType::kUnknown) {
    tensor.dtype = real;
    tensor.complex = true;
    tensor.offset *= 2;
    for (int64_t& stride : tensor.strides) stride *= 2;
    tensor.shape.push_back(2);
    tensor.strides.push_back(1);
  } else if (tensor.conjugate) {
    return at_.Error(json, "only a complex tensor is conjugated");
  }
  PLAN_RETURN_IF_ERROR(WithinStorage(json, tensor));
  trace_.tensors.push_back(std::move(tensor));
  return absl::OkStatus();
}

absl::Status TraceParser::ReadPart(const Json& json, Part* part) const {
  if (const Json* whole = json.Find("of"); whole != nullptr) {
    PLAN_ASSIGN_OR_RETURN(part->whole, Integers(*whole, 0, kMostExtent));
  }
  if (const Json* place = json.Find("place"); place != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.IsArray(*place));
    if (!part->whole || part->whole->size() != place->items.size()) {
      return at_.Error(*place, "expected one list per dimension of the whole, whose shape is 'of'");
    }
    bool all = true;
    for (size_t d = 0; d < place->items.size(); ++d) {
      PLAN_RETURN_IF_ERROR(at_.IsArray(place->items[d]));
      std::vector<std::pair<int64_t, int64_t>>& ranges = part->place.emplace_back();
      for (const Json& range : place->items[d].items) {
        PLAN_ASSIGN_OR_RETURN(ranges.emplace_back(), Pair(range, 0, kMostExtent));
        if (ranges.size() > 1) {  // one that follows the one before it is the same range
          std::pair<int64_t, int64_t>& before = ranges[ranges.size() - 2];
          if (before.first + before.second == ranges.back().first) {
            before.second += ranges.back().second;
            ranges.pop_back();
          }
        }
        if (ranges.back().first + ranges.back().second > (*part->whole)[d]) {
          return at_.Error(
              range, absl::StrCat("exceeds dimension ", d, " of the whole, ", (*part->whole)[d]));
        }
      }
      all = all && ranges == std::vector<std::pair<int64_t, int64_t>>{{0, (*part->whole)[d]}};
    }
    if (all) part->place.clear();
  }
  if (const Json* flat = json.Find("flat"); flat != nullptr) {
    if (!part->whole || !part->place.empty()) {
      return at_.Error(*flat, "needs the whole's shape, 'of', and excludes 'place'");
    }
    PLAN_ASSIGN_OR_RETURN(part->flat, Pair(*flat, 0, kMostExtent));
  }
  return absl::OkStatus();
}

absl::Status TraceParser::ReadDomain(const Json& json, Input* input) const {
  const bool whole = sdfg::IsInteger(trace_.tensors[input->tensor].dtype);
  PLAN_RETURN_IF_ERROR(at_.IsArray(json));
  if (whole) {
    PLAN_ASSIGN_OR_RETURN(input->domain, Pair(json, -kMostExtent, kMostExtent));
    return absl::OkStatus();
  }
  if (json.items.size() != 2 || json.items[0].kind != Json::Kind::kInteger ||
      json.items[0].integer != 0 || json.items[1].kind != Json::Kind::kNull) {
    return at_.Error(json, "expected [0, null] of real numbers: not negative");
  }
  input->nonnegative = true;
  return absl::OkStatus();
}

absl::Status TraceParser::ReadInput(const Json& json) {
  PLAN_RETURN_IF_ERROR(
      at_.Object(json, {"role", "name", "tensor", "of", "place", "flat", "domain", "parameter"}));
  Input input;
  PLAN_ASSIGN_OR_RETURN(const Json* role, Needed(json, "role"));
  PLAN_ASSIGN_OR_RETURN(const std::string word, at_.String(*role));
  constexpr const char* kWords[] = {"parameter", "buffer", "input", "state"};
  const auto* found = std::find(std::begin(kWords), std::end(kWords), word);
  if (found == std::end(kWords)) {
    return at_.Error(*role, "expected parameter, buffer, input or state");
  }
  input.role = static_cast<InputRole>(found - std::begin(kWords));
  PLAN_ASSIGN_OR_RETURN(const Json* name, Needed(json, "name"));
  PLAN_ASSIGN_OR_RETURN(input.name, at_.Name(*name));
  PLAN_ASSIGN_OR_RETURN(const Json* tensor, Needed(json, "tensor"));
  PLAN_ASSIGN_OR_RETURN(input.tensor, TensorAt(*tensor));
  PLAN_RETURN_IF_ERROR(ReadPart(json, &input.part));
  if (const Json* domain = json.Find("domain"); domain != nullptr) {
    PLAN_RETURN_IF_ERROR(ReadDomain(*domain, &input));
  }
  if (const Json* parameter = json.Find("parameter"); parameter != nullptr) {
    PLAN_ASSIGN_OR_RETURN(input.parameter, at_.Name(*parameter));
  }
  trace_.inputs.push_back(std::move(input));
  return absl::OkStatus();
}

absl::Status TraceParser::ReadResult(const Json& json) {
  PLAN_RETURN_IF_ERROR(
      at_.Object(json, {"kind", "name", "tensor", "of", "place", "flat", "reduce", "group"}));
  TraceResult result;
  PLAN_ASSIGN_OR_RETURN(const Json* kind, Needed(json, "kind"));
  PLAN_ASSIGN_OR_RETURN(const std::string word, at_.String(*kind));
  constexpr const char* kWords[] = {"updated", "gradient", "output"};
  const auto* found = std::find(std::begin(kWords), std::end(kWords), word);
  if (found == std::end(kWords)) return at_.Error(*kind, "expected updated, gradient or output");
  result.kind = static_cast<ResultKind>(found - std::begin(kWords));
  PLAN_ASSIGN_OR_RETURN(const Json* name, Needed(json, "name"));
  PLAN_ASSIGN_OR_RETURN(result.name, at_.Name(*name));
  PLAN_ASSIGN_OR_RETURN(const Json* tensor, Needed(json, "tensor"));
  PLAN_ASSIGN_OR_RETURN(result.tensor, TensorAt(*tensor));
  PLAN_RETURN_IF_ERROR(ReadPart(json, &result.part));
  if (const Json* reduce = json.Find("reduce"); reduce != nullptr) {
    if (result.kind == ResultKind::kUpdated) {
      return at_.Error(*reduce, "stands at outputs and gradients only");
    }
    PLAN_ASSIGN_OR_RETURN(result.reduce, ReadReduction(*reduce));
    PLAN_ASSIGN_OR_RETURN(const Json* group, Needed(json, "group"));
    PLAN_ASSIGN_OR_RETURN(result.group, Number(*group, trace_.groups.size(), "group"));
  }
  trace_.results.push_back(std::move(result));
  return absl::OkStatus();
}

absl::Status TraceParser::ReadWhatVersion2Adds() {
  const Json* values = root_.Find("values");
  const Json* environment = root_.Find("environment");
  for (const Json* added : {values, environment}) {
    if (added == nullptr || trace_.version > 1) continue;
    return at_.Error(*added, "stands in traces of version 2 only; record the program again");
  }
  if (values != nullptr) {
    PLAN_ASSIGN_OR_RETURN(trace_.values, at_.Name(*values));
    const bool hexadecimal =
        std::all_of(trace_.values.begin(), trace_.values.end(),
                    [](const char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    if (trace_.values.size() != 64 || !hexadecimal) return at_.Error(*values, "is no SHA-256");
  }
  return environment == nullptr ? absl::OkStatus() : ReadEnvironment(*environment);
}

absl::StatusOr<Trace> TraceParser::Run() {
  PLAN_RETURN_IF_ERROR(at_.Object(
      root_,
      {"planproof_torch_trace", "torch", "rank", "world", "axes", "groups", "strings", "storages",
       "tensors", "inputs", "operators", "results", "notes", "values", "environment", "numbers"}));
  PLAN_ASSIGN_OR_RETURN(const Json* version, Needed(root_, "planproof_torch_trace"));
  if (version->kind != Json::Kind::kInteger || version->integer < 1 || version->integer > 2) {
    return at_.Error(*version, "expected version 1 or 2; record the program again");
  }
  trace_.version = static_cast<int32_t>(version->integer);
  PLAN_RETURN_IF_ERROR(ReadWhatVersion2Adds());
  PLAN_ASSIGN_OR_RETURN(const Json* world, Needed(root_, "world"));
  PLAN_ASSIGN_OR_RETURN(const int64_t ranks, at_.Limited(*world, 1, kMostRanks, "ranks"));
  trace_.world = static_cast<int32_t>(ranks);
  PLAN_ASSIGN_OR_RETURN(const Json* rank, Needed(root_, "rank"));
  PLAN_ASSIGN_OR_RETURN(trace_.rank, Number(*rank, trace_.world, "rank"));
  for (const auto& [key, texts] :
       {std::pair("strings", &strings_), std::pair("notes", &trace_.notes)}) {
    const Json* list = root_.Find(key);
    if (list == nullptr) continue;
    PLAN_RETURN_IF_ERROR(at_.IsArray(*list));
    for (const Json& item : list->items) {
      PLAN_ASSIGN_OR_RETURN(texts->emplace_back(), at_.String(item));
    }
  }
  PLAN_RETURN_IF_ERROR(Each(root_.Find("axes"), &TraceParser::Axes));
  PLAN_RETURN_IF_ERROR(Each(root_.Find("groups"), &TraceParser::Groups));
  PLAN_RETURN_IF_ERROR(Each(root_.Find("storages"), &TraceParser::ReadStorage));
  PLAN_RETURN_IF_ERROR(Each(root_.Find("tensors"), &TraceParser::ReadTensor));
  PLAN_RETURN_IF_ERROR(Each(root_.Find("inputs"), &TraceParser::ReadInput));
  PLAN_RETURN_IF_ERROR(Each(root_.Find("numbers"), &TraceParser::ReadNumber));
  PLAN_ASSIGN_OR_RETURN(const Json* operators, Needed(root_, "operators"));
  if (static_cast<int64_t>(operators->items.size()) > kMostOperators) {
    return at_.Beyond(*operators, "operators", operators->items.size(), kMostOperators);
  }
  PLAN_RETURN_IF_ERROR(Each(operators, &TraceParser::ReadOperator));
  PLAN_RETURN_IF_ERROR(Each(root_.Find("results"), &TraceParser::ReadResult));
  return std::move(trace_);
}

absl::StatusOr<Trace> ParseTrace(const std::string& text, const std::string& path) {
  plan::JsonLimits limits;
  limits.depth = 32;
  limits.values = 400'000'000;
  PLAN_ASSIGN_OR_RETURN(const plan::JsonValue root, plan::ParseJson(text, path, limits));
  return TraceParser(root, path).Run();
}

absl::StatusOr<Trace> ReadTrace(const std::string& path) {
  PLAN_ASSIGN_OR_RETURN(const std::string text, ReadGzipFile(path, kMostPacked, kMostBytes));
  return ParseTrace(text, path);
}

}  // namespace planproof::frontend::torch
