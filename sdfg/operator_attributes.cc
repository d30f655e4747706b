#include "sdfg/operator_attributes.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "sdfg/element_type.h"

namespace planproof::sdfg {
namespace {

absl::Status Error(const std::string& operator_name, const std::string& message) {
  return absl::InvalidArgumentError("operator " + operator_name + ": " + message);
}

// The given value as one of the declared type; false if it is no such value. Element types have
// errors of their own.
bool Coerce(AttributeType type, const AttributeValue& given, AttributeValue* value) {
  *value = given;
  switch (type) {
    case AttributeType::kAny:
      return true;
    case AttributeType::kInt:
      return std::holds_alternative<int64_t>(given);
    case AttributeType::kReal:
      if (const int64_t* integer = std::get_if<int64_t>(&given)) {
        *value = solver::Rational(*integer);
      }
      return std::holds_alternative<solver::Rational>(*value);
    case AttributeType::kBool:
      return std::holds_alternative<bool>(given);
    case AttributeType::kString:
    case AttributeType::kDType:
      return std::holds_alternative<std::string>(given);
    case AttributeType::kInts:
      if (const int64_t* integer = std::get_if<int64_t>(&given)) {
        *value = std::vector<int64_t>{*integer};
      }
      return std::holds_alternative<std::vector<int64_t>>(*value);
    case AttributeType::kIntOrInts:
      return std::holds_alternative<int64_t>(given) ||
             std::holds_alternative<std::vector<int64_t>>(given);
    case AttributeType::kIntsOrString:
      if (std::holds_alternative<std::string>(given)) return true;
      return Coerce(AttributeType::kInts, given, value);
    case AttributeType::kDevice:
    case AttributeType::kDTypeOrDevice:
      if (const int64_t* index = std::get_if<int64_t>(&given)) return *index >= 0;
      return std::holds_alternative<std::string>(given);
  }
  return false;
}

// The default as one of the declared type; `none` stands for itself.
AttributeValue Fallback(const AttributeDeclaration& declared) {
  AttributeValue value;
  return Coerce(declared.type, declared.fallback, &value) ? value : declared.fallback;
}

bool Within(const NumberInterval& interval, const solver::Rational& number) {
  if (number < interval.low) return false;
  if (!interval.high.has_value()) return true;
  return number < *interval.high || (interval.with_high && number == *interval.high);
}

bool AllWithin(const NumberInterval& interval, const AttributeValue& value) {
  if (const auto* real = std::get_if<solver::Rational>(&value)) return Within(interval, *real);
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return Within(interval, solver::Rational(*integer));
  }
  const auto* list = std::get_if<std::vector<int64_t>>(&value);
  return list != nullptr && std::all_of(list->begin(), list->end(), [&](int64_t number) {
           return Within(interval, solver::Rational(number));
         });
}

// "; did you mean X?" for a text that is near one of the values.
std::string Hint(const AttributeValue& given, const std::vector<AttributeValue>& values) {
  const auto* text = std::get_if<std::string>(&given);
  if (text == nullptr) return "";
  std::vector<std::string> names;
  for (const AttributeValue& value : values) {
    if (const auto* name = std::get_if<std::string>(&value)) names.push_back(*name);
  }
  const std::string near = Nearest(*text, names);
  return near.empty() ? "" : "; did you mean \"" + near + "\"?";
}

// Element types by their names, devices as they stand.
absl::StatusOr<AttributeValue> TypeOrDevice(const std::string& operator_name,
                                            const AttributeDeclaration& declared,
                                            const std::string& text) {
  const bool may_be_device = declared.type != AttributeType::kDType;
  if (may_be_device && IsDeviceText(text)) return AttributeValue(text);
  if (declared.type == AttributeType::kDevice) {
    return Error(operator_name,
                 "attribute " + declared.name + " is \"" + text.substr(0, 80) +
                     "\", which is no device; expected cpu, cuda, cuda:3, meta, ...");
  }
  const absl::StatusOr<DType> type =
      ElementTypeFromText(text, may_be_device ? "element type or device" : "element type");
  if (type.ok()) return AttributeValue(std::string(DTypeName(*type)));
  return absl::Status(type.status().code(), "operator " + operator_name + ": attribute " +
                                                declared.name + ": " +
                                                std::string(type.status().message()));
}

}  // namespace

const char* AttributeTypeName(AttributeType type) {
  switch (type) {
    case AttributeType::kAny:
      return "any";
    case AttributeType::kInt:
      return "int";
    case AttributeType::kReal:
      return "real";
    case AttributeType::kBool:
      return "bool";
    case AttributeType::kString:
      return "string";
    case AttributeType::kInts:
      return "ints";
    case AttributeType::kIntOrInts:
      return "int or ints";
    case AttributeType::kIntsOrString:
      return "ints or string";
    case AttributeType::kDType:
      return "dtype";
    case AttributeType::kDevice:
      return "device";
    case AttributeType::kDTypeOrDevice:
      return "dtype or device";
  }
  return "any";
}

