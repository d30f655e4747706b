// Reads members of a JSON object from an untrusted file.
#ifndef PLANPROOF_DUMPS_JSON_OBJECT_H_
#define PLANPROOF_DUMPS_JSON_OBJECT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace planproof::dumps {

// Remembers the first member that is missing or of another kind; what is read then is empty.
class JsonObject {
 public:
  // `object` must outlive it.
  explicit JsonObject(const nlohmann::json& object);

  const nlohmann::json& Get(const char* key);
  std::string Text(const char* key);
  int64_t Integer(const char* key, int64_t least, int64_t most);
  std::vector<int64_t> Integers(const char* key);
  std::vector<std::string> Texts(const char* key);
  void Refuse(const std::string& what);

  // InvalidArgument: what is wrong, without the place.
  const absl::Status& status() const { return status_; }

 private:
  const nlohmann::json& object_;
  absl::Status status_;
};

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_JSON_OBJECT_H_
