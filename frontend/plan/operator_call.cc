#include "frontend/plan/operator_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/relation.h"
#include "frontend/plan/remedies.h"
#include "sdfg/limit.h"
#include "sdfg/operator_memory.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

std::string Position::Text() const {
  std::string text = file;
  if (line > 0) absl::StrAppend(&text, ":", line);
  if (!pointer.empty()) absl::StrAppend(&text, ": ", pointer);
  return text;
}

absl::Status At(const Position& position, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(position.Text(), ": ", std::string(status.message())));
}

absl::Status At(const Position& position, const std::string& before, const absl::Status& status,
                const std::string& after) {
  return At(position, absl::Status(status.code(),
                                   absl::StrCat(before, std::string(status.message()), after)));
}

absl::Status At(const Position& position, const std::string& message) {
  return absl::InvalidArgumentError(absl::StrCat(position.Text(), ": ", message));
}

Position PositionOf(const Operator& op, const std::string& file, const std::string& owner,
                    int index) {
  const std::string& place = op.written_at();
  return {file, op.line(),
          absl::StrCat(owner, "/operators/", place.empty() ? absl::StrCat(index) : place)};
}

absl::StatusOr<solver::Rational> ParseLiteral(const std::string& text,
                                              const RoundedLiterals& rounded) {
  solver::Rational value;
  // An exponent is bounded before it is expanded: 1e999999999 would fill the memory.
  const size_t exponent = text.find_first_of("eE");
  if (exponent != std::string::npos && text.size() > exponent + 6) {
    return absl::InvalidArgumentError(absl::StrCat("number ", text, " is out of range"));
  }
  if (exponent != std::string::npos) {
    const std::string digits = text.substr(exponent + 1);
    if (std::abs(std::atoi(digits.c_str())) > 400) {
      return absl::InvalidArgumentError(absl::StrCat("number ", text, " is out of range"));
    }
  }
  if (text.size() > 4096 || !solver::Rational::Parse(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text.substr(0, 40), "\" is no number; 12, 0.5, 1e-5 or 1/3 are"));
  }
  if (!IsDecimal(text)) return value;
  for (const auto& [literal, exact] : rounded) {
    if (literal == value) return exact;
  }
  return value;
}

namespace {

absl::StatusOr<int64_t> Evaluate(const std::string& expression, const NameResolver& resolve) {
  PLAN_ASSIGN_OR_RETURN(lineage::IndexMap map, ParseIndexExpression(expression, resolve));
  if (!map.terms.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expression \"", expression, "\" is no number here"));
  }
  return map.constant;
}

std::string ValueText(const AttributeValue& value) {
  switch (value.kind_case()) {
    case AttributeValue::kNone:
      return "none";
    case AttributeValue::kBoolean:
      return value.boolean() ? "true" : "false";
    case AttributeValue::kInteger:
      return absl::StrCat(value.integer());
    case AttributeValue::kReal:
      return value.real();
    case AttributeValue::kText:
      return value.text();
    case AttributeValue::kExpression:
      return absl::StrCat("=", value.expression());
    case AttributeValue::kList: {
      std::vector<std::string> parts;
      for (const AttributeValue& element : value.list().elements()) {
        parts.push_back(element.kind_case() == AttributeValue::kInteger
                            ? absl::StrCat(element.integer())
                            : absl::StrCat("=", element.expression()));
      }
      return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
    }
    case AttributeValue::KIND_NOT_SET:
      break;
  }
  return "";
}

}  // namespace

