#include "sdfg/declaration_expression_parser.h"

#include <array>
#include <string>
#include <utility>

namespace planproof::sdfg {
namespace {

constexpr int kMaxParseDepth = 64;
constexpr size_t kMaxSyntax = 20000;  // nodes of one declaration
constexpr size_t kMaxItems = 64;

// Counts nesting for the time of one call.
class Nested {
 public:
  explicit Nested(int* depth) : depth_(depth) { ++*depth_; }
  ~Nested() { --*depth_; }

 private:
  int* depth_;
};

}  // namespace

bool IsReservedWord(const std::string& name) {
  static constexpr std::array<const char*, 15> kWords = {
      "op", "where", "when", "ties", "premise", "assume", "let", "and",
      "or", "not",   "inf",  "true", "false",   "none",   "like"};
  for (const char* word : kWords) {
    if (name == word) return true;
  }
  return false;
}

const Token& TokenCursor::Peek(size_t ahead) const {
  size_t at = at_ + ahead;
  return at < tokens_.size() ? tokens_[at] : tokens_.back();
}

const Token& TokenCursor::Take() {
  const Token& token = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenCursor::IsSymbol(const char* symbol, size_t ahead) const {
  const Token& token = Peek(ahead);
  return token.kind == Token::Kind::kSymbol && token.text == symbol;
}

bool TokenCursor::IsKeyword(const char* keyword, size_t ahead) const {
  const Token& token = Peek(ahead);
  return token.kind == Token::Kind::kName && token.text == keyword;
}

bool TokenCursor::TakeSymbol(const char* symbol) {
  if (!IsSymbol(symbol)) return false;
  Take();
  return true;
}

bool TokenCursor::TakeKeyword(const char* keyword) {
  if (!IsKeyword(keyword)) return false;
  Take();
  return true;
}

absl::Status TokenCursor::ExpectSymbol(const char* symbol, const std::string& purpose) {
  if (TakeSymbol(symbol)) return absl::OkStatus();
  return Unexpected(std::string("'") + symbol + "' " + purpose);
}

absl::StatusOr<std::string> TokenCursor::ExpectName(const std::string& purpose) {
  if (Peek().kind != Token::Kind::kName) return Unexpected(purpose);
  if (IsReservedWord(Peek().text)) {
    return Error("'" + Peek().text + "' is a word of the language; expected " + purpose);
  }
  return Take().text;
}

absl::Status TokenCursor::Error(const std::string& message) const {
  TextPosition at = Peek().position;
  return absl::InvalidArgumentError(file_ + ":" + std::to_string(at.line) + ":" +
                                    std::to_string(at.column) + ": " + message);
}

absl::Status TokenCursor::Unexpected(const std::string& purpose) const {
  const Token& token = Peek();
  std::string found;
  switch (token.kind) {
    case Token::Kind::kEnd:
      found = "the end of the file";
      break;
    case Token::Kind::kString:
      found = "a string";
      break;
    case Token::Kind::kDocument:
      found = "a documentation line (##)";
      break;
    default:
      found = "'" + token.text + "'";
  }
  return Error("found " + found + "; expected " + purpose);
}

absl::StatusOr<SyntaxId> ExpressionParser::Add(Syntax node) {
  if (syntax_.size() >= kMaxSyntax) {
    return cursor_.Error("the declaration is too long; expected at most 20000 terms");
  }
  syntax_.push_back(std::move(node));
  return static_cast<SyntaxId>(syntax_.size() - 1);
}

absl::StatusOr<SyntaxId> ExpressionParser::BinaryChain(
    const std::vector<const char*>& operators,
    absl::StatusOr<SyntaxId> (ExpressionParser::*operand)()) {
  absl::StatusOr<SyntaxId> left = (this->*operand)();
  while (left.ok()) {
    const char* found = nullptr;
    for (const char* op : operators) {
      if (cursor_.IsSymbol(op) || cursor_.IsKeyword(op)) found = op;
    }
    if (found == nullptr) break;
    Syntax node;
    node.kind = Syntax::Kind::kBinary;
    node.position = cursor_.Peek().position;
    node.name = found;
    cursor_.Take();
    absl::StatusOr<SyntaxId> right = (this->*operand)();
    if (!right.ok()) return right;
    node.children = {*left, *right};
    left = Add(std::move(node));
  }
  return left;
}

absl::StatusOr<SyntaxId> ExpressionParser::Expression() {
  Nested nested(&depth_);
  if (depth_ > kMaxParseDepth) {
    return cursor_.Error("expressions nest too deeply; expected at most 64 levels");
  }
  return BinaryChain({"or"}, &ExpressionParser::Conjunction);
}

absl::StatusOr<SyntaxId> ExpressionParser::Conjunction() {
  return BinaryChain({"and"}, &ExpressionParser::Negation);
}

absl::StatusOr<SyntaxId> ExpressionParser::Negation() {
  if (!cursor_.IsKeyword("not")) return Comparison();
  Syntax node;
  node.kind = Syntax::Kind::kUnary;
  node.name = "not";
  node.position = cursor_.Take().position;
  absl::StatusOr<SyntaxId> operand = Comparison();
  if (!operand.ok()) return operand;
  node.children = {*operand};
  return Add(std::move(node));
}

absl::StatusOr<SyntaxId> ExpressionParser::Comparison() {
  absl::StatusOr<SyntaxId> left = Sum();
  if (!left.ok()) return left;
  for (const char* op : {"<", "<=", ">", ">=", "==", "!="}) {
    if (!cursor_.IsSymbol(op)) continue;
    Syntax node;
    node.kind = Syntax::Kind::kBinary;
    node.name = op;
    node.position = cursor_.Take().position;
    absl::StatusOr<SyntaxId> right = Sum();
    if (!right.ok()) return right;
    node.children = {*left, *right};
    return Add(std::move(node));
  }
  return left;
}

absl::StatusOr<SyntaxId> ExpressionParser::Sum() {
  return BinaryChain({"+", "-"}, &ExpressionParser::Product);
}

absl::StatusOr<SyntaxId> ExpressionParser::Product() {
  return BinaryChain({"*", "/", "//", "%"}, &ExpressionParser::Unary);
}

absl::StatusOr<SyntaxId> ExpressionParser::Unary() {
  Nested nested(&depth_);
  if (depth_ > kMaxParseDepth) {
    return cursor_.Error("expressions nest too deeply; expected at most 64 levels");
  }
  if (!cursor_.IsSymbol("-")) return Power();
  Syntax node;
  node.kind = Syntax::Kind::kUnary;
  node.name = "-";
  node.position = cursor_.Take().position;
  absl::StatusOr<SyntaxId> operand = Unary();
  if (!operand.ok()) return operand;
  node.children = {*operand};
  return Add(std::move(node));
}

absl::StatusOr<SyntaxId> ExpressionParser::Power() {
  absl::StatusOr<SyntaxId> base = Atom();
  if (!base.ok() || !cursor_.IsSymbol("^")) return base;
  Syntax node;
  node.kind = Syntax::Kind::kBinary;
  node.name = "^";
  node.position = cursor_.Take().position;
  absl::StatusOr<SyntaxId> exponent = Unary();
  if (!exponent.ok()) return exponent;
  node.children = {*base, *exponent};
  return Add(std::move(node));
}

absl::StatusOr<SyntaxId> ExpressionParser::Atom() {
  const Token& token = cursor_.Peek();
  Syntax node;
  node.position = token.position;
  if (token.kind == Token::Kind::kNumber) {
    node.kind = Syntax::Kind::kNumber;
    node.number = token.number;
    cursor_.Take();
    return Add(std::move(node));
  }
  if (cursor_.TakeSymbol("(")) {
    absl::StatusOr<SyntaxId> inner = Expression();
    if (!inner.ok()) return inner;
    absl::Status status = cursor_.ExpectSymbol(")", "to close the parenthesis");
    if (!status.ok()) return status;
    return inner;
  }
  if (cursor_.TakeSymbol("[")) {
    absl::StatusOr<SyntaxId> inner = Expression();
    if (!inner.ok()) return inner;
    absl::Status status = cursor_.ExpectSymbol("]", "to close the condition");
    if (!status.ok()) return status;
    node.kind = Syntax::Kind::kIverson;
    node.children = {*inner};
    return Add(std::move(node));
  }
  if (token.kind == Token::Kind::kName) return Named();
  return cursor_.Unexpected("a number, a name, '(' or '['");
}

absl::StatusOr<SyntaxId> ExpressionParser::Named() {
  const Token& token = cursor_.Take();
  Syntax node;
  node.position = token.position;
  node.name = token.text;
  if (token.text == "inf") {
    node.kind = Syntax::Kind::kInfinity;
    return Add(std::move(node));
  }
  if (cursor_.IsSymbol("[")) return Read(token);
  if (!cursor_.TakeSymbol("(")) {
    if (IsReservedWord(token.text)) {
      cursor_.Rewind(cursor_.position() - 1);
      return cursor_.Unexpected("a number, a name, '(' or '['");
    }
    node.kind = Syntax::Kind::kName;
    return Add(std::move(node));
  }
  absl::StatusOr<bool> reduction = Binders(&node.binders);
  if (!reduction.ok()) return reduction.status();
  node.kind = *reduction ? Syntax::Kind::kReduce : Syntax::Kind::kCall;
  do {
    absl::StatusOr<SyntaxId> argument = Expression();
    if (!argument.ok()) return argument;
    node.children.push_back(*argument);
  } while (node.children.size() < kMaxItems && cursor_.TakeSymbol(","));
  // What stands before a colon was meant to be an index with its extent.
  const std::string bound =
      !*reduction && cursor_.IsSymbol(":")
          ? "; the extent of a reduction's index is a number or a name, or stands in parentheses"
          : "";
  absl::Status status =
      cursor_.ExpectSymbol(")", "or ',' after an argument of '" + node.name + "'" + bound);
  if (!status.ok()) return status;
  return Add(std::move(node));
}

absl::StatusOr<bool> ExpressionParser::Binders(std::vector<Binder>* binders) {
  size_t start = cursor_.position();
  size_t syntax_start = syntax_.size();
  auto no = [&] {
    cursor_.Rewind(start);
    syntax_.resize(syntax_start);
    binders->clear();
    return false;
  };
  while (binders->size() < kMaxItems) {
    if (cursor_.Peek().kind != Token::Kind::kName || IsReservedWord(cursor_.Peek().text)) {
      return no();
    }
    Binder binder;
    binder.position = cursor_.Peek().position;
    binder.name = cursor_.Take().text;
    binder.pack = cursor_.TakeSymbol("..");
    if (!binder.pack && cursor_.IsSymbol("<")) {
      cursor_.Take();
      // An extent is an atom, so that looking ahead for the colon stays cheap.
      if (cursor_.Peek().kind != Token::Kind::kNumber &&
          cursor_.Peek().kind != Token::Kind::kName && !cursor_.IsSymbol("(")) {
        return no();
      }
      if (cursor_.IsSymbol("(")) {
        // Only commit to the parenthesis if a colon or comma follows its end.
        int open = 0;
        size_t ahead = 0;
        do {
          if (cursor_.Peek(ahead).kind == Token::Kind::kEnd || ahead > 256) return no();
          if (cursor_.IsSymbol("(", ahead)) ++open;
          if (cursor_.IsSymbol(")", ahead)) --open;
          ++ahead;
        } while (open > 0);
        if (!cursor_.IsSymbol(":", ahead) && !cursor_.IsSymbol(",", ahead)) return no();
      } else if (!cursor_.IsSymbol(":", 1) && !cursor_.IsSymbol(",", 1)) {
        return no();
      }
      absl::StatusOr<SyntaxId> bound = Atom();
      if (!bound.ok()) return bound.status();
      binder.bound = *bound;
    }
    binders->push_back(std::move(binder));
    if (cursor_.TakeSymbol(":")) return true;
    if (!cursor_.TakeSymbol(",")) return no();
  }
  return no();
}

absl::StatusOr<SyntaxId> ExpressionParser::Read(const Token& name) {
  Syntax node;
  node.kind = Syntax::Kind::kRead;
  node.name = name.text;
  node.position = name.position;
  cursor_.Take();  // [
  if (cursor_.TakeSymbol("]")) return Add(std::move(node));
  do {
    absl::StatusOr<IndexItem> item = Item();
    if (!item.ok()) return item.status();
    node.items.push_back(std::move(*item));
    if (node.items.size() == 1 && cursor_.TakeSymbol("|")) {
      node.mixed = true;
      absl::StatusOr<IndexItem> placed = Item();
      if (!placed.ok()) return placed.status();
      node.items.push_back(std::move(*placed));
      break;
    }
  } while (node.items.size() < kMaxItems && cursor_.TakeSymbol(","));
  absl::Status status = cursor_.ExpectSymbol("]", "or ',' after an index of '" + node.name + "'");
  if (!status.ok()) return status;
  return Add(std::move(node));
}

absl::StatusOr<IndexItem> ExpressionParser::Item() {
  IndexItem item;
  item.position = cursor_.Peek().position;
  auto is_part = [&](size_t ahead) {
    Token::Kind kind = cursor_.Peek(ahead).kind;
    return kind == Token::Kind::kName || kind == Token::Kind::kNumber;
  };
  if (cursor_.Peek().kind == Token::Kind::kName && cursor_.IsSymbol("..", 1)) {
    item.kind = IndexItem::Kind::kPack;
    item.name = cursor_.Take().text;
    cursor_.Take();
    return item;
  }
  if (cursor_.IsSymbol("(") && is_part(1) && is_part(2)) {
    item.kind = IndexItem::Kind::kComposite;
    cursor_.Take();
    while (!cursor_.IsSymbol(")") && item.parts.size() < kMaxItems) {
      if (!is_part(0)) return cursor_.Unexpected("a name or number in a composite index");
      Nested nested(&depth_);
      absl::StatusOr<SyntaxId> part = Atom();
      if (!part.ok()) return part.status();
      item.parts.push_back(*part);
    }
    absl::Status status = cursor_.ExpectSymbol(")", "to close the composite index");
    if (!status.ok()) return status;
    return item;
  }
  absl::StatusOr<SyntaxId> index = Sum();
  if (!index.ok()) return index.status();
  item.parts = {*index};
  return item;
}

}  // namespace planproof::sdfg
