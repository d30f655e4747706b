#include "sdfg/declaration_lexer.h"

#include <array>
#include <cstring>

#include "absl/status/status.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxText = size_t{1} << 20;
constexpr size_t kMaxToken = 256;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer {
 public:
  Lexer(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  absl::StatusOr<std::vector<Token>> Run() {
    if (text_.size() > kMaxText) {
      return absl::InvalidArgumentError(file_ + ": the file has " + std::to_string(text_.size()) +
                                        " bytes; at most " + std::to_string(kMaxText) +
                                        " are accepted");
    }
    while (SkipBlanks()) {
      absl::Status status = Next();
      if (!status.ok()) return status;
    }
    Push(Token::Kind::kEnd, at_, 0);
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // Skips blanks and comments; false at the end of the text. Stops before a ## line.
  bool SkipBlanks() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#' && Peek(1) != '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  Token& Push(Token::Kind kind, size_t begin, size_t length) {
    Token token;
    token.kind = kind;
    token.begin = begin;
    token.end = begin + length;
    token.text = text_.substr(begin, length);
    token.position = {line_, static_cast<int>(begin - line_start_) + 1};
    tokens_.push_back(std::move(token));
    at_ = begin + length;
    return tokens_.back();
  }

  absl::Status Error(size_t at, const std::string& message) const {
    return absl::InvalidArgumentError(file_ + ":" + std::to_string(line_) + ":" +
                                      std::to_string(at - line_start_ + 1) + ": " + message);
  }

  absl::Status Next() {
    char c = Peek();
    if (c == '#') return Document();
    if (c == '"') return String();
    if (IsDigit(c)) return Number();
    if (IsNameStart(c)) {
      size_t length = 1;
      while (IsNamePart(Peek(length))) ++length;
      if (length > kMaxToken) {
        return Error(at_, "a name of " + std::to_string(length) + " characters; at most 256");
      }
      Push(Token::Kind::kName, at_, length);
      return absl::OkStatus();
    }
    return Symbol();
  }

  absl::Status Document() {
    size_t begin = at_ + 2;
    if (begin < text_.size() && text_[begin] == ' ') ++begin;
    size_t end = begin;
    while (end < text_.size() && text_[end] != '\n') ++end;
    size_t start = at_;
    Token& token = Push(Token::Kind::kDocument, start, end - start);
    token.text = text_.substr(begin, end - begin);
    return absl::OkStatus();
  }

  absl::Status String() {
    size_t length = 1;
    while (Peek(length) != '"') {
      if (at_ + length >= text_.size() || Peek(length) == '\n' || length > 4 * kMaxToken) {
        return Error(at_, "the string does not end on its line; expected \"");
      }
      ++length;
    }
    size_t begin = at_;
    Token& token = Push(Token::Kind::kString, begin, length + 1);
    token.text = text_.substr(begin + 1, length - 1);
    return absl::OkStatus();
  }

  absl::Status Number() {
    size_t length = 1;
    while (IsDigit(Peek(length))) ++length;
    if (Peek(length) == '.' && IsDigit(Peek(length + 1))) {
      ++length;
      while (IsDigit(Peek(length))) ++length;
    }
    if (Peek(length) == 'e' || Peek(length) == 'E') {
      size_t exponent = length + 1;
      if (Peek(exponent) == '+' || Peek(exponent) == '-') ++exponent;
      if (IsDigit(Peek(exponent))) {
        length = exponent;
        while (IsDigit(Peek(length))) ++length;
        if (length - exponent > 3) return Error(at_, "the exponent of the number is too large");
      }
    }
    if (length > kMaxToken || IsNamePart(Peek(length))) {
      return Error(at_, "malformed number; expected digits such as 12, 0.5 or 1e-5");
    }
    solver::Rational value;
    if (!solver::Rational::Parse(text_.substr(at_, length), &value)) {
      return Error(at_, "malformed number; expected digits such as 12, 0.5 or 1e-5");
    }
    Push(Token::Kind::kNumber, at_, length).number = value;
    return absl::OkStatus();
  }

  absl::Status Symbol() {
    static constexpr std::array<const char*, 7> kTwo = {"->", "..", "//", "<=", ">=", "==", "!="};
    for (const char* symbol : kTwo) {
      if (Peek() == symbol[0] && Peek(1) == symbol[1]) {
        Push(Token::Kind::kSymbol, at_, 2);
        return absl::OkStatus();
      }
    }
    char c = Peek();
    if (c != '\0' && std::strchr("()[]{},:=+-*/%^<>?|", c) != nullptr) {
      Push(Token::Kind::kSymbol, at_, 1);
      return absl::OkStatus();
    }
    unsigned char byte = static_cast<unsigned char>(c);
    std::string shown =
        byte >= 32 && byte < 127 ? std::string("'") + c + "'" : "byte " + std::to_string(int{byte});
    return Error(at_, "unexpected " + shown + "; expected a name, a number or an operator");
  }

  const std::string& text_;
  const std::string& file_;
  size_t at_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(const std::string& text, const std::string& file) {
  return Lexer(text, file).Run();
}

}  // namespace planproof::sdfg
