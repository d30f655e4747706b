#include "dumps/name_pattern.h"

#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace planproof::dumps {
namespace {

constexpr size_t kMostPatternBytes = 1024, kMostWildcards = 16, kMostDigits = 9;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

absl::StatusOr<NamePattern> NamePattern::Parse(std::string_view text) {
  if (text.empty() || text.size() > kMostPatternBytes)
    return absl::InvalidArgumentError("a name has 1 to 1024 bytes");
  NamePattern pattern;
  pattern.text_ = std::string(text);
  size_t wildcards = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    Token token;
    if (text[at] == '*') {
      token.kind = Token::Kind::kAny;
    } else if (text[at] == '{') {
      const size_t end = text.find('}', at);
      if (end == std::string_view::npos || end == at + 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(pattern.text_, ": a number is written {layer}, with a closing brace"));
      }
      token = {Token::Kind::kNumber, std::string(text.substr(at + 1, end - at - 1))};
      at = end;
    } else {
      if (pattern.tokens_.empty() || pattern.tokens_.back().kind != Token::Kind::kLiteral)
        pattern.tokens_.emplace_back();
      pattern.tokens_.back().text += text[at];
      continue;
    }
    if (++wildcards > kMostWildcards) {
      return absl::InvalidArgumentError(
          absl::StrCat(pattern.text_, ": more than ", kMostWildcards, " wildcards"));
    }
    pattern.tokens_.push_back(std::move(token));
  }
  return pattern;
}

struct NamePattern::Search {
  std::string_view name;
  std::vector<std::string> captures;
  std::set<std::pair<size_t, size_t>> failed;  // token and position: each is tried once
};

// As deep as there are tokens.
bool NamePattern::MatchFrom(size_t token, size_t at, Search* search) const {
  const std::string_view rest = search->name.substr(at);
  if (token == tokens_.size()) return rest.empty();
  const Token& own = tokens_[token];
  if (own.kind == Token::Kind::kLiteral) {
    return rest.substr(0, own.text.size()) == own.text &&
           MatchFrom(token + 1, at + own.text.size(), search);
  }
  if (search->failed.contains({token, at})) return false;
  size_t least = 0, most = rest.size();
  if (own.kind == Token::Kind::kNumber) {
    size_t digits = 0;
    while (digits < rest.size() && IsDigit(rest[digits])) ++digits;
    // The whole number, or none of it.
    const bool within = at > 0 && IsDigit(search->name[at - 1]);
    least = within || digits == 0 || digits > kMostDigits ? rest.size() + 1 : digits;
    most = digits;
  }
  for (size_t length = least; length <= most; ++length) {
    search->captures.emplace_back(rest.substr(0, length));
    if (MatchFrom(token + 1, at + length, search)) return true;
    search->captures.pop_back();
  }
  search->failed.insert({token, at});
  return false;
}

std::optional<std::vector<std::string>> NamePattern::Match(std::string_view name) const {
  Search search;
  search.name = name;
  if (!MatchFrom(0, 0, &search)) return std::nullopt;
  return std::move(search.captures);
}

std::optional<std::string> NamePattern::Fill(const std::vector<std::string>& captures,
                                             int64_t offset) const {
  std::string name;
  size_t next = 0;
  for (const Token& token : tokens_) {
    if (token.kind == Token::Kind::kLiteral) {
      name += token.text;
      continue;
    }
    const std::string& capture = captures[next++];
    if (token.kind == Token::Kind::kAny) {
      name += capture;
      continue;
    }
    int64_t number = 0;
    if (!absl::SimpleAtoi(capture, &number) || __builtin_add_overflow(number, offset, &number) ||
        number < 0) {
      return std::nullopt;
    }
    absl::StrAppend(&name, number);
  }
  return name;
}

bool NamePattern::SameWildcards(const NamePattern& other) const {
  const auto wildcards = [](const NamePattern& pattern) {
    std::vector<Token::Kind> kinds;
    for (const Token& token : pattern.tokens_) {
      if (token.kind != Token::Kind::kLiteral) kinds.push_back(token.kind);
    }
    return kinds;
  };
  return wildcards(*this) == wildcards(other);
}

}  // namespace planproof::dumps
