#include "frontend/nnscaler/object_access.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::frontend::nnscaler {
namespace {

absl::string_view AsAbsl(std::string_view text) { return {text.data(), text.size()}; }

constexpr int64_t kMaxListElements = int64_t{1} << 25;

}  // namespace

const char* FieldName(Field field) {
  static constexpr const char* kNames[] = {
      "execplan",  "devices", "runtime_ndevs", "enable_dp", "_seq",         "_id",      "name",
      "signature", "_device", "_inputs",       "_outputs",  "_kwargs",      "_mirror",  "_comment",
      "_cell",     "_nodes",  "_prims",        "_forward",  "kwargs",       "_is_attr", "_value",
      "_shape",    "_dtype",  "_is_grad",      "_grad",     "_full_tensor", "_indmap",  "_valmap",
      "_indices",  "_weight", "_is_loss"};
  static_assert(std::size(kNames) == static_cast<size_t>(Field::kCount));
  return kNames[static_cast<int>(field)];
}

ObjectAccess::ObjectAccess(const Pickle& pickle) : pickle_(pickle) {
  for (int i = 0; i < static_cast<int>(Field::kCount); ++i) {
    symbols_[i] = pickle.FindSymbol(FieldName(static_cast<Field>(i)));
  }
}

void ObjectAccess::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

std::string ObjectAccess::Describe(ValueId object) const {
  if (!pickle_.Is(object, ValueKind::kObject)) {
    return object < 0 ? "nothing" : ValueKindName(pickle_.kind(object));
  }
  const std::string name(pickle_.ClassName(object));
  const ValueId id = pickle_.Attribute(object, symbols_[static_cast<int>(Field::kId)]);
  if (pickle_.Is(id, ValueKind::kInt)) return absl::StrCat(name, " ", pickle_.Int(id));
  return name.empty() ? "object" : name;
}

void ObjectAccess::Expect(ValueId object, Field field, ValueId got, std::string_view expected) {
  if (!ok()) return;
  Fail(absl::InvalidArgumentError(
      absl::StrCat(Describe(object), ", ", FieldName(field), ": ",
                   got < 0 ? "is missing" : absl::StrCat("is a ", ValueKindName(pickle_.kind(got))),
                   ", expected ", AsAbsl(expected))));
}

ValueId ObjectAccess::Get(ValueId object, Field field, bool required) {
  const ValueId value = pickle_.Attribute(object, symbols_[static_cast<int>(field)]);
  if (value == kNoValue && required) Expect(object, field, value, "a value");
  return value;
}

ValueId ObjectAccess::GetObject(ValueId object, Field field) {
  const ValueId value = Get(object, field);
  if (value == kNoValue) return value;
  if (pickle_.Is(value, ValueKind::kObject)) return value;
  Expect(object, field, value, "an object");
  return kNoValue;
}

int64_t ObjectAccess::GetInt(ValueId object, Field field, int64_t low, int64_t high) {
  const ValueId value = Get(object, field);
  if (value == kNoValue) return low;
  if (!pickle_.Is(value, ValueKind::kInt)) {
    Expect(object, field, value, "an int");
    return low;
  }
  const int64_t number = pickle_.Int(value);
  if (number < low || number > high) {
    Fail(absl::InvalidArgumentError(absl::StrCat(Describe(object), ", ", FieldName(field), ": is ",
                                                 number, ", expected ", low, " to ", high)));
    return low;
  }
  return number;
}

bool ObjectAccess::GetBool(ValueId object, Field field) {
  const ValueId value = Get(object, field);
  if (value == kNoValue) return false;
  if (!pickle_.Is(value, ValueKind::kBool)) {
    Expect(object, field, value, "a bool");
    return false;
  }
  return pickle_.Bool(value);
}

std::string_view ObjectAccess::GetString(ValueId object, Field field) {
  const ValueId value = Get(object, field, false);
  if (value == kNoValue || pickle_.Is(value, ValueKind::kNone)) return {};
  if (!pickle_.Is(value, ValueKind::kString)) {
    Expect(object, field, value, "a str");
    return {};
  }
  return pickle_.Text(value);
}

absl::Span<const ValueId> ObjectAccess::GetSequence(ValueId object, Field field) {
  const ValueId value = Get(object, field);
  if (value == kNoValue) return {};
  if (!pickle_.Is(value, ValueKind::kList) && !pickle_.Is(value, ValueKind::kTuple)) {
    Expect(object, field, value, "a list or tuple");
    return {};
  }
  const absl::Span<const ValueId> items = pickle_.Items(value);
  return Spend(items.size()) ? items : absl::Span<const ValueId>();
}

bool ObjectAccess::Spend(size_t elements) {
  spent_ += static_cast<int64_t>(elements);
  if (spent_ <= kMaxListElements) return true;
  Fail(absl::ResourceExhaustedError(
      absl::StrCat("the plan has more than ", kMaxListElements, " list elements")));
  return false;
}

bool ObjectAccess::Ints(ValueId value, int64_t low, int64_t high, std::vector<int64_t>* out) {
  out->clear();
  if (!pickle_.Is(value, ValueKind::kList) && !pickle_.Is(value, ValueKind::kTuple)) return false;
  if (!Spend(pickle_.Items(value).size())) return false;
  for (ValueId item : pickle_.Items(value)) {
    if (!pickle_.Is(item, ValueKind::kInt) || pickle_.Int(item) < low || pickle_.Int(item) > high) {
      return false;
    }
    out->push_back(pickle_.Int(item));
  }
  return true;
}

std::vector<int64_t> ObjectAccess::GetInts(ValueId object, Field field, int64_t low, int64_t high) {
  const ValueId value = Get(object, field);
  std::vector<int64_t> numbers;
  if (value != kNoValue && !Ints(value, low, high, &numbers)) {
    Expect(object, field, value, absl::StrCat("a list of ints from ", low, " to ", high));
    numbers.clear();
  }
  return numbers;
}

}  // namespace planproof::frontend::nnscaler
