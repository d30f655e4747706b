#include "monitor/traincheck/json_cursor.h"

#include <charconv>
#include <cstring>

namespace planproof::monitor::traincheck {
namespace {

constexpr int kJsonDepthLimit = 64;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

const char* SkipSpace(const char* p, const char* end) {
  while (p < end && IsSpace(*p)) ++p;
  return p;
}

// After the closing quote of the string whose first character is at `p`; null if there is none.
const char* EndOfString(const char* p, const char* end) {
  for (; p < end; ++p) {
    if (*p == '"') return p + 1;
    if (*p == '\\' && ++p == end) return nullptr;
  }
  return nullptr;
}

// After the bracket that closes the one at `p`.
const char* EndOfComposite(const char* p, const char* end) {
  char closing[kJsonDepthLimit];
  int depth = 0;
  while (p < end) {
    switch (*p++) {
      case '"':
        p = EndOfString(p, end);
        if (p == nullptr) return nullptr;
        break;
      case '{':
      case '[':
        if (depth == kJsonDepthLimit) return nullptr;
        closing[depth++] = p[-1] == '{' ? '}' : ']';
        break;
      case '}':
      case ']':
        if (p[-1] != closing[--depth]) return nullptr;
        if (depth == 0) return p;
        break;
      default:
        break;
    }
  }
  return nullptr;
}

bool IsOfNumber(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// Numbers, and what Python writes for those that JSON does not have: NaN, Infinity, -Infinity.
JsonKind KindOfWord(std::string_view word) {
  if (word == "null") return JsonKind::kNull;
  if (word == "true") return JsonKind::kTrue;
  if (word == "false") return JsonKind::kFalse;
  const char c = word.empty() ? '\0' : word[0];
  if ((c >= '0' && c <= '9') || c == '-' || c == 'N' || c == 'I') return JsonKind::kNumber;
  return JsonKind::kNone;
}

const char* ReadValue(const char* p, const char* end, JsonValue* value) {
  *value = {};
  if (p == end) return nullptr;
  if (*p == '"') {
    const char* after = EndOfString(p + 1, end);
    if (after == nullptr) return nullptr;
    *value = {JsonKind::kString, std::string_view(p + 1, static_cast<size_t>(after - p - 2))};
    return after;
  }
  if (*p == '{' || *p == '[') {
    const char* after = EndOfComposite(p, end);
    if (after == nullptr) return nullptr;
    *value = {*p == '{' ? JsonKind::kObject : JsonKind::kArray,
              std::string_view(p, static_cast<size_t>(after - p))};
    return after;
  }
  const char* after = p;
  while (after < end && IsOfNumber(*after)) ++after;
  const std::string_view word(p, static_cast<size_t>(after - p));
  *value = {KindOfWord(word), word};
  return value->kind == JsonKind::kNone ? nullptr : after;
}

}  // namespace

JsonCursor::JsonCursor(const JsonValue& value)
    : p_(value.text.data()), end_(p_ + value.text.size()) {
  if (value.kind != JsonKind::kObject && value.kind != JsonKind::kArray) {
    p_ = end_ = nullptr;
    return;
  }
  object_ = value.kind == JsonKind::kObject;
  ++p_;
  --end_;  // the closing bracket
}

bool JsonCursor::Fail() {
  ok_ = false;
  p_ = end_;
  return false;
}

bool JsonCursor::Next(std::string_view* key, JsonValue* value) {
  p_ = SkipSpace(p_, end_);
  if (p_ == end_) return false;
  if (!first_) {
    if (*p_ != ',') return Fail();
    p_ = SkipSpace(p_ + 1, end_);
  }
  first_ = false;
  if (object_) {
    if (p_ == end_ || *p_ != '"') return Fail();
    const char* after = EndOfString(p_ + 1, end_);
    if (after == nullptr) return Fail();
    *key = std::string_view(p_ + 1, static_cast<size_t>(after - p_ - 2));
    p_ = SkipSpace(after, end_);
    if (p_ == end_ || *p_ != ':') return Fail();
    p_ = SkipSpace(p_ + 1, end_);
  }
  const char* after = ReadValue(p_, end_, value);
  if (after == nullptr) return Fail();
  p_ = after;
  return true;
}

JsonValue ReadJson(std::string_view text, std::string_view* rest) {
  const char* end = text.data() + text.size();
  const char* begin = SkipSpace(text.data(), end);
  JsonValue value;
  const char* after = ReadValue(begin, end, &value);
  if (after == nullptr) return {};
  after = SkipSpace(after, end);
  *rest = std::string_view(after, static_cast<size_t>(end - after));
  return value;
}

bool ReadInteger(const JsonValue& value, int64_t* number) {
  if (value.kind != JsonKind::kNumber) return false;
  const char* end = value.text.data() + value.text.size();
  const auto [after, error] = std::from_chars(value.text.data(), end, *number);
  return error == std::errc() && after == end;
}

}  // namespace planproof::monitor::traincheck