std::string ListOfValues(const std::vector<AttributeValue>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += AttributeText(values[i]);
  }
  return text;
}

std::string AttributeExpectation(const AttributeDeclaration& declared) {
  std::string text = declared.choices.empty() ? std::string(AttributeTypeName(declared.type))
                                              : ListOfValues(declared.choices);
  if (declared.interval.has_value()) {
    const NumberInterval& interval = *declared.interval;
    text += " in [" + interval.low.ToString() + ", " +
            (interval.high.has_value() ? interval.high->ToString() : "inf") +
            (interval.with_high ? "]" : ")");
  }
  return text;
}

bool SameAttribute(const AttributeValue& a, const AttributeValue& b) {
  AttributeValue real_a;
  AttributeValue real_b;
  if (Coerce(AttributeType::kReal, a, &real_a) && Coerce(AttributeType::kReal, b, &real_b)) {
    return std::get<solver::Rational>(real_a) == std::get<solver::Rational>(real_b);
  }
  if (a.index() != b.index()) return false;
  if (const auto* boolean = std::get_if<bool>(&a)) return *boolean == std::get<bool>(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text == std::get<std::string>(b);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&a)) {
    return *list == std::get<std::vector<int64_t>>(b);
  }
  return std::holds_alternative<std::monostate>(a);
}

absl::StatusOr<AttributeValue> TypedAttribute(const std::string& operator_name,
                                              const AttributeDeclaration& declared,
                                              const AttributeValue& given) {
  if (!declared.required && SameAttribute(given, declared.fallback)) return Fallback(declared);
  AttributeValue value;
  const bool typed = Coerce(declared.type, given, &value);
  const bool listed =
      declared.choices.empty() ||
      std::any_of(declared.choices.begin(), declared.choices.end(),
                  [&](const AttributeValue& choice) { return SameAttribute(choice, given); });
  const bool within = !declared.interval.has_value() || AllWithin(*declared.interval, value);
  if (!typed || !listed || !within) {
    return Error(operator_name, "attribute " + declared.name + " is " + AttributeText(given) +
                                    "; expected " +
                                    (declared.choices.empty() ? "a value of type " : "") +
                                    AttributeExpectation(declared) + Hint(given, declared.choices));
  }
  if (declared.type != AttributeType::kDType && declared.type != AttributeType::kDevice &&
      declared.type != AttributeType::kDTypeOrDevice) {
    return value;
  }
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? absl::StatusOr<AttributeValue>(value)
                         : TypeOrDevice(operator_name, declared, *text);
}

absl::StatusOr<Attributes> ResolveAttributes(const std::string& operator_name,
                                             const std::vector<AttributeDeclaration>& declared,
                                             const Attributes& given) {
  using Kind = AttributeDeclaration::Kind;
  Attributes resolved;
  for (const AttributeDeclaration& attribute : declared) {
    auto it = given.find(attribute.name);
    if (it == given.end()) {
      if (attribute.kind != Kind::kValue) continue;
      if (attribute.required) {
        return Error(operator_name, "attribute " + attribute.name + " is missing");
      }
      resolved[attribute.name] = Fallback(attribute);
      continue;
    }
    absl::StatusOr<AttributeValue> value = TypedAttribute(operator_name, attribute, it->second);
    if (!value.ok()) return value.status();
    if (attribute.kind == Kind::kOnly && !SameAttribute(it->second, attribute.fallback)) {
      const bool known = attribute.type != AttributeType::kAny || !attribute.choices.empty();
      return absl::Status(
          known ? absl::StatusCode::kUnimplemented : absl::StatusCode::kInvalidArgument,
          "operator " + operator_name + ": attribute " + attribute.name + " is " +
              AttributeText(it->second) + ", but only " + AttributeText(attribute.fallback) +
              " is declared");
    }
    if (attribute.kind == Kind::kValue) resolved[attribute.name] = *std::move(value);
  }
  for (const auto& [name, value] : given) {
    std::vector<std::string> names;
    bool known = false;
    for (const AttributeDeclaration& attribute : declared) {
      known = known || attribute.name == name;
      names.push_back(attribute.name);
    }
    if (known) continue;
    std::string message = "it has no attribute '" + name + "' (given: " + AttributeText(value) +
                          "); an attribute that does not change the result must be declared "
                          "with 'ignore'";
    std::string near = Nearest(name, names);
    if (!near.empty()) message += "; did you mean '" + near + "'?";
    return Error(operator_name, message);
  }
  return resolved;
}

}  // namespace planproof::sdfg
