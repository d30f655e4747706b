#include "frontend/torch/aten_schema.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::Status NoSignature(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("no signature of an operator: ", absl::string_view(text.data(), text.size())));
}

AtenKind KindOf(absl::string_view type) {
  if (type == "Tensor") return AtenKind::kTensor;
  if (type == "Scalar") return AtenKind::kNumber;
  if (type == "int" || type == "SymInt") return AtenKind::kInteger;
  if (type == "float") return AtenKind::kReal;
  if (type == "bool") return AtenKind::kTruth;
  if (type == "str") return AtenKind::kText;
  if (type == "ScalarType") return AtenKind::kDType;
  return AtenKind::kOther;
}

// "a, b[0, 1], c" at the commas that stand in no brackets.
std::vector<std::string> AtCommas(absl::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = std::string(absl::StripAsciiWhitespace(part));
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

absl::StatusOr<Value> ParseDefault(absl::string_view text, const AtenParameter& parameter) {
  Value value;
  if (text == "None") return value;
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    value.kind = Value::Kind::kList;
    AtenParameter element = parameter;
    element.list = false;
    for (const std::string& item : AtCommas(text.substr(1, text.size() - 2))) {
      PLAN_ASSIGN_OR_RETURN(value.list.emplace_back(), ParseDefault(item, element));
    }
    return value;
  }
  if (parameter.kind == AtenKind::kOther) {
    value.kind = Value::Kind::kOther;
    return value;
  }
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'')) {
    value.kind = Value::Kind::kString;
    value.text = std::string(text.substr(1, text.size() - 2));
    return value;
  }
  if (text == "True" || text == "False") {
    value.kind = Value::Kind::kBool;
    value.boolean = text == "True";
    value.real = solver::Rational(value.boolean ? 1 : 0);
    return value;
  }
  if (absl::SimpleAtoi(text, &value.integer)) {
    value.kind = Value::Kind::kInteger;
    value.real = solver::Rational(value.integer);
    return value;
  }
  double real = 0;
  if (!absl::SimpleAtod(text, &real)) return NoSignature(std::string(text));
  value.kind = Value::Kind::kReal;
  value.real = solver::Rational::FromDouble(real);
  return value;
}

// "Tensor(a!)? self", "SymInt[1] shifts", "Tensor?[] indices", "Scalar alpha=1".
absl::StatusOr<AtenParameter> ParseParameter(absl::string_view text) {
  AtenParameter parameter;
  const size_t equals = text.find('=');
  const absl::string_view before = text.substr(0, equals);
  const size_t blank = before.rfind(' ');
  if (blank == absl::string_view::npos) return NoSignature(std::string(text));
  parameter.name = std::string(before.substr(blank + 1));
  absl::string_view type = before.substr(0, blank);
  parameter.type = std::string(type);
  const size_t end = std::min(type.size(), type.find_first_of("(?["));
  parameter.kind = KindOf(type.substr(0, end));
  type.remove_prefix(end);
  while (!type.empty()) {
    if (absl::ConsumePrefix(&type, "(")) {
      const size_t close = type.find(')');
      if (close == absl::string_view::npos) return NoSignature(std::string(text));
      parameter.written |= absl::StrContains(type.substr(0, close), "!");
      type.remove_prefix(close + 1);
    } else if (absl::ConsumePrefix(&type, "?")) {
      if (!type.empty() && type.front() == '[') {
        parameter.optional_elements = true;
      } else {
        parameter.optional = true;
      }
    } else if (absl::ConsumePrefix(&type, "[")) {
      const size_t close = type.find(']');
      if (close == absl::string_view::npos || parameter.list) {
        return NoSignature(std::string(text));
      }
      parameter.list = true;
      parameter.one_for_all = close > 0;
      type.remove_prefix(close + 1);
    } else {
      return NoSignature(std::string(text));
    }
  }
  if (equals != absl::string_view::npos) {
    PLAN_ASSIGN_OR_RETURN(parameter.otherwise, ParseDefault(text.substr(equals + 1), parameter));
  }
  return parameter;
}

