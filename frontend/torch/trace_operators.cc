// What a trace says was executed: operators, their values, collectives.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "frontend/torch/trace_parser.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {

std::vector<TensorNumber> TensorsIn(const Value& value) {
  if (value.kind == Value::Kind::kTensor) return {value.tensor};
  std::vector<TensorNumber> tensors;
  for (const Value& item : value.list) {
    const std::vector<TensorNumber> inner = TensorsIn(item);
    tensors.insert(tensors.end(), inner.begin(), inner.end());
  }
  return tensors;
}
namespace {

constexpr const char* kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "broadcast",  "reduce",     "gather",         "scatter",
                                        "send",       "recv",       "barrier"};
constexpr const char* kReductions[] = {"sum", "avg", "max", "min"};
constexpr int64_t kMostItems = int64_t{1} << 30;
constexpr int64_t kMostRecorded = 4096;
constexpr int kMostDepth = 8;
constexpr int kMostComputed = 24;

}  // namespace

bool HasRoot(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce ||
         kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
}

std::string NameOf(ResultKind kind, const std::string& name) {
  if (kind == ResultKind::kUpdated) return absl::StrCat("new value of ", name);
  if (kind == ResultKind::kGradient) return absl::StrCat("gradient of ", name);
  return name;
}

const char* CollectiveName(CollectiveKind kind) { return kCollectives[static_cast<int>(kind)]; }

absl::StatusOr<Reduction> TraceParser::ReadReduction(const Json& json) const {
  PLAN_ASSIGN_OR_RETURN(const std::string word, at_.String(json));
  const auto* found = std::find(std::begin(kReductions), std::end(kReductions), word);
  if (found == std::end(kReductions)) return at_.Error(json, "expected sum, avg, max or min");
  return static_cast<Reduction>(found - std::begin(kReductions));
}

absl::StatusOr<Value> TraceParser::ReadTagged(const Json& json) const {
  Value value;
  if (const Json* tensor = json.Find("tensor"); tensor != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"tensor"}));
    value.kind = Value::Kind::kTensor;
    PLAN_ASSIGN_OR_RETURN(value.tensor, TensorAt(*tensor));
  } else if (const Json* dtype = json.Find("dtype"); dtype != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"dtype"}));
    value.kind = Value::Kind::kDType;
    PLAN_ASSIGN_OR_RETURN(value.text, at_.String(*dtype));
    value.dtype = sdfg::DTypeFromName(value.text);
    value.complex_dtype =
        value.dtype == sdfg::DType::kComplex64 || value.dtype == sdfg::DType::kComplex128;
  } else if (const Json* item = json.Find("item"); item != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"item", "value"}));
    value.kind = Value::Kind::kItem;
    PLAN_ASSIGN_OR_RETURN(const int64_t number, at_.Integer(*item, 0, kMostItems));
    value.item = static_cast<int32_t>(number);
    const Json* was = json.Find("value");
    if (was == nullptr) return value;  // within what is computed of it
    if (was->kind == Json::Kind::kBool) {
      value.real = solver::Rational(was->boolean ? 1 : 0);
    } else {
      PLAN_ASSIGN_OR_RETURN(value.real, Real(*was));
    }
  } else if (const Json* number = json.Find("float"); number != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"float"}));
    PLAN_ASSIGN_OR_RETURN(const std::string word, at_.String(*number));
    if (word != "inf" && word != "-inf" && word != "nan") {
      return at_.Error(*number, "expected inf, -inf or nan");
    }
    value.kind = Value::Kind::kInfinite;
    value.infinity = word == "nan" ? 0 : word == "inf" ? 1 : -1;
  } else if (const Json* expression = json.Find("computed"); expression != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"computed", "value"}));
    PLAN_ASSIGN_OR_RETURN(value, ReadComputed(*expression, 0));
    PLAN_ASSIGN_OR_RETURN(const Json* was, Needed(json, "value"));
    PLAN_ASSIGN_OR_RETURN(value.real, Real(*was));
    value.recorded = true;
  } else if (const Json* source = json.Find("may_be"); source != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"may_be", "value"}));
    value.kind = Value::Kind::kMayBe;
    PLAN_ASSIGN_OR_RETURN(value.item, Number(*source, trace_.numbers.size(), "entry of numbers"));
    PLAN_ASSIGN_OR_RETURN(const Json* was, Needed(json, "value"));
    PLAN_ASSIGN_OR_RETURN(value.real, Real(*was));
  } else if (const Json* parts = json.Find("complex"); parts != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"complex"}));
    PLAN_RETURN_IF_ERROR(at_.IsArray(*parts));
    if (parts->items.size() != 2) return at_.Error(*parts, "expected a real and an imaginary part");
    value.kind = Value::Kind::kComplex;
    for (const Json& part : parts->items) {
      Value number;
      number.kind = Value::Kind::kReal;
      PLAN_ASSIGN_OR_RETURN(number.real, Real(part));
      value.list.push_back(std::move(number));
    }
  } else if (json.Find("other") != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.Object(json, {"other"}));
    value.kind = Value::Kind::kOther;
  } else {
    return at_.Error(json, "expected one of the objects tensor, dtype, item, float, other");
  }
  return value;
}