absl::StatusOr<sdfg::Attributes> ResolveAttributes(const Operator& op,
                                                   const RoundedLiterals& rounded,
                                                   const NameResolver& resolve) {
  sdfg::Attributes attributes;
  for (const Attribute& attribute : op.attributes()) {
    const AttributeValue& value = attribute.value();
    sdfg::AttributeValue out;
    switch (value.kind_case()) {
      case AttributeValue::kNone:
        break;
      case AttributeValue::kBoolean:
        out = value.boolean();
        break;
      case AttributeValue::kInteger:
        out = value.integer();
        break;
      case AttributeValue::kReal: {
        PLAN_ASSIGN_OR_RETURN(solver::Rational number, ParseLiteral(value.real(), rounded));
        out = std::move(number);
        break;
      }
      case AttributeValue::kText:
        out = value.text();
        break;
      case AttributeValue::kExpression: {
        PLAN_ASSIGN_OR_RETURN(int64_t number, Evaluate(value.expression(), resolve));
        out = number;
        break;
      }
      case AttributeValue::kList: {
        std::vector<int64_t> list;
        for (const AttributeValue& element : value.list().elements()) {
          if (element.kind_case() == AttributeValue::kInteger) {
            list.push_back(element.integer());
          } else if (element.kind_case() == AttributeValue::kExpression) {
            PLAN_ASSIGN_OR_RETURN(int64_t number, Evaluate(element.expression(), resolve));
            list.push_back(number);
          } else {
            return absl::InvalidArgumentError(
                absl::StrCat("attribute ", attribute.name(), " is no list of integers"));
          }
        }
        out = std::move(list);
        break;
      }
      case AttributeValue::KIND_NOT_SET:
        return absl::InvalidArgumentError(
            absl::StrCat("attribute ", attribute.name(), " has no value"));
    }
    if (!attributes.emplace(attribute.name(), std::move(out)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", attribute.name(), " is given twice"));
    }
  }
  return attributes;
}

std::vector<std::string> NamesInAttributes(const Operator& op) {
  std::vector<std::string> names;
  const auto add = [&](const AttributeValue& value) {
    if (value.kind_case() != AttributeValue::kExpression) return;
    for (std::string& name : NamesIn(value.expression())) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  };
  for (const Attribute& attribute : op.attributes()) {
    add(attribute.value());
    for (const AttributeValue& element : attribute.value().list().elements()) add(element);
  }
  return names;
}

namespace {

// A text where a number was meant.
absl::Status WithTextRemedy(const absl::Status& status, const Operator& op,
                            const NameResolver& resolve) {
  for (const Attribute& attribute : op.attributes()) {
    if (attribute.value().kind_case() != AttributeValue::kText) continue;
    const std::string& text = attribute.value().text();
    if (!Evaluate(text, resolve).ok()) continue;
    return absl::Status(
        status.code(),
        absl::StrCat(
            std::string(status.message()), "; ",
            NamesIn(text).empty()
                ? "a number stands without quotes"
                : absl::StrCat("an expression over coordinates begins with =, \"=", text, "\"")));
  }
  return status;
}

}  // namespace

absl::StatusOr<sdfg::IndexFunction> Instantiate(const sdfg::OperatorLibrary& library,
                                                const Operator& op,
                                                const std::vector<sdfg::Shape>& shapes,
                                                const std::vector<sdfg::DType>& dtypes,
                                                const RoundedLiterals& rounded,
                                                const NameResolver& resolve) {
  PLAN_ASSIGN_OR_RETURN(sdfg::Attributes attributes, ResolveAttributes(op, rounded, resolve));
  std::vector<sdfg::Operand> operands;
  size_t tensor = 0;
  for (const Operand& operand : op.inputs()) {
    sdfg::Operand out;
    switch (operand.kind_case()) {
      case Operand::kTensor:
        out.kind = sdfg::Operand::Kind::kTensor;
        out.shape = shapes[tensor];
        out.dtype = dtypes[tensor];
        ++tensor;
        break;
      case Operand::kLiteral: {
        out.kind = sdfg::Operand::Kind::kLiteral;
        PLAN_ASSIGN_OR_RETURN(out.literal, ParseLiteral(operand.literal(), rounded));
        break;
      }
      case Operand::kAbsent:
        out.kind = sdfg::Operand::Kind::kAbsent;
        break;
      case Operand::KIND_NOT_SET:
        return absl::InvalidArgumentError(
            "an operand is neither a tensor, nor a literal, nor absent");
    }
    operands.push_back(std::move(out));
  }
  absl::StatusOr<sdfg::IndexFunction> instance = library.Instantiate(op.op(), operands, attributes);
  if (absl::IsNotFound(instance.status())) {  // what is not declared is unknown, not malformed
    const std::string last = op.op().substr(op.op().find_last_of(".:") + 1);
    if (last != op.op() && library.Contains(last)) {
      return absl::UnimplementedError(
          absl::StrCat("operator '", op.op(), "' is not declared; did you mean '", last, "'?"));
    }
    return absl::UnimplementedError(instance.status().message());
  }
  if (!instance.ok()) {
    std::vector<std::string> names;
    for (const Operand& operand : op.inputs()) {
      if (operand.kind_case() == Operand::kTensor) names.push_back(operand.tensor());
    }
    return WithGiven(WithTextRemedy(instance.status(), op, resolve), op.op(), names, shapes);
  }
  sdfg::IndexFunction function = *std::move(instance);
  for (const sdfg::FunctionOutput& output : function.outputs) {
    PLAN_RETURN_IF_ERROR(CheckExtents(output.shape(function.vars)));
  }
  return function;
}

sdfg::SourceLocation SourceOf(const Operator& op, const Position& position) {
  sdfg::SourceLocation source;
  if (op.has_source() && !op.source().file().empty()) {
    source.file = op.source().file();
    source.line = op.source().line();
    source.text = op.source().text();
  } else {
    source.file = position.file;
    source.line = position.line;
  }
  return source;
}

std::vector<std::pair<std::string, std::string>> AttributeTexts(const Operator& op) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Attribute& attribute : op.attributes()) {
    texts.emplace_back(attribute.name(), ValueText(attribute.value()));
  }
  return texts;
}

bool ComputesInPlace(const Operator& op) {
  sdfg::Attributes attributes;
  for (const Attribute& attribute : op.attributes()) {
    const AttributeValue& value = attribute.value();
    sdfg::AttributeValue& to = attributes[attribute.name()];
    switch (value.kind_case()) {
      case AttributeValue::kNone:
      case AttributeValue::KIND_NOT_SET:
        break;
      case AttributeValue::kBoolean:
        to = value.boolean();
        break;
      case AttributeValue::kInteger:
        to = value.integer();
        break;
      default:
        to = ValueText(value);
    }
  }
  return sdfg::ComputesInPlace(attributes);
}

std::string NameOf(const Operator& op) {
  if (!op.name().empty()) return op.name();
  return op.outputs_size() > 0 ? op.outputs(0) : std::string();
}

absl::Status CheckExtents(const sdfg::Shape& shape) {
  for (const int64_t extent : shape) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeText(shape), " has a negative extent"));
    }
    if (extent > sdfg::kMaxExtent) {
      return sdfg::BeyondLimit(absl::StrCat("extent of a dimension of ", ShapeText(shape)), extent,
                               "2^60");
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
