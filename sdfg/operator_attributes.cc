#include "sdfg/operator_attributes.h"

#include <utility>

#include "absl/status/status.h"

namespace planproof::sdfg {
namespace {

// The given value as one of the declared type; false if it is no such value.
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
      return std::holds_alternative<std::string>(given);
    case AttributeType::kInts:
      if (const int64_t* integer = std::get_if<int64_t>(&given)) {
        *value = std::vector<int64_t>{*integer};
      }
      return std::holds_alternative<std::vector<int64_t>>(*value);
  }
  return false;
}

absl::Status Error(const std::string& operator_name, const std::string& message) {
  return absl::InvalidArgumentError("operator " + operator_name + ": " + message);
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
  }
  return "any";
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

absl::StatusOr<Attributes> ResolveAttributes(const std::string& operator_name,
                                             const std::vector<AttributeDeclaration>& declared,
                                             const Attributes& given) {
  Attributes resolved;
  for (const AttributeDeclaration& attribute : declared) {
    auto it = given.find(attribute.name);
    if (attribute.kind == AttributeDeclaration::Kind::kIgnore) continue;
    if (it == given.end()) {
      if (attribute.required) {
        return Error(operator_name, "attribute " + attribute.name + " is missing");
      }
      AttributeValue value;
      if (!Coerce(attribute.type, attribute.fallback, &value)) value = attribute.fallback;
      resolved[attribute.name] = std::move(value);
      continue;
    }
    if (attribute.kind == AttributeDeclaration::Kind::kOnly) {
      if (SameAttribute(it->second, attribute.fallback)) continue;
      return Error(operator_name, "attribute " + attribute.name + " is " +
                                      AttributeText(it->second) + ", but only " +
                                      AttributeText(attribute.fallback) + " is declared");
    }
    if (!attribute.required && SameAttribute(it->second, attribute.fallback)) {
      AttributeValue value;
      if (!Coerce(attribute.type, attribute.fallback, &value)) value = attribute.fallback;
      resolved[attribute.name] = std::move(value);
      continue;
    }
    AttributeValue value;
    if (!Coerce(attribute.type, it->second, &value)) {
      return Error(operator_name, "attribute " + attribute.name + " is " +
                                      AttributeText(it->second) + "; expected a value of type " +
                                      AttributeTypeName(attribute.type));
    }
    resolved[attribute.name] = std::move(value);
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