using Schemas = std::map<std::string, AtenSchema, std::less<>>;

const Schemas& AllSchemas() {
  static const auto* const schemas = [] {
    auto* made = new Schemas;
    for (absl::string_view line : absl::StrSplit(kAtenSchemas, '\n', absl::SkipEmpty())) {
      absl::StatusOr<AtenSchema> schema = ParseAtenSchema({line.data(), line.size()});
      if (!schema.ok()) continue;  // aten_schema_test.cc has it that there is none
      std::string op = schema->op;
      made->emplace(std::move(op), *std::move(schema));
    }
    return made;
  }();
  return *schemas;
}

bool IsElementFor(const Value& value, const AtenParameter& parameter) {
  using Kind = Value::Kind;
  const bool from_tensor =
      value.kind == Kind::kItem || value.kind == Kind::kComputed || value.kind == Kind::kMayBe;
  const bool whole = value.kind == Kind::kInteger || value.kind == Kind::kBool || from_tensor;
  const bool real = whole || value.kind == Kind::kReal || value.kind == Kind::kInfinite;
  switch (parameter.kind) {
    case AtenKind::kTensor:
      return value.kind == Kind::kTensor || real || value.kind == Kind::kComplex;
    case AtenKind::kNumber:
      return real || value.kind == Kind::kComplex;
    case AtenKind::kInteger:
      return whole;
    case AtenKind::kReal:
      return real;
    case AtenKind::kTruth:
      return value.kind == Kind::kBool || value.kind == Kind::kInteger;
    case AtenKind::kText:
      return value.kind == Kind::kString;
    case AtenKind::kDType:
      return value.kind == Kind::kDType;
    case AtenKind::kOther:
      return true;
  }
  return false;
}

}  // namespace

const AtenParameter* AtenSchema::Find(std::string_view name) const {
  for (const AtenParameter& parameter : parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

absl::StatusOr<AtenSchema> ParseAtenSchema(std::string_view text) {
  const absl::string_view line(text.data(), text.size());
  const size_t open = line.find('('), arrow = line.rfind(") -> ");
  const size_t colons = line.find("::");
  if (open == absl::string_view::npos || arrow == absl::string_view::npos || arrow < open ||
      colons == absl::string_view::npos || colons > open) {
    return NoSignature(text);
  }
  AtenSchema schema;
  schema.op = absl::StrCat(line.substr(0, colons), ".", line.substr(colons + 2, open - colons - 2));
  if (!absl::StrContains(line.substr(colons, open - colons), ".")) schema.op += ".default";
  bool keyword_only = false;
  for (const std::string& part : AtCommas(line.substr(open + 1, arrow - open - 1))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    PLAN_ASSIGN_OR_RETURN(AtenParameter parameter, ParseParameter(part));
    parameter.keyword_only = keyword_only;
    schema.parameters.push_back(std::move(parameter));
  }
  return schema;
}

const AtenSchema* FindAtenSchema(std::string_view op) {
  const auto found = AllSchemas().find(op);
  return found == AllSchemas().end() ? nullptr : &found->second;
}

std::vector<std::string> AtenSchemaNames() {
  std::vector<std::string> names;
  for (const auto& [name, schema] : AllSchemas()) names.push_back(name);
  return names;
}

bool IsArgumentFor(const Value& value, const AtenParameter& parameter) {
  if (value.kind == Value::Kind::kNone) {
    return parameter.optional || parameter.kind == AtenKind::kOther;
  }
  if (!parameter.list) return IsElementFor(value, parameter);
  if (value.kind != Value::Kind::kList) {
    return parameter.one_for_all && IsElementFor(value, parameter);
  }
  return std::all_of(value.list.begin(), value.list.end(), [&](const Value& element) {
    if (element.kind == Value::Kind::kNone) return parameter.optional_elements;
    return IsElementFor(element, parameter);
  });
}

}  // namespace planproof::frontend::torch
