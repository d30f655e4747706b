// Matches names of tensors with wildcards: "forward/layers.*.mlp".
#ifndef PLANPROOF_DUMPS_NAME_PATTERN_H_
#define PLANPROOF_DUMPS_NAME_PATTERN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planproof::dumps {

// "*" stands for any characters, "{name}" for a decimal number; everything else for itself.
class NamePattern {
 public:
  // InvalidArgument: what is wrong. At most 16 wildcards and 1,024 bytes.
  static absl::StatusOr<NamePattern> Parse(std::string_view text);

  // What the wildcards stand for, in their order; nullopt if the name is no such name. Where there
  // are several ways, earlier wildcards stand for as little as possible.
  std::optional<std::vector<std::string>> Match(std::string_view name) const;
  bool Matches(std::string_view name) const { return Match(name).has_value(); }

  // The name with these in place of the wildcards, numbers with `offset` added. nullopt if a number
  // is negative or too large then.
  std::optional<std::string> Fill(const std::vector<std::string>& captures, int64_t offset) const;

  // Both have the same wildcards in the same order.
  bool SameWildcards(const NamePattern& other) const;
  const std::string& text() const { return text_; }

 private:
  struct Token {
    enum class Kind : uint8_t { kLiteral, kAny, kNumber };
    Kind kind = Kind::kLiteral;
    std::string text;  // of a literal; the name of a number
  };
  struct Search;
  bool MatchFrom(size_t token, size_t at, Search* search) const;

  std::string text_;
  std::vector<Token> tokens_;
};

}  // namespace planproof::dumps

#endif  // PLANPROOF_DUMPS_NAME_PATTERN_H_