absl::StatusOr<Value> TraceParser::ReadComputed(const Json& json, int depth) const {
  Value value;
  if (json.kind != Json::Kind::kArray) {
    PLAN_ASSIGN_OR_RETURN(value, ReadValue(json, depth));
    if (value.kind == Value::Kind::kInteger || value.kind == Value::Kind::kReal ||
        value.kind == Value::Kind::kItem) {
      return value;
    }
    return at_.Error(json, "expected a number, an item or a list [operation, operands...]");
  }
  constexpr const char* kOperations[] = {"add", "sub", "mul", "div", "pow", "neg"};
  if (json.items.empty() || depth > kMostComputed) {
    return at_.Error(
        json, absl::StrCat("expected an operation, nested at most ", kMostComputed, " deep"));
  }
  value.kind = Value::Kind::kComputed;
  PLAN_ASSIGN_OR_RETURN(value.text, at_.String(json.items[0]));
  if (value.text == "call") {
    if (json.items.size() < 3) return at_.Error(json, "expected a function and its operands");
    PLAN_ASSIGN_OR_RETURN(value.function, at_.Name(json.items[1]));
    for (size_t i = 2; i < json.items.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(value.list.emplace_back(), ReadComputed(json.items[i], depth + 1));
    }
    return value;
  }
  if (std::find(std::begin(kOperations), std::end(kOperations), value.text) ==
          std::end(kOperations) ||
      json.items.size() != (value.text == "neg" ? 2 : 3)) {
    return at_.Error(json, "expected add, sub, mul, div or pow of two operands, or neg of one");
  }
  for (size_t i = 1; i < json.items.size(); ++i) {
    PLAN_ASSIGN_OR_RETURN(value.list.emplace_back(), ReadComputed(json.items[i], depth + 1));
  }
  return value;
}

absl::StatusOr<Value> TraceParser::ReadValue(const Json& json, int depth) const {
  Value value;
  switch (json.kind) {
    case Json::Kind::kNull:
      break;
    case Json::Kind::kBool:
      value.kind = Value::Kind::kBool;
      value.boolean = json.boolean;
      value.real = solver::Rational(json.boolean ? 1 : 0);
      break;
    case Json::Kind::kInteger:
      value.kind = Value::Kind::kInteger;
      value.integer = json.integer;
      value.real = solver::Rational(json.integer);
      break;
    case Json::Kind::kReal: {
      value.kind = Value::Kind::kReal;
      PLAN_ASSIGN_OR_RETURN(value.real, Real(json));
      break;
    }
    case Json::Kind::kString:
      value.kind = Value::Kind::kString;
      value.text = json.text;
      break;
    case Json::Kind::kArray:
      value.kind = Value::Kind::kList;
      if (depth >= kMostDepth) return at_.Error(json, "lists are nested too deeply");
      for (const Json& item : json.items) {
        PLAN_ASSIGN_OR_RETURN(value.list.emplace_back(), ReadValue(item, depth + 1));
      }
      break;
    case Json::Kind::kObject:
      return ReadTagged(json);
  }
  return value;
}

absl::Status TraceParser::ReadCollective(const Json& json, Collective* collective) const {
  PLAN_ASSIGN_OR_RETURN(const Json* kind, Needed(json, "collective"));
  PLAN_ASSIGN_OR_RETURN(const std::string word, at_.String(*kind));
  const auto* found = std::find(std::begin(kCollectives), std::end(kCollectives), word);
  if (found == std::end(kCollectives)) {
    return absl::UnimplementedError(
        absl::StrCat(at_.Error(*kind, absl::StrCat("collective '", word, "'")).message(),
                     " has no declared meaning; docs/torch-trace.md lists those that have one"));
  }
  collective->kind = static_cast<CollectiveKind>(found - std::begin(kCollectives));
  PLAN_ASSIGN_OR_RETURN(const Json* group, Needed(json, "group"));
  PLAN_ASSIGN_OR_RETURN(collective->group, Number(*group, trace_.groups.size(), "group"));
  PLAN_ASSIGN_OR_RETURN(collective->in, TensorsAt(json.Find("in")));
  PLAN_ASSIGN_OR_RETURN(collective->out, TensorsAt(json.Find("out")));
  if (const Json* reduce = json.Find("reduce"); reduce != nullptr) {
    PLAN_ASSIGN_OR_RETURN(collective->reduce, ReadReduction(*reduce));
  }
  if (const Json* factor = json.Find("factor"); factor != nullptr) {
    PLAN_ASSIGN_OR_RETURN(collective->factor, Real(*factor));
  }
  if (HasRoot(collective->kind)) {
    PLAN_ASSIGN_OR_RETURN(const Json* root, Needed(json, "root"));
    PLAN_ASSIGN_OR_RETURN(collective->root, Number(*root, trace_.world, "rank"));
  }
  if (collective->kind == CollectiveKind::kSend || collective->kind == CollectiveKind::kReceive) {
    PLAN_ASSIGN_OR_RETURN(const Json* peer, Needed(json, "peer"));
    PLAN_ASSIGN_OR_RETURN(collective->peer, Number(*peer, trace_.world, "rank"));
  }
  if (const Json* tag = json.Find("tag"); tag != nullptr) {
    PLAN_ASSIGN_OR_RETURN(collective->tag, at_.Integer(*tag, 0, kMostItems));
  }
  for (const auto& [key, splits] : {std::pair("in_splits", &collective->in_splits),
                                    std::pair("out_splits", &collective->out_splits)}) {
    const Json* value = json.Find(key);
    if (value == nullptr) continue;
    PLAN_ASSIGN_OR_RETURN(*splits, Integers(*value, 0, kMostItems));
  }
  if (const Json* work = json.Find("work"); work != nullptr) {
    PLAN_ASSIGN_OR_RETURN(collective->work, at_.Integer(*work, 0, kMostItems));
  }
  return absl::OkStatus();
}

