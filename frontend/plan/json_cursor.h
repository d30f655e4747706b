// Gives typed access to a JSON tree, with errors that name file, line and position.
#ifndef PLANPROOF_FRONTEND_PLAN_JSON_CURSOR_H_
#define PLANPROOF_FRONTEND_PLAN_JSON_CURSOR_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/plan/json_tree.h"

namespace planproof::plan {

// The key that takes text for people; every object has it, except where names are keys.
inline constexpr char kNote[] = "note";

class JsonCursor {
 public:
  JsonCursor(const JsonValue& root, std::string file) : root_(root), file_(std::move(file)) {}

  // "FILE:LINE: POINTER: message".
  absl::Status Error(const JsonValue& at, const std::string& message) const;
  absl::Status WrongKind(const JsonValue& at, const std::string& expected) const;
  // `value` is an object all of whose keys are among `known`, or kNote. The message about another
  // key names the nearest one; if none is near, it ends with `otherwise`, or lists those known.
  absl::Status Object(const JsonValue& value, std::initializer_list<const char*> known,
                      const std::string& otherwise = "") const;
  absl::Status Keys(const JsonValue& object, const std::vector<std::string>& known,
                    const std::string& otherwise = "") const;
  absl::Status UnknownKey(const JsonValue& at, const std::string& key,
                          const std::vector<std::string>& known,
                          const std::string& otherwise = "") const;
  absl::Status IsObject(const JsonValue& value, const std::string& expected = "an object") const;
  absl::Status IsArray(const JsonValue& value) const;

  absl::StatusOr<std::string> String(const JsonValue& value) const;
  // A string of at most 1024 bytes without control characters, not empty.
  absl::StatusOr<std::string> Name(const JsonValue& value) const;
  absl::StatusOr<int64_t> Integer(const JsonValue& value, int64_t low, int64_t high) const;
  // The same where `most` is a limit of this program: ResourceExhausted beyond it, with `what` it
  // is.
  absl::StatusOr<int64_t> Limited(const JsonValue& value, int64_t low, int64_t most,
                                  const std::string& what) const;
  // ResourceExhausted: `what` has this number, and `most` is a limit of this program.
  absl::Status Beyond(const JsonValue& value, const std::string& what, int64_t number,
                      int64_t most) const;
  absl::StatusOr<bool> Boolean(const JsonValue& value) const;
  // One string or a list of strings.
  absl::StatusOr<std::vector<std::string>> Names(const JsonValue& value) const;
  // A list of extents, 0 <= extent <= 2^40.
  absl::StatusOr<std::vector<int64_t>> Extents(const JsonValue& value) const;

  const std::string& file() const { return file_; }

 private:
  const JsonValue& root_;
  std::string file_;
};

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_JSON_CURSOR_H_
