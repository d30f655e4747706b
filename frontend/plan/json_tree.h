// Parses JSON text into a tree that remembers lines and the exact text of numbers.
//
// nlohmann's parser does the lexing; its own tree is not used because it forgets where a value
// stood and rounds numbers to doubles, and a proof must neither round nor point at the wrong line.
#ifndef PLANPROOF_FRONTEND_PLAN_JSON_TREE_H_
#define PLANPROOF_FRONTEND_PLAN_JSON_TREE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planproof::plan {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBool, kInteger, kReal, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  int64_t integer = 0;            // kInteger
  std::string text;               // kString, and the digits of kInteger and kReal
  std::vector<std::string> keys;  // kObject: one per item, in file order, no key twice
  std::vector<JsonValue> items;   // kArray, kObject
  int line = 0;

  // The value under `key`, or nullptr.
  const JsonValue* Find(std::string_view key) const;
};

struct JsonLimits {
  int depth = 64;
  int64_t values = 20'000'000;
  int64_t string_bytes = 1 << 20;  // of one string
};

// Errors (InvalidArgument) read "FILE:LINE: what is wrong". Depth, number of values and length of
// strings are bounded by `limits`.
absl::StatusOr<JsonValue> ParseJson(std::string_view text, const std::string& file,
                                    const JsonLimits& limits = {});

// JSON pointer of `value` within `root` ("/plan/programs/0"), by search: for error messages.
std::string PointerOf(const JsonValue& root, const JsonValue& value);

const char* KindName(JsonValue::Kind kind);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_JSON_TREE_H_