// A list or null for each result.
absl::Status TraceParser::ReadRecordedValues(const Json& json, Executed* executed) const {
  PLAN_RETURN_IF_ERROR(at_.IsArray(json));
  if (json.items.size() != executed->out.size()) {
    return at_.Error(json, "expected a list or null for each result");
  }
  for (size_t r = 0; r < json.items.size(); ++r) {
    const Json& list = json.items[r];
    std::optional<std::vector<int64_t>>& values = executed->values.emplace_back();
    if (list.kind == Json::Kind::kNull) continue;
    const Value& result = executed->out[r];
    if (result.kind != Value::Kind::kTensor ||
        !sdfg::IsInteger(trace_.tensors[result.tensor].dtype)) {
      return at_.Error(list, "expected null: the result is no tensor of integers");
    }
    PLAN_ASSIGN_OR_RETURN(values, Integers(list, -kMostItems, kMostItems));
    int64_t elements = 1;
    for (int64_t extent : trace_.tensors[result.tensor].shape) {
      elements = extent > kMostRecorded ? kMostRecorded + 1 : elements * extent;
      elements = std::min(elements, kMostRecorded + 1);
    }
    if (elements > kMostRecorded || elements != static_cast<int64_t>(values->size())) {
      return at_.Error(list, "expected as many numbers as the result has elements, at most 4096");
    }
  }
  return absl::OkStatus();
}

absl::Status TraceParser::ReadOperator(const Json& json) {
  PLAN_RETURN_IF_ERROR(at_.Object(
      json, {"op",    "args",       "kwargs",     "out",  "writes", "item",   "source", "module",
             "phase", "collective", "group",      "in",   "reduce", "factor", "root",   "peer",
             "tag",   "in_splits",  "out_splits", "work", "wait",   "values"}));
  Executed executed;
  if (const Json* wait = json.Find("wait"); wait != nullptr) {
    PLAN_ASSIGN_OR_RETURN(executed.wait, at_.Integer(*wait, 0, kMostItems));
    trace_.operators.push_back(std::move(executed));
    return absl::OkStatus();
  }
  PLAN_ASSIGN_OR_RETURN(const Json* op, Needed(json, "op"));
  PLAN_ASSIGN_OR_RETURN(executed.op, at_.Name(*op));
  PLAN_ASSIGN_OR_RETURN(executed.source, Text(json.Find("source")));
  PLAN_ASSIGN_OR_RETURN(executed.module, Text(json.Find("module")));
  const Json* phase = json.Find("phase");
  if (phase != nullptr && phase->kind == Json::Kind::kString) {
    executed.phase = phase->text;
  } else {
    PLAN_ASSIGN_OR_RETURN(executed.phase, Text(phase));
  }
  if (json.Find("collective") != nullptr) {
    PLAN_RETURN_IF_ERROR(ReadCollective(json, &executed.collective.emplace()));
    trace_.operators.push_back(std::move(executed));
    return absl::OkStatus();
  }
  for (const auto& [key, values] :
       {std::pair("args", &executed.args), std::pair("out", &executed.out)}) {
    const Json* list = json.Find(key);
    if (list == nullptr) continue;
    PLAN_RETURN_IF_ERROR(at_.IsArray(*list));
    for (const Json& item : list->items) {
      PLAN_ASSIGN_OR_RETURN(values->emplace_back(), ReadValue(item, 0));
    }
  }
  if (const Json* kwargs = json.Find("kwargs"); kwargs != nullptr) {
    PLAN_RETURN_IF_ERROR(at_.IsObject(*kwargs));
    for (size_t i = 0; i < kwargs->keys.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(executed.kwargs[kwargs->keys[i]], ReadValue(kwargs->items[i], 0));
    }
  }
  PLAN_ASSIGN_OR_RETURN(executed.writes, TensorsAt(json.Find("writes")));
  if (const Json* values = json.Find("values"); values != nullptr) {
    PLAN_RETURN_IF_ERROR(ReadRecordedValues(*values, &executed));
  }
  if (const Json* item = json.Find("item"); item != nullptr) {
    PLAN_ASSIGN_OR_RETURN(const int64_t number, at_.Integer(*item, 0, kMostItems));
    executed.item = static_cast<int32_t>(number);
  }
  trace_.operators.push_back(std::move(executed));
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
