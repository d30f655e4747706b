// Walks over one line of JSON without copying it. Strings are given as they are written, escapes
// included.
#ifndef PLANPROOF_MONITOR_TRAINCHECK_JSON_CURSOR_H_
#define PLANPROOF_MONITOR_TRAINCHECK_JSON_CURSOR_H_

#include <cstdint>
#include <string_view>

namespace planproof::monitor::traincheck {

enum class JsonKind : uint8_t { kNone, kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };

// A value; `text` is what was written, without the quotes of a string. kNone: there is none.
struct JsonValue {
  JsonKind kind = JsonKind::kNone;
  std::string_view text;
};

// Members of one object or elements of one array, in order. Values that are not looked into are
// only scanned for where they end: brackets must match, at most 64 deep.
class JsonCursor {
 public:
  // `value`: an object or an array; anything else has no members.
  explicit JsonCursor(const JsonValue& value);
  // The next member of the object or element of the array (`key` stays). False at the end, or where
  // the text is wrong.
  bool Next(std::string_view* key, JsonValue* value);
  // Whether what was read so far is JSON, and, after Next was false, all of it.
  bool ok() const { return ok_; }

 private:
  bool Fail();
  const char* p_;
  const char* end_;
  bool object_ = false, first_ = true, ok_ = true;
};

// The value that `text` begins with; kNone if it is none. `rest`: what follows.
JsonValue ReadJson(std::string_view text, std::string_view* rest);

// The whole number that `value` is; false if it is none, or too large.
bool ReadInteger(const JsonValue& value, int64_t* number);

}  // namespace planproof::monitor::traincheck

#endif  // PLANPROOF_MONITOR_TRAINCHECK_JSON_CURSOR_H_
