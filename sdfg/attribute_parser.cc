#include "sdfg/attribute_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "sdfg/operator_attributes.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxAttributes = 64;

AttributeType TypeOf(const AttributeValue& value) {
  static constexpr AttributeType kTypes[] = {AttributeType::kAny,    AttributeType::kBool,
                                             AttributeType::kInt,    AttributeType::kReal,
                                             AttributeType::kString, AttributeType::kInts};
  return kTypes[value.index()];
}

}  // namespace

absl::StatusOr<std::vector<AttributeDeclaration>> AttributeParser::List() {
  std::vector<AttributeDeclaration> attributes;
  do {
    absl::StatusOr<AttributeDeclaration> attribute = One();
    if (!attribute.ok()) return attribute.status();
    attributes.push_back(*std::move(attribute));
  } while (attributes.size() < kMaxAttributes && cursor_.TakeSymbol(","));
  absl::Status status = cursor_.ExpectSymbol("}", "or ',' after an attribute");
  if (!status.ok()) return status;
  return attributes;
}

absl::StatusOr<AttributeDeclaration> AttributeParser::One() {
  AttributeDeclaration attribute;
  attribute.position = cursor_.Peek().position;
  const bool two_words = cursor_.Peek(1).kind == Token::Kind::kName && !cursor_.IsKeyword("in", 1);
  if (two_words && cursor_.TakeKeyword("ignore")) {
    attribute.kind = AttributeDeclaration::Kind::kIgnore;
  } else if (two_words && cursor_.TakeKeyword("only")) {
    attribute.kind = AttributeDeclaration::Kind::kOnly;
  }
  absl::StatusOr<std::string> name = cursor_.ExpectName("an attribute's name");
  if (!name.ok()) return name.status();
  attribute.name = *name;
  const bool typed = cursor_.TakeSymbol(":");
  if (typed) {
    absl::Status status = Type(&attribute.type);
    if (!status.ok()) return status;
  }
  if (cursor_.TakeKeyword("in")) {
    absl::Status status = Choices(&attribute);
    if (!status.ok()) return status;
  }
  attribute.required = !cursor_.TakeSymbol("=");
  if (attribute.required) {
    if (attribute.kind == AttributeDeclaration::Kind::kOnly) {
      return cursor_.Unexpected("'=' and the only value of attribute '" + attribute.name + "'");
    }
    return attribute;
  }
  absl::StatusOr<AttributeValue> value = Value();
  if (!value.ok()) return value.status();
  attribute.fallback = *std::move(value);
  if (!typed && attribute.choices.empty()) attribute.type = TypeOf(attribute.fallback);
  return attribute;
}

absl::Status AttributeParser::Type(AttributeType* type) {
  for (const AttributeType candidate :
       {AttributeType::kIntOrInts, AttributeType::kIntsOrString, AttributeType::kInt,
        AttributeType::kReal, AttributeType::kBool, AttributeType::kString, AttributeType::kInts,
        AttributeType::kDTypeOrDevice, AttributeType::kDType, AttributeType::kDevice,
        AttributeType::kAny}) {
    // A name of one or of three words: "int", "int or ints".
    const std::string name = AttributeTypeName(candidate);
    const size_t blank = name.find(' ');
    if (!cursor_.IsKeyword(name.substr(0, blank).c_str())) continue;
    if (blank == std::string::npos) {
      cursor_.Take();
      *type = candidate;
      return absl::OkStatus();
    }
    if (!cursor_.IsKeyword("or", 1) ||
        !cursor_.IsKeyword(name.substr(name.rfind(' ') + 1).c_str(), 2)) {
      continue;
    }
    for (int word = 0; word < 3; ++word) cursor_.Take();
    *type = candidate;
    return absl::OkStatus();
  }
  return cursor_.Unexpected(
      "a type: int, real, bool, string, ints, int or ints, ints or string, dtype, device, dtype or "
      "device, or any");
}

absl::Status AttributeParser::Choices(AttributeDeclaration* attribute) {
  if (cursor_.TakeSymbol("(")) {
    do {
      absl::StatusOr<AttributeValue> value = Value();
      if (!value.ok()) return value.status();
      attribute->choices.push_back(*std::move(value));
    } while (attribute->choices.size() < kMaxAttributes && cursor_.TakeSymbol(","));
    return cursor_.ExpectSymbol(")", "to close the list of values");
  }
  absl::Status status = cursor_.ExpectSymbol("[", "and an interval, or '(' and a list of values");
  if (!status.ok()) return status;
  if (attribute->type != AttributeType::kInt && attribute->type != AttributeType::kReal &&
      attribute->type != AttributeType::kInts) {
    return cursor_.Error(
        "an interval is of numbers; expected ': int', ': real' or ': ints' before");
  }
  NumberInterval interval;
  absl::StatusOr<solver::Rational> low = SignedNumber();
  if (!low.ok()) return low.status();
  interval.low = *low;
  status = cursor_.ExpectSymbol(",", "between the ends of the interval");
  if (!status.ok()) return status;
  if (!cursor_.TakeKeyword("inf")) {
    absl::StatusOr<solver::Rational> high = SignedNumber();
    if (!high.ok()) return high.status();
    interval.high = *high;
  }
  interval.with_high = interval.high.has_value() && cursor_.TakeSymbol("]");
  attribute->interval = interval;
  if (interval.with_high) return absl::OkStatus();
  return cursor_.ExpectSymbol(")", "or ']' after the interval");
}

absl::StatusOr<AttributeValue> AttributeParser::Value() {
  if (cursor_.Peek().kind == Token::Kind::kString) return AttributeValue(cursor_.Take().text);
  if (cursor_.TakeKeyword("true")) return AttributeValue(true);
  if (cursor_.TakeKeyword("false")) return AttributeValue(false);
  if (cursor_.TakeKeyword("none")) return AttributeValue();
  if (cursor_.TakeSymbol("(")) {
    std::vector<int64_t> list;
    while (!cursor_.IsSymbol(")") && list.size() < kMaxAttributes) {
      absl::StatusOr<solver::Rational> number = SignedNumber();
      if (!number.ok()) return number.status();
      int64_t value = 0;
      if (!number->ToInt64(&value)) return cursor_.Error("expected integers in a list");
      list.push_back(value);
      if (!cursor_.TakeSymbol(",")) break;
    }
    absl::Status status = cursor_.ExpectSymbol(")", "to close the list");
    if (!status.ok()) return status;
    return AttributeValue(list);
  }
  absl::StatusOr<solver::Rational> number = SignedNumber();
  if (!number.ok()) return number.status();
  int64_t value = 0;
  if (number->ToInt64(&value)) return AttributeValue(value);
  return AttributeValue(*number);
}

absl::StatusOr<solver::Rational> AttributeParser::SignedNumber() {
  bool negative = cursor_.TakeSymbol("-");
  if (cursor_.Peek().kind != Token::Kind::kNumber) {
    return cursor_.Unexpected("a value: a number, a string, true, false, none or (1, 2)");
  }
  solver::Rational number = cursor_.Take().number;
  return negative ? -number : number;
}

}  // namespace planproof::sdfg
